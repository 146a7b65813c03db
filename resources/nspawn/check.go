package nspawn

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/private"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
	"github.com/reactivegraph/mgmt/resources/svc"
	"github.com/reactivegraph/mgmt/resources/svc/backends"
)

// whereFrom says where systemd-nspawn is to be had.
const whereFrom = "install the package systemd-container (where systemd is one package, that)"

// imageFolders are the folders in which the unit looks for an image.
var imageFolders = []string{"/etc/machines/", "/run/machines/", "/var/lib/machines/", "/usr/local/lib/machines/", "/usr/lib/machines/"}

// imageSuffixes are what an image may be called, besides its name.
var imageSuffixes = []string{"", ".raw", ".v", ".raw.v"}

// found is what was found.
type found struct {
	unit     *svc.Res   // nil if there is no such unit, since systemd-nspawn is not installed
	machine  *container // that runs, by whatever start; nil for none
	image    string     // its path; empty if there is none
	settings string     // the text of the file; empty for none
}

// running reports whether the unit runs.
func (l found) running() bool { return l.unit != nil && l.unit.State == svc.Running }

// state says whether it runs, by whatever start.
func (l found) state() string {
	if l.running() || l.machine != nil {
		return svc.Running
	}
	return svc.Stopped
}

// startup says what happens at boot.
func (l found) startup() string {
	if l.unit == nil {
		return svc.Disabled
	}
	return l.unit.Startup
}

// nothing reports whether nothing is left of it.
func (l found) nothing() bool {
	return l.state() == svc.Stopped && l.image == "" && l.settings == "" && l.startup() == svc.Disabled
}

// look looks at all of it.
func (r *Res) look(ctx context.Context) (l found, err error) {
	if l.unit, err = r.lookUnit(ctx); err != nil {
		return l, err
	}
	if l.unit != nil { // a machined that has outlived its package answers nothing
		if l.machine, err = r.machine(ctx); err != nil {
			return l, err
		}
	}
	if l.image, err = r.image(); err != nil {
		return l, err
	}
	l.settings, err = textfile.Text(r.settingsPath())
	return l, err
}

// lookUnit has the service look at itself.
func (r *Res) lookUnit(ctx context.Context) (*svc.Res, error) {
	s := r.service()
	if err := s.Init(r.init.Child(s)); err != nil {
		return nil, err
	}
	got, err := s.Read(ctx)
	unit, _ := got.(*svc.Res)
	return unit, errors.Join(err, s.Cleanup())
}

func (r *Res) machine(ctx context.Context) (*container, error) {
	m, err := openMachined(ctx, r.init.Host)
	if err != nil {
		return nil, err
	}
	return m.machine(ctx, r.Name())
}

// image returns the path of the image.
func (r *Res) image() (string, error) {
	for _, dir := range imageFolders {
		for _, suffix := range imageSuffixes {
			path := r.at(dir + r.Name() + suffix)
			if _, err := os.Stat(path); err == nil || !files.IsMissing(err) {
				return path, err
			}
		}
	}
	return "", nil
}

// CheckApply makes the settings, the unit and its start at boot as they are wanted.
func (r *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := r.seen.Lock(ctx); err != nil {
		return false, err
	}
	defer r.seen.Unlock()
	r.seen.any = false
	if err := r.follow(); err != nil {
		return false, err
	}
	l, err := r.look(ctx)
	if err != nil {
		return false, err
	}
	if err := r.possible(l); err != nil {
		r.seen.known(l.machine) // only if something else happens it is tried again
		return false, err
	}
	ok, err := r.checkApply(ctx, l, apply)
	now := l.machine
	if apply && !ok && l.unit != nil {
		var lerr error
		now, lerr = r.machine(ctx)
		err = errors.Join(err, lerr)
	}
	r.seen.known(now) // what was done here is no event
	if err != nil || !ok && !apply {
		return ok, err
	}
	return ok, r.send(now)
}

func (r *Res) send(m *container) error {
	sends := &Sends{}
	if m != nil {
		sends.Leader = m.leader
	}
	return r.init.Send(sends)
}

// possible refuses steps that are impossible, or need an explicit wish.
func (r *Res) possible(l found) error {
	starts := r.state() == svc.Running && !l.running()
	switch {
	case l.machine != nil && l.machine.unit != r.unit():
		return fmt.Errorf("a machine named %s runs that %s has not started: it belongs to %s. End it there, or by machinectl terminate", r.Name(), r.unit(), l.machine.unit)
	case l.unit == nil && (starts || r.Startup == svc.Enabled):
		return fmt.Errorf("there is no systemd-nspawn: %s", whereFrom)
	case starts && l.image == "" && !r.altered():
		return fmt.Errorf("there is no image of %s: a folder %s, or a file with .raw behind that, has to come first", r.Name(), r.imagePath())
	case r.absent() && l.image != "" && !r.Force:
		return fmt.Errorf("the image %s is there: with force: true it is removed with all that is in it; with state: stopped it stays", l.image)
	}
	return nil
}

// imagePath is where the image is expected, if it is a folder.
func (r *Res) imagePath() string { return r.at("/var/lib/machines/" + r.Name()) }

// altered reports whether another file for the unit exists, or an addition to it: that may name
// another image.
func (r *Res) altered() bool {
	for _, dir := range []string{"/etc/systemd/system/", "/run/systemd/system/"} {
		for _, name := range []string{template, r.unit()} {
			for _, suffix := range []string{"", ".d"} {
				if _, err := os.Lstat(r.at(dir + name + suffix)); err == nil {
					return true
				}
			}
		}
	}
	return false
}

// checkApply asks the children first, so that all differences are told before anything is altered. The unit is refreshed where its
// settings are newer than the running container.
func (r *Res) checkApply(ctx context.Context, l found, apply bool) (bool, error) {
	restart := r.outdated(l) || r.init.Refresh()
	h := r.kids.Handle(len(r.held) - 1)
	h.Refresh = func() bool { return restart || r.overtaken(ctx, l) }
	ok, err := r.kids.CheckApply(ctx, false)
	if err != nil {
		return false, err
	}
	remove := r.absent() && l.image != ""
	if remove {
		r.init.Change(engine.Change{Field: "state", From: "an image: " + l.image, To: Absent, Verb: engine.Deleted})
	}
	if ok && !remove || !apply {
		return ok && !remove, nil
	}
	return false, r.make(ctx, l, remove)
}

// rewrites reports whether the settings are written before it is started.
func (r *Res) rewrites(l found) bool {
	return r.hasSettings() && r.state() == svc.Running && l.settings != r.settings()
}

// overtaken reports whether, while the settings are altered, another client has started it, with
// either settings.
func (r *Res) overtaken(ctx context.Context, l found) bool {
	if !r.rewrites(l) {
		return false
	}
	m, err := r.machine(ctx)
	return err != nil || m != nil && m.run() != l.machine.run()
}

// halt stops a container on its way up or down: it may have read the settings already.
func (r *Res) halt(ctx context.Context) error {
	s := r.service()
	s.Keep(r.init.Child(s))
	m, err := s.Open(ctx, "svc", "")
	if err != nil {
		return err
	}
	defer m.Close()
	_, _, err = backends.Stop.Call(ctx, m, s.Args())
	return err
}

// make does what was reported.
func (r *Res) make(ctx context.Context, l found, remove bool) error {
	if err := r.note(l); err != nil {
		return err
	}
	if !l.running() && l.machine == nil {
		// A systemd-nspawn that was killed leaves this mounted, and its successor refuses to
		// start once. Where nothing is mounted there is nothing to do.
		_ = unix.Unmount(r.at("/run/systemd/nspawn/unix-export/"+r.Name()), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}
	if r.rewrites(l) && !l.running() {
		if err := r.halt(ctx); err != nil {
			return err
		}
	}
	if err := r.kids.Apply(ctx); err != nil {
		return err
	}
	if remove {
		m, err := openMachined(ctx, r.init.Host)
		if err == nil {
			err = m.removeImage(ctx, r.Name())
		}
		if err != nil {
			return fmt.Errorf("%s is not removed: %w", l.image, err)
		}
	}
	return r.noteNew(ctx, l)
}

// noteFile is the file in which it is noted with which settings a container was
// started.
const noteFile = "started"

// outdated reports whether a container runs with other settings than it should. With which
// ones it was started is known if it was done here; else they are taken for those of
// the file.
func (r *Res) outdated(l found) bool {
	if !r.hasSettings() || !l.running() || r.state() != svc.Running {
		return false
	}
	has := l.settings
	if noted, err := private.Read(r.init, noteFile); err == nil {
		if run, digest, ok := strings.Cut(string(noted), "\n"); ok && run != "" && run == l.machine.run() {
			return digest != digestOf(r.settings())
		}
	}
	return has != r.settings()
}

// note notes the settings with which a container runs, before they are altered: after a crash
// before its restart, the next run finds them.
func (r *Res) note(l found) error {
	if !r.rewrites(l) || !r.outdated(l) {
		return nil
	}
	return r.write(l.machine, digestOf(l.settings))
}

// noteNew notes the started container, with the present text of the file: it may have been altered
// before it was read.
func (r *Res) noteNew(ctx context.Context, l found) error {
	if !r.hasSettings() || r.state() != svc.Running {
		return nil
	}
	m, err := r.machine(ctx)
	if err != nil || m == nil || m.run() == l.machine.run() {
		return err
	}
	has, err := textfile.Text(r.settingsPath())
	if err != nil {
		return err
	}
	return r.write(m, digestOf(has))
}

func (r *Res) write(m *container, digest string) error {
	return private.Write(r.init, noteFile, []byte(m.run()+"\n"+digest), true)
}

func digestOf(settings string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(settings)))
}
