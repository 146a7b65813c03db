package providertest

import (
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine/provider"
)

// lawEmpty: in a new world Thing is not there, and looking alters nothing. A thing that
// is there with other values passes, since a type without ensure has its things always.
// An InSyncer that fails for an absent thing breaks no law here.
func lawEmpty(e *env) error {
	w, err := e.world()
	if err != nil {
		return err
	}
	before := w.tree()
	for _, th := range w.things() {
		a, err := w.wanted(th)
		if err != nil {
			return err
		}
		is, err := w.look(a.name)
		if err != nil {
			return err
		}
		if key, err := w.kind.Differing(w.t.Context(), w.runtime(nil), w.p, a.name, a.should, is); err == nil && key == "" {
			return fmt.Errorf("%s is as wanted from the start", th.Title)
		}
	}
	if _, err := w.all(); err != nil {
		return err
	}
	return w.untouched(before)
}

// lawRecords: the result of Get fits the definition, has each thing once, is the same
// each time, and looking alters nothing. Three reads are compared: two in the
// transaction that made the thing, and one in a later transaction. A value that only
// the making object remembers differs there.
func lawRecords(e *env) error {
	w, err := e.withThing()
	if err != nil {
		return err
	}
	before := w.tree()
	first, err := w.all()
	if err != nil {
		return err
	}
	for range 2 {
		again, err := w.all()
		if err != nil {
			return err
		}
		if err := first.same(again); err != nil {
			return fmt.Errorf("read a second time: %w", err)
		}
		if err := w.next(); err != nil {
			return err
		}
	}
	return w.untouched(before)
}

// within returns an error if something is gone, or another one. It holds where
// everything of f is in o as it was; o may have more.
func (f found) within(o found) error {
	for n, rec := range f {
		if o[n] == nil {
			return fmt.Errorf("%s is gone", n)
		}
		if key, differs := differ(rec, o[n]); differs {
			return fmt.Errorf("%s of %s is another one", key, n)
		}
	}
	return nil
}

// same returns an error if something differs.
func (f found) same(o found) error {
	if err := f.within(o); err != nil {
		return err
	}
	for n := range o {
		if f[n] == nil {
			return fmt.Errorf("%s has come up", n)
		}
	}
	return nil
}

// lawStops: a Get that is not read to its end ends, and the next one begins anew. A Get
// that goes on yielding after its loop has ended panics; that is a rule of Go's
// iterators.
func lawStops(e *env) error {
	w, err := e.world()
	if err != nil || e.has(provider.Find) {
		return err
	}
	if err := w.bring(w.things()...); err != nil {
		return err
	}
	// The loop takes one record and leaves, as a reader does that has enough.
	for range w.p.Get(w.t.Context(), w.runtime(nil), provider.Filter{All: true}) {
		break
	}
	a, err := w.wanted(e.Thing(w.dir))
	if err != nil {
		return err
	}
	return w.asWanted(a)
}

// lawFilter: Get returns at least the wanted things, with the same values as without a
// filter; with no names it may return nothing. More things than the asked ones are
// allowed. The law asks for no name, for one, and so on up to all.
func lawFilter(e *env) error {
	if !e.has(provider.SimpleGetFilter) {
		return nil
	}
	w, err := e.world()
	if err != nil {
		return err
	}
	list := w.things()
	var asks []ask
	for _, th := range list {
		a, err := w.wanted(th)
		if err != nil {
			return err
		}
		asks = append(asks, a)
	}
	if _, err := w.get(w.t.Context(), provider.Only(asks[0].name)); err != nil {
		return fmt.Errorf("asked for what is absent: %w", err)
	}
	if err := w.bring(list...); err != nil {
		return err
	}
	for n := range len(asks) + 1 {
		if err := w.only(asks[:n]); err != nil {
			return fmt.Errorf("asked for %d names: %w", n, err)
		}
	}
	return nil
}

// only reads some of the things. It compares with a read of all things. A filter must
// change the cost of a reading, never its values.
func (w *world) only(asks []ask) error {
	var names []provider.Name
	for _, a := range asks {
		names = append(names, a.name)
	}
	some, err := w.get(w.t.Context(), provider.Only(names...))
	if err != nil {
		return err
	}
	all, err := w.all()
	if err != nil {
		return err
	}
	for _, n := range names {
		if some[n] == nil {
			return fmt.Errorf("%s is missing", n)
		}
	}
	for n, rec := range some {
		if all[n] == nil {
			continue // a thing that can be read by name need not be listed
		}
		if key, differs := differ(rec, all[n]); differs {
			return fmt.Errorf("%s of %s is another one than without a filter", key, n)
		}
	}
	return nil
}

// lawFind: Find finds what was made, and nothing that was not. An absent thing is not
// an error for Find, since most resources begin as absent.
func lawFind(e *env) error {
	if !e.has(provider.Find) {
		return nil
	}
	w, err := e.world()
	if err != nil {
		return err
	}
	a, err := w.wanted(e.Thing(w.dir))
	if err != nil {
		return err
	}
	is, err := w.find(a.name)
	if err == nil && is != nil {
		err = errors.New("its Find finds it")
	}
	if err != nil {
		return fmt.Errorf("before it was made: %w", err)
	}
	if err := w.bring(w.things()...); err != nil {
		return err
	}
	if is, err := w.find(a.name); err != nil || is == nil {
		return errors.Join(err, errors.New("its Find does not find what was made"))
	}
	return nil
}

// lawCanonicalize: the canonical form of many is that of each, in their order. That of
// the canonical form is itself, the namevars stay, and nothing outside is altered.
// Kind.Canonical checks the second and the third of these rules, as it does in a
// transaction. The provider is given raw records, and may alter them.
func lawCanonicalize(e *env) error {
	if !e.has(provider.Canonicalize) {
		return nil
	}
	w, err := e.world()
	if err != nil {
		return err
	}
	before := w.tree()
	var raw, each []provider.Record
	for _, th := range w.variants() {
		r, err := w.resource(th)
		if err != nil {
			return err
		}
		rec, err := w.kind.Wanted(r)
		if err != nil {
			return err
		}
		canon, _, err := w.kind.Canonical(w.t.Context(), w.runtime(nil), w.p, rec)
		if err != nil {
			return err
		}
		raw, each = append(raw, rec), append(each, canon)
	}
	// Now all go in one call. A form that depends on the neighbours or on the place
	// would differ from each alone.
	many, err := w.p.(provider.Canonicalizer).Canonicalize(w.t.Context(), w.runtime(nil), raw)
	if err != nil {
		return err
	}
	if len(many) != len(each) {
		return fmt.Errorf("its Canonicalize has returned %d records for %d", len(many), len(each))
	}
	for i, rec := range many {
		if key, differs := differ(rec, each[i]); differs {
			return fmt.Errorf("the canonical form of %d records has another %s in place %d than that record alone", len(each), key, i+1)
		}
	}
	return w.untouched(before)
}

// variants are the things of the suite, with what Thing is updated to. Updates come in
// no fixed order.
func (w *world) variants() []Thing {
	list := w.things()
	for _, v := range w.Updates {
		list = append(list, w.Thing(w.dir).with(v))
	}
	return list
}
