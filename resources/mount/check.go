package mount

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/internal/confined"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/mounttab"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
)

// found is a look at a path: its mount, and its line in the table. It is a snapshot,
// which no later step alters. Each step of make is followed by another look.
type found struct {
	real   string // the path as the kernel has it
	now    *mounttab.Mount
	line   mounttab.Line // of the table
	listed bool
	lines  int  // how many lines of the table are about it
	closed bool // the table is not for all users

	below []string // the points of what is mounted below
	all   []mounttab.Mount

	same bool     // what is mounted is what is wanted, but for options
	fix  []string // the options that the mount has otherwise
}

// look reads the mounts of the kernel, and the table if persist asks for it. It
// alters nothing, so it runs under noop too. A missing mount point is not an error
// here: then now is nil. m is read as one snapshot, and remembers the state for
// Changed.
func (r *Res) look(m *mounttab.Reader) (found, error) {
	var l found
	var err error
	if l.real, err = realPath(r.path()); err != nil {
		return l, err
	}
	all, err := m.Read()
	if err != nil {
		return l, err
	}
	if l.now = mounttab.At(all, l.real); l.now != nil && r.waitsForUse(l.now) {
		l.now = nil
	}
	if l.now != nil {
		l.all, l.below = all, mounttab.Below(all, l.real)
		l.same = sameMounted(r.line(), *l.now)
		l.fix = mounttab.Differ(r.Options, *l.now)
	}
	if !r.Persist {
		return l, nil
	}
	t, err := textfile.By(r.paths(), r.table(), 0o644)
	if err != nil {
		return l, err
	}
	text, st, err := t.Read()
	if err != nil {
		return l, err
	}
	l.closed = confined.ShutsFile(st)
	table := mounttab.Parse(text)
	l.line, l.listed = table.Find(r.path())
	l.lines = table.Count(r.path())
	return l, nil
}

// waitsForUse reports whether systemd has only put an automount at the path, which mounts the
// wanted file system on its first use.
func (r *Res) waitsForUse(m *mounttab.Mount) bool {
	return m.Type == "autofs" && r.state() == Exists && r.Type != "autofs"
}

// CheckApply makes the mount and its line in the table as they are wanted. Without
// apply it only looks and reports. With apply it returns once the state is right, or
// with the error of the step that failed. It can take as long as a check of the file
// system takes, and ends early with ctx. The mount point has to exist: making
// folders is left to the kind file.
func (r *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	m, err := mounttab.Open()
	if err != nil {
		return false, err
	}
	defer m.Close()
	l, err := r.look(m)
	if err != nil {
		return false, err
	}
	todo := r.todo(l)
	if todo == (plan{}) {
		return true, nil
	}
	if todo.mount && l.now == nil {
		if _, err := r.paths().Stat(l.real); files.IsMissing(err) {
			return false, fmt.Errorf("the mount point %s does not exist: a folder of that path has to come first", r.path())
		}
	}
	if err := r.steady(l, todo); err != nil {
		return false, err
	}
	r.report(l, todo)
	if !apply {
		return false, nil
	}
	return false, r.make(ctx, m, l, todo)
}

// steady returns an error where another user could have the commands, which go by
// the path, mount or unmount elsewhere, or mount something else. It is asked under
// noop too, so that a dry run fails where the real one would. A plan that only edits
// the table passes, since the table is opened by a descriptor and not by a path.
func (r *Res) steady(l found, todo plan) error {
	if !todo.mount && !todo.unmount && !todo.remount {
		return nil
	}
	w := safepath.System() // the commands see no layer
	real, err := w.SteadyName(r.path())
	if files.IsMissing(err) {
		real, err = w.Steady(r.path()) // of a folder that a plan makes
	}
	switch {
	case err != nil:
		return fmt.Errorf("the mount point: %w", err)
	case real != l.real:
		return fmt.Errorf("the mount point %s led to %s a moment ago, and now to %s", r.path(), l.real, real)
	}
	if todo.mount && filepath.IsAbs(r.Device) {
		if _, err := w.Steady(r.Device); err != nil {
			return fmt.Errorf("device: %w", err)
		}
	}
	return nil
}

// plan is what has to be done, in this order. The zero value means that all is as
// wanted. Two steps can be due at once, as an unmount and a mount where another file
// system is in the place.
type plan struct {
	unmount bool // what is not wanted
	remount bool // with other options
	table   bool
	mount   bool
}

// todo compares a look with the parameters. It is pure: the same look gives the same
// plan, so that make can ask it again after each step.
//
// - With state listed nothing is unmounted, and nothing is mounted.
// - A mount of another device or type is unmounted first, and mounted anew.
// - A line that stands twice in the table is written again, once.
func (r *Res) todo(l found) plan {
	wanted, line := r.state() == Exists, r.line()
	right := l.now != nil && l.same
	all := plan{
		unmount: l.now != nil && r.state() != Listed && (!wanted || !l.same),
		// The kernel does not show some options: the table remembers the options of the mount.
		remount: wanted && right && (len(l.fix) > 0 || l.listed && !mounttab.SameOptions(l.line.Options, line.Options)),
		table:   r.Persist && (r.listed() != l.listed || l.lines > 1 || l.listed && !l.line.Equal(line)),
		mount:   wanted && !right,
	}
	if r.onlyTable {
		return plan{table: all.table}
	}
	return all
}

// report reports what is to be changed. It follows the plan, so that each step has a
// change that explains it. It is called before the steps, under noop too. make calls
// it again for steps that only a later look has shown.
func (r *Res) report(l found, todo plan) {
	switch {
	case todo.mount && todo.unmount:
		r.report1("device", l.now.Source, r.Device)
		if l.now.Source == r.Device {
			r.init.Change(engine.Change{Field: "type", From: l.now.Type, To: r.line().Type})
		}
	case todo.mount:
		r.init.Change(engine.Change{Field: "state", From: Unmounted, To: Exists, Verb: engine.Created})
		r.init.Change(engine.Change{Field: "device", To: r.Device})
		r.init.Change(engine.Change{Field: "type", To: r.line().Type})
	case todo.unmount:
		r.init.Change(engine.Change{Field: "state", From: Exists, To: r.state(), Verb: engine.Deleted})
	}
	if todo.remount {
		has := strings.Join(l.line.Options, ",")
		if len(l.fix) > 0 {
			has = strings.Join(shownOptions(*l.now), ",")
		}
		if to := strings.Join(r.Options, ","); has != to {
			r.init.Change(l.shown(engine.Change{Field: "options", From: has, To: to}))
		}
	}
	if todo.table {
		c := engine.Change{Field: "persist"}
		if l.listed {
			c.From = l.line.String()
		}
		if r.listed() {
			c.To = r.line().String()
		}
		if c.From == c.To {
			c.From = fmt.Sprintf("%d lines", l.lines)
		}
		r.init.Change(l.shown(c))
	}
}

// shown returns a change as others may see it: options can be credentials. The table
// of a machine can be closed to other users for this reason, while reports are read
// by more people than the table.
func (l *found) shown(c engine.Change) engine.Change {
	if l.closed {
		return confined.Change(c)
	}
	return c
}

// report1 reports a difference of one field, and nothing if both values are written
// alike. That happens when a device has two names, or is mounted from another
// server.
func (r *Res) report1(field, from, to string) {
	if from != to {
		r.init.Change(engine.Change{Field: field, From: from, To: to})
	}
}

// shownOptions are the options of a mount as a person would write them: common
// options are left out. The result stands in reports and in what Read returns. The
// kernel tells options of the mount point (Options) apart from those of the file
// system (Super). A person writes both in one list.
func shownOptions(m mounttab.Mount) (list []string) {
	for _, o := range slices.Concat(m.Options, m.Super) {
		if o != "rw" && o != "relatime" && !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	if !slices.Contains(m.Options, "relatime") && !slices.Contains(m.Options, "noatime") {
		list = append(list, "strictatime") // of which the kernel shows nothing
	}
	return list
}

// sameMounted reports whether a mount is as a line of the table wants it, but for
// options. A bind mount is the same if both paths lead to one inode, since the
// kernel does not tell the folder that was bound. Otherwise type and device are
// compared.
func sameMounted(l mounttab.Line, m mounttab.Mount) bool {
	if mounttab.Binds(l.Options) {
		a, err := os.Stat(l.Device)
		b, berr := os.Stat(m.Point)
		return err == nil && berr == nil && os.SameFile(a, b)
	}
	return sameType(l.Type, m.Type) && sameDevice(l.Device, m)
}

// sameType compares a type of the table with one of the kernel. The table may leave
// the type open (auto, none) or name several. The kernel reports drivers in user
// space as fuse.NAME, and nfs of version 4 as nfs4. Of fuseblk it does not tell the
// driver, so that passes for any.
func sameType(want, has string) bool {
	if want == "auto" || want == "none" || has == "fuseblk" {
		return true
	}
	for w := range strings.SplitSeq(want, ",") {
		if w == has || "fuse."+w == has || w == "nfs" && has == "nfs4" {
			return true
		}
	}
	return false
}

// tags are the words for a device by something that is written on it, and the
// folders in which udev has links for them.
var tags = map[string]string{
	"UUID": "by-uuid", "LABEL": "by-label", "PARTUUID": "by-partuuid", "PARTLABEL": "by-partlabel", "ID": "by-id",
}

// sameDevice reports whether a device of the table is the source of a mount. A
// device has many names: a tag as UUID=, links of udev, a number in the kernel, the
// file behind a loop device. Names are resolved as late as possible, and a name that
// leads nowhere is not the same. It reads links below /dev and /sys, and never opens
// the device.
func sameDevice(device string, m mounttab.Mount) bool {
	if device == m.Source || strings.TrimRight(device, "/") == strings.TrimRight(m.Source, "/") && device != "/" {
		return true
	}
	if tag, value, ok := strings.Cut(device, "="); ok && tags[tag] != "" {
		device = filepath.Join("/dev/disk", tags[tag], strings.Trim(value, `"`))
	}
	if !filepath.IsAbs(device) {
		return false
	}
	device, err := filepath.EvalSymlinks(device)
	if err != nil {
		return false
	}
	if source, err := filepath.EvalSymlinks(m.Source); err == nil && source == device {
		return true
	}
	var st unix.Stat_t
	if unix.Stat(device, &st) != nil {
		return false
	}
	if st.Mode&unix.S_IFMT == unix.S_IFBLK {
		return fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)) == m.Device
	}
	backing, err := os.ReadFile(filepath.Join("/sys/dev/block", m.Device, "loop/backing_file"))
	return err == nil && strings.TrimSuffix(string(backing), "\n") == device
}
