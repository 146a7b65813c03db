package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/provider"
)

// verdict is what has become of the changes of one Set. Every title of the Set has a
// status, and those without success are in failed too.
type verdict struct {
	err    error // of the call, with the rules of the Logger that it broke
	failed map[string]error
	status map[string]provider.Status
}

// of returns why a title has failed; nil if it is done.
func (v verdict) of(title string) error { return v.failed[title] }

// all returns why any title has failed, in no fixed order; nil if all are done.
func (v verdict) all() error {
	var errs []error
	for title, err := range v.failed {
		errs = append(errs, fmt.Errorf("%s: %w", title, err))
	}
	return errors.Join(errs...)
}

// change makes the change that brings about what is asked for. The thing is read for it
// first, as the engine reads before it judges.
func (w *world) change(a ask) (provider.Change, error) {
	is, err := w.look(a.name)
	c := provider.Change{Title: a.title, Name: a.name, Should: a.should.Clone(), Is: provider.State{Presence: provider.Absent}}
	if is != nil {
		c.Is = provider.State{Presence: provider.Known, Record: is}
	}
	return c, err
}

// changes makes changes of things. Each of the things is brought into canonical form,
// as a transaction does it before Set.
func (w *world) changes(list ...Thing) ([]provider.Change, error) {
	var out []provider.Change
	for _, th := range list {
		a, err := w.wanted(th)
		if err != nil {
			return nil, err
		}
		c, err := w.change(a)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// set calls Set as a transaction does. The error is about the provider breaking a rule;
// failures stand in the verdict. It judges the statuses as the engine does. A title has
// failed if the Logger says so, or if Set fails and gave it no status.
func (w *world) set(ctx context.Context, changes []provider.Change) (verdict, error) {
	// Changes belong to the provider during the call. The copies tell whether it has
	// altered one.
	before := make([]provider.Change, len(changes))
	for i, c := range changes {
		before[i] = c.Clone()
	}
	rt := w.runtime(changes)
	v := verdict{failed: map[string]error{}, status: map[string]provider.Status{}}
	v.err = w.p.Set(ctx, rt, changes)
	for _, c := range before {
		status, message := rt.Log.Status(c.Title)
		v.status[c.Title] = status
		switch {
		case status == provider.Failed:
			v.failed[c.Title] = errors.New(message)
		case status == provider.Unmarked && v.err != nil:
			v.failed[c.Title] = v.err
		}
	}
	return v, errors.Join(rt.Log.Broken(), provider.Altered(before, changes), w.truthful(before, v))
}

// truthful checks that a status says what was to be done. A change whose state is
// unknown is left out: the provider alone has seen what was there.
func (w *world) truthful(changes []provider.Change, v verdict) error {
	var errs []error
	for _, c := range changes {
		status := v.status[c.Title]
		gone := c.Should["ensure"] == "absent"
		switch {
		case c.Is.Presence == provider.Unknown:
		case status == provider.Created && (gone || c.Is.Presence == provider.Known),
			status == provider.Deleted && !gone,
			status == provider.Updated && (gone || c.Is.Presence == provider.Absent):
			errs = append(errs, fmt.Errorf("its Set has called %s %s, which it is not", c.Title, status))
		}
	}
	return errors.Join(errs...)
}

// bring brings things about in one Set, and checks that they are as wanted.
func (w *world) bring(list ...Thing) error {
	changes, err := w.changes(list...)
	if err != nil {
		return err
	}
	return w.fulfil(changes)
}

// fulfil calls Set, and checks that all is as wanted, in this transaction and in the
// next one. The first round asks the object that has set. The second round asks a new
// one, which knows nothing but the machine.
func (w *world) fulfil(changes []provider.Change) error {
	asks := asksOf(changes)
	v, err := w.set(w.t.Context(), changes)
	if err := errors.Join(err, v.all()); err != nil {
		return fmt.Errorf("by Set: %w", err)
	}
	for range 2 {
		for _, a := range asks {
			if err := w.asWanted(a); err != nil {
				return fmt.Errorf("after Set: %w", err)
			}
		}
		if err := w.next(); err != nil {
			return fmt.Errorf("by Close: %w", err)
		}
	}
	return nil
}

// asksOf copies the asked changes before a provider sees them, to compare afterwards: a
// provider must not alter its arguments.
func asksOf(changes []provider.Change) []ask {
	var asks []ask
	for _, c := range slices.Clone(changes) {
		asks = append(asks, ask{c.Title, c.Name, c.Should.Clone()})
	}
	return asks
}

// withThing makes a world in which Thing was made.
func (e *env) withThing() (*world, error) {
	w, err := e.world()
	if err != nil {
		return nil, err
	}
	if err := w.bring(w.Thing(w.dir)); err != nil {
		return nil, fmt.Errorf("making %s: %w", w.Thing(w.dir).Title, err)
	}
	return w, nil
}
