package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// env is what one law works with.
type env struct {
	Suite
	t *testing.T
}

// has reports whether the provider states a feature.
func (e *env) has(f provider.Features) bool { return e.Definition.Features&f != 0 }

// world is one world with its kind, and a provider in it. Its law owns it, and calls
// one method of p at a time. Only a patrol has another object, which may say something
// meanwhile.
type world struct {
	*env
	dir string
	// make is the constructor of the suite for this folder.
	make func() provider.Provider
	kind *provider.Kind
	host engine.Host
	p    provider.Provider // of the transaction
	lost bool              // a method of p has not returned

	mu sync.Mutex
	// events are those of all calls, the ones of a Watch too.
	events []provider.Event
}

// world makes one. The open transaction ends with the subtest, and an error of that
// Close fails the subtest.
func (e *env) world() (*world, error) {
	w := &world{env: e, dir: filepath.Join(e.t.TempDir(), "world")}
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		return nil, err
	}
	w.make = e.New(e.t, w.dir)
	w.host = e.machine(e.t, w.dir)
	var err error
	if w.kind, err = provider.New(e.Definition, w.make); err != nil {
		return nil, err
	}
	w.p = w.make()
	e.t.Cleanup(func() {
		if err := w.end(); err != nil {
			e.t.Error(err)
		}
	})
	return w, nil
}

// machine makes the Host of a world.
func (e *env) machine(t testing.TB, dir string) engine.Host {
	if e.Host != nil {
		return e.Host(t)
	}
	h := enginetest.NewHost()
	if e.Commands != nil {
		h.SetCommand(e.Commands(e.t, dir))
	}
	return h
}

// end ends the transaction. The next call is another one's. It is called for a world
// that has ended, too, and then closes nothing. A provider with a method that hangs is
// not closed, since no two of its methods may overlap.
func (w *world) end() error {
	if w.lost {
		return nil
	}
	p := w.p
	w.p = nil
	if c, ok := p.(provider.Closer); ok {
		return c.Close()
	}
	return nil
}

// next begins another transaction. Its provider has nothing of the one before but the
// machine.
func (w *world) next() error {
	err := w.end()
	w.p = w.make()
	return err
}

// runtime is what the provider is given for a call. Each call gets a new one, with a
// Logger of its own. Under noop it says so, as the changes say it.
func (w *world) runtime(changes []provider.Change) *provider.Runtime {
	return w.kind.Runtime(w.host, w.hear, changes)
}

// hear keeps an event of the provider; events come from any goroutine. One Logger gives
// its events one after the other, but a Watch has another Logger.
func (w *world) hear(e provider.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// said returns all that was said, as text.
func (w *world) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, e := range w.events {
		fmt.Fprintf(&b, "%v %q %q %v %v %v\n", e.Titles, e.Attribute, e.Message, e.From, e.To, e.Err)
	}
	return b.String()
}

// tree is what is below dir.
func (w *world) tree() enginetest.Tree { return enginetest.Snapshot(w.t, w.dir) }

// untouched returns an error if something below dir is not as it was.
func (w *world) untouched(before enginetest.Tree) error {
	if changed := before.Changed(w.tree()); len(changed) > 0 {
		return fmt.Errorf("it altered %q", changed)
	}
	return nil
}

// resource makes a resource of a thing.
func (w *world) resource(th Thing) (engine.Res, error) { return resourceOf(w.kind, th) }

// resourceOf makes a resource with the values of a thing. It sets the values by
// schema.Set, with the checks and conversions of a graph. The keys come in sorted
// order, so that the first error is the same each time.
func resourceOf(k *provider.Kind, th Thing) (engine.Res, error) {
	r := k.New()
	r.SetKind(k.Name())
	r.SetName(th.Title)
	for _, key := range slices.Sorted(maps.Keys(th.Values)) {
		if err := schema.Set(r, key, th.Values[key]); err != nil {
			return nil, fmt.Errorf("%s[%s]: %s: %w", k.Name(), th.Title, key, err)
		}
	}
	return r, nil
}

// with returns the thing with other values. The map of the old one is not altered,
// because a suite may return the same map again.
func (th Thing) with(v Values) Thing {
	all := maps.Clone(th.Values)
	if all == nil {
		all = Values{}
	}
	maps.Copy(all, v)
	return Thing{th.Title, all}
}

// gone returns the thing with the wish that it is absent.
func (th Thing) gone() Thing { return th.with(Values{"ensure": "absent"}) }

// things returns all things of the suite.
func (w *world) things() []Thing {
	list := []Thing{w.Thing(w.dir)}
	if w.Others != nil {
		list = append(list, w.Others(w.dir)...)
	}
	return list
}

// ask is what is wanted, in canonical form. It is kept apart from the change, which the
// provider may alter.
type ask struct {
	title  string
	name   provider.Name
	should provider.Record
}

// wanted returns the wishes of a resource of a thing.
func (w *world) wanted(th Thing) (ask, error) {
	r, err := w.resource(th)
	if err != nil {
		return ask{}, err
	}
	raw, err := w.kind.Wanted(r)
	if err != nil {
		return ask{}, err
	}
	rec, name, err := w.kind.Canonical(w.t.Context(), w.runtime(nil), w.p, raw)
	return ask{th.Title, name, rec}, err
}

// found is what was read, by name. Absent things are not in it, also where Get yields
// them as absent.
type found map[provider.Name]provider.Record

// get calls Get, and checks what comes. It ends at the first error. The names must come
// back as they were given.
func (w *world) get(ctx context.Context, f provider.Filter) (found, error) {
	all := found{}
	names := slices.Clone(f.Names)
	for rec, err := range w.p.Get(ctx, w.runtime(nil), f) {
		if err != nil {
			return nil, fmt.Errorf("by Get: %w", err)
		}
		is, n, err := w.kind.Inspect(rec)
		switch _, twice := all[n]; {
		case err != nil:
			return nil, err
		case twice:
			return nil, fmt.Errorf("its Get has returned %s twice", n)
		case is != nil:
			all[n] = is
		}
	}
	if !slices.Equal(names, f.Names) {
		return nil, errors.New("its Get has altered the names that it was given")
	}
	return all, w.canonical(ctx, all)
}

// canonical checks that records are in canonical form, as Get has to return them.
// Otherwise a wanted value would differ from the read one for ever, and each run would
// set it again.
func (w *world) canonical(ctx context.Context, all found) error {
	if !w.has(provider.Canonicalize) {
		return nil
	}
	for n, rec := range all {
		again, err := w.p.(provider.Canonicalizer).Canonicalize(ctx, w.runtime(nil), []provider.Record{rec.Clone()})
		if err != nil || len(again) != 1 {
			return fmt.Errorf("what was read of %s: Canonicalize has returned %d records, %v", n, len(again), err)
		}
		if key, differs := differ(rec, again[0]); differs {
			return fmt.Errorf("its Get has returned a value of %s of %s that is not canonical", key, n)
		}
	}
	return nil
}

// differ returns an attribute in which two records differ. Sensitive values are
// compared by their content. The keys are tried in sorted order, so that the answer is
// the same each time.
func differ(a, b provider.Record) (string, bool) {
	for _, keys := range []provider.Record{a, b} {
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if !schema.Equal(puppettype.Plain(a[key]), puppettype.Plain(b[key])) {
				return key, true
			}
		}
	}
	return "", false
}

// all reads all things; by name those of the suite where they can't be listed.
func (w *world) all() (found, error) {
	if !w.has(provider.Find) {
		return w.get(w.t.Context(), provider.Filter{All: true})
	}
	every := found{}
	for _, th := range w.things() {
		a, err := w.wanted(th)
		if err != nil {
			return nil, err
		}
		rec, err := w.look(a.name)
		if err != nil {
			return nil, err
		}
		if rec != nil {
			every[a.name] = rec
		}
	}
	return every, nil
}

// look reads one thing, in the way of the type; nil if it is absent. A type finds by
// name, or filters, or lists all.
func (w *world) look(n provider.Name) (provider.Record, error) {
	switch {
	case w.has(provider.Find):
		return w.find(n)
	case w.has(provider.SimpleGetFilter):
		all, err := w.get(w.t.Context(), provider.Only(n))
		return all[n], err
	}
	all, err := w.get(w.t.Context(), provider.Filter{All: true})
	return all[n], err
}

// find looks a thing up by the provider's own search, which must agree with a list of all
// things.
func (w *world) find(n provider.Name) (provider.Record, error) {
	rec, ok, err := w.p.(provider.Finder).Find(w.t.Context(), w.runtime(nil), n)
	if err != nil {
		return nil, fmt.Errorf("by Find: %w", err)
	}
	if !ok {
		return nil, nil
	}
	is, got, err := w.kind.Inspect(rec)
	if err != nil {
		return nil, err
	}
	if got != n {
		return nil, fmt.Errorf("its Find has returned %s for %s", got, n)
	}
	return is, w.canonical(w.t.Context(), found{n: is})
}

// asWanted checks that a thing is as it was asked for. The comparison is that of the
// kind: parameters and unmanaged attributes do not count, and an InSyncer decides where
// there is one.
func (w *world) asWanted(a ask) error {
	is, err := w.look(a.name)
	if err != nil {
		return err
	}
	key, err := w.kind.Differing(w.t.Context(), w.runtime(nil), w.p, a.name, a.should, is)
	if err == nil && key != "" {
		err = fmt.Errorf("%s is not as wanted: %v", key, puppettype.Plain(is[key]))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.title, err)
	}
	return nil
}
