package providertest

import (
	"fmt"
	"maps"
	"slices"
)

// lawForeign: an action on Thing does not alter other things. The others are made
// first, and read before and after each action. New things may come up, because a
// provider may list more than the suite knows.
func lawForeign(e *env) error {
	w, err := e.world()
	if err != nil {
		return err
	}
	th := w.Thing(w.dir)
	if others := w.things()[1:]; len(others) > 0 {
		if err := w.bring(others...); err != nil {
			return err
		}
	}
	a, err := w.wanted(th)
	if err != nil {
		return err
	}
	before, err := w.all()
	if err != nil {
		return err
	}
	list := []Thing{th}
	for _, name := range slices.Sorted(maps.Keys(e.Updates)) {
		list = append(list, th.with(e.Updates[name]))
	}
	if e.absentable() {
		list = append(list, th.gone())
	}
	for i, th := range list {
		if err := w.bring(th); err != nil {
			return err
		}
		after, err := w.all()
		if err != nil {
			return err
		}
		delete(before, a.name)
		if err := before.within(after); err != nil {
			return fmt.Errorf("change %d: %w", i+1, err)
		}
	}
	return nil
}

// lawBatch: many things are made, and removed, in one Set. The engine hands over all
// resources that are due together and have no path between them.
func lawBatch(e *env) error {
	w, err := e.world()
	if err != nil {
		return err
	}
	list := w.things()
	if err := w.bring(list...); err != nil {
		return err
	}
	if !e.absentable() {
		return nil
	}
	for i := range list {
		list[i] = list[i].gone()
	}
	return w.bring(list...)
}

// lawPartial: where one of many can't be done, it has failed, and things with the
// status done are done. Values that the type or Canonicalize refuses never get to Set,
// and are left out here. Without Others there is no good thing to compare with.
func lawPartial(e *env) error {
	for _, name := range slices.Sorted(maps.Keys(e.Invalid)) {
		w, err := e.world()
		if err != nil {
			return err
		}
		if err := w.partial(w.Thing(w.dir).with(e.Invalid[name])); err != nil {
			return fmt.Errorf("with the invalid %q: %w", name, err)
		}
	}
	return nil
}

// partial sets a bad thing together with good ones. The bad one has to fail. The good
// ones may fail with it, but each of them is there afterwards if it is called done.
func (w *world) partial(bad Thing) error {
	others := w.things()[1:]
	if _, err := w.wanted(bad); err != nil || len(others) == 0 {
		return nil // it never gets so far
	}
	changes, err := w.changes(append([]Thing{bad}, others...)...)
	if err != nil {
		return err
	}
	asks := asksOf(changes)
	v, err := w.set(w.t.Context(), changes)
	if err != nil {
		return err
	}
	if v.of(bad.Title) == nil {
		return fmt.Errorf("%s has not failed", bad.Title)
	}
	for _, a := range asks[1:] {
		if v.of(a.title) != nil {
			continue
		}
		if err := w.asWanted(a); err != nil {
			return fmt.Errorf("called done: %w", err)
		}
	}
	return nil
}
