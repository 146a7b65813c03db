package resources

import (
	"github.com/reactivegraph/mgmt/engine/virtual"
)

var (
	_ virtual.UsingRes = (*PkgRes)(nil)
	_ virtual.UsingRes = (*SvcRes)(nil)
	_ virtual.UsingRes = (*UserRes)(nil)
	_ virtual.UsingRes = (*GroupRes)(nil)
)

// Uses says what a package needs.
func (r *PkgRes) Uses() (all []virtual.Use) {
	for _, state := range []string{pkgInstalled, pkgUninstalled, pkgNewest, "a version"} {
		all = append(all, use("state: "+state, &PkgRes{State: state}))
	}
	all = append(all, use("allownonfree: false, allowunsupported: false", &PkgRes{AllowNonFree: new(bool), AllowUnsupported: new(bool)}))
	return append(all, use("state: uninstalled, purge: true", &PkgRes{State: pkgUninstalled, Purge: true}))
}

// Uses says what a service needs.
func (r *SvcRes) Uses() (all []virtual.Use) {
	for _, s := range []string{svcRunning, svcStopped} {
		all = append(all, use("state: "+s, &SvcRes{State: s}))
	}
	for _, s := range []string{svcEnabled, svcDisabled, svcMasked} {
		all = append(all, use("startup: "+s, &SvcRes{Startup: s}))
	}
	for _, s := range []string{svcReload, svcRestart} {
		all = append(all, use("refresh: "+s, &SvcRes{OnRefresh: s}))
	}
	return append(all, use("session: true", &SvcRes{Session: true}))
}

// Uses says what a user needs.
func (r *UserRes) Uses() []virtual.Use {
	return []virtual.Use{
		use("state: exists", &UserRes{}), use("state: absent", &UserRes{State: FileAbsent}),
		use("root: a folder", &UserRes{Root: "/image"}),
	}
}

// Uses says what a group needs.
func (r *GroupRes) Uses() []virtual.Use {
	return []virtual.Use{
		use("state: exists", &GroupRes{}), use("gid", &GroupRes{GID: new(1)}), use("members", &GroupRes{AllMembers: true}),
		use("state: absent", &GroupRes{State: FileAbsent}), use("root: a folder", &GroupRes{Root: "/image"}),
	}
}

// use asks a resource that is declared so.
func use(declared string, r virtual.Resource) virtual.Use {
	return virtual.Use{Declared: declared, Functions: r.Needs()}
}
