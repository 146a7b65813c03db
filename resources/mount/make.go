package mount

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/mounttab"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
)

// rounds is how often it is looked again at most: from nothing there are three rounds.
// From round quickRounds on there is a pause before each, twice as long as the one
// before, up to pauseMax: systemd, when it is stopping a unit, goes on unmounting for a
// while. Options that were not taken are tried mostAsked times.
const (
	rounds      = 24
	quickRounds = 4
	mostAsked   = 3
	pause       = 5 * time.Millisecond
	pauseMax    = 320 * time.Millisecond
)

// make takes one step at a time, and looks again after each. So mounts, unmounts and
// writes of others are met by another round: only a failure without such a change is
// an error. l is the last look of m. It returns nil only after a look that finds all
// as wanted. It gives up after rounds, or as soon as a file system has ignored the
// same options mostAsked times. Changes that only a later round has found are
// reported then; told keeps them from being reported twice.
func (r *Res) make(ctx context.Context, m *mounttab.Reader, l found, todo plan) error {
	told := todo
	var failed error
	asked := 0
	for round := range rounds {
		if err := watches.Pause(ctx, engine.ClockOf(r.init.Host), pauseOf(round)); err != nil {
			return err
		}
		failed = r.step(ctx, m, l, todo)
		if failed != nil && (ctx.Err() != nil || !r.disturbed(m, l, failed)) {
			return failed
		}
		did := todo
		var err error
		if l, err = r.look(m); err != nil {
			return err
		}
		if todo = r.todo(l); todo == (plan{}) {
			return nil
		}
		if asked++; !did.remount || len(l.fix) == 0 {
			asked = 0
		} else if asked == mostAsked {
			return r.wrong(l)
		}
		r.report(l, plan{remount: todo.remount && !told.remount, table: todo.table && !told.table})
		told.remount, told.table = told.remount || todo.remount, told.table || todo.table
	}
	if failed == nil {
		failed = r.wrong(l)
	}
	return failed
}

// pauseOf is how long it is waited before a round.
func pauseOf(round int) time.Duration {
	if round < quickRounds {
		return 0
	}
	return min(pause<<(round-quickRounds), pauseMax)
}

// step does the first of what has to be done. The order is the one of plan's fields:
// the table is written before the mount, since systemd makes the unit from it. A
// remount writes the table in the same step: the kernel may not show the options,
// and then only the table remembers that they were given.
func (r *Res) step(ctx context.Context, m *mounttab.Reader, l found, todo plan) error {
	switch {
	case todo.unmount:
		return r.unmount(ctx, l)
	case todo.remount:
		if err := r.remount(ctx, l); err != nil || !todo.table {
			return err
		}
		return r.write(ctx) // it remembers what was given
	case todo.table:
		return r.write(ctx)
	}
	return r.mount(ctx, m)
}

// disturbed reports whether the mounts have changed meanwhile: then an old failure
// says nothing of the present state. was is the look that the failed step relied on.
// A unit that was stopped by others counts as such a change. Where it cannot be
// found out, the failure stands.
func (r *Res) disturbed(m *mounttab.Reader, was found, failed error) bool {
	if _, ok := errors.AsType[stoppedError](failed); ok {
		return true
	}
	changed, err := m.Changed()
	if err != nil || changed {
		return err == nil
	}
	l, err := r.look(m)
	return err == nil && (l.listed != was.listed || l.lines != was.lines || !l.line.Equal(was.line))
}

// wrong says what is not as it should be, though all was done without an error: what some
// file systems refuse, no command tells.
func (r *Res) wrong(l found) error {
	switch {
	case r.state() == Listed:
		return nil
	case l.now == nil && r.state() == Exists:
		return fmt.Errorf("nothing is mounted at %s, though that was done without an error", r.path())
	case l.now != nil && !l.same:
		return fmt.Errorf("mounted at %s is %s (%s), and not %s", r.path(), l.now.Source, l.now.Type, r.Device)
	case len(l.fix) > 0:
		return fmt.Errorf("%s does not take the options %s", r.path(), strings.Join(l.fix, ","))
	}
	return fmt.Errorf("%s or its line in %s is changed again and again by another program", r.path(), r.table())
}

// unmount takes away the topmost mount. A program that looks at it or mounts
// something else there uses it for a moment only. So a busy mount is an error only
// if it stays busy. It waits between the tries, up to 0.3 seconds in all, and less
// if ctx ends. Mounts below keep it busy for certain, so then there is no second
// try. The host sets PATH alone for it, so umount says busy in English everywhere.
func (r *Res) unmount(ctx context.Context, l found) error {
	argv := []string{"umount", "--", l.real}
	if r.Lazy {
		argv = []string{"umount", "-l", "--", l.real}
	}
	for tries := 0; ; tries++ {
		err := r.run(ctx, argv...)
		if err == nil || !strings.Contains(err.Error(), "busy") {
			return err
		}
		if len(l.below) > 0 || tries == busyTries {
			return r.busy(l, err)
		}
		if err := watches.Pause(ctx, engine.ClockOf(r.init.Host), pause<<tries); err != nil {
			return err
		}
	}
}

// remount alters the options. Flags that are not named are cleared by that, but for
// those of times, so the differing ones are named too. A remount of a bind mount
// alters the flags of that mount point alone, and not those of the file system; the
// word bind says so.
func (r *Res) remount(ctx context.Context, l found) error {
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

// write edits the table, and tells systemd, which makes units of it. The lock keeps
// other resources of this program from editing the table at the same time. Edit
// replaces the whole file by a rename, so a crash leaves the old table or the new
// one. Its own change is announced, so that no watch takes it for a foreign one.
// Reload blocks until systemd has made its units.
func (r *Res) write(ctx context.Context) error {
	defer files.Of(r.init).Lock(r.table())()
	t, err := textfile.By(r.paths(), r.table(), 0o644)
	if err != nil {
		return err
	}
	err = t.Edit(func(old string) (string, error) {
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
	files.Of(r.init).WroteAt(r.table(), r.init)
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
// Another table than /etc/fstab has no units, as systemd reads that one only.
func (r *Res) byUnit() bool {
	return r.Persist && !r.onlyTable && r.table() == fstab && systemd1.Running()
}

// mount mounts it. Where there is a unit of it systemd does that, after all that the unit needs: a
// check of the file system, a network. If much is mounted and unmounted, systemd takes note of it a
// second late, and believes in mounts that are gone: then it is left to the command.
func (r *Res) mount(ctx context.Context, m *mounttab.Reader) error {
	if r.byUnit() {
		if err := r.start(ctx); err != nil {
			return err
		}
		if l, err := r.look(m); err != nil || l.now != nil {
			return err
		}
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

// start has systemd mount it. A table that another one has written is read first. It
// blocks until the job has ended. An error of systemd is passed on, unless the unit
// was only stopped by others: then it is a stoppedError, and make looks again.
func (r *Res) start(ctx context.Context) error {
	m, err := systemd1.Open(ctx, r.init.Host, false)
	if err != nil {
		return err
	}
	unit := systemd1.UnitOf(r.path(), ".mount")
	err = m.Start(ctx, unit)
	if errors.Is(err, systemd1.ErrMissing) {
		if err := m.Reload(ctx); err != nil {
			return err
		}
		err = m.Start(ctx, unit)
	}
	if err == nil {
		return nil
	}
	// A program that stops a unit that is being mounted has it end by a signal, which is a failure
	// a moment later.
	u, uerr := m.Unit(ctx, unit)
	if strings.Contains(err.Error(), "it is deactivating") || uerr == nil && !u.Missing() && u.Active != "failed" {
		return stoppedError{err}
	}
	return err
}

// stoppedError is about a unit that has not failed: others have stopped it
// meanwhile. It says nothing about the mount itself, so make counts it as a change
// by others.
type stoppedError struct{ error }

// run runs a command, whose last words are the error. The commands are those of
// util-linux: they know the helpers of each file system, such as mount.nfs, which a
// bare system call would not run.
func (r *Res) run(ctx context.Context, argv ...string) error {
	res, err := r.init.Host.Command(ctx, engine.Command{Argv: argv})
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fmt.Errorf("%s: %s", argv[0], strings.TrimPrefix(lastWords(res), argv[0]+": "))
	}
	return nil
}

// lastWords is what a command said when it failed, in one line. It has 500 bytes at
// most, the last ones: the reason stands at the end of what such programs print.
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
