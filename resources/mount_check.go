package resources

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/mounttab"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
)

// mountLook is what was found: what is mounted, and what the table says.
type mountLook struct {
	real   string // the path as the kernel has it
	now    *mounttab.Mount
	line   mounttab.Line // of the table
	listed bool
	lines  int // how many lines of the table are about it

	same bool     // what is mounted is what is wanted, but for options
	fix  []string // the options that the mount has otherwise
}

// look looks at both.
func (r *MountRes) look() (mountLook, error) {
	var l mountLook
	var err error
	if l.real, err = mountReal(r.path()); err != nil {
		return l, err
	}
	all, err := mounttab.ReadMounts()
	if err != nil {
		return l, err
	}
	if l.now = mounttab.At(all, l.real); l.now != nil {
		l.same = sameMounted(r.line(), *l.now)
		l.fix = mounttab.Differ(r.Options, *l.now)
	}
	if !r.Persist {
		return l, nil
	}
	t, err := textAt(r.table(), 0o644)
	if err != nil {
		return l, err
	}
	text, _, err := t.read()
	if err != nil {
		return l, err
	}
	table := mounttab.Parse(text)
	l.line, l.listed = table.Find(r.path())
	l.lines = table.Count(r.path())
	return l, nil
}

// CheckApply makes what is mounted and what is in the table as they are wanted.
func (r *MountRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	l, err := r.look()
	if err != nil {
		return false, err
	}
	todo := r.todo(l)
	if todo == (mountTodo{}) {
		return true, nil
	}
	if todo.mount {
		if _, err := os.Stat(l.real); isMissing(err) {
			err = fmt.Errorf("the mount point %s does not exist: a folder of that path has to come first", r.path())
			return false, err
		}
	}
	r.report(l, todo)
	if !apply {
		return false, nil
	}
	return false, r.make(ctx, l, todo)
}

// mountTodo is what has to be done, in this order.
type mountTodo struct {
	unmount bool // what is not wanted
	remount bool // with other options
	table   bool
	mount   bool
}

func (r *MountRes) todo(l mountLook) mountTodo {
	wanted, line := r.state() == MountExists, r.line()
	right := l.now != nil && l.same
	return mountTodo{
		unmount: l.now != nil && (!wanted || !l.same),
		// Of some options the kernel shows nothing: the table remembers what it was given.
		remount: wanted && right && (len(l.fix) > 0 || l.listed && !slices.Equal(l.line.Options, line.Options)),
		table:   r.Persist && (r.listed() != l.listed || l.lines > 1 || l.listed && !l.line.Equal(line)),
		mount:   wanted && !right,
	}
}

// report reports what is to be changed.
func (r *MountRes) report(l mountLook, todo mountTodo) {
	switch {
	case todo.mount && todo.unmount:
		r.report1("device", l.now.Source, r.Device)
		if l.now.Source == r.Device {
			r.init.Change(engine.Change{Field: "type", From: l.now.Type, To: r.line().Type})
		}
	case todo.mount:
		r.init.Change(engine.Change{Field: "state", From: MountUnmounted, To: MountExists, Verb: engine.Created})
	case todo.unmount:
		r.init.Change(engine.Change{Field: "state", From: MountExists, To: r.state(), Verb: engine.Deleted})
	}
	if todo.remount {
		has := strings.Join(l.line.Options, ",")
		if len(l.fix) > 0 {
			has = strings.Join(mountShown(*l.now), ",")
		}
		r.report1("options", has, strings.Join(r.Options, ","))
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
		r.init.Change(c)
	}
}

// report1 reports a difference, also of what is written in the same way.
func (r *MountRes) report1(field, from, to string) {
	if from != to {
		r.init.Change(engine.Change{Field: field, From: from, To: to})
	}
}

// make does what has to be done. Whatever comes between leaves something that the next
// look finds.
func (r *MountRes) make(ctx context.Context, l mountLook, todo mountTodo) error {
	if todo.unmount {
		if err := r.unmount(ctx); err != nil {
			return err
		}
	}
	if todo.remount {
		if err := r.remount(ctx, l); err != nil {
			return err
		}
	}
	if todo.table {
		if err := r.write(ctx); err != nil {
			return err
		}
	}
	if todo.mount {
		if err := r.mount(ctx); err != nil {
			return err
		}
	}
	return r.verify()
}

// verify looks whether it is right now: what some file systems refuse, no command
// tells.
func (r *MountRes) verify() error {
	l, err := r.look()
	switch {
	case err != nil || r.todo(l) == mountTodo{}:
		return err
	case l.now == nil:
		return fmt.Errorf("nothing is mounted at %s, though that was done without an error", r.path())
	case !l.same:
		return fmt.Errorf("mounted at %s is %s (%s), and not %s", r.path(), l.now.Source, l.now.Type, r.Device)
	}
	return fmt.Errorf("%s does not take the options %s", r.path(), strings.Join(l.fix, ","))
}

// mountLayers is how many mounts on top of each other are unmounted at most.
const mountLayers = 32

// unmount unmounts what is there, but for the wanted below it.
func (r *MountRes) unmount(ctx context.Context) error {
	for range mountLayers {
		l, err := r.look()
		if err != nil || l.now == nil || l.same && r.state() == MountExists {
			return err
		}
		argv := []string{"umount", "--", l.real}
		if r.Lazy {
			argv = []string{"umount", "-l", "--", l.real}
		}
		if err := r.run(ctx, argv...); err != nil {
			if strings.Contains(err.Error(), "busy") {
				err = fmt.Errorf("%w (lazy: true takes it away nevertheless)", err)
			}
			return err
		}
	}
	return fmt.Errorf("%s is still a mount point after %d mounts were taken off it", r.path(), mountLayers)
}

// remount alters the options. Flags that are not named are cleared by that, but for
// those of times, so what differs is named too.
func (r *MountRes) remount(ctx context.Context, l mountLook) error {
	options := []string{"remount"}
	if mounttab.Binds(r.Options) {
		options = append(options, "bind")
	}
	for _, o := range slices.Concat(mounttab.ForKernel(r.Options), l.fix) {
		if !slices.Contains(options, o) {
			options = append(options, o)
		}
	}
	return r.run(ctx, "mount", "-o", strings.Join(options, ","), "--", l.now.Source, l.real)
}

// write edits the table, and tells systemd, which makes units of it.
func (r *MountRes) write(ctx context.Context) error {
	defer filesOf(r.init).lock(r.table())()
	t, err := textAt(r.table(), 0o644)
	if err != nil {
		return err
	}
	err = t.edit(func(old string) (string, error) {
		table := mounttab.Parse(old)
		if r.listed() {
			table.Set(r.line())
		} else {
			table.Remove(r.path())
		}
		return table.String(), nil
	})
	if err != nil {
		return err
	}
	filesOf(r.init).wroteAt(r.table(), r.init)
	if !r.byUnit() {
		return nil
	}
	m, err := systemd1.Open(ctx, r.init.Host, false)
	if err != nil {
		return err
	}
	return m.Reload(ctx)
}

// byUnit reports whether systemd has a unit of it, made of the line in the table.
func (r *MountRes) byUnit() bool { return r.Persist && r.table() == fstab && systemd1.Running() }

// mount mounts it. Where there is a unit of it systemd does that, after all that the
// unit needs: a check of the file system, a network.
func (r *MountRes) mount(ctx context.Context) error {
	if r.byUnit() {
		return r.start(ctx)
	}
	l := r.line()
	argv := []string{"mount"}
	if l.Type != "auto" && l.Type != "none" {
		argv = append(argv, "-t", l.Type)
	}
	if len(l.Options) > 0 {
		argv = append(argv, "-o", strings.Join(l.Options, ","))
	}
	return r.run(ctx, append(argv, "--", l.Device, l.Point)...)
}

// start has systemd mount it; what it says of a failure is only in its log.
func (r *MountRes) start(ctx context.Context) error {
	m, err := systemd1.Open(ctx, r.init.Host, false)
	if err != nil {
		return err
	}
	unit := systemd1.UnitOf(r.path(), ".mount")
	if err := m.Start(ctx, unit); err != nil {
		return systemd1.Explain(ctx, r.init.Host, unit, err)
	}
	return nil
}

// run runs a command, whose last words are the error.
func (r *MountRes) run(ctx context.Context, argv ...string) error {
	res, err := r.init.Host.Command(ctx, engine.Command{Argv: argv})
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fmt.Errorf("%s: %s", argv[0], strings.TrimPrefix(lastWords(res), argv[0]+": "))
	}
	return nil
}

// lastWords is what a command said when it failed, in one line.
func lastWords(res *engine.Result) string {
	said := strings.Join(strings.Fields(string(res.Output)), " ")
	if len(said) > 500 {
		said = "..." + said[len(said)-500:]
	}
	switch {
	case said != "":
		return said
	case res.Signal != "":
		return "ended by " + res.Signal
	}
	return fmt.Sprintf("exit code %d", res.ExitCode)
}

// mountShown are the options of a mount as a person would write them: those that
// everything has are left out.
func mountShown(m mounttab.Mount) (list []string) {
	for _, o := range slices.Concat(m.Options, m.Super) {
		if o != "rw" && o != "relatime" && !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	return list
}

// sameMounted reports whether a mount is what a line says, but for options.
func sameMounted(l mounttab.Line, m mounttab.Mount) bool {
	if mounttab.Binds(l.Options) {
		a, err := os.Stat(l.Device)
		b, berr := os.Stat(m.Point)
		return err == nil && berr == nil && os.SameFile(a, b)
	}
	return sameType(l.Type, m.Type) && sameDevice(l.Device, m)
}

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

// mountTags are the words for a device by something that is written on it, and the
// folders in which udev has links for them.
var mountTags = map[string]string{
	"UUID": "by-uuid", "LABEL": "by-label", "PARTUUID": "by-partuuid", "PARTLABEL": "by-partlabel", "ID": "by-id",
}

func sameDevice(device string, m mounttab.Mount) bool {
	if device == m.Source || strings.TrimRight(device, "/") == strings.TrimRight(m.Source, "/") && device != "/" {
		return true
	}
	if tag, value, ok := strings.Cut(device, "="); ok && mountTags[tag] != "" {
		device = filepath.Join("/dev/disk", mountTags[tag], strings.Trim(value, `"`))
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
