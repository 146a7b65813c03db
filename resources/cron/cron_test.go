package cron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func TestMain(m *testing.M) { kindtest.Main(m) }

// TestBug28_CancelledWatchesEnd: the Watch returns as soon as its context ends.
//
// Seen failing with: internal/watches/watches.go, Paths: ctx.Done answered by a break out of the select alone.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	kindtest.WatchEnds(t, "cron", &Res{State: Absent, root: t.TempDir()}, nil)
}

const unitDir = "/etc/systemd/system/"

func resAt(dir string) *Res {
	return &Res{
		Trigger: "OnCalendar", Time: "Mon..Fri 02:30", Description: "100 % safe", Persistent: true,
		RandomizedDelay: 90 * time.Second, RemainAfterElapse: true, root: dir,
	}
}

// systemdOf gives a resource a manager, that has the units below a folder.
func systemdOf(f *enginetest.Fake, dir string) *kindtest.FakeSystemd {
	s := kindtest.NewFakeSystemd()
	s.Loaded = func(unit string) bool {
		_, err := os.Stat(dir + unitDir + unit)
		return err == nil
	}
	f.Host().SetBus(s.Open)
	return s
}

func TestCronSuite(t *testing.T) {
	if !kindtest.InMachine(t) {
		return
	}
	managers := map[string]*kindtest.FakeSystemd{}
	const file = unitDir + "suite.timer"
	replace := func(old, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			data, err := os.ReadFile(file)
			kindtest.Must(t, err)
			kindtest.Must(t, os.WriteFile(file, []byte(strings.Replace(string(data), old, text, 1)), 0o644))
			managers[dir].Alter(func() { managers[dir].Stale["suite.timer"] = true })
		}
	}
	alter := func(f func(*kindtest.FakeSystemd)) func(*testing.T, string) {
		return func(_ *testing.T, dir string) { managers[dir].Alter(func() { f(managers[dir]) }) }
	}
	enginetest.Run(t, enginetest.Suite{
		Kind: "cron",
		Prepare: func(t *testing.T, _ string) {
			kindtest.Must(t, os.RemoveAll(unitDir))
			kindtest.Must(t, os.MkdirAll(unitDir, 0o755))
		},
		New: func(*testing.T, string) engine.Res { return resAt("") },
		Setup: func(_ *testing.T, dir string, f *enginetest.Fake) {
			if managers[dir] == nil {
				managers[dir] = systemdOf(f, "")
			}
			f.Host().SetBus(managers[dir].Open)
		},
		Snapshot: func(t testing.TB, dir string) enginetest.Tree {
			tree := enginetest.Snapshot(t, unitDir)
			m := managers[dir]
			if m == nil {
				m = kindtest.NewFakeSystemd()
			}
			m.Mu.Lock()
			defer m.Mu.Unlock()
			tree["manager"] = fmt.Sprint(m.Active, m.Enabled, m.Stale)
			return tree
		},
		Drifts: map[string]func(*testing.T, string){
			"stopped":  alter(func(s *kindtest.FakeSystemd) { delete(s.Active, "suite.timer") }),
			"disabled": alter(func(s *kindtest.FakeSystemd) { s.Enabled["suite.timer"] = false }),
			"not read": alter(func(s *kindtest.FakeSystemd) { s.Stale["suite.timer"] = true }),
			"removed":  func(t *testing.T, _ string) { kindtest.Must(t, os.Remove(file)) },
			"edited":   replace("02:30", "03:30"),
			"more":     replace("[Timer]", "[Timer]\nOnBootSec=5"),
			"twice":    replace("[Timer]", "[Timer]\nOnCalendar=daily"),
			"less":     replace("Persistent=true\n", ""),
		},
		Variants: map[string]func(engine.Res){
			"absent":   func(r engine.Res) { r.(*Res).State = Absent },
			"disabled": func(r engine.Res) { r.(*Res).Startup = Disabled },
		},
	})
}

func TestCronFile(t *testing.T) {
	dir := t.TempDir()
	kindtest.Must(t, os.MkdirAll(dir+unitDir, 0o755))
	r := resAt(dir)
	r.SetName("job")
	r.Accuracy, r.WakeSystem, r.RemainAfterElapse, r.Unit = 1500*time.Microsecond, true, false, "other.target"
	f := kindtest.Begin(t, "cron", r)
	s := systemdOf(f, dir)
	kindtest.Want(t, f, r, `state created description: (none) -> "100 %% safe" time: (none) -> "Mon..Fri 02:30" unit: (none) -> "other.target" `+
		`accuracysec: (none) -> "1.5ms" randomizeddelaysec: (none) -> "1m30s" persistent: (none) -> "true" wakesystem: (none) -> "true" `+
		`remainafterelapse: (none) -> "false" startup: "disabled" -> "enabled"`)
	kindtest.WantFile(t, dir+unitDir+"job.timer", `# The resource cron[job], which undoes other changes.

[Unit]
Description=100 %% safe

[Timer]
OnCalendar=Mon..Fri 02:30
Unit=other.target
AccuracySec=1.5ms
RandomizedDelaySec=1m30s
Persistent=true
WakeSystem=true
RemainAfterElapse=false

[Install]
WantedBy=timers.target
`)
	if got := strings.Join(s.Calls, ", "); got != "EnableUnitFiles job.timer, Reload, ListJobs, ResetFailedUnit job.timer, Subscribe, StartUnit job.timer" {
		t.Errorf("called was %s", got)
	}
	kindtest.Want(t, f, r, "")

	// The same in other words is left.
	text, err := os.ReadFile(dir + unitDir + "job.timer")
	kindtest.Must(t, err)
	same := "; mine\n" + strings.Replace(string(text), "OnCalendar=Mon..Fri 02:30", "OnCalendar = Mon..Fri\\\n02:30", 1)
	kindtest.Put(t, dir+unitDir+"job.timer", same)
	kindtest.Want(t, f, r, "")
	kindtest.WantFile(t, dir+unitDir+"job.timer", same)

	// One time more is a difference.
	kindtest.Put(t, dir+unitDir+"job.timer", strings.Replace(same, "[Timer]", "[Timer]\nOnCalendar=daily", 1))
	kindtest.Want(t, f, r, `time: "daily and Mon..Fri 02:30" -> "Mon..Fri 02:30"`)

	// New times are read and need no new start.
	s.Calls = nil
	r.Trigger, r.Time, r.Persistent = "OnBootSec", "5min", false
	kindtest.Want(t, f, r, `time: (none) -> "5min" trigger: "OnCalendar=Mon..Fri 02:30, Persistent=true" -> (none)`)
	if got := strings.Join(s.Calls, ", "); got != "Reload" {
		t.Errorf("called was %s", got)
	}

	// A notification starts it anew.
	s.Calls = nil
	f.SetRefresh(true)
	kindtest.Want(t, f, r, "refreshed")
	if got := strings.Join(s.Calls, ", "); got != "ListJobs, ResetFailedUnit job.timer, Subscribe, RestartUnit job.timer" {
		t.Errorf("called was %s", got)
	}
	f.SetRefresh(false)

	s.Calls = nil
	r.State = Absent
	kindtest.Want(t, f, r, `state deleted`)
	if got := strings.Join(s.Calls, ", "); got != "ListJobs, Subscribe, StopUnit job.timer, DisableUnitFiles job.timer, Reload" {
		t.Errorf("called was %s", got)
	}
	kindtest.Want(t, f, r, "")
}

// TestCronFaults: what goes wrong is said, and tried again from where it was.
func TestCronFaults(t *testing.T) {
	dir := t.TempDir()
	kindtest.Must(t, os.MkdirAll(dir+unitDir, 0o755))
	r := resAt(dir)
	r.SetName("job")
	f := kindtest.Begin(t, "cron", r)
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "error: systemd can't be reached") {
		t.Errorf("without a bus it says %s", got)
	}
	if err := r.Watch(t.Context()); err == nil {
		t.Error("it watches without a bus")
	}
	s := systemdOf(f, dir)
	f.Host().SetCommand(func(context.Context, engine.Command) (*engine.Result, error) {
		return &engine.Result{Stdout: []byte("Timer unit lacks value setting.\n")}, nil
	})
	s.Started["job.timer"] = func() bool { return false }
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "start job.timer: it is failed") || !strings.Contains(got, "lacks value") {
		t.Errorf("it says %s", got)
	}
	s.Down = errors.New("the connection was lost")
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "error: the connection was lost") {
		t.Errorf("it says %s", got)
	}
	s.Down, s.Started = nil, nil
	if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, `state: "failed" -> "exists"`) {
		t.Errorf("it says %s", got)
	}
	kindtest.Want(t, f, r, "")
}

// TestCronAbsentWithout: where there is no systemd there is no timer either.
func TestCronAbsentWithout(t *testing.T) {
	dir := t.TempDir()
	r := &Res{State: Absent, root: dir}
	r.SetName("job")
	f := kindtest.Begin(t, "cron", r)
	kindtest.Want(t, f, r, "")
	kindtest.Lay(t, dir+unitDir+"job.timer", "x")
	kindtest.Want(t, f, r, `state deleted`)
	kindtest.Want(t, f, r, "")
}

func TestCronValidate(t *testing.T) {
	for says, change := range map[string]func(*Res){
		"no unit: its name begins":   func(r *Res) { r.SetName("-o") },
		"begins with a .":            func(r *Res) { r.SetName("../x") },
		"'/'":                        func(r *Res) { r.SetName("a/../x") },
		`'\n'`:                       func(r *Res) { r.SetName("a\nb") },
		"unit: \"x\" is no unit":     func(r *Res) { r.Unit = "x" },
		"the timer itself":           func(r *Res) { r.Unit = "it.timer" },
		"control character":          func(r *Res) { r.Time = "daily\nUnit=x" },
		"backslash":                  func(r *Res) { r.Description = `x\` },
		"blank":                      func(r *Res) { r.Time = " daily" },
		"trigger is missing":         func(r *Res) { r.Trigger = "" },
		"time is missing":            func(r *Res) { r.Time = "" },
		"trigger is \"Often\"":       func(r *Res) { r.Trigger = "Often" },
		"only for OnCalendar":        func(r *Res) { r.Trigger = "OnBootSec" },
		"negative":                   func(r *Res) { r.Accuracy = -1 },
		"a secret is received":       func(r *Res) { r.SetRecv(map[string]*engine.Send{"time": {Secret: true}}) },
		"startup is \"sometimes\", ": func(r *Res) { r.Startup = "sometimes" },
		"state is \"running\", it":   func(r *Res) { r.State = "running" },
	} {
		r := resAt("")
		r.SetKind("cron")
		r.SetName("it")
		change(r)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	all := &Res{State: "x", Startup: "y", Trigger: "z", Time: "\n", Unit: "-", Accuracy: -1}
	all.SetName("/")
	if n := strings.Count(all.Validate().Error(), "\n"); n < 6 {
		t.Errorf("only %d of all errors", n+1)
	}
}

func TestCronEdges(t *testing.T) {
	r := resAt("")
	r.SetKind("cron")
	r.SetName("job")
	want := "pkg with /lib/systemd/system/job.service pkg with /usr/lib/systemd/system/job.service file[/etc/systemd/system/job.service]"
	if got := strings.Join(kindtest.Asked(t, r, "file[/etc/systemd/system/job.service]"), " "); got != want {
		t.Errorf("it wants %s", got)
	}
	if got := r.UIDs()[0].String(); got != "file[/etc/systemd/system/job.timer]" {
		t.Errorf("it is %s", got)
	}
	other := resAt("")
	other.SetName("job")
	if err := r.Clashes(other); err != nil {
		t.Errorf("the same twice: %v", err)
	}
	other.Time = "daily"
	if err := r.Clashes(other); err == nil {
		t.Error("two timers of one name")
	}
}

// TestSessionIsNoInput: what a timer of the session is, and whether it is valid, does not follow from the user who asks.
func TestSessionIsNoInput(t *testing.T) {
	r, same := resAt(""), resAt("")
	for name, x := range map[string]*Res{"job": r, "job.timer": same} {
		x.SetKind("cron")
		x.SetName(name)
		x.Session = true
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "")
	if err := r.Validate(); err != nil {
		t.Errorf("without a home: %v", err)
	}
	if err := r.Init(&engine.Init{}); err == nil {
		t.Error("without a home, it is initialised")
	}
	if mine := r.UIDs(); len(mine) != 1 || !mine[0].IFF(same.UIDs()[0]) {
		t.Errorf("it is %v", mine)
	}
	machine := resAt("")
	machine.SetName("job")
	if r.UIDs()[0].IFF(machine.UIDs()[0]) {
		t.Error("a timer of the session is not one of the machine")
	}
	want := "pkg with /usr/lib/systemd/user/job.service file[/etc/systemd/user/job.service]"
	if got := strings.Join(kindtest.Asked(t, r, "file[/etc/systemd/user/job.service]"), " "); got != want {
		t.Errorf("it wants %s", got)
	}
}
