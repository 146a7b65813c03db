package resources

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/svc"
	"github.com/reactivegraph/mgmt/traits"
)

// Leaving reports whether the service is to be stopped, or not started any more.
func (r *SvcRes) Leaving() bool {
	return r.State == svcStopped || r.State == "" && (r.Startup == svcDisabled || r.Startup == svcMasked)
}

// UIDs names the service without the suffix .service.
func (r *SvcRes) UIDs() []engine.ResUID {
	return []engine.ResUID{traits.SvcUID(engine.UIDOf(r), svc.BaseName(r.Name()), r.Session)}
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
// package of the same name, and the packages that have those files; and the user and the group of the
// same name, if it may run. What its unit file names that file wants: see unitFile.
func (r *SvcRes) AutoEdges() (engine.AutoEdge, error) {
	w := newWants(r)
	name, unit := svc.BaseName(r.Name()), svc.UnitName(r.Name())
	w.ask = append(w.ask, traits.PkgUID(w.base(), name))
	exact := func(p string) { w.ask = append(w.ask, traits.FileUID(w.base(), p)) }
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
	if r.State != svcStopped { // what is stopped does not care, or is so that they can go
		plain, _, _ := strings.Cut(name, "@")
		w.account(plain, plain)
	}
	for _, dir := range svcConfigs {
		exact(dir + name)
	}
	exact("/etc/" + name + ".conf")
	w.installed("/etc/init.d/" + name)
	return w, nil
}

// configures asks for the service of which a path is the configuration, so that the service
// comes after it: what is below the folder in /etc that has the name of the service, or beside
// its unit file.
func (w *wants) configures(p string) {
	after := false
	ask := func(name string, session bool) {
		u := traits.SvcUID(w.base(), svc.BaseName(name), session)
		u.Reversed = &after
		w.ask = append(w.ask, u)
	}
	for _, dir := range svcFolders {
		if unit, ok := addition(p, dir); ok {
			ask(unit, false)
			return
		}
	}
	for _, dir := range svcUserFolders {
		if unit, ok := addition(p, dir); ok {
			ask(unit, true)
			return
		}
	}
	rest, ok := strings.CutPrefix(p, "/etc/")
	if name, _, below := strings.Cut(rest, "/"); ok && below && svc.CheckName(name) == nil {
		ask(name, false)
	}
}

// stopped asks for the service of a name, so that what it runs by goes after it was stopped.
func (w *wants) stopped(name string) {
	if svc.CheckName(name) == nil {
		base := w.base()
		base.Firmly = true
		w.ask = append(w.ask, traits.SvcUID(base, svc.BaseName(name), false))
	}
}

// unitFile asks for what the file of a unit names, if p is one or an addition to one: whom it runs as, where, what it
// runs, and what it reads. So all that is there before the service, which comes after the file.
func (w *wants) unitFile(p, content string) {
	if !isUnitFile(p) {
		return
	}
	for line := range strings.Lines(strings.ReplaceAll(content, "\\\n", " ")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		words := strings.Fields(value)
		if len(words) == 0 || strings.Contains(words[0], "%") {
			continue // which systemd fills in
		}
		switch strings.TrimSpace(key) {
		case "User", "SocketUser":
			w.account(words[0], "")
		case "Group", "SocketGroup":
			w.account("", words[0])
		case "SupplementaryGroups":
			for _, group := range words {
				w.account("", group)
			}
		case "ExecStart", "ExecStartPre", "ExecStartPost", "ExecReload", "ExecStop", "ExecStopPost", "ExecCondition":
			program := strings.TrimLeft(words[0], "-@:+!|")
			w.path(program)
			if path.IsAbs(program) {
				w.installed(program)
			}
		case "EnvironmentFile", "WorkingDirectory", "RootDirectory":
			w.path(strings.TrimPrefix(words[0], "-"))
		}
	}
}

// isUnitFile reports whether a path is that of a unit file, or of an addition to one.
func isUnitFile(p string) bool {
	for _, dir := range slices.Concat(svcFolders, svcUserFolders) {
		rest, ok := strings.CutPrefix(p, dir)
		folder, _, below := strings.Cut(rest, "/")
		if ok && path.Ext(rest) != "" && (!below || strings.HasSuffix(folder, ".d")) {
			return true
		}
	}
	return false
}

// addition returns the unit to whose file a path in a folder beside it adds something.
func addition(p, dir string) (unit string, ok bool) {
	rest, ok := strings.CutPrefix(p, dir)
	if !ok {
		return "", false
	}
	folder, _, ok := strings.Cut(rest, "/")
	unit, is := strings.CutSuffix(folder, ".d")
	return unit, ok && is && svc.CheckName(unit) == nil
}
