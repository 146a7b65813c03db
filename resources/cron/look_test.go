package cron

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// rig is a timer on a systemd of the test, whose files are in a folder of the test.
type rig struct {
	*systemdtest.Manager
	res  *Res
	fake *enginetest.Fake
	dir  string // of unit files
}

func newRig(t *testing.T, timer systemdtest.Unit) *rig {
	t.Helper()
	root := t.TempDir()
	bus := systemdtest.NewBus(t)
	r := &rig{Manager: systemdtest.NewManager(t, bus), dir: root + unitDir}
	kindtest.Must(t, os.MkdirAll(r.dir, 0o755))
	r.Add("job.timer", timer)
	r.res = resAt(root)
	r.res.SetName("job")
	r.fake = kindtest.Begin(t, "cron", r.res, enginetest.WithHost(kindtest.HostOn(t, bus)))
	return r
}

// settle brings the events of what has been done to an end: none of them may lead to another one.
func (r *rig) settle(t *testing.T) {
	t.Helper()
	for range 10 {
		select {
		case <-r.fake.Events():
			kindtest.Verbs(t, r.fake, r.res, true)
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
	t.Errorf("it does not come to rest: %s", strings.Join(r.Calls(), ", "))
}

// What CheckApply does itself is no event: a timer that cannot be started is tried once for
// each reason to try. That what it starts is there now is one.
func TestCronFailureIsNoEvent(t *testing.T) {
	r := newRig(t, systemdtest.Unit{Refuses: "resources"})
	kindtest.Watching(t, r.fake, r.res)
	kindtest.NothingComesOf(t, r.fake, func() {
		if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, "start job.timer: systemd lacks what the start takes: it is failed") {
			t.Fatal(got)
		}
	})
	kindtest.NothingComesOf(t, r.fake, func() {
		r.Twitch("job.timer")
		r.Add("other.service", systemdtest.Unit{}) // a reload, which everybody is told of
	})
	r.Add("job.service", systemdtest.Unit{})
	r.fake.WaitEvent(t)
	r.Set("job.timer", func(u *systemdtest.Unit) { u.Refuses = "" })
	if got := kindtest.Verbs(t, r.fake, r.res, true); got != `state: "failed" -> "exists"` {
		t.Error(got)
	}
	r.settle(t)
	kindtest.Want(t, r.fake, r.res, "")
}

// What others do is an event, also while CheckApply is at work.
func TestCronEvents(t *testing.T) {
	r := newRig(t, systemdtest.Unit{})
	kindtest.Watching(t, r.fake, r.res)
	kindtest.Verbs(t, r.fake, r.res, true)
	r.settle(t)
	for name, alter := range map[string]func(){
		"stopped":  func() { r.Set("job.timer", func(u *systemdtest.Unit) { u.Active = "inactive" }) },
		"disabled": func() { r.Set("job.timer", func(u *systemdtest.Unit) { u.File = "disabled" }) },
		"edited":   func() { kindtest.Put(t, r.dir+"job.timer", "[Timer]\n") },
		"a drop-in that is not read": func() {
			r.Set("job.timer", func(u *systemdtest.Unit) { u.Stale = true })
		},
	} {
		alter()
		r.fake.WaitEvent(t)
		if got := kindtest.Verbs(t, r.fake, r.res, true); got == "" || strings.HasPrefix(got, "error") {
			t.Errorf("%s: %s", name, got)
		}
		r.settle(t)
		kindtest.Want(t, r.fake, r.res, "")
	}
	hold := make(chan struct{})
	r.Set("job.timer", func(u *systemdtest.Unit) { u.Hold = hold })
	r.OnCall(func(method, _ string) {
		if method == "RestartUnit" {
			go func() {
				r.Set("job.timer", func(u *systemdtest.Unit) { u.File = "disabled" })
				close(hold)
			}()
		}
	})
	r.fake.SetRefresh(true)
	kindtest.Verbs(t, r.fake, r.res, true)
	r.fake.SetRefresh(false)
	r.OnCall(nil)
	r.fake.WaitEvent(t)
	if got := kindtest.Verbs(t, r.fake, r.res, true); got != `startup: "disabled" -> "enabled"` {
		t.Error(got)
	}
}

// oddSystemd is one that answers some calls otherwise.
type oddSystemd struct {
	*kindtest.FakeSystemd
	answer func(method string) ([]any, error) // nothing for the usual answer
}

func (s oddSystemd) Call(ctx context.Context, to, object, method string, args ...any) ([]any, error) {
	if a, err := s.answer(method[strings.LastIndexByte(method, '.')+1:]); a != nil || err != nil {
		return a, err
	}
	return s.FakeSystemd.Call(ctx, to, object, method, args...)
}

// oddly returns a timer that runs and whose file is right, on such a systemd.
func oddly(t *testing.T, answer func(method string) ([]any, error)) (*Res, *enginetest.Fake, *kindtest.FakeSystemd) {
	t.Helper()
	r := resAt(t.TempDir())
	f := kindtest.Begin(t, "cron", r)
	kindtest.Lay(t, r.root+unitDir+"it.timer", r.text())
	s := kindtest.NewFakeSystemd()
	s.Active["it.timer"] = "active"
	f.Host().SetBus(func(context.Context, bus.Kind) (bus.Bus, error) { return oddSystemd{s, answer}, nil })
	return r, f, s
}

// A systemd that says yes and does nothing is asked once.
func TestCronWithoutEffect(t *testing.T) {
	r, f, _ := oddly(t, func(method string) ([]any, error) {
		if method == "EnableUnitFiles" {
			return []any{true, nil}, nil
		}
		return nil, nil
	})
	if got := kindtest.Verbs(t, f, r, true); got != "error: systemd has done all that it was asked for, and it.timer is as it was" {
		t.Error(got)
	}
	if !r.seen.any {
		t.Error("the next signal leads to the same again")
	}
}

// A timer that somebody else stops while something fails is looked at again.
func TestCronIsStoppedMeanwhile(t *testing.T) {
	stop := func() {}
	r, f, s := oddly(t, func(method string) ([]any, error) {
		if method == "EnableUnitFiles" {
			stop()
			return nil, errors.New("no")
		}
		return nil, nil
	})
	if got := kindtest.Verbs(t, f, r, true); got != "error: no" {
		t.Error(got)
	}
	if !r.seen.any {
		t.Error("the next signal leads to the same again")
	}
	stop = func() { s.Alter(func() { delete(s.Active, "it.timer") }) }
	if got := kindtest.Verbs(t, f, r, true); got != "error: no" || r.seen.any {
		t.Errorf("%s, and it is known that it is stopped: %t", got, r.seen.any)
	}
}

// What could not be looked at is looked at again, also if all is then as it was before.
func TestCronCannotLook(t *testing.T) {
	r := newRig(t, systemdtest.Unit{})
	kindtest.Verbs(t, r.fake, r.res, true)
	file := r.dir + "job.timer"
	kindtest.Must(t, os.Remove(file))
	kindtest.Must(t, os.Mkdir(file, 0o755))
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.HasPrefix(got, "error: ") || r.res.seen.any {
		t.Errorf("%s, and it is known how it is: %t", got, r.res.seen.any)
	}

	var res *Res
	var f *enginetest.Fake
	var s *kindtest.FakeSystemd
	res, f, s = oddly(t, func(method string) ([]any, error) {
		if method == "EnableUnitFiles" {
			s.Alter(func() { s.Down = errors.New("the connection was lost") })
			return []any{true, nil}, nil
		}
		return nil, nil
	})
	if got := kindtest.Verbs(t, f, res, true); !strings.Contains(got, "the connection was lost") || res.seen.any {
		t.Errorf("%s, and it is known how it is: %t", got, res.seen.any)
	}
}

// A timer may be enabled in both ways, of which systemd tells the one that stays.
func TestCronEnabledTwice(t *testing.T) {
	disabled := 0
	r, f, _ := oddly(t, func(method string) ([]any, error) {
		switch method {
		case "DisableUnitFiles":
			disabled++
			return []any{nil}, nil
		case "GetUnitFileState":
			return []any{[]string{"enabled", "enabled-runtime", "disabled"}[min(disabled, 2)]}, nil
		}
		return nil, nil
	})
	r.Startup = Disabled
	if got := kindtest.Verbs(t, f, r, true); got != `startup: "enabled" -> "disabled"` || disabled != 2 {
		t.Errorf("%s, by %d calls", got, disabled)
	}
	kindtest.Want(t, f, r, "")
}

// A drop-in that says what a parameter says is named, and not removed. What no parameter says
// may be in one, and what is for all timers is not looked at.
func TestCronDropIns(t *testing.T) {
	r := newRig(t, systemdtest.Unit{})
	kindtest.Watching(t, r.fake, r.res)
	kindtest.Verbs(t, r.fake, r.res, true)
	r.settle(t)
	kindtest.Lay(t, r.dir+"timer.d/all.conf", "[Timer]\nAccuracySec=1us\n")
	kindtest.Lay(t, r.dir+"job.timer.d/more.conf", "[Unit]\nAfter=x.service\n[Timer]\nFixedRandomDelay=yes\n")
	override := r.dir + "job.timer.d/override.conf"
	kindtest.Lay(t, override, "[Install]\nWantedBy=x.target\n")
	r.Set("job.timer", func(u *systemdtest.Unit) {
		u.DropIns = []string{r.dir + "timer.d/all.conf", r.dir + "job.timer.d/more.conf", override}
	})
	r.settle(t)
	kindtest.Want(t, r.fake, r.res, "")
	kindtest.Lay(t, override, "[Unit]\nDescription=x\n[Timer]\nOnCalendar=\nOnCalendar=07:00\n") // and systemd says nothing
	r.fake.WaitEvent(t)
	kindtest.Want(t, r.fake, r.res, "error: job.timer has drop-ins that say what is this resource's to say: Description=x in "+override+
		", OnCalendar= in "+override+", OnCalendar=07:00 in "+override+"; systemctl revert job.timer removes what systemctl edit has made")
	r.settle(t)
	if got, err := r.res.Read(t.Context()); err != nil || len(got.(*Res).Others) != 1 || !strings.Contains(got.(*Res).Others[0], "07:00") {
		t.Errorf("read is %v, %v", got, err)
	}
	if _, err := os.Stat(override); err != nil {
		t.Error(err)
	}
	kindtest.Must(t, os.Remove(override)) // as revert does, which reads the files again then
	r.Set("job.timer", func(u *systemdtest.Unit) { u.DropIns = nil })
	r.fake.WaitEvent(t)
	kindtest.Want(t, r.fake, r.res, "")

	// One that comes into effect by what is done now is found then.
	kindtest.Lay(t, override, "[Timer]\nPersistent=no\n")
	r.Set("job.timer", func(u *systemdtest.Unit) { u.DropIns, u.Active = []string{override}, "inactive" })
	r.fake.WaitEvent(t)
	r.Set("job.timer", func(u *systemdtest.Unit) { u.DropIns, u.Stale = nil, true })
	r.fake.OnChange(func(engine.Change) {
		r.Set("job.timer", func(u *systemdtest.Unit) { u.DropIns = []string{override} })
	})
	if got := kindtest.Verbs(t, r.fake, r.res, true); !strings.Contains(got, "Persistent=no in ") {
		t.Error(got)
	}
	r.fake.OnChange(nil)
	r.settle(t)
	r.res.State = Absent
	kindtest.Want(t, r.fake, r.res, "state deleted")
}

// A masked timer says so; and it is not there.
func TestCronMasked(t *testing.T) {
	r := newRig(t, systemdtest.Unit{File: "masked", Active: "active"})
	mask := r.dir + "job.timer"
	kindtest.Must(t, os.Symlink("/dev/null", mask))
	kindtest.Watching(t, r.fake, r.res)
	kindtest.Want(t, r.fake, r.res, "error: job.timer is masked: there is a link to /dev/null instead of its file; systemctl unmask job.timer ends that")
	r.settle(t)
	r.res.State = Absent
	kindtest.Want(t, r.fake, r.res, "state deleted")
	kindtest.Want(t, r.fake, r.res, "")
	if got := r.Calls(); !slices.Equal(got, []string{"StopUnit job.timer", "Reload"}) {
		t.Error(got)
	}
	if to, err := os.Readlink(mask); to != "/dev/null" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if got, err := r.res.Read(t.Context()); err != nil || !got.(*Res).absent() {
		t.Errorf("read is %v, %v", got, err)
	}
}

// What a link leads to is somebody else's, whether the timer is wanted or not.
func TestCronLinked(t *testing.T) {
	const theirs = "[Timer]\nOnBootSec=1\n"
	for _, state := range []string{Exists, Absent} {
		r := newRig(t, systemdtest.Unit{File: "linked"})
		target, link := t.TempDir()+"/job.timer", r.dir+"job.timer"
		kindtest.Put(t, target, theirs)
		kindtest.Must(t, os.Symlink(target, link))
		if got, err := r.res.Read(t.Context()); err != nil || !strings.Contains(strings.Join(got.(*Res).Others, "|"), "a link to "+target+"|") {
			t.Errorf("read is %v, %v", got, err)
		}
		r.res.State = state
		if state == Absent {
			kindtest.Want(t, r.fake, r.res, "state deleted")
			if _, err := os.Lstat(link); !os.IsNotExist(err) {
				t.Errorf("the link is left: %v", err)
			}
		} else {
			got := kindtest.Verbs(t, r.fake, r.res, true)
			if !strings.HasPrefix(got, `state: "a link to `+target[:20]) || !strings.HasSuffix(got, ` -> "exists" startup: "disabled" -> "enabled"`) {
				t.Errorf("got %s", got) // of a long target the end is left out
			}
			kindtest.WantFile(t, link, r.res.text())
			if st, err := os.Lstat(link); err != nil || !st.Mode().IsRegular() {
				t.Errorf("%v, %v", st, err)
			}
		}
		kindtest.Want(t, r.fake, r.res, "")
		kindtest.WantFile(t, target, theirs)
	}
}

// What is enabled until the next boot is not disabled, and will not be enabled.
func TestCronEnabledUntilBoot(t *testing.T) {
	for startup, call := range map[string]string{Disabled: "DisableUnitFiles job.timer", Enabled: "EnableUnitFiles job.timer"} {
		r := newRig(t, systemdtest.Unit{File: "enabled-runtime", Active: "active"})
		kindtest.Put(t, r.dir+"job.timer", r.res.text())
		if got, err := r.res.Read(t.Context()); err != nil || !slices.Contains(got.(*Res).Others, "enabled until the next boot") {
			t.Errorf("read is %v, %v", got, err)
		}
		r.res.Startup = startup
		kindtest.Want(t, r.fake, r.res, `startup: "enabled-runtime" -> "`+startup+`"`)
		if r.Unit("job.timer").File != startup || r.Calls()[0] != call {
			t.Errorf("it is %s after %v", r.Unit("job.timer").File, r.Calls())
		}
		kindtest.Want(t, r.fake, r.res, "")
	}
}
