package svc

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/resources/svc/backends"
	"github.com/reactivegraph/mgmt/traits"
)

// Leaving reports whether the service is to be stopped, or not started any more.
func (r *Res) Leaving() bool {
	// A stopped service comes before the things that it uses go, and a running one after they are
	// there.
	return r.State == Stopped || r.State == "" && (r.Startup == Disabled || r.Startup == Masked)
}

// UIDs names the service without the suffix .service.
func (r *Res) UIDs() []autoedge.UID {
	return []autoedge.UID{traits.SvcUID(autoedge.UIDOf(r), backends.BaseName(r.Name()), r.Session)}
}

// Clashes refuses two resources that want one service to be two things.
func (r *Res) Clashes(other engine.Res) error {
	o, ok := other.(*Res)
	switch {
	case !ok:
		return nil
	case r.State != "" && o.State != "" && r.State != o.State:
		return fmt.Errorf("one wants the service %s to be %s, the other one %s", backends.BaseName(r.Name()), r.State, o.State)
	case r.Startup != "" && o.Startup != "" && r.Startup != o.Startup:
		return fmt.Errorf("one wants the service %s to be %s, the other one %s", backends.BaseName(r.Name()), r.Startup, o.Startup)
	}
	return nil
}

// configs are where services have their scripts and configuration; the name is put
// behind each.
var configs = []string{"/etc/init.d/", "/etc/conf.d/", "/etc/default/", "/etc/sysconfig/", "/etc/sv/", "/etc/"}

// AutoEdges wants the unit file, the script and the folder of the configuration, the package of the
// same name, and the packages that have those files; and the user and the group of the same name,
// if it may run. The resource of its unit file wants the things that the file names: see UnitFile.
func (r *Res) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	name, unit := backends.BaseName(r.Name()), backends.UnitName(r.Name())
	w.Ask = append(w.Ask, traits.PkgUID(w.Base(), name))
	exact := func(p string) { w.Ask = append(w.Ask, traits.FileUID(w.Base(), p)) }
	// Nothing is asked of the disk: the folders are those in which a manager looks.
	folders := edges.UnitFolders
	if r.Session {
		folders = edges.UserUnitFolders
	}
	for _, dir := range folders {
		exact(dir + unit)
		exact(dir + unit + ".d")
		w.Installed(dir + unit)
	}
	if r.Session {
		return w, nil
	}
	if r.State != Stopped { // a stopped service does not care, or is stopped so that they can go
		// An instance of a template, such as getty@tty1, uses the account of the template.
		plain, _, _ := strings.Cut(name, "@")
		w.Account(plain, plain)
	}
	for _, dir := range configs {
		exact(dir + name)
	}
	exact("/etc/" + name + ".conf")
	w.Installed("/etc/init.d/" + name)
	return w, nil
}
