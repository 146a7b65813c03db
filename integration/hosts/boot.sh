# Boots a machine, again each time that it reboots, in namespaces that end with
# this script: NAME, and the files cgroup.procs that it is to be written to.
# layers.sh has made $1 and its mounts.
name=$3
shift 3
for procs; do echo 0 >"$procs"; done
echo "$name" >"$dir/root/etc/hostname"
# What nspawn leaves in /run, it leaves in one of its own.
mount -t tmpfs tmpfs /run
# Names of the network may be written; no other setting of the kernel.
export SYSTEMD_NSPAWN_API_VFS_WRITABLE=network
reboot=133
while
	code=0
	systemd-nspawn --quiet --directory="$dir/root" --machine="$name" --boot --register=no --keep-unit \
		--link-journal=no --console=read-only --resolv-conf=off --timezone=off --private-network || code=$?
	# Crash has left a file.
	[ $code = $reboot ] || rm "$dir/again" 2>/dev/null
do :; done
exit $code
