#!/bin/sh
# Runs a command on a copy of the machine's file system, which it alone sees, and keeps what it
# has altered there: twin.sh FOLDER STAGE COMMAND... The command finds the folder STAGE as /run/twin. The caller is in a mount namespace of its own.
set -e
dir=$1 stage=$2
shift 2
mkdir -p "$dir"
mount -t tmpfs twin "$dir"
mkdir "$dir/upper" "$dir/work" "$dir/root"
mount -t overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" twin "$dir/root"
for d in proc dev sys; do mount --rbind "/$d" "$dir/root/$d"; done
mount -t tmpfs run "$dir/root/run"
mkdir "$dir/root/run/twin"
mount --bind "$stage" "$dir/root/run/twin"
status=0
chroot "$dir/root" "$@" >"$dir/log" 2>&1 || status=$?
cat "$dir/log"
cd "$dir/upper"
find . -mindepth 1 ! -path './tmp*' ! -path './run*' ! -path './root/.cache*' ! -path './var/log*' ! -path './var/cache*' -printf '%P|%y|%m|%U|%G|%l\n' | sort >"$dir/entries"
echo "status $status"
while IFS='|' read -r path type mode uid gid link; do
	sum=
	case $type in
	d) [ "$(stat -c %a%u%g "/$path" 2>/dev/null)" = "$mode$uid$gid" ] && continue ;;
	f) sum=$(sha256sum <"$path") ;;
	esac
	echo "entry $path|$type|$mode|$uid|$gid|$link|$sum"
done <"$dir/entries"
