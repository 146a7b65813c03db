package nspawn

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/names"
	"github.com/reactivegraph/mgmt/resources/svc"
	"github.com/reactivegraph/mgmt/traits"
)

// Leaving reports whether the container is to be stopped, or absent.
func (r *Res) Leaving() bool { return r.state() != svc.Running }

// UIDs names the unit, and the file of the settings if it is managed.
func (r *Res) UIDs() []autoedge.UID {
	list := []autoedge.UID{traits.SvcUID(autoedge.UIDOf(r), names.ServiceBase(r.unit()), false)}
	if r.hasSettings() {
		list = append(list, traits.FileUID(autoedge.UIDOf(r), r.settingsPath()))
	}
	return list
}

// template is the file of the unit.
const template = "systemd-nspawn@.service"

// AutoEdges wants the image, or the nearest managed folder above it, the settings, the additions to
// the unit, the folders bound into the container, and the package that has systemd-nspawn. An
// absent container wants to come before the removal of its image.
func (r *Res) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	if r.absent() {
		base := w.Base()
		base.Reversed, base.FixedOrder = new(false), true
		w.Ask = append(w.Ask, traits.FileUID(base, r.imagePath()), traits.MountUID(base, r.imagePath()))
		return w, nil
	}
	w.Path(r.imagePath())
	w.Path(r.imagePath() + ".raw")
	if r.hasSettings() {
		w.Above(r.settingsPath())
	} else {
		w.Path(r.settingsPath())
	}
	for _, p := range boundInto(r.settings()) {
		w.Path(p)
	}
	for _, dir := range edges.UnitFolders {
		for _, name := range []string{template, template + ".d", r.unit(), r.unit() + ".d"} {
			w.Ask = append(w.Ask, traits.FileUID(w.Base(), dir+name))
		}
		w.Installed(dir + template)
	}
	w.Ask = append(w.Ask, traits.PkgUID(w.Base(), "systemd-container"))
	return w, nil
}

// boundInto returns the paths that settings bind into a container.
func boundInto(settings string) (paths []string) {
	for line := range strings.Lines(settings) {
		key, value, _ := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); key != "Bind" && key != "BindReadOnly" {
			continue
		}
		from, _, _ := strings.Cut(strings.TrimSpace(value), ":")
		from = strings.TrimLeft(from, "-+")
		if path.IsAbs(from) {
			paths = append(paths, path.Clean(from))
		}
	}
	return paths
}

// Clashes says what two resources want differently of the unit or the settings.
func (r *Res) Clashes(other engine.Res) error {
	s, ok := other.(*svc.Res)
	if !ok {
		return files.Clash(r, other)
	}
	want := r.service()
	switch {
	case len(r.Recv())+len(s.Recv()) > 0:
		return nil
	case s.State != "" && s.State != want.State:
		return fmt.Errorf("one wants the container %s to be %s, the other one %s", r.Name(), want.State, s.State)
	case s.Startup != "" && want.Startup != "" && s.Startup != want.Startup:
		return errors.New("one wants it to be " + want.Startup + " at boot, the other one " + s.Startup)
	}
	return nil
}
