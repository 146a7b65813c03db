package svc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// unit is a service of a systemd in the time of the test.
type unit struct {
	*kindtest.FakeSystemd
	t       *testing.T
	res     *Res
	fake    *enginetest.Fake
	lasts   time.Duration // how long a life is; 0 for ever
	again   time.Duration // after how long systemd starts it again; 0 for not at all
	kind    string
	wrote   string
	lives   int
	systemd int // starts by systemd
}

const unitName = "web.service"

func newUnit(t *testing.T, want Res) *unit {
	t.Helper()
	u := &unit{FakeSystemd: kindtest.NewFakeSystemd(), t: t, kind: "simple"}
	u.res = of(t, on(t, withSystemd), "web", want)
	host := enginetest.NewHost()
	host.SetFacts(engine.Facts{Init: "systemd", SystemdBooted: true})
	host.SetBus(u.Open)
	host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		if slices.Contains(c.Argv, "--sync") {
			return &engine.Result{}, nil
		}
		if c.Argv[0] != "journalctl" || !slices.Contains(c.Argv, "_SYSTEMD_UNIT="+unitName) || !slices.Contains(c.Argv, "--lines=5") {
			return nil, fmt.Errorf("no command %q", c.Argv)
		}
		return &engine.Result{Stdout: []byte(u.wrote)}, nil
	})
	u.fake = kindtest.Begin(t, "svc", u.res, enginetest.WithHost(host))
	u.Started[unitName] = func() bool { u.begin(0); return true }
	return u
}

func (u *unit) has(key string, v any) { u.Has[unitName+"/"+key] = v }

// live says how long the lives from the next one on are; 0 for ever.
func (u *unit) live(long time.Duration) {
	u.Mu.Lock()
	defer u.Mu.Unlock()
	u.lasts = long
}

// begin begins a life. The lock is held.
func (u *unit) begin(restarts int) {
	u.lives++
	life := u.lives
	u.Active[unitName], u.Sub[unitName] = "active", "running"
	u.has("Type", u.kind)
	u.has("NRestarts", uint32(restarts))
	u.has("ActiveEnterTimestamp", uint64(time.Now().UnixMicro()))
	u.has("Result", "success")
	if u.lasts > 0 {
		time.AfterFunc(u.lasts, func() { u.Alter(func() { u.end(life, restarts) }) })
	}
}

// end ends a life with an exit status. The lock is held.
func (u *unit) end(life, restarts int) {
	if u.lives != life || u.Active[unitName] != "active" {
		return
	}
	u.has("Result", "exit-code")
	u.has("ExecMainCode", int32(1))
	u.has("ExecMainStatus", int32(3))
	u.left(0)
	u.Active[unitName], u.Sub[unitName] = "failed", "failed"
	if u.again > 0 {
		u.Active[unitName], u.Sub[unitName] = "activating", "auto-restart"
		time.AfterFunc(u.again, func() {
			u.Alter(func() {
				if u.lives == life && u.Sub[unitName] == "auto-restart" {
					u.systemd++
					u.begin(restarts + 1)
				}
			})
		})
	}
}

// left notes that it is not up any more, and that its process ends so much later. The lock is held.
func (u *unit) left(later time.Duration) {
	u.has("ActiveExitTimestamp", uint64(time.Now().UnixMicro()))
	u.has("ExecMainExitTimestamp", uint64(time.Now().Add(later).UnixMicro()))
}

// ends has its process end after a time, and says how systemd tells of that.
func (u *unit) ends(after, later time.Duration, active, result string, code, status int32) {
	time.AfterFunc(after, func() {
		u.Alter(func() {
			u.left(later)
			u.has("Result", result)
			u.has("ExecMainCode", code)
			u.has("ExecMainStatus", status)
			u.Active[unitName], u.Sub[unitName] = active, "dead"
		})
	})
}

// run runs CheckApply until it waits for nothing, and returns what became of it, how long that took, and the changes.
func (u *unit) run() (string, time.Duration) {
	u.t.Helper()
	start := time.Now()
	for {
		u.fake.Reset()
		_, err := u.res.CheckApply(u.t.Context(), true)
		if w, ok := errors.AsType[*failure.WaitError](err); ok {
			if len(u.fake.Changes()) > 0 {
				u.t.Errorf("it waits for %s after a change", w.For)
			}
			time.Sleep(w.Again)
			continue
		}
		if err != nil {
			return "failed: " + err.Error(), time.Since(start)
		}
		var words []string
		for _, c := range u.fake.Changes() {
			words = append(words, c.String())
		}
		return strings.Join(append(words, "ok"), ", "), time.Since(start)
	}
}

func (u *unit) want(text string, after time.Duration) {
	u.t.Helper()
	got, took := u.run()
	if got != text || took != after {
		u.t.Errorf("after %s: %s\nwant after %s: %s", took, got, after, text)
	}
}

// starts is how often mgmt has started it.
func (u *unit) starts() (n int) {
	u.Mu.Lock()
	defer u.Mu.Unlock()
	for _, c := range u.Calls {
		if c == "StartUnit "+unitName {
			n++
		}
	}
	return n
}

const nowRunning = `state: "stopped" -> "running", ok`

// TestFindingQ3StaysUp: a service that mgmt has started is ok when it has stayed up, and one that it finds up at once where it has been
// up for long enough, and after the rest of the time where it has not.
func TestFindingQ3StaysUp(t *testing.T) {
	for name, c := range map[string]struct {
		kind   string
		stable time.Duration
		after  time.Duration
	}{
		"default": {"simple", stable, 5 * time.Second}, "longer": {"exec", 8 * time.Second, 8 * time.Second}, "none": {"simple", 0, 0},
		"tells": {"notify", stable, 0}, "has a name": {"dbus", stable, 0}, "no service": {"", stable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newUnit(t, Res{State: Running, Stable: c.stable})
				u.kind = c.kind
				u.want(nowRunning, c.after)
				u.want("ok", 0)
				u.Alter(func() { u.begin(0) }) // as systemctl restart does
				u.want("ok", min(c.after, c.stable))
				time.Sleep(time.Hour)
				u.want("ok", 0)
				if n := u.starts(); n != 1 {
					t.Errorf("it was started %d times", n)
				}
			})
		})
	}
}

// TestFindingQ3FoundUp: a daemon that starts finds out how long a service has been up.
func TestFindingQ3FoundUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnit(t, Res{State: Running, Stable: 2 * time.Second})
		u.Alter(func() { u.begin(0) })
		time.Sleep(500 * time.Millisecond)
		kindtest.Want(t, u.fake, u.res, "error: web to stay up for 2s")
		if ok, err := noop(u); !ok || err != nil {
			t.Errorf("with noop: %t, %v", ok, err)
		}
		u.want("ok", 1500*time.Millisecond)
	})
}

func noop(u *unit) (bool, error) {
	u.fake.SetNoop(true)
	u.res.Handle().Noop = true
	defer func() { u.res.Handle().Noop = false }()
	defer u.fake.SetNoop(false)
	return u.res.CheckApply(u.t.Context(), false)
}

// TestFindingQ3EndsSoon: a service that ends right after its start has failed, with the exit status first and its last lines. One that
// ends later than stable has to stay up twice as long the next time.
func TestFindingQ3EndsSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnit(t, Res{State: Running, Stable: 2 * time.Second})
		u.live(300 * time.Millisecond)
		u.wrote = "no such database\n\x1b[31mexiting\n"
		u.want("failed: web has ended 300ms after its start: exit status 3: it is failed (failed), exit-code; the last lines that it wrote:\nno such database\n\\x1b[31mexiting", 300*time.Millisecond)
		u.live(3 * time.Second)
		u.wrote = ""
		u.want(nowRunning, 2*time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		u.want("failed: web has ended 3s after its start: exit status 3: it is failed (failed), exit-code", 3*time.Second)
		u.live(7 * time.Second)
		u.want(nowRunning, 6*time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		u.live(0)
		u.want(nowRunning, 14*time.Second)
		time.Sleep(time.Hour)
		u.Alter(func() { u.end(u.lives, 0) })
		u.want(nowRunning, 2*time.Second)
	})
}

// TestFindingQ3Crashing: a unit that systemd starts again and again is left to it: mgmt starts it once, changes nothing, and says how often
// it has crashed. It is ok when it has stayed up.
func TestFindingQ3Crashing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnit(t, Res{State: Running, Stable: 2 * time.Second})
		u.live(300 * time.Millisecond)
		u.again = 3 * time.Second
		kindtest.Watching(t, u.fake, u.res)
		const why = ": exit status 3: it is activating (auto-restart), exit-code"
		u.want("failed: crashing, once in 300ms"+why, 300*time.Millisecond)
		time.Sleep(7 * time.Second)
		u.want("failed: crashing, 3 times in 7.3s"+why, 0)
		time.Sleep(2700 * time.Millisecond)
		u.want("failed: crashing, 3 times in 10s"+why, 0) // it runs just now
		u.drain()
		u.live(0)
		time.Sleep(5 * time.Second)
		u.fake.WaitEvent(t) // nobody tells that it has stayed up
		u.want("ok", 0)
		if u.starts() != 1 || u.systemd < 4 {
			t.Errorf("it was started %d times by mgmt, and %d times by systemd", u.starts(), u.systemd)
		}
		u.live(time.Second)
		u.Alter(func() { u.end(u.lives, u.systemd) }) // a crash of what was well
		u.fake.WaitEvent(t)
		u.want("failed: crashing, once"+why, 0)
		time.Sleep(5 * time.Second)
		u.fake.SetRefresh(true) // what it reads is new
		u.live(0)
		got, took := u.run()
		if !strings.HasSuffix(got, "ok") || took < 2*time.Second {
			t.Errorf("after %s: %s", took, got)
		}
	})
}

func (u *unit) drain() {
	for {
		select {
		case <-u.fake.Events():
		default:
			return
		}
	}
}

// TestFindingQ3FoundCrashing: a daemon that starts while a unit crashes again and again does not know since when.
func TestFindingQ3FoundCrashing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnit(t, Res{State: Running, Stable: 2 * time.Second})
		u.live(300 * time.Millisecond)
		u.again = 3 * time.Second
		u.Alter(func() { u.begin(500) })
		u.want("failed: crashing, 500 times so far", 0)
		time.Sleep(time.Second)
		u.want("failed: crashing, 501 times so far: exit status 3: it is activating (auto-restart), exit-code", 0)
		if u.starts() > 0 {
			t.Error("mgmt has started it")
		}
		u.Alter(func() { u.Active[unitName], u.Sub[unitName] = "failed", "failed" }) // systemd gives up
		u.live(0)
		u.want(nowRunning, 2*time.Second)
	})
}

// TestFindingQ3OthersStartIt: a service that has ended, and that somebody else starts, only has to stay up. A clock that was set back
// keeps nothing waiting.
func TestFindingQ3OthersStartIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnit(t, Res{State: Running, Stable: 2 * time.Second})
		u.want(nowRunning, 2*time.Second)
		time.Sleep(time.Hour)
		u.Alter(func() { u.end(u.lives, 0) })
		u.fake.SetNoop(true)
		if _, err := u.res.CheckApply(t.Context(), false); err != nil { // it is seen
			t.Error(err)
		}
		u.fake.SetNoop(false)
		u.Alter(func() { u.begin(0) })
		kindtest.Want(t, u.fake, u.res, "error: web to stay up for 2s")
		u.want("ok", 2*time.Second)
		back := func() { u.has("ActiveEnterTimestamp", uint64(time.Now().Add(time.Hour).UnixMicro())) }
		u.Alter(back)
		u.want("ok", 0)
		u.Started[unitName] = func() bool { u.begin(0); back(); return true }
		u.Alter(func() { delete(u.Active, unitName) })
		u.want(nowRunning, 2*time.Second)
	})
}

// TestFindingQ3EndsSlowly: while the processes of a unit still end it has neither failed nor succeeded, and mgmt does nothing with it.
func TestFindingQ3EndsSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnit(t, Res{State: Running, Stable: 2 * time.Second})
		end := func(after time.Duration) {
			time.AfterFunc(after, func() {
				u.Alter(func() { u.Active[unitName], u.Sub[unitName] = "deactivating", "stop-sigterm" })
			})
			time.AfterFunc(after+500*time.Millisecond, func() {
				u.Alter(func() {
					u.has("ExecMainCode", int32(1))
					u.has("ExecMainStatus", int32(0))
					delete(u.Active, unitName)
				})
			})
		}
		end(100 * time.Millisecond)
		got, took := u.run()
		if took != 600*time.Millisecond || !strings.HasPrefix(got, "failed: web has ended 600ms after its start: exit status 0: it is inactive") {
			t.Errorf("after %s: %s", took, got)
		}
		u.want(nowRunning, 2*time.Second)
		starts := u.starts()
		end(0)
		time.Sleep(time.Millisecond)
		kindtest.Watching(t, u.fake, u.res)
		u.fake.Reset()
		if _, err := u.res.CheckApply(t.Context(), true); !failure.IsWait(err) || err.Error() != "the end of web" || u.starts() != starts {
			t.Errorf("%v after %d starts", err, u.starts())
		}
	})
}

// TestFindingQ3OthersEndIt: who stops or kills a service right after mgmt has started it makes that no failed start, however often that is.
// It is looked at again at once.
func TestFindingQ3OthersEndIt(t *testing.T) {
	const after = 100 * time.Millisecond
	for name, end := range map[string]func(*unit){
		"by TERM":        func(u *unit) { u.ends(after, time.Millisecond, "inactive", "success", 2, 15) },
		"in good order":  func(u *unit) { u.ends(after, time.Microsecond, "inactive", "success", 1, 0) },
		"with a status":  func(u *unit) { u.ends(after, time.Millisecond, "failed", "exit-code", 1, 143) },
		"by a seen stop": func(u *unit) { u.stopped(after) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newUnit(t, Res{State: Running, Stable: 2 * time.Second})
				kindtest.Watching(t, u.fake, u.res)
				for range 20 {
					end(u)
					u.fake.Reset()
					start := time.Now()
					if _, err := u.res.CheckApply(t.Context(), true); err != nil || time.Since(start) > 2*after {
						t.Fatalf("after %s: %v", time.Since(start), err)
					}
					u.fake.WaitEvent(t)
				}
				u.want(nowRunning, 2*time.Second)
				if n := u.starts(); n != 21 {
					t.Errorf("it was started %d times", n)
				}
			})
		})
	}
}

// stopped is a stop that is seen while it is made, after which systemd forgets the unit. It has no end by itself.
func (u *unit) stopped(after time.Duration) {
	time.AfterFunc(after, func() {
		u.Alter(func() { u.Active[unitName], u.Job[unitName] = "deactivating", "stop" })
	})
	time.AfterFunc(after+time.Millisecond, func() {
		u.Alter(func() {
			delete(u.Active, unitName)
			delete(u.Job, unitName)
			for _, key := range []string{"ActiveExitTimestamp", "ExecMainExitTimestamp", "ExecMainCode"} {
				delete(u.Has, unitName+"/"+key)
			}
		})
	})
}

// TestFindingQ3Killed: who kills a service once makes that no failed start. A service that kills itself ends so each time, and fails.
func TestFindingQ3Killed(t *testing.T) {
	const after = 100 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		u := newUnit(t, Res{State: Running, Stable: 2 * time.Second})
		kill := func() { u.ends(after, 0, "failed", "signal", 2, 9) }
		killed := func() {
			t.Helper()
			kill()
			start := time.Now()
			if _, err := u.res.CheckApply(t.Context(), true); !failure.IsWait(err) || time.Since(start) != after {
				t.Fatalf("after %s: %v", time.Since(start), err)
			}
		}
		const failed = "failed: web has ended 100ms after its start: ended by signal 9 (KILL): it is failed (dead), signal"
		for range kills {
			killed()
		}
		for range 2 {
			kill()
			u.want(failed, after)
		}
		u.want(nowRunning, 2*time.Second)
		u.Alter(func() { delete(u.Active, unitName) })
		killed() // it counts anew
		u.ends(after, time.Millisecond, "inactive", "success", 1, 0)
		if _, err := u.res.CheckApply(t.Context(), true); err != nil {
			t.Error(err)
		}
		for range kills { // after a stop too
			killed()
		}
		kill()
		u.want(failed, after)
	})
}

// TestFindingQ3EndsItself: what ends by itself within stable has failed, also with the exit status 0, and also where its life before was
// ended by others.
func TestFindingQ3EndsItself(t *testing.T) {
	const after = 100 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		u := newUnit(t, Res{State: Running, Stable: 2 * time.Second})
		for text, end := range map[string]func(){
			"exit status 0":            func() { u.ends(after, 0, "inactive", "success", 1, 0) },
			"ended by signal 11":       func() { u.ends(after, 0, "failed", "signal", 2, 11) },
			"the memory was used up":   func() { u.ends(after, time.Millisecond, "failed", "oom-kill", 2, 9) },
			"no sign of life in time":  func() { u.ends(after, time.Millisecond, "failed", "watchdog", 2, 6) },
			"exit status 3: it is fai": func() { u.live(after) },
		} {
			end()
			if got, took := u.run(); took != after || !strings.HasPrefix(got, "failed: web has ended 100ms after its start: ") || !strings.Contains(got, text) {
				t.Errorf("%s: after %s: %s", text, took, got)
			}
			u.live(0)
		}
		u.ends(after, time.Millisecond, "inactive", "success", 2, 15)
		if _, err := u.res.CheckApply(t.Context(), true); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		u.Started[unitName] = func() bool { return false }
		if got, _ := u.run(); !strings.HasPrefix(got, "failed: svc.start: start web.service: ") {
			t.Error(got)
		}
		u.Started[unitName] = func() bool { // it is stopped before mgmt sees that it has come up
			u.begin(0)
			time.Sleep(time.Millisecond)
			u.left(time.Millisecond)
			u.Active[unitName] = "inactive"
			return true
		}
		if got, _ := u.run(); got != nowRunning {
			t.Error(got)
		}
	})
}

// TestFindingQ3StopsWhileItStarts: the end of mgmt ends the wait, and so does an end of which nobody knows the reason.
func TestFindingQ3StopsWhileItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnit(t, Res{State: Running, Stable: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if _, err := u.res.CheckApply(ctx, true); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		u.Alter(func() { delete(u.Active, unitName) })
		time.AfterFunc(time.Second, func() { u.Alter(func() { delete(u.Active, unitName) }) })
		got, took := u.run()
		if took != time.Second || !strings.HasPrefix(got, "failed: web has ended 1s after its start") {
			t.Errorf("%s after %s", got, took)
		}
	})
}
