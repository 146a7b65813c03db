# Makes a repository for a package manager, and has it use that and nothing else: rpm for dnf and
# zypper, or pacman. All have the same packages. Run in a machine, as root.
#
#	tiny 1.0 and 2.0      has /etc/tiny/tiny.conf
#	other 1:3.0           needs tiny, recommends extra
#	extra 1.0
#	mta-a 1.0             provides mta
#	needy 1.0             needs what nobody has
#	slow 1.0              installs as long as there is /run/hold, and makes /run/held when it begins to
#	g++ 1.0, gxx 1.0      names with which patterns go wrong
#	p01 to p20 1.0
#
# Beside that, in /srv/more, it makes what no package manager is told of:
#
#	fresh 1.0, and for pacman, which knows one version at a time, tiny 1.0
set -eu
many=$(seq -f p%02g 1 20)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A spec has one version of each package: NAME,VERSION,EPOCH,FIELDS,SCRIPT. The script is Lua, which needs
# no package that has a shell.
spec() {
	echo "Name: all
Version: 1
Release: 1
Summary: all
License: none
BuildArch: noarch
%description
."
	for p; do
		old=$IFS IFS=,
		set -- $p
		IFS=$old
		conf=/etc/$1/$1.conf
		echo "%package -n $1
Version: $2
Release: 1
Summary: the package $1
${3:+Epoch: $3}
${4:-}
%description -n $1
.
${5:+%post -n $1 -p <lua>
$5
}%install
mkdir -p %{buildroot}/etc/$1
echo $2 >%{buildroot}$conf
%files -n $1
%config(noreplace) $conf"
	done | awk '/^%install$/ { on = 1; next } /^%files/ { on = 0 } { if (on) script = script $0 "\n"; else print } END { printf "%%install\n%s", script }'
}
rpms() {
	spec "$@" >"$work/all.spec"
	rpmbuild -bb --quiet --define "_topdir $work" --define "_rpmdir ${to:-/srv/rpm}" "$work/all.spec" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
make_rpm() {
	rpms tiny,1.0
	rpms tiny,2.0 "other,3.0,1,Requires: tiny
Recommends: extra" extra,1.0 "mta-a,1.0,,Provides: mta" "needy,1.0,,Requires: not-there" \
		'slow,1.0,,,posix.mkdir("/run/held") while posix.access("/run/hold") do posix.sleep(1) end' g++,1.0 gxx,1.0 $(printf '%s,1.0\n' $many)
	createrepo_c --quiet /srv/rpm
	to=/srv/more rpms fresh,1.0
	createrepo_c --quiet /srv/more
	# Of the plugins that Debian puts into one package one is not whole, and one wants signed packages.
	rm -f /usr/lib/python3/dist-packages/dnf-plugins/system_upgrade.py
	printf '[main]\nenabled = false\n' >/etc/dnf/plugins/local.conf
	mkdir -p /etc/yum.repos.d /etc/zypp/repos.d
	printf '[local]\nname=local\nbaseurl=file:///srv/rpm\ngpgcheck=0\n' >/etc/yum.repos.d/local.repo
	printf '[local]\nname=local\nenabled=1\nautorefresh=0\nbaseurl=dir:///srv/rpm\ngpgcheck=0\n' >/etc/zypp/repos.d/local.repo
}

# A repository of pacman has one version of each package: NAME VERSION FIELDS SCRIPT.
pac() {
	mkdir -p "$work/$1/etc/$1" "${to:-/srv/pac}"
	echo "$2" >"$work/$1/etc/$1/$1.conf"
	printf 'pkgname = %s\npkgver = %s\npkgdesc = the package %s\nbuilddate = 1\npackager = nobody\nsize = 4\narch = any\n%s' "$1" "$2" "$1" "${3:-}" >"$work/$1/.PKGINFO"
	test -z "${4:-}" || printf 'post_install() {\n%s\n}\n' "$4" >"$work/$1/.INSTALL"
	(cd "$work/$1" && tar -cf "${to:-/srv/pac}/$1-$2-any.pkg.tar" .[A-Z]* etc)
}
make_pacman() {
	pac tiny 2.0-1 'backup = etc/tiny/tiny.conf
'
	pac other 1:3.0-1 'depend = tiny
optdepend = extra
'
	pac mta-a 1.0-1 'provides = mta
'
	pac needy 1.0-1 'depend = not-there
'
	pac slow 1.0-1 '' 'touch /run/held; while test -e /run/hold; do sleep 0.05; done'
	for p in extra g++ gxx $many; do pac "$p" 1.0-1; done
	to=/srv/more/old pac tiny 1.0-1
	to=/srv/more pac fresh 1.0-1
	repo-add --quiet /srv/more/more.db.tar /srv/more/fresh-*.pkg.tar
	repo-add --quiet /srv/pac/test.db.tar /srv/pac/*.pkg.tar
	printf '[options]\nArchitecture = auto\nSigLevel = Never\n[test]\nServer = file:///srv/pac\n' >/etc/pacman.conf
	mkdir -p /var/lib/pacman/sync /var/lib/pacman/local
}

"make_$1"
