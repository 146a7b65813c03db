#!/bin/sh
# Builds the busybox that TestBusyboxReal runs, from the source that Debian has: its
# package is built without the tools for users and groups. It is kept at the path that
# is printed, so it is built once.
set -eu
out=${XDG_CACHE_HOME:-$HOME/.cache}/mgmt-busybox
test -x "$out/busybox" || {
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$out" "$work/lists/partial" "$work/archives/partial"
	. /etc/os-release
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(CREATED_BY)' "Codename: $VERSION_CODENAME" | awk '$2 == "Debian" && $3 == "Packages" { print $1; exit }')
	echo "deb-src $mirror $VERSION_CODENAME main" >"$work/list"
	apt="apt-get -qq -o Dir::Etc::SourceList=$work/list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$work/lists -o Dir::Cache=$work -o APT::Sandbox::User=root"
	cd "$work"
	{ $apt update && $apt source busybox; } >/dev/null 2>log || { cat log >&2; exit 1; }
	cd busybox-*/
	make -s allnoconfig >/dev/null
	for o in ADDUSER ADDGROUP DELUSER DELGROUP CHPASSWD FEATURE_ADDUSER_TO_GROUP FEATURE_DEL_USER_FROM_GROUP FEATURE_SHADOWPASSWDS \
		USE_BB_PWD_GRP USE_BB_SHADOW LONG_OPTS FEATURE_CHECK_NAMES SHOW_USAGE BUSYBOX STATIC; do
		sed -i "s/^# CONFIG_$o is not set/CONFIG_$o=y/" .config
	done
	sed -i -E '/^CONFIG_(FIRST_SYSTEM_ID|LAST_SYSTEM_ID|LAST_ID)=/d' .config
	printf 'CONFIG_%s\n' FIRST_SYSTEM_ID=100 LAST_SYSTEM_ID=999 LAST_ID=60000 >>.config
	yes "" | make -s oldconfig >/dev/null
	make -s -j"$(nproc)" >log 2>&1 || { cat log >&2; exit 1; }
	mv busybox "$out/busybox"
}
echo "$out/busybox"
