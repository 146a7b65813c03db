package edges

import (
	"path"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/resources/internal/names"
	"github.com/reactivegraph/mgmt/traits"
)

// UnitFolders are where unit files are; %s is the name of the unit. Next to each there may be
// a folder with additions.
var (
	UnitFolders     = []string{"/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"}
	UserUnitFolders = []string{"/etc/systemd/user/", "/usr/lib/systemd/user/"}
)

// configures asks for the service that a path configures, so that the service comes after it: a
// path below the folder in /etc with the name of the service, or in the folder of its unit file.
func (w *wants) configures(p string) {
	after := false
	ask := func(name string, session bool) {
		u := traits.SvcUID(w.Base(), names.ServiceBase(name), session)
		u.Reversed = &after
		w.Ask = append(w.Ask, u)
	}
	for _, dir := range UnitFolders {
		if unit, ok := addition(p, dir); ok {
			ask(unit, false)
			return
		}
	}
	for _, dir := range UserUnitFolders {
		if unit, ok := addition(p, dir); ok {
			ask(unit, true)
			return
		}
	}
	rest, ok := strings.CutPrefix(p, "/etc/")
	if name, _, below := strings.Cut(rest, "/"); ok && below && names.CheckService(name) == nil {
		ask(name, false)
	}
}

// Stopped asks for the service of a name, so that its files go after it was stopped.
func (w *wants) Stopped(name string) {
	if names.CheckService(name) == nil {
		base := w.Base()
		base.FixedOrder = true
		w.Ask = append(w.Ask, traits.SvcUID(base, names.ServiceBase(name), false))
	}
}

// UnitFile asks for the things that the file of a unit names, if p is one or an addition to one:
// its user, its folders, its programs, and the files that it reads. So all that is there before the
// service, which comes after the file.
func (w *wants) UnitFile(p, content string) {
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
			w.Account(words[0], "")
		case "Group", "SocketGroup":
			w.Account("", words[0])
		case "SupplementaryGroups":
			for _, group := range words {
				w.Account("", group)
			}
		case "ExecStart", "ExecStartPre", "ExecStartPost", "ExecReload", "ExecStop", "ExecStopPost", "ExecCondition":
			program := strings.TrimLeft(words[0], "-@:+!|")
			w.Path(program)
			if path.IsAbs(program) {
				w.Installed(program)
			}
		case "EnvironmentFile", "WorkingDirectory", "RootDirectory":
			w.Path(strings.TrimPrefix(words[0], "-"))
		}
	}
}

// isUnitFile reports whether a path is that of a unit file, or of an addition to one.
func isUnitFile(p string) bool {
	return slices.ContainsFunc(UnitFolders, func(dir string) bool { return isUnitIn(p, dir) }) ||
		slices.ContainsFunc(UserUnitFolders, func(dir string) bool { return isUnitIn(p, dir) })
}

func isUnitIn(p, dir string) bool {
	rest, ok := strings.CutPrefix(p, dir)
	folder, _, below := strings.Cut(rest, "/")
	return ok && path.Ext(rest) != "" && (!below || strings.HasSuffix(folder, ".d"))
}

// addition returns the unit to whose file a path in a folder next to it adds something.
func addition(p, dir string) (unit string, ok bool) {
	rest, ok := strings.CutPrefix(p, dir)
	if !ok {
		return "", false
	}
	folder, _, ok := strings.Cut(rest, "/")
	unit, is := strings.CutSuffix(folder, ".d")
	return unit, ok && is && names.CheckService(unit) == nil
}
