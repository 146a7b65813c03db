package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
)

// marked is a constructor whose resources tell which constructor has made them.
func marked(mark string) func() engine.Res {
	return func() engine.Res { return &made{Like: mark} }
}

// makerOf returns the mark of the constructor that a registry uses for a kind.
func makerOf(t interface{ Fatal(...any) }, r *engine.Registry, kind string) string {
	k := r.Has(kind)
	res, err := r.New(kind)
	if (err == nil) != k {
		t.Fatal(kind, k, err)
	}
	if err != nil {
		return ""
	}
	if res.Kind() != kind || res.Name() != "" {
		t.Fatal("a new resource is", res)
	}
	return "made"
}

// TestLayerFollows: a layer has the kinds below, also kinds that come and go later, and
// its own kinds stay out of the registry below.
func TestLayerFollows(t *testing.T) {
	below := engine.NewRegistry()
	layer := below.Layer()
	steps := []struct {
		what         string
		do           func() error
		lower, upper string // the kinds, as fmt prints them
	}{
		{"nothing", func() error { return nil }, "[]", "[]"},
		{"a kind below", func() error { return below.Register("a", marked("below")) }, "[a]", "[a]"},
		{"a kind of the layer", func() error { return layer.Register("b", marked("layer")) }, "[a]", "[a b]"},
		{"a kind over one below", func() error { return layer.Register("a", marked("layer")) }, "[a]", "[a b]"},
		{"the kind below goes", func() error { return gone(below.Unregister("a")) }, "[]", "[b]"},
		{"it comes back", func() error { return below.Register("a", marked("below")) }, "[a]", "[a b]"},
		{"the kind over it goes", func() error { return gone(layer.Unregister("a")) }, "[a]", "[a b]"},
		{"a kind below with the name of one of the layer", func() error { return below.Register("b", marked("below")) }, "[a b]", "[a b]"},
		{"the kind of the layer goes", func() error { return gone(layer.Unregister("b")) }, "[a b]", "[a b]"},
		{"all below go", func() error { return gone(below.Unregister("a") && below.Unregister("b")) }, "[]", "[]"},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.what, err)
		}
		if l, u := fmt.Sprint(below.Kinds()), fmt.Sprint(layer.Kinds()); l != s.lower || u != s.upper {
			t.Errorf("%s: below %s, in the layer %s; wanted %s and %s", s.what, l, u, s.lower, s.upper)
		}
	}
	if below.Unregister("a") || layer.Unregister("a") {
		t.Error("a kind that is not there was taken out")
	}
}

func gone(was bool) error {
	if !was {
		return errors.New("it was not there")
	}
	return nil
}

// madeBy is a resource that knows its constructor.
type madeBy struct {
	made
	origin string
}

func (m *madeBy) Default() engine.Res { return &madeBy{origin: m.origin} }

// TestLayerNames: the constructor that is used is that of the layer, for as long as there
// is a kind below that it stands in the place of.
func TestLayerNames(t *testing.T) {
	below := engine.NewRegistry()
	layer := below.Layer()
	of := func(origin string) func() engine.Res { return func() engine.Res { return &madeBy{origin: origin} } }
	for _, err := range []error{below.Register("a", of("below")), layer.Register("a", of("layer"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var origins []string
	for _, r := range []*engine.Registry{below, layer, layer, layer.Clone(), layer.Without("b")} {
		res, err := r.New("a")
		if err != nil {
			t.Fatal(err)
		}
		origins = append(origins, res.(*madeBy).origin)
	}
	if want := []string{"below", "layer", "layer", "layer", "layer"}; !slices.Equal(origins, want) {
		t.Errorf("%v, not %v", origins, want)
	}
	below.Unregister("a")
	if _, err := layer.New("a"); err == nil {
		t.Error("a kind outlives the one that it stands in the place of")
	}
	var unknown *engine.UnknownKindError
	if _, err := layer.Kind("a"); !errors.As(err, &unknown) || unknown.Kind != "a" {
		t.Error(err)
	}
}

// model is what a layered registry has to be equal to: two plain sets.
type model struct {
	lower, upper map[string]bool
	over         map[string]bool // the kinds of upper that had a kind below when they came
}

func (m *model) kinds() []string {
	all := maps.Clone(m.lower)
	for name := range m.upper {
		if m.lower[name] || !m.over[name] {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// TestLawRegistry draws a script of actions on a registry and on a layer of it, and holds
// both against the model after each action.
func TestLawRegistry(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "c"})
	rapid.Check(t, func(t *rapid.T) {
		below := engine.NewRegistry()
		layer := below.Layer()
		m := &model{map[string]bool{}, map[string]bool{}, map[string]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"register below": func(t *rapid.T) {
				name := names.Draw(t, "name")
				if err := below.Register(name, marked("below")); (err == nil) == m.lower[name] {
					t.Fatal(name, err)
				}
				m.lower[name] = true
			},
			"register above": func(t *rapid.T) {
				name := names.Draw(t, "name")
				if err := layer.Register(name, marked("layer")); (err == nil) == m.upper[name] {
					t.Fatal(name, err)
				}
				if !m.upper[name] {
					m.upper[name], m.over[name] = true, m.lower[name]
				}
			},
			"unregister below": func(t *rapid.T) {
				name := names.Draw(t, "name")
				if below.Unregister(name) != m.lower[name] {
					t.Fatal(name)
				}
				delete(m.lower, name)
			},
			"unregister above": func(t *rapid.T) {
				name := names.Draw(t, "name")
				if layer.Unregister(name) != m.upper[name] {
					t.Fatal(name)
				}
				delete(m.upper, name)
			},
			"": func(t *rapid.T) {
				if got := below.Kinds(); !slices.Equal(got, slices.Sorted(maps.Keys(m.lower))) {
					t.Fatalf("below are %v", got)
				}
				if got := layer.Kinds(); !slices.Equal(got, m.kinds()) {
					t.Fatalf("in the layer are %v, not %v", got, m.kinds())
				}
				for _, name := range []string{"a", "b", "c"} {
					if layer.Has(name) != slices.Contains(m.kinds(), name) || (makerOf(t, layer, name) != "") != layer.Has(name) {
						t.Fatalf("the layer has %s: %v", name, layer.Has(name))
					}
				}
				if clone := layer.Clone(); !slices.Equal(clone.Kinds(), layer.Kinds()) {
					t.Fatalf("the clone has %v", clone.Kinds())
				}
			},
		})
	})
}

// TestRegistryIsSafe: kinds come and go while graphs are built. The race detector is the
// judge.
func TestRegistryIsSafe(t *testing.T) {
	below := engine.NewRegistry()
	layer := below.Layer()
	var wg sync.WaitGroup
	for i := range 4 {
		name := string(rune('a' + i%2))
		wg.Go(func() {
			for range 200 {
				_ = below.Register(name, marked("below"))
				_ = layer.Register(name, marked("layer"))
				_, _ = layer.New(name)
				_, _ = layer.Kind(name)
				_ = layer.Kinds()
				layer.Unregister(name)
				below.Unregister(name)
			}
		})
	}
	wg.Wait()
	if got := layer.Kinds(); len(got) != 0 {
		t.Error(got)
	}
}

// TestRegisterRefuses: names that could not be written in a graph are refused, with a
// reason that says the rule.
func TestRegisterRefuses(t *testing.T) {
	r := engine.NewRegistry()
	for _, name := range []string{"", "File", "fIle", "a b", "a[b]", "a]", "a.b", "a\tb", "a\n"} {
		if err := r.Register(name, marked("x")); err == nil {
			t.Errorf("%q is a kind", name)
		}
	}
	for _, name := range []string{"file", "my:mod:thing", "a-b", "a_b", "a1", "é"} {
		if err := r.Register(name, marked("x")); err != nil {
			t.Error(err)
		}
		if err := r.Register(name, marked("y")); err == nil {
			t.Errorf("%q is there twice", name)
		}
	}
	if err := r.Register("none", nil); err == nil {
		t.Error("a kind without a constructor")
	}
	if _, err := r.With("a b", marked("x")); err == nil {
		t.Error("With takes a name that Register refuses")
	}
	with, err := r.With("file", marked("other"))
	if err != nil || !slices.Equal(with.Kinds(), r.Kinds()) {
		t.Error(err, with.Kinds())
	}
	if without := r.Without("file", "a1", "never there"); without.Has("file") || without.Has("a1") || !r.Has("file") || len(without.Kinds()) != len(r.Kinds())-2 {
		t.Error(without.Kinds())
	}
}
