package systemd1

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ErrMissing is the error about a unit that is not there.
var ErrMissing = errors.New("there is no such unit")

// Start starts a unit, with the units that it needs, and returns when it is active.
func (m *Manager) Start(ctx context.Context, unit string) error {
	return m.do(ctx, unit, act{word: "start", method: "StartUnit", already: (*Unit).Running, done: (*Unit).Running})
}

// Restart starts a unit anew.
func (m *Manager) Restart(ctx context.Context, unit string) error {
	return m.do(ctx, unit, act{word: "restart", method: "RestartUnit", already: never, done: (*Unit).Running, fresh: true})
}

// ReloadUnit has a unit read its configuration again, or restarts it if it cannot do that. With a
// unit that does not run it does nothing.
func (m *Manager) ReloadUnit(ctx context.Context, unit string) error {
	return m.do(ctx, unit, act{word: "reload", method: "ReloadOrTryRestartUnit", already: (*Unit).Stopped, done: (*Unit).Running, fresh: true})
}

// CanReload reports whether a unit can read its configuration again while it runs.
func (m *Manager) CanReload(ctx context.Context, u Unit) bool {
	return m.property(ctx, u, "Unit", "CanReload") == "true"
}

// Stop stops a unit and returns when it is not active any more. A missing unit counts as stopped.
func (m *Manager) Stop(ctx context.Context, unit string) error {
	u, err := m.Unit(ctx, unit)
	stop := act{word: "stop", method: "StopUnit", already: (*Unit).Stopped, done: (*Unit).Stopped}
	if err != nil || stop.begun(&u) {
		return err
	}
	if err := m.undisturbed(ctx, u); err != nil {
		return err
	}
	return m.reach(ctx, u, stop)
}

// act is something that is done with a unit.
type act struct {
	word, method string
	already      func(*Unit) bool // there is nothing to do
	done         func(*Unit) bool // it has succeeded
	fresh        bool             // there is a reason to try even a unit that has crashed again and again
}

func never(*Unit) bool { return false }

// begun reports whether there is nothing to begin: all is as it should be, and nothing is being done that
// would change that.
func (a act) begun(u *Unit) bool { return u.job == "0" && a.already(u) }

// do does what needs a unit that can be started.
func (m *Manager) do(ctx context.Context, unit string, a act) error {
	u, err := m.Unit(ctx, unit)
	switch {
	case err != nil:
		return err
	case u.Missing():
		return fmt.Errorf("%s %s: %w", a.word, unit, ErrMissing)
	case a.begun(&u):
		return nil
	}
	var stale bool
	atOnce(func() { err = m.undisturbed(ctx, u) }, func() { stale = m.Stale(ctx, u) })
	if err != nil {
		return err
	}
	if u, err = m.current(ctx, u, stale); err != nil {
		return err
	}
	if u.Load == "masked" {
		return fmt.Errorf("%s is masked, so it cannot be started", unit)
	}
	if a.fresh || m.pardoned(ctx, u) {
		// If that fails the job is tried as things are, and its own error tells the reason.
		_, _ = m.call(ctx, "ResetFailedUnit", unit)
	}
	return m.reach(ctx, u, a)
}

// atOnce asks two questions at the same time: an answer takes most of its time on the way.
func atOnce(one, other func()) {
	var wg sync.WaitGroup
	wg.Go(other)
	one()
	wg.Wait()
}

// current has the changed files of a unit read. A masked unit may not be masked any more, also
// because another client had its files read just now.
func (m *Manager) current(ctx context.Context, u Unit, stale bool) (Unit, error) {
	if stale {
		if err := m.Reload(ctx); err != nil {
			return u, err
		}
	}
	if stale || u.Load == "masked" {
		return m.Unit(ctx, u.Name)
	}
	return u, nil
}

// byOthers are the signals by which others end a process.
var byOthers = []string{"1", "2", "9", "15"} // HUP, INT, KILL, TERM

// pardoned reports whether the unit does not run though it has not failed by itself, so that the
// starts that were are not held against it. Neither who stops a service nor who kills it makes
// it a crash.
func (m *Manager) pardoned(ctx context.Context, u Unit) bool {
	if u.Active != "failed" {
		return u.Active == "inactive"
	}
	service := func(key string) string { return m.property(ctx, u, "Service", key) }
	switch result := service("Result"); result {
	case "", "success": // the unit is another type, or the failed unit is not the service
		return true
	case "signal", "start-limit-hit":
		status := service("ExecMainStatus")
		if service("ExecMainCode") == killed && slices.Contains(byOthers, status) {
			return true
		}
		return result != "signal" && status == "0" && service("NRestarts") == "0"
	}
	return false
}

// reach runs a job to its end, after which the unit has to be where it was to go.
func (m *Manager) reach(ctx context.Context, u Unit, a act) error {
	after, err := m.job(ctx, u.Name, a.method)
	if err != nil {
		return fmt.Errorf("%s %s: %w", a.word, u.Name, err)
	}
	if other := after.Job(); other != nil {
		return wait(other) // another job has replaced ours
	}
	if a.done(&after) && (a.word != "reload" || m.property(ctx, after, "Service", "ReloadResult") != "exit-code") {
		return nil
	}
	return m.why(ctx, after, a.word)
}

// job has the manager do something, waits until it is done, and returns the resulting state of the
// unit. That the job has ended is seen by the unit, which has no such job any more: a signal only
// says when to look.
func (m *Manager) job(ctx context.Context, unit, method string) (u Unit, err error) {
	sub, err := m.signals(ctx, own("JobRemoved"))
	if err != nil {
		return u, err
	}
	defer sub.Close()
	body, err := m.call(ctx, method, unit, "fail") // rather than replace what others have asked for
	if err != nil {
		return u, m.awaited(ctx, unit, err)
	}
	path, err := text(body)
	if err != nil {
		return u, err
	}
	number := path[strings.LastIndexByte(path, '/')+1:]
	if _, err := strconv.ParseUint(number, 10, 32); err != nil {
		return u, fmt.Errorf("systemd says %q where it should name a job", path)
	}
	for {
		u, err = m.Unit(ctx, unit)
		if err != nil || u.job != number {
			return u, err
		}
		select {
		case <-sub.C():
		case <-ctx.Done():
			return u, context.Cause(ctx)
		}
		if sub.Cause().Resync {
			if err := m.subscribe(ctx); err != nil {
				return u, err
			}
		}
	}
}
