package cron

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
)

// found is a look at the timer. Two looks are compared with ==, so it has no
// pointers and no slices. Times are not in it, since each start of the unit alters
// them.
type found struct {
	there   bool   // the file, or a link instead of it
	text    string // the text of the file
	link    string // where the link leads; empty for a file
	startup string // the manager's word for the start at boot: enabled, enabled-runtime ...
	active  string // active, inactive, failed ...
	running bool   // the timer is loaded and waits, or its unit runs
	stale   bool   // the manager has read other files than are there
	unit    string // what the timer starts
	load    string // whether the manager knows that: loaded, not-found, masked ...
	dropIns string // the timer's own settings in drop-ins, and the names of these
}

// devNull is where the link leads that masks a unit. systemd starts a masked unit
// never, not even as a dependency.
const devNull = "/dev/null"

// masked reports whether a person has forbidden the timer by systemctl mask.
func (l found) masked() bool { return l.link == devNull }

// enabled reports whether the timer is started at the next boot, or is so until then.
func (l found) enabled() bool { return l.startup == "enabled" || l.startup == "enabled-runtime" }

// gone reports whether there is nothing of the timer. A masked one counts as gone.
// The link that masks it is the will of a person, and stays.
func (l found) gone() bool { return (!l.there || l.masked()) && !l.running && !l.enabled() }

// textFile is the file of the timer. A link in its place is not followed: its target
// may belong to another program.
func (r *Res) textFile() (textfile.File, error) {
	dir, err := r.dir()
	return textfile.In(atomicfile.AtBy(safepath.Of(r.init.Host), dir), r.timer(), 0o644), err
}

// readFile looks at the file. A missing file is not an error: then there stays
// false. A link is not read, as its target is not ours.
func (l *found) readFile(file textfile.File) error {
	st, err := file.Dir.Lstat(file.Name)
	switch {
	case files.IsMissing(err):
		return nil
	case err != nil:
		return err
	case st.IsLink():
		l.there = true
		l.link, err = file.Dir.Readlink(file.Name)
		return err
	}
	text, was, err := file.Read()
	l.there, l.text = was != nil, text
	return err
}

// look looks at the file and asks the manager, if there is one. It does not read the
// parameters, for it is called by Watch too: unit is what the timer starts. It
// alters nothing, and runs under noop too. m is nil where systemd does not run. Each
// question is a call over the bus that ends with ctx.
func (r *Res) look(ctx context.Context, m *systemd1.Manager, unit string) (l found, err error) {
	file, err := r.textFile()
	if err == nil {
		err = l.readFile(file)
	}
	if err != nil || m == nil {
		return l, err
	}
	if l.startup, err = m.FileState(ctx, r.timer()); err != nil {
		return l, err
	}
	timer, err := m.Unit(ctx, r.timer())
	if err != nil {
		return l, err
	}
	l.active, l.running, l.stale = timer.Active, timer.Running(), m.Stale(ctx, timer)
	if l.dropIns, err = r.dropIns(ctx, m, timer); err != nil {
		return l, err
	}
	started, err := m.Unit(ctx, unit)
	l.unit, l.load = unit, started.Load
	return l, err
}

// dropIns returns the settings of the timer's drop-ins that a parameter has too.
// Drop-ins for more than one timer are the ways of the machine, and not looked at.
// They are joined to one text, so that two looks can be compared. Unlike settings of
// the file itself they are not repaired: a person made them with systemctl edit.
func (r *Res) dropIns(ctx context.Context, m *systemd1.Manager, timer systemd1.Unit) (string, error) {
	paths, err := m.DropIns(ctx, timer)
	if err != nil {
		return "", err
	}
	var all []string
	for _, path := range paths {
		if filepath.Base(filepath.Dir(path)) != r.timer()+".d" {
			continue
		}
		file, err := textfile.By(safepath.Of(r.init.Host), path, 0)
		if err != nil {
			return "", err
		}
		text, _, err := file.Read()
		if err != nil {
			return "", err
		}
		for _, s := range settingsOf(text) {
			if s.isParameter() {
				all = append(all, fmt.Sprintf("%s=%s in %s", s.key, s.value, path))
			}
		}
	}
	return strings.Join(all, ", "), nil
}

// keys are the settings in the section Timer that parameters say; the triggers are apart.
var keys = []string{"Unit", "AccuracySec", "RandomizedDelaySec", "Persistent", "WakeSystem", "RemainAfterElapse"}

// isParameter reports whether a parameter says this.
func (s setting) isParameter() bool {
	if s.section == "Unit" {
		return s.key == "Description"
	}
	return s.section == "Timer" && (slices.Contains(triggers, s.key) || slices.Contains(keys, s.key))
}

// obstacle returns an error about a thing that only a person can remove; nil for none. A repair would be
// undone at once by systemd, which reads drop-ins after the file. Absent timers have
// no obstacle.
func (r *Res) obstacle(l found) error {
	systemctl := "systemctl"
	if r.Session {
		systemctl = "systemctl --user"
	}
	switch {
	case r.absent():
	case l.masked():
		return fmt.Errorf("%s is masked: there is a link to %s instead of its file; %s unmask %[1]s ends that", r.timer(), devNull, systemctl)
	case l.dropIns != "":
		return fmt.Errorf("%s has drop-ins that say what is this resource's to say: %s; %s revert %[1]s removes what %[3]s edit has made", r.timer(), l.dropIns, systemctl)
	}
	return nil
}

// seen is the state that CheckApply has seen last. While CheckApply runs, Watch
// waits, and compares then. So its own changes make no event, not even if it fails,
// and a timer that cannot be started is not started again and again. any is false
// before the first look and after a failed one: then each wake-up is an event.
type seen struct {
	watches.Turns
	any  bool // last is what there was
	last found
}

// newSeen returns the state of a new instance, for which each wake-up is an event.
func newSeen() *seen { return &seen{Turns: watches.NewTurns()} }

// Watch waits for changes of the file, of its drop-ins, of the link that enables it,
// and of the manager's view, and tells of each change that CheckApply has not seen.
// It returns nil at the end of ctx. The paths are watched even if they are missing.
// Where systemd does not run, a timer that is to be absent has only its files
// watched.
func (r *Res) Watch(ctx context.Context) error {
	dir, err := r.dir()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, r.timer())
	paths, entries := []string{file, file + ".d", filepath.Join(dir, "timers.target.wants", r.timer())}, events.Options{Contents: true}
	m, err := systemd1.Open(ctx, r.init.Host, r.Session)
	if err != nil {
		if r.absent() && !systemd1.Running() {
			return watches.Paths(ctx, r.init, paths, entries)
		}
		return err
	}
	files, err := r.init.Host.Watch(ctx, paths, entries)
	if err != nil {
		return err
	}
	defer files.Close()
	return m.Follow(ctx, r.timer(), files, r.init.Running, func() {
		if r.differs(ctx, m) {
			r.init.Event()
		}
	})
}

// differs reports whether something is not as CheckApply has seen it, or cannot be
// looked at. CheckApply holds the same lock, so a wake-up by its steps waits for their end.
func (r *Res) differs(ctx context.Context, m *systemd1.Manager) bool {
	if r.seen.Lock(ctx) != nil {
		return false
	}
	defer r.seen.Unlock()
	if !r.seen.any {
		return true
	}
	now, err := r.look(ctx, m, r.seen.last.unit)
	return err != nil || now != r.seen.last
}

// settled notes the state after changes were made, and returns its faults though no
// call has failed. Another program may have altered something meanwhile: that is an
// event. But a state without an effect of the changes would stay so the next time
// too. was is the look before the changes, err their failure. A timer that ran
// before and does not run now was stopped by something else: seen is forgotten, so
// that Watch gives an event.
func (r *Res) settled(ctx context.Context, m *systemd1.Manager, was found, err error) error {
	now, lerr := r.look(ctx, m, r.starts())
	if lerr != nil {
		r.seen.any = false
		return errors.Join(err, lerr)
	}
	_, todo := r.compare(now)
	left := err == nil && todo != plan{}
	lost := was.running && !now.running && !r.absent()
	r.seen.any, r.seen.last = !lost && (!left || now == was), now
	switch {
	case err != nil:
		return err
	case r.obstacle(now) != nil:
		return r.obstacle(now)
	case left && now == was:
		return fmt.Errorf("systemd has done all that it was asked for, and %s is as it was", r.timer())
	}
	return nil
}
