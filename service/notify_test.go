package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/service/servicetest"
)

// newTestService returns a service as systemd would start it, and what it tells.
func newTestService(t *testing.T, watchdog time.Duration) (*Notifier, *servicetest.Mailbox) {
	t.Helper()
	m := servicetest.NewMailbox(t)
	t.Setenv("NOTIFY_SOCKET", m.Path)
	if watchdog > 0 {
		t.Setenv("WATCHDOG_USEC", strconv.FormatInt(watchdog.Microseconds(), 10))
		t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	}
	s := New(slog.New(slog.DiscardHandler))
	return s, m
}

func tally(ok, failed int) (r reactor.Rest) {
	r.Converged = true
	r.Counts[resgraph.StateOK], r.Counts[resgraph.StateFailed] = ok, failed
	return r
}

func expect(t *testing.T, m *servicetest.Mailbox, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, m.All()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestServiceTells(t *testing.T) {
	s, m := newTestService(t, 0)
	told := 0
	o := s.Observe(mgmt.Observer{Loaded: func(func() *resgraph.Graph) { told++ }})
	s.Reloading() // there is nothing yet that could be read again
	o.Refused(errors.New("x"))
	expect(t, m, "STATUS=graph refused")
	o.Loaded(nil)
	expect(t, m, "STATUS=graph in effect\nREADY=1")
	s.stands(tally(2, 0))
	s.stands(tally(2, 0))
	expect(t, m, "STATUS=converged: 2 ok")
	o.Loaded(nil) // an edit of the file is no reload
	expect(t, m, "STATUS=converged: 2 ok")
	o.Refused(schema.Diagnostics{{Message: "secret\nREADY=1"}})
	s.stands(tally(1, 1))
	expect(t, m,
		"STATUS=graph refused (1 error), the last good one stays in effect: converged: 2 ok",
		"STATUS=graph refused (1 error), the last good one stays in effect: at rest: 1 ok, 1 failed")
	s.stopping()
	s.stopping()
	o.Loaded(nil)
	s.Reloading()
	s.stands(tally(9, 0))
	expect(t, m, "STOPPING=1\nSTATUS=stopping")
	if told != 3 {
		t.Errorf("the observer before it was called %d times", told)
	}
}

// TestFindingC14HeldAtTheStart: the start of a service does not wait for a person who resumes a
// graph, else systemd would end and start it again and again.
func TestFindingC14HeldAtTheStart(t *testing.T) {
	s, m := newTestService(t, 0)
	s.refuse(&reactor.RemovalsError{Removed: make([]string, 15), Of: 16, Start: true})
	expect(t, m, "STATUS=graph held (it lacks 15 of the 16 resources of before; nothing runs until mgmt resume)\nREADY=1")
	s.loaded()
	s.stands(tally(1, 0))
	expect(t, m, "STATUS=graph in effect", "STATUS=converged: 1 ok")
}

// TestFindingM1HeldBeside: removals that are held beside the graph in effect are told until they are not.
func TestFindingM1HeldBeside(t *testing.T) {
	s, m := newTestService(t, 0)
	o := s.Observe(mgmt.Observer{})
	o.Swapped(reactor.Swap{Held: &reactor.RemovalsError{Removed: make([]string, 5), Of: 6}})
	o.Loaded(nil)
	o.Swapped(reactor.Swap{})
	o.Loaded(nil)
	expect(t, m, "STATUS=graph held (it removes 5 of 6 resources; mgmt resume accepts that), the last good one stays in effect: graph in effect\nREADY=1", "STATUS=graph in effect")
}

// TestServiceReloads: a reload ends whether its graph is taken or refused, and begins
// with its time in the same datagram: systemd waits for ever for one without.
func TestServiceReloads(t *testing.T) {
	s, m := newTestService(t, 0)
	s.loaded()
	for name, end := range map[string]func(){
		"taken":   s.loaded,
		"refused": func() { s.refuse(errors.New("x")) },
	} {
		m.All()
		before := monotonic(t)
		s.Reloading()
		after := monotonic(t)
		end()
		list := m.All()
		if len(list) != 2 || !slices.Contains(strings.Split(list[1], "\n"), daemon.SdNotifyReady) {
			t.Fatalf("%s: told %q", name, list)
		}
		lines := strings.Split(list[0], "\n")
		if len(lines) != 3 || lines[0] != daemon.SdNotifyReloading {
			t.Fatalf("%s: told %q", name, list[0])
		}
		usec, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "MONOTONIC_USEC="), 10, 64)
		if err != nil || usec < before || usec > after {
			t.Errorf("%s: %q is not from %d to %d: %v", name, lines[1], before, after, err)
		}
	}
}

func monotonic(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano() / 1000
}

// TestServiceAlone: where nobody listens nothing is done, and no child hears of it.
func TestServiceAlone(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "1000000")
	s := New(slog.New(slog.DiscardHandler))
	var o mgmt.Options
	s.Configure(&o)
	if o.Heartbeat != nil || s.Observe(mgmt.Observer{}).Ran != nil {
		t.Error("it listens to the engine")
	}
	s.loaded()
	s.Start(t.Context(), nil, nil)()

	_, _ = newTestService(t, time.Second)
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		if v, there := os.LookupEnv(name); there {
			t.Errorf("%s=%s is left for children", name, v)
		}
	}
}

// TestServiceBadWatchdog: a time that is none is worth a warning, and no reason not to run.
func TestServiceBadWatchdog(t *testing.T) {
	for _, text := range []string{"soon", "-5", "0"} {
		m := servicetest.NewMailbox(t)
		t.Setenv("NOTIFY_SOCKET", m.Path)
		t.Setenv("WATCHDOG_USEC", text)
		var log bytes.Buffer
		s := New(slog.New(slog.NewTextHandler(&log, nil)))
		s.loaded()
		if list := m.All(); s.watchdog != 0 || len(list) != 1 || !strings.Contains(list[0], daemon.SdNotifyReady) ||
			strings.Count(log.String(), "there is no watchdog") != 1 {
			t.Errorf("%s: %s, told %q, said %q", text, s.watchdog, list, log.String())
		}
		if v, there := os.LookupEnv("WATCHDOG_USEC"); there {
			t.Errorf("%s is left for children", v)
		}
	}
}

// TestServiceWithoutListener: that systemd has gone is said once, and disturbs nothing.
func TestServiceWithoutListener(t *testing.T) {
	s, m := newTestService(t, 0)
	if err := os.Remove(m.Path); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	s.loaded()
	s.Reloading()
	s.stopping()
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}

// TestStatusIsThrottled: a thousand runs make one status a second.
func TestStatusIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newTestService(t, 0)
		s.loaded()
		m.All()
		n := 0
		stop := s.Start(t.Context(), func(context.Context) (reactor.Snapshot, error) { n++; return reactor.Snapshot{Rest: tally(n, 0)}, nil }, nil)
		o := s.Observe(mgmt.Observer{})
		for range 2500 {
			o.Ran(reactor.Run{})
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if n != 3 {
			t.Errorf("asked %d times in 2.5 s", n)
		}
		expect(t, m, "STATUS=converged: 1 ok", "STATUS=converged: 2 ok", "STATUS=converged: 3 ok")
		stop()
	})
}

func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newTestService(t, 40*time.Second)
		var stalls atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stop := s.Start(ctx, func(context.Context) (reactor.Snapshot, error) { return reactor.Snapshot{}, errors.New("x") }, func(context.Context) { stalls.Add(1) })
		var o mgmt.Options
		s.Configure(&o)
		heartbeat := func(times int) {
			for range times {
				o.Heartbeat()
				time.Sleep(o.HeartbeatEvery)
			}
			synctest.Wait()
		}
		heartbeat(2)
		expect(t, m, "EXTEND_TIMEOUT_USEC=30000000", "EXTEND_TIMEOUT_USEC=30000000")
		s.loaded()
		m.All()
		heartbeat(3)
		expect(t, m, "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1")

		// the loop hangs: no timer speaks for it
		time.Sleep(19 * time.Second) // with the 10 s after the last heartbeat one less than three quarters
		synctest.Wait()
		if stalls.Load() != 0 {
			t.Error("stalled too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if stalls.Load() != 1 {
			t.Error("stalled too late for a dump")
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		expect(t, m)
		if stalls.Load() != 1 {
			t.Errorf("stalled %d times", stalls.Load())
		}

		// it goes on, and hangs again
		heartbeat(1)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		expect(t, m, "WATCHDOG=1")
		if stalls.Load() != 2 {
			t.Errorf("stalled %d times", stalls.Load())
		}

		// the loop has ended: the end has a time limit of its own
		heartbeat(1)
		m.All()
		cancel()
		time.Sleep(45 * time.Second)
		synctest.Wait()
		list := m.All()
		if n := len(list); n < 5 || n > 6 || list[0] != "STOPPING=1\nSTATUS=stopping" || list[n-1] != "WATCHDOG=1" {
			t.Errorf("told at the end: %q", list)
		}
		stop()
		expect(t, m)
		if stalls.Load() != 2 {
			t.Error("what stops is no stall")
		}
	})
}

// TestSlowStart: a start may take long, but not for ever, and has no watchdog yet.
func TestSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newTestService(t, 40*time.Second)
		n := 0
		for time.Since(s.began) < 2*startLimit {
			s.alive()
			n += len(m.All())
			time.Sleep(s.heartbeatEvery())
		}
		if n != int(startLimit/s.heartbeatEvery()) {
			t.Errorf("%d times more time", n)
		}
	})
}
