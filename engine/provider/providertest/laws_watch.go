package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
)

// patrol is a Watch that runs. Its owner calls end once, also after a failure. end
// stops the goroutine and closes the provider object of the Watch.
type patrol struct {
	w      *world
	p      provider.Provider
	cancel context.CancelFunc
	armed  chan struct{}
	// calls counts those of armed. More than one is an error, which end reports.
	calls atomic.Int32 // of armed
	news  chan provider.Filter
	done  chan error
}

// patrol starts a Watch, and waits until it is armed. It returns nil for a provider
// that is not a Watcher. As in the engine, the Watch has an object of its own, which no
// other method uses.
func (w *world) patrol() (*patrol, error) {
	p := w.make()
	watcher, ok := p.(provider.Watcher)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	pt := &patrol{w: w, p: p, cancel: cancel, armed: make(chan struct{}), news: make(chan provider.Filter, 1000), done: make(chan error, 1)}
	go func() {
		pt.done <- guard(func() error { return watcher.Watch(ctx, w.runtime(nil), pt.arm, pt.changed) })
	}()
	timer := time.NewTimer(w.Timeout)
	defer timer.Stop()
	select {
	case <-pt.armed:
		return pt, nil
	case err := <-pt.done:
		return nil, errors.Join(errors.New("its Watch ended before its context did"), err)
	case <-timer.C:
		return nil, errors.Join(errors.New("its Watch did not call armed"), pt.end())
	}
}

// arm notes that the watch is armed, once however often it is told.
func (pt *patrol) arm() {
	if pt.calls.Add(1) == 1 {
		close(pt.armed)
	}
}

// changed keeps a piece of news; when the channel is full the law has heard enough. It
// must not block, since the contract of Watcher says that it never does. The names are
// copied, because they belong to the provider.
func (pt *patrol) changed(names ...provider.Name) {
	select {
	case pt.news <- provider.Filter{All: len(names) == 0, Names: slices.Clone(names)}:
	default: // more than any user could want
	}
}

// end ends it. An error that is the end of the context is none. The object is closed
// after Watch has returned, and only then.
func (pt *patrol) end() error {
	pt.cancel()
	timer := time.NewTimer(pt.w.Timeout)
	defer timer.Stop()
	var err error
	select {
	case err = <-pt.done:
	case <-timer.C:
		return errors.New("its Watch did not end with its context")
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if n := pt.calls.Load(); n > 1 {
		err = errors.Join(err, fmt.Errorf("its Watch called armed %d times", n))
	}
	if c, ok := pt.p.(provider.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// sees waits until it is told that a thing may have changed. News without names is
// about all things. A Watch may tell of other names before, since too much news only
// costs a reading.
func (pt *patrol) sees(n provider.Name) error {
	timer := time.NewTimer(pt.w.Timeout)
	defer timer.Stop()
	for {
		select {
		case f := <-pt.news:
			if f.All || slices.Contains(f.Names, n) {
				return nil
			}
		case err := <-pt.done:
			// The result goes back into the channel for end, which waits for it.
			pt.done <- err
			return errors.Join(errors.New("its Watch ended before its context did"), err)
		case <-timer.C:
			return errors.New("its Watch did not tell of it")
		}
	}
}

// lawWatch: Watch calls armed once, tells of each drift, and ends with its context; so
// does one whose context has ended before. A provider without a Watch keeps this law:
// the engine polls it.
func lawWatch(e *env) error {
	w, err := e.withThing()
	if err != nil {
		return err
	}
	pt, err := w.patrol()
	if err != nil || pt == nil {
		return err
	}
	if err := pt.end(); err != nil {
		return err
	}
	return e.eachDrift(func(w *world, a ask, drift func()) error {
		pt, err := w.patrol()
		if err != nil {
			return err
		}
		drift()
		return errors.Join(pt.sees(a.name), pt.end())
	})
}

// eachDrift calls f in a world of its own for each drift. Thing has been made before
// each of them, so that there is something to drift.
func (e *env) eachDrift(f func(w *world, a ask, drift func()) error) error {
	for _, name := range slices.Sorted(maps.Keys(e.Drifts)) {
		w, err := e.withThing()
		if err != nil {
			return err
		}
		a, err := w.wanted(e.Thing(w.dir))
		if err != nil {
			return err
		}
		if err := f(w, a, func() { w.drift(name) }); err != nil {
			return fmt.Errorf("drift %q: %w", name, err)
		}
	}
	return nil
}

// drift changes the world from the outside, and wakes a FakeHost. Such a host watches
// no real file, so each altered path is told to it by name.
func (w *world) drift(name string) {
	before := w.tree()
	w.Drifts[name](w.t, w.dir)
	if host, fake := w.host.(*enginetest.FakeHost); fake {
		for _, p := range before.Changed(w.tree()) {
			host.Touch(p)
		}
	}
}

// lawStamp: the stamp stays as long as nothing changes, in each provider object, and is
// another one after a Set and after each drift. The engine makes a provider object for
// each transaction, and reads nothing where the stamp is the same. A stamp that stays
// hides a change. A stamp that is always new makes a reading of each poll.
func lawStamp(e *env) error {
	w, err := e.world()
	if err != nil {
		return err
	}
	if _, ok := w.p.(provider.Stamper); !ok {
		return nil
	}
	stamps := map[string]string{}
	// Each stamp must be another than all before it in the same world.
	new := func(w *world, when string) error {
		s, err := w.stamp()
		if err != nil {
			return fmt.Errorf("%s: %w", when, err)
		}
		if before, ok := stamps[s]; ok {
			return fmt.Errorf("%s the stamp is the one of %s", when, before)
		}
		stamps[s] = when
		return nil
	}
	if err := new(w, "at the start"); err != nil {
		return err
	}
	if err := w.bring(e.Thing(w.dir)); err != nil {
		return err
	}
	if err := new(w, "after a Set"); err != nil {
		return err
	}
	return e.eachDrift(func(w *world, _ ask, drift func()) error {
		// Each drift has a world of its own, and two worlds in the same state may have
		// the same stamp.
		clear(stamps)
		if err := new(w, "before it"); err != nil {
			return err
		}
		drift()
		return new(w, "after it")
	})
}

// stamp asks twice, of two provider objects.
func (w *world) stamp() (string, error) {
	s, _ := w.p.(provider.Stamper)
	a, err := s.Stamp(w.t.Context(), w.runtime(nil))
	if err != nil {
		return "", err
	}
	if err := w.next(); err != nil {
		return "", err
	}
	s, _ = w.p.(provider.Stamper)
	b, err := s.Stamp(w.t.Context(), w.runtime(nil))
	if err == nil && a != b {
		err = errors.New("the stamp has changed, and nothing else")
	}
	return a, err
}

// lawClose: a provider that was not used can be closed, and each can be closed twice.
// The second Close lets an owner close in a defer as well.
func lawClose(e *env) error {
	w, err := e.world()
	if err != nil {
		return err
	}
	if err := w.end(); err != nil {
		return err
	}
	defer func() { w.p = nil }()
	for _, use := range []bool{false, true} {
		p, ok := w.make().(provider.Closer)
		if !ok {
			return nil
		}
		w.p = p.(provider.Provider)
		if use {
			if _, err := w.all(); err != nil {
				return err
			}
		}
		if err := errors.Join(p.Close(), p.Close()); err != nil {
			return err
		}
	}
	return nil
}
