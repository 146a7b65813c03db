package resources

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/svc"
)

// UIDs names the service without the suffix .service.
func (r *SvcRes) UIDs() []engine.ResUID {
	return []engine.ResUID{&engine.SvcUID{BaseUID: engine.UIDOf(r), Svc: svc.BaseName(r.Name()), Session: r.Session}}
}

// Clashes refuses two resources that want one service to be two things.
func (r *SvcRes) Clashes(other engine.Res) error {
	o, ok := other.(*SvcRes)
	switch {
	case !ok:
		return nil
	case r.State != "" && o.State != "" && r.State != o.State:
		return fmt.Errorf("one wants the service %s to be %s, the other one %s", svc.BaseName(r.Name()), r.State, o.State)
	case r.Startup != "" && o.Startup != "" && r.Startup != o.Startup:
		return fmt.Errorf("one wants the service %s to be %s, the other one %s", svc.BaseName(r.Name()), r.Startup, o.Startup)
	}
	return nil
}

// svcFolders are where unit files are; %s is the name of the unit. Beside each there may be
// a folder with additions.
var (
	svcFolders     = []string{"/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"}
	svcUserFolders = []string{"/etc/systemd/user/", "/usr/lib/systemd/user/"}
)

// svcConfigs are where services have their scripts and configuration; the name is put
// behind each.
var svcConfigs = []string{"/etc/init.d/", "/etc/conf.d/", "/etc/default/", "/etc/sysconfig/", "/etc/sv/", "/etc/"}

// AutoEdges wants the unit file, the script and the folder of the configuration, the
// package of the same name, and the packages that have those files.
func (r *SvcRes) AutoEdges() (engine.AutoEdge, error) {
	w := newWants(r)
	name, unit := svc.BaseName(r.Name()), svc.UnitName(r.Name())
	w.ask = append(w.ask, &engine.PkgUID{BaseUID: w.base(), Pkg: name})
	exact := func(p string) { w.ask = append(w.ask, &engine.FileUID{BaseUID: w.base(), Path: p}) }
	folders := svcFolders
	if r.Session {
		folders = svcUserFolders
	}
	for _, dir := range folders {
		exact(dir + unit)
		exact(dir + unit + ".d")
		w.installed(dir + unit)
	}
	if r.Session {
		return w, nil
	}
	for _, dir := range svcConfigs {
		exact(dir + name)
	}
	exact("/etc/" + name + ".conf")
	w.installed("/etc/init.d/" + name)
	return w, nil
}
