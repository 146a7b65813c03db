package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/provider"
)

// lawNoop: under noop Set alters nothing, whatever is to be done, and fails nothing. It
// holds for a provider with the feature noop_handler alone. Without that feature the
// engine never calls Set under noop.
func lawNoop(e *env) error {
	if !e.has(provider.NoopHandler) {
		return nil
	}
	w, err := e.world()
	if err != nil {
		return err
	}
	if err := w.rehearse(w.things()...); err != nil {
		return fmt.Errorf("making: %w", err)
	}
	if err := w.bring(w.Thing(w.dir)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(e.Updates)) {
		if err := w.rehearse(w.Thing(w.dir).with(e.Updates[name])); err != nil {
			return fmt.Errorf("update %q: %w", name, err)
		}
	}
	if e.absentable() {
		return w.rehearse(w.Thing(w.dir).gone())
	}
	return nil
}

// rehearse calls Set with noop, and holds that nothing was altered by it. The
// comparison is of all files, their inodes and times included. So a Set that writes a
// file and puts it back is found too.
func (w *world) rehearse(list ...Thing) error {
	changes, err := w.changes(list...)
	if err != nil {
		return err
	}
	for i := range changes {
		changes[i].Noop = true
	}
	before := w.tree()
	v, err := w.set(w.t.Context(), changes)
	return errors.Join(err, v.all(), w.untouched(before))
}

// lawSecond: another provider object sees what the first one has done, before that is
// closed. The engine runs a Watch on an object of its own, which sees the machine and
// nothing else. A provider that keeps its writes until Close breaks this law.
func lawSecond(e *env) error {
	w, err := e.world()
	if err != nil {
		return err
	}
	changes, err := w.changes(w.things()...)
	if err != nil {
		return err
	}
	asks := asksOf(changes)
	v, err := w.set(w.t.Context(), changes)
	if err := errors.Join(err, v.all()); err != nil {
		return err
	}
	second := &world{env: e, dir: w.dir, make: w.make, kind: w.kind, host: w.host, p: w.make()}
	for _, a := range asks {
		if err := second.asWanted(a); err != nil {
			return errors.Join(fmt.Errorf("another provider object: %w", err), second.end())
		}
	}
	return second.end()
}

// lawCancelled: under a context that has ended every method returns soon. A Set then
// fails, or has done it. Both answers are good, as long as the status tells which of
// them it was. Get may end with any error, since the engine only needs its return.
func lawCancelled(e *env) error {
	w, err := e.world()
	if err != nil {
		return err
	}
	changes, err := w.changes(w.Thing(w.dir))
	if err != nil {
		return err
	}
	asks := asksOf(changes)
	ctx, cancel := context.WithCancel(w.t.Context())
	cancel()
	if !e.has(provider.Find) {
		if err := w.within("Get", func() error { _, err := w.get(ctx, provider.Filter{All: true}); return ignore(err) }); err != nil {
			return err
		}
	}
	var v verdict
	err = w.within("Set", func() (err error) { v, err = w.set(ctx, changes); return err })
	// It has reported success only from here on, and that is checked in a new
	// transaction.
	if err != nil || v.of(asks[0].title) != nil {
		return err
	}
	if err := w.next(); err != nil {
		return err
	}
	if err := w.asWanted(asks[0]); err != nil {
		return fmt.Errorf("its Set under a context that has ended has reported success: %w", err)
	}
	return nil
}

// ignore takes an error that the law is not about. Each law judges one thing, so that a failure
// of a provider names one cause. The law that is about the error calls the same method and
// looks at it.
func ignore(error) error { return nil }

// within calls f, and waits no longer than Timeout for it. A method that hangs keeps
// its goroutine. Then w.lost keeps the law from closing the provider, since no two of
// its methods may run at the same time.
func (w *world) within(what string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- guard(f) }()
	timer := time.NewTimer(w.Timeout)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		w.lost = true
		return fmt.Errorf("%s did not return within %s", what, w.Timeout)
	}
}
