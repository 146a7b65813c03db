package enginetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// receive takes from ch, but waits no longer than d. ok is false when the time is up.
func receive[T any](ch <-chan T, d time.Duration) (v T, ok bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case v = <-ch:
		return v, true
	case <-timer.C:
		return v, false
	}
}

// lawUnwatched: a kind that says it has nothing to watch has no drifts that a Watch
// would have to see. Its Watch subscribes to nothing, and is silent until its context
// ends. That all else goes without it is in the other laws: none of them waits for a
// Running that such a kind need not say.
func lawUnwatched(e *env) error {
	r, err := e.rig()
	if err != nil || !r.unwatched {
		return err
	}
	if len(e.Drifts) > 0 {
		return errors.New("the kind says that it has nothing to watch, but there is something to see: the suite has drifts")
	}
	if err := r.watch(); err != nil {
		return err
	}
	timer := time.NewTimer(quietTime)
	defer timer.Stop()
	select {
	case <-r.fake.Events():
		return errors.New("the kind says that it has nothing to watch, but its Watch told of an event")
	case err := <-r.done:
		return r.early(err)
	case <-timer.C:
	}
	if h, ok := r.fake.Init().Host.(*FakeHost); ok && len(h.Subscriptions()) > 0 {
		return fmt.Errorf("the kind says that it has nothing to watch, but its Watch subscribes to %v", h.Subscriptions())
	}
	return r.unwatch()
}

// lawWatch: Watch says Running once, and then sees each drift, again and again. Twice,
// since a Watch that is used up by its first event would pass otherwise.
func lawWatch(e *env) error {
	r, err := e.rig()
	if err == nil {
		err = r.watch()
	}
	if err != nil {
		return err
	}
	if err := r.close(); err != nil {
		return err
	}
	return e.eachDrift(func(r *rig, name string) error {
		if err := r.watch(); err != nil {
			return err
		}
		for _, time := range []string{"the first time", "the second time"} {
			if err := r.seen(name, time); err != nil {
				return err
			}
		}
		return r.unwatch()
	})
}

// seen drifts, waits for the event, and repairs. The events of the change before are
// taken first, so that the awaited one belongs to this drift.
func (r *rig) seen(name, when string) error {
	r.quiet()
	r.drift(name)
	if err := r.event(); err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	if err := r.want(true, false, when); err != nil {
		return err
	}
	return r.settled(when + ", after the repair")
}

// lawArmed: a change within the call of Running is seen already. The engine runs
// CheckApply after Running. A change between that call and an armed watch would be
// lost, against law 3.
func lawArmed(e *env) error {
	return e.eachDrift(func(r *rig, name string) error {
		r.fake.OnRunning(func() { r.drift(name) })
		if err := r.watch(); err != nil {
			return err
		}
		if err := r.event(); err != nil {
			return fmt.Errorf("its Watch called Running before its watches were armed: %w", err)
		}
		return nil
	})
}

// lawRestart: a Watch that has ended can be called again. The engine restarts it after
// a failure, and after a received value.
func lawRestart(e *env) error {
	r, err := e.rig()
	if err != nil {
		return err
	}
	for range 3 {
		if err := errors.Join(r.watch(), r.unwatch()); err != nil {
			return err
		}
	}
	if err := r.close(); err != nil {
		return err
	}
	return e.eachDrift(func(r *rig, name string) error {
		if err := errors.Join(r.watch(), r.unwatch(), r.watch()); err != nil {
			return err
		}
		return r.seen(name, "after a restart of Watch")
	})
}

// lawCancel: Watch ends with its context, also if that has ended before, and leaves
// nothing; then Cleanup leaves nothing. The order is that of an end in the middle of a
// run: Watch first, then Cleanup.
func lawCancel(e *env) error {
	m := e.machine()
	dir, err := e.dir()
	if err != nil {
		return err
	}
	r, err := e.rigAt(dir, m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r.start(ctx, cancel)
	if err := r.already(); err != nil {
		return fmt.Errorf("with a context that has ended: %w", err)
	}
	if err := errors.Join(r.watch(), r.apply(), r.unwatch()); err != nil {
		return err
	}
	if h, ok := m.host.(*FakeHost); ok && len(h.Subscriptions()) > 0 {
		return fmt.Errorf("after Watch, subscriptions are still open: %v", h.Subscriptions())
	}
	return r.close()
}

// already waits for a Watch whose context had ended before it began. Its context's
// error is allowed, and so is none.
func (r *rig) already() error {
	err, ok := receive(r.done, r.Timeout)
	r.cancel = nil
	switch {
	case !ok:
		return fmt.Errorf("its Watch did not end within %s", r.Timeout)
	case err != nil && !errors.Is(err, context.Canceled):
		return err
	}
	return nil
}

// lawOverlap: a kind that says so can be made and cleaned up while another one of its
// name runs, in either order. Neither the outside nor VarDir notices. Law 10 of the
// engine rests on it: at a swap such a kind is initialised before the old vertex stops.
func lawOverlap(e *env) error {
	res, err := e.Registry.New(e.Kind)
	if err != nil {
		return err
	}
	if a, err := engine.AbilitiesOf(res); err != nil || !a.Overlapping {
		return err
	}
	old, err := e.rig()
	if err != nil {
		return err
	}
	if err := errors.Join(old.apply(), old.watch()); err != nil {
		return err
	}
	before := old.tree()
	// The second twin meets the remains of the first one, if there are any.
	for range 2 {
		twin, err := e.twin(old)
		if err != nil {
			return err
		}
		if err := before.same(old.tree()); err != nil {
			return fmt.Errorf("Init of a twin: %w", err)
		}
		if err := twin.close(); err != nil {
			return err
		}
		if err := before.same(old.tree()); err != nil {
			return fmt.Errorf("Cleanup of a twin: %w", err)
		}
	}
	return e.handOver(old, before)
}

// handOver checks that the old one still works while a twin is there, and the twin
// after the old one. One drift is enough at the end: lawWatch tries all of them.
func (e *env) handOver(old *rig, before Tree) error {
	twin, err := e.twin(old)
	if err != nil {
		return err
	}
	if err := old.settled("next to a twin"); err != nil {
		return err
	}
	if err := old.close(); err != nil {
		return err
	}
	if !e.NoState {
		if err := before.same(twin.tree()); err != nil {
			return fmt.Errorf("Cleanup next to a twin: %w", err)
		}
	}
	if err := errors.Join(twin.watch(), twin.settled("after the old one")); err != nil {
		return err
	}
	for name := range e.Drifts {
		return twin.seen(name, "after the old one")
	}
	return nil
}

// twin makes a second resource of the same name. Its folder, VarDir and machine are
// those of the first, and so is the thing that they share.
func (e *env) twin(r *rig) (*rig, error) {
	twin, err := e.rigAt(r.dir, r.machine)
	if err != nil {
		return nil, fmt.Errorf("a twin: %w", err)
	}
	return twin, nil
}
