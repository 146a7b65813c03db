package systemd1

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
	"github.com/reactivegraph/mgmt/internal/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNames(t *testing.T) {
	for path, want := range map[string]string{
		"/": "-.mount", "/srv/cache": "srv-cache.mount", "/a-b/c d/": `a\x2db-c\x20d.mount`, "/.x/.y": `\x2ex-.y.mount`, "/ü": `\xc3\xbc.mount`,
	} {
		if got := UnitOf(path, ".mount"); got != want {
			t.Errorf("%s is %s, and not %s", path, got, want)
		}
	}
	for _, bad := range []string{"", "x", ".timer", "-x.timer", "a b.timer", "a/b.timer", "a\n.timer", "ü.timer", "x.service", "x@.timer", strings.Repeat("a", 250) + ".timer"} {
		if err := CheckUnit(bad, ".timer"); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if err := errors.Join(CheckUnit("a-b@c:d_e.timer", ".timer"), CheckUnit("x.any")); err != nil {
		t.Error(err)
	}
}

// busHost is a host whose commands are made up.
type busHost struct {
	engine.Host
	command func(argv []string) string // what it prints; nil for a failure
}

func (h busHost) Command(_ context.Context, c engine.Command) (*engine.Result, error) {
	if h.command == nil {
		return nil, errors.New("there are no commands")
	}
	return &engine.Result{Stdout: []byte(h.command(c.Argv))}, nil
}

// open returns a manager on a bus of the test's own.
func open(t *testing.T, command func([]string) string) (*systemdtest.Manager, *Manager) {
	t.Helper()
	b := systemdtest.NewBus(t)
	h, err := host.New(t.Context(), host.Options{BusAddresses: map[bus.Kind]string{bus.System: b.Address(), bus.Session: b.Address()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	fake := systemdtest.NewManager(t, b)
	m, err := Open(t.Context(), busHost{h, command}, false)
	if err != nil {
		t.Fatal(err)
	}
	return fake, m
}

// TestLimit: systemd's limit on starts holds for what crashes, and for nothing else. With a
// reason to, even that is tried.
func TestLimit(t *testing.T) {
	const code, killed, dumped = 1, 2, 3
	fake, m := open(t, nil)
	for _, c := range []struct {
		name    string
		ended   systemdtest.Unit // how it is each time before it is started
		refused bool
	}{
		{"stopped", systemdtest.Unit{Active: "inactive", Result: "success"}, false},
		{"killed", systemdtest.Unit{Active: "failed", Result: "signal", Code: killed, Status: 9}, false},
		{"terminated", systemdtest.Unit{Active: "failed", Result: "signal", Code: killed, Status: 15}, false},
		{"restarted by hand", systemdtest.Unit{Active: "failed", Result: "start-limit-hit"}, false},
		{"killed too often", systemdtest.Unit{Active: "failed", Result: "start-limit-hit", Code: killed, Status: 9}, false},
		{"no service", systemdtest.Unit{Active: "failed", Result: "success"}, false},
		{"segmentation fault", systemdtest.Unit{Active: "failed", Result: "signal", Code: killed, Status: 11}, true},
		{"core", systemdtest.Unit{Active: "failed", Result: "core-dump", Code: dumped, Status: 9}, true},
		{"exit", systemdtest.Unit{Active: "failed", Result: "exit-code", Code: code, Status: 1}, true},
		{"exit too often", systemdtest.Unit{Active: "failed", Result: "start-limit-hit", Code: code, Status: 9}, true},
		{"watchdog", systemdtest.Unit{Active: "failed", Result: "watchdog"}, true},
		{"starts again by itself", systemdtest.Unit{Active: "activating", Result: "exit-code", Code: code, Status: 1}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			const unit, limit = "x.service", 3
			fake.Add(unit, systemdtest.Unit{Limit: limit})
			ends := func() {
				fake.Set(unit, func(u *systemdtest.Unit) {
					u.Active, u.Result, u.Code, u.Status = c.ended.Active, c.ended.Result, c.ended.Code, c.ended.Status
				})
			}
			var err error
			for i := 0; i <= limit && err == nil; i++ {
				ends()
				err = m.Start(t.Context(), unit)
			}
			if refused := err != nil && strings.Contains(err.Error(), "start-limit-hit"); refused != c.refused || !refused && err != nil {
				t.Fatalf("%v", err)
			}
			ends()
			if err := m.Restart(t.Context(), unit); err != nil {
				t.Errorf("restart: %v", err)
			}
			for range limit + 1 {
				if err := m.ReloadUnit(t.Context(), unit); err != nil {
					t.Errorf("reload: %v", err)
				}
			}
		})
	}
}

// TestFindingQ4Reason: the error of a unit that does not start begins with how its process ended. The last five lines that the unit
// wrote itself follow, without what could act on a terminal; where there are none, the words of systemd are all.
func TestFindingQ4Reason(t *testing.T) {
	const code, killed, dumped = 1, 2, 3
	said := ""
	fake, m := open(t, func(argv []string) string {
		if slices.Contains(argv, "--sync") {
			return ""
		}
		if !slices.Contains(argv, "_SYSTEMD_UNIT=x.service") || !slices.Contains(argv, "--lines=5") {
			t.Errorf("asked by %q", argv)
		}
		return said
	})
	fake.Add("srv-away.mount", systemdtest.Unit{Active: "failed", Sub: "failed"})
	for _, c := range []struct {
		name string
		unit systemdtest.Unit
		said string
		want string
	}{
		{"exit", systemdtest.Unit{Refuses: "exit-code", Code: code, Status: 3}, "", "exit status 3: it is failed (failed), exit-code"},
		{"lines", systemdtest.Unit{Refuses: "exit-code", Code: code, Status: 3}, "1\n2\n3\n\x1b[2Jdisk\tfull\r\n5 \xff\n6\n",
			"exit status 3: it is failed (failed), exit-code; the last lines that it wrote:\n2\n3\n\\x1b[2Jdisk\tfull\n5 ?\n6"},
		{"long", systemdtest.Unit{Refuses: "exit-code", Code: code, Status: 1}, strings.Repeat("x", 5000), "exit status 1: it is failed (failed), exit-code; the last lines that it wrote:\n" + strings.Repeat("x", maxLine) + "..."},
		{"no program", systemdtest.Unit{Refuses: "exit-code", Code: code, Status: 203}, "", "exit status 203 (EXEC, its program could not be run): it is failed"},
		{"before it", systemdtest.Unit{Refuses: "exit-code", Pre: []systemdtest.Exec{{Path: "/bin/true", Code: code}, {Path: "/bin/check", Code: code, Status: 7}}}, "", "exit status 7 of ExecStartPre= (/bin/check): it is failed"},
		{"signal", systemdtest.Unit{Refuses: "signal", Code: killed, Status: 9}, "", "ended by signal 9 (KILL): it is failed"},
		{"core", systemdtest.Unit{Refuses: "core-dump", Code: dumped, Status: 11}, "", "ended by signal 11 (SEGV), with a core dump: it is failed"},
		{"memory", systemdtest.Unit{Refuses: "oom-kill", Code: killed, Status: 9}, "", "killed, since the memory was used up: it is failed"},
		{"silent", systemdtest.Unit{Refuses: "timeout", Code: killed, Status: 15}, "", "no sign of its start in time (TimeoutStartSec=): it is failed"},
		{"forks", systemdtest.Unit{Ends: true, Code: code}, "", "exit status 0: it is inactive (dead): it has ended without an error, or was stopped; a program that goes on in the background needs Type=forking in its unit"},
		{"forgotten", systemdtest.Unit{Ends: true}, "", "it is inactive (dead): it has ended without an error, or was stopped; a program that goes on in the background needs Type=forking in its unit"},
		{"condition", systemdtest.Unit{Skipped: true}, "", "it is inactive (dead): one of the conditions of its unit file does not hold"},
		{"mount", systemdtest.Unit{Lacks: true, Requires: []string{"srv-away.mount"}}, "", "it is inactive (dead): it needs srv-away.mount, which is failed (failed) (systemctl status srv-away.mount)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			said = c.said
			fake.Add("x.service", c.unit)
			err := m.Start(t.Context(), "x.service")
			if err == nil || !strings.HasPrefix(err.Error(), "start x.service: "+c.want) || c.said != "" && err.Error() != "start x.service: "+c.want {
				t.Errorf("got  %v\nwant start x.service: %s", err, c.want)
			}
		})
	}
}

// TestMany: what is done to the files of many units is one call, and nothing is read again by itself.
func TestMany(t *testing.T) {
	fake, m := open(t, nil)
	for _, u := range []string{"a.service", "b.service"} {
		fake.Add(u, systemdtest.Unit{})
	}
	ctx := t.Context()
	if err := errors.Join(m.Enable(ctx, "a.service", "b.service"), m.Mask(ctx, "a.service"), m.Unmask(ctx, "a.service"), m.Disable(ctx, "b.service")); err != nil {
		t.Fatal(err)
	}
	want := "EnableUnitFiles a.service,EnableUnitFiles b.service,MaskUnitFiles a.service,UnmaskUnitFiles a.service,DisableUnitFiles b.service"
	if got := strings.Join(fake.Calls(), ","); got != want {
		t.Error(got)
	}
	files, err := m.Files(ctx)
	if err != nil || len(files) != 2 || files[0] != (File{"/lib/systemd/system/a.service", "disabled"}) {
		t.Errorf("%v, %v", files, err)
	}
	if state, err := m.FileState(ctx, "none.service"); state != "" || err != nil {
		t.Errorf("%q, %v", state, err)
	}
}

// TestFollow: each change is told, also after another manager has come.
func TestFollow(t *testing.T) {
	fake, m := open(t, nil)
	fake.Add("x.timer", systemdtest.Unit{})
	ctx, cancel := context.WithCancel(t.Context())
	armed, events, done := make(chan struct{}), make(chan struct{}, 100), make(chan error, 1)
	go func() {
		done <- m.Follow(ctx, "x.timer", noFiles{}, func() { close(armed) }, func() { events <- struct{}{} })
	}()
	event := func(after string) {
		t.Helper()
		select {
		case <-events:
		case <-time.After(await.Left()):
			t.Fatalf("no event after %s", after)
		}
	}
	<-armed
	fake.Twitch("x.timer")
	event("a change")
	fake.Stop()
	fake.Start()
	for fake.Subscribers() == 0 {
		event("a restart")
	}
	fake.Twitch("x.timer")
	event("a change of the new one")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// noFiles is a subscription of files that nobody changes.
type noFiles struct{}

func (noFiles) C() <-chan struct{}  { return nil }
func (noFiles) Cause() events.Cause { return events.Cause{} }
func (noFiles) Close()              {}

// script is a bus that answers with what it is told to, call after call.
type script struct {
	bus.Bus
	answers []any
	wake    chan struct{}
	asked   []string
}

func (s *script) Call(_ context.Context, _, _, method string, _ ...any) ([]any, error) {
	s.asked = append(s.asked, method[strings.LastIndexByte(method, '.')+1:])
	a := s.answers[0]
	s.answers = s.answers[1:]
	if err, ok := a.(error); ok {
		return nil, err
	}
	return []any{a}, nil
}

func (s *script) Signals(context.Context, ...bus.Match) (events.Subscription, error) {
	return s, nil
}
func (s *script) C() <-chan struct{}  { return s.wake }
func (s *script) Cause() events.Cause { return events.Cause{} }
func (s *script) Close()              {}

// unitWith is what is said of a unit with a job.
func unitWith(job int) [][]any {
	return [][]any{{"x.timer", "", "loaded", "active", "waiting", "", "/unit", job, "", "/"}}
}

// TestJob: it is waited for until the unit has no such job any more. A lost connection is
// no end of a job, and neither is an answer that nobody understands.
func TestJob(t *testing.T) {
	again := &bus.Error{Name: name + ".AlreadySubscribed"}
	for says, answers := range map[string][]any{
		"":                          {again, "/job/1", unitWith(1), unitWith(2)},
		"refused":                   {again, &bus.Error{Name: "x", Message: "refused"}},
		"the connection was lost":   {again, "/job/1", unitWith(1), errors.New("the connection was lost")},
		"a reply of type <nil>, an": {again, any(nil)},
		`says "/job" where`:         {again, "/job"},
		"cannot be understood":      {again, "/job/1", "x"},
	} {
		s := &script{answers: answers, wake: make(chan struct{}, 1)}
		s.wake <- struct{}{}
		m := &Manager{bus: s}
		u, err := m.job(t.Context(), "x.timer", "StartUnit")
		if says == "" && (err != nil || u.String() != "active (waiting)") || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v after %v", says, err, s.asked)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &script{answers: []any{again, "/job/1", unitWith(1)}}
	if _, err := (&Manager{bus: s}).job(ctx, "x.timer", "StartUnit"); !errors.Is(err, context.Canceled) {
		t.Errorf("under an ended context: %v", err)
	}
}

// noBus is a host without buses.
type noBus struct{ engine.Host }

func (noBus) Bus(context.Context, bus.Kind) (bus.Bus, error) {
	return nil, errors.New("there is none")
}

// TestAway: where there is no bus the error says what was wanted of it.
func TestAway(t *testing.T) {
	if _, err := Open(t.Context(), noBus{}, false); err == nil || !strings.Contains(fmt.Sprint(err), "systemd can't be reached") {
		t.Error(err)
	}
}
