package backends

import (
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
)

// TestFindingQ3LifeOfRunit: runit tells how long a service has been up, in seconds.
func TestFindingQ3LifeOfRunit(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"run: /etc/service/web: (pid 4711) 45s; run: log: (pid 4710) 12s": 45 * time.Second,
		"run: /etc/service/web: (pid 4711) 0s, normally down":             0,
		"down: /etc/service/web: 3s, normally up, want up":                -1,
		"not supervised": -1,
	} {
		l := (&runit{}).lifeOf(Info{Running: text[:3] == "run", Detail: &text})
		if got := l.Up; (got == nil) != (want < 0) || got != nil && *got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestFindingQ3LifeOfSystemd: systemd tells since when a service is up, how often it has started it again, and by its type whether
// it is up only when it serves.
func TestFindingQ3LifeOfSystemd(t *testing.T) {
	r := newRig(t)
	for kind, ready := range map[string]bool{"simple": false, "exec": false, "forking": false, "idle": false, "notify": true, "notify-reload": true, "dbus": true, "oneshot": true} {
		r.Add("web.service", systemdtest.Unit{Active: "active", Sub: "running", Type: kind, Again: 7, Since: time.Now().Add(-time.Hour)})
		l, result, err := Life.Call(t.Context(), r.module, UnitArgs{Name: "web"})
		if err != nil || !result.Found || *l.Ready != ready || *l.Restarts != 7 || *l.Up < time.Hour || *l.Up > 2*time.Hour {
			t.Errorf("%s: %+v, %v", kind, l, err)
		}
	}
	r.Add("done.service", systemdtest.Unit{Active: "active", Sub: "exited"})
	if l, _, err := Life.Call(t.Context(), r.module, UnitArgs{Name: "done"}); err != nil || !*l.Ready {
		t.Errorf("it has ended by design: %+v, %v", l, err)
	}
	if _, result, err := Life.Call(t.Context(), r.module, UnitArgs{Name: "none"}); err != nil || result.Found {
		t.Errorf("%+v, %v", result, err)
	}
	r.Add("again.service", systemdtest.Unit{Active: "activating", Sub: "auto-restart", Result: "exit-code", Code: 1, Status: 3})
	if info, _, err := Describe.Call(t.Context(), r.module, UnitArgs{Name: "again"}); err != nil || !*info.Restarting || info.Running {
		t.Errorf("%+v, %v", info, err)
	}
	r.Add("ending.service", systemdtest.Unit{Active: "deactivating", Sub: "stop-post"})
	if info, _, err := Describe.Call(t.Context(), r.module, UnitArgs{Name: "ending"}); err != nil || info.Job != nil || !*info.Ending {
		t.Errorf("%+v, %v", info, err)
	}
	why, _, err := Reason.Call(t.Context(), r.module, UnitArgs{Name: "again"})
	if want := "exit status 3: it is activating (auto-restart), exit-code"; err != nil || why != want {
		t.Errorf("%q, want %q, %v", why, want, err)
	}
}

// TestFindingQ3EndOfSystemd: systemd tells of a unit that has ended how long ago that was, whether it was stopped, and whether it was killed.
func TestFindingQ3EndOfSystemd(t *testing.T) {
	r := newRig(t)
	left := time.Now().Add(-time.Hour)
	same, later := left, left.Add(time.Microsecond)
	for name, c := range map[string]struct {
		unit            systemdtest.Unit
		stopped, killed bool
	}{
		"stopped":                {systemdtest.Unit{Code: 2, Status: 15, Left: left, Ended: later}, true, true},
		"stopped in good order":  {systemdtest.Unit{Code: 1, Left: left, Ended: later}, true, false},
		"stopped with a status":  {systemdtest.Unit{Active: "failed", Result: "exit-code", Code: 1, Status: 143, Left: left, Ended: later}, true, false},
		"stopped, no process":    {systemdtest.Unit{Left: left, Down: later}, true, false},
		"ended":                  {systemdtest.Unit{Code: 1, Left: left, Ended: same, Down: later}, false, false},
		"ended, no process":      {systemdtest.Unit{Left: left, Down: left}, false, false},
		"ended with a status":    {systemdtest.Unit{Active: "failed", Result: "exit-code", Code: 1, Status: 3, Left: left, Ended: same}, false, false},
		"killed":                 {systemdtest.Unit{Active: "failed", Result: "signal", Code: 2, Status: 9, Left: left, Ended: same}, false, true},
		"ended by SEGV":          {systemdtest.Unit{Active: "failed", Result: "signal", Code: 2, Status: 11, Left: left, Ended: same}, false, false},
		"killed by the kernel":   {systemdtest.Unit{Active: "failed", Result: "oom-kill", Code: 2, Status: 9, Left: left, Ended: later}, false, false},
		"killed by the watchdog": {systemdtest.Unit{Active: "failed", Result: "watchdog", Code: 2, Status: 9, Left: left, Ended: later}, false, false},
		"its time was up":        {systemdtest.Unit{Active: "failed", Result: "timeout", Code: 2, Status: 15, Left: left, Ended: later}, false, false},
	} {
		r.Add("web.service", c.unit)
		l, _, err := Life.Call(t.Context(), r.module, UnitArgs{Name: "web"})
		if err != nil || *l.Stopped != c.stopped || *l.Killed != c.killed || *l.Down < time.Hour || *l.Down > 2*time.Hour || l.Up != nil {
			t.Errorf("%s: stopped %t, killed %t, %v, %v", name, *l.Stopped, *l.Killed, l.Down, err)
		}
	}
	r.Add("web.service", systemdtest.Unit{}) // never started, or forgotten
	if l, _, err := Life.Call(t.Context(), r.module, UnitArgs{Name: "web"}); err != nil || l.Down != nil || *l.Stopped || *l.Killed {
		t.Errorf("%+v, %v", l, err)
	}
	r.Add("web.service", systemdtest.Unit{Active: "active", Sub: "running", Left: left, Ended: later})
	if l, _, err := Life.Call(t.Context(), r.module, UnitArgs{Name: "web"}); err != nil || l.Down != nil {
		t.Errorf("it is up: %+v, %v", l, err)
	}
}
