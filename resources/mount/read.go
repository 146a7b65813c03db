package mount

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/mounttab"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
	"github.com/reactivegraph/mgmt/traits"
)

// Read returns the mount at the path, and its line in the table. It returns a new
// resource that is filled with the present state. Where the mount is as its line
// says, the words of the line are kept. Then a graph that was written by hand
// compares as equal.
func (r *Res) Read(ctx context.Context) (engine.Res, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m, err := mounttab.Open()
	if err != nil {
		return nil, err
	}
	defer m.Close()
	l, err := r.look(m)
	if err != nil {
		return nil, err
	}
	got := &Res{Path: r.Path, Persist: r.Persist, Fstab: r.Fstab, Lazy: r.Lazy}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	line := r.line()
	if l.listed {
		line = l.line
	}
	got.State = r.stateOf(l)
	if got.State != Absent {
		got.fill(line, l.now)
	}
	if l.listed {
		got.Freq, got.PassNo = l.line.Freq, l.line.PassNo
	} else {
		got.Persist = false
	}
	return got, nil
}

// stateOf says how it is, in the words of the parameter. The order matters: a graph
// that says listed is answered with listed, mounted or not, so that it does not look
// like a difference.
func (r *Res) stateOf(l found) string {
	switch {
	case r.state() == Listed && l.listed:
		return Listed
	case l.now != nil:
		return Exists
	case l.listed, !r.Persist && r.state() != Absent:
		return Unmounted
	}
	return Absent
}

// fill takes over the fields of a line that the mount does not show otherwise.
func (r *Res) fill(l mounttab.Line, m *mounttab.Mount) {
	r.Device, r.Type, r.Options = l.Device, l.Type, l.Options
	if m == nil {
		return
	}
	if !sameMounted(l, *m) {
		r.Device, r.Type, r.Options = m.Source, m.Type, shownOptions(*m)
	} else if len(mounttab.Differ(l.Options, *m)) > 0 {
		r.Options = shownOptions(*m)
	}
}

// kernelTypes are the file systems by which the kernel shows itself. They are
// mounted by the system, so List leaves them out unless the table has them.
var kernelTypes = []string{
	"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
	"fusectl", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs",
}

// List returns all that is mounted or in the table. A mount that is gone by the time
// it is read is yielded as unmounted or absent. An error ends nothing: the caller
// gets it with a nil resource and may go on.
func (r *Res) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		points, err := r.points()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, p := range points {
			one := &Res{Persist: true, Fstab: r.Fstab, init: r.init}
			one.SetKind(r.Kind())
			one.SetName(p)
			if got, err := one.Read(ctx); !yield(got, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// points returns the mount points of the table and of the kernel, sorted, each once.
func (r *Res) points() (points []string, err error) {
	t, err := textfile.By(r.paths(), r.table(), 0)
	if err != nil {
		return nil, err
	}
	text, _, err := t.Read()
	if err != nil {
		return nil, err
	}
	for _, l := range mounttab.Parse(text).Lines() {
		if filepath.IsAbs(l.Point) {
			points = append(points, path.Clean(l.Point))
		}
	}
	all, err := mounttab.ReadMounts()
	for _, m := range all {
		if !slices.Contains(kernelTypes, m.Type) {
			points = append(points, m.Point)
		}
	}
	slices.Sort(points)
	return slices.Compact(points), err
}

// Reversed returns the resource that brings back the state from before. before is what Read had
// returned before the first change; nil stands for nothing. It is refused where that
// could not be made again: a mount without a line in the table may have had options
// that the kernel does not show.
func (r *Res) Reversed(before engine.Res) (engine.Res, error) {
	undo := &Res{Path: r.Path, Persist: r.Persist, Fstab: r.Fstab, Lazy: r.Lazy, State: Absent}
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	if before == nil {
		return undo, nil
	}
	was, ok := before.(*Res)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	case was.State == Exists && r.Persist && !was.Persist:
		return nil, errors.New("it was mounted without a line in the table, and how is not kept")
	case was.State == "" || was.State == Absent:
		return undo, nil
	}
	undo.State, undo.Device, undo.Type, undo.Options = was.State, was.Device, was.Type, was.Options
	undo.Freq, undo.PassNo = was.Freq, was.PassNo
	return undo, nil
}

// RootedPart returns the one that keeps the line in the table alone.
func (r *Res) RootedPart() (part engine.Res, writes, fields []string) {
	if !r.Persist {
		return nil, nil, nil
	}
	table := &Res{
		Path: r.Path, State: r.State, Device: r.Device, Type: r.Type, Options: r.Options, Freq: r.Freq, PassNo: r.PassNo,
		Persist: true, Fstab: r.Fstab, onlyTable: true,
	}
	table.SetKind(r.Kind())
	table.SetName(r.Name())
	return table, []string{r.table()}, []string{"persist"}
}

// Leaving reports whether nothing is to be mounted. Automatic edges are turned
// around then, so that the things in the mount go first.
func (r *Res) Leaving() bool { return r.state() != Exists && r.state() != Listed }

// UIDs names the mount by its path, and the table that it is in.
func (r *Res) UIDs() []autoedge.UID {
	uids := []autoedge.UID{traits.MountUID(autoedge.UIDOf(r), r.path())}
	if r.Persist {
		uids = append(uids, traits.FileUID(autoedge.UIDOf(r), path.Clean(r.table())))
	}
	return uids
}

// AutoEdges wants the mount point, or else the nearest managed folder or mount above
// it, the source of the mount if that has a path, the file of the table, and the package that knows how. A
// mount that is to go has to go before the mount above it, which may show again
// then, and before its source. It names, and looks at nothing: the engine joins the
// names with the resources of the graph. Names that it finds nowhere make no edge.
func (r *Res) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	if r.Type != "" {
		for _, dir := range []string{"/sbin/mount.", "/usr/sbin/mount."} { // with a base of its own
			w.Ask = append(w.Ask, traits.PkgFileUID(w.Base(), path.Clean(dir+r.Type)))
		}
	}
	if r.state() == Absent {
		w.Pkg.Reversed, w.FixedOrder = new(false), true
	}
	w.Path(r.path())
	w.Path(r.Device)
	if r.Persist && !strings.HasPrefix(path.Clean(r.table()), strings.TrimSuffix(r.path(), "/")+"/") { // a table in the mount comes later
		w.Ask = append(w.Ask, autoedge.NameUIDOf(r, "file", r.table()))
		w.Above(r.table())
	}
	return w, nil
}

// WritesPart says that it edits only its line of the table. So a resource that
// manages the whole file of the table clashes with it, while another mount does not.
func (*Res) WritesPart() {}

// Clashes says what two mounts want differently of one path. Two that agree may
// stand in one graph. Values that are still to be received are not compared; a
// difference shows as a repair that never ends.
func (r *Res) Clashes(other engine.Res) error {
	o, ok := other.(*Res)
	switch {
	case !ok:
		return files.Clash(r, other)
	case r.path() != o.path():
		return nil
	case r.state() != o.state():
		return fmt.Errorf("one wants it %s, the other one %s", r.state(), o.state())
	case r.state() != Absent && !r.line().Equal(o.line()) && r.Recv() == nil && o.Recv() == nil:
		return errors.New("they want different things mounted, or with different options")
	}
	return nil
}
