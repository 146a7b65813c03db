package look_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// shelfJar is a jar that one of two backends looks at; its size says which.
type shelfJar struct{ jar }

func (s *shelfJar) Default() engine.Res { return &shelfJar{jar{cupboard: s.cupboard, Size: 1}} }
func (s *shelfJar) Backends() []string  { return []string{"glass", "tin"} }

// Validate refuses the one that no machine has.
func (s *shelfJar) Validate() error {
	if s.MetaParams().Backend == "tin" {
		return errors.New("there is no tin here")
	}
	return s.jar.Validate()
}

func (s *shelfJar) Read(ctx context.Context) (engine.Res, error) {
	r, err := s.jar.Read(ctx)
	return onShelf(r), err
}

func (s *shelfJar) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		for r, err := range s.jar.List(ctx) {
			if !yield(onShelf(r), err) {
				return
			}
		}
	}
}

func onShelf(r engine.Res) engine.Res {
	if j, ok := r.(*jar); ok {
		return &shelfJar{*j}
	}
	return r
}

func byBackend(t look.Target, name string) look.Target {
	n := &schema.Node{Kind: schema.NodeString, Text: name}
	t.Meta = &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: "backend", Value: n}}}
	return t
}

// TestLookBackend: the backend that a target names is the one that looks, and what it shows says so. A
// name that is none, and one of a kind that has none, is refused before anything is opened.
func TestLookBackend(t *testing.T) {
	c, o := jars(t, map[string]string{"a": "plum"})
	reg, err := o.Registry.With("shelf", func() engine.Res { return &shelfJar{jar{cupboard: c}} })
	if err != nil {
		t.Fatal(err)
	}
	o.Registry = reg
	l := looker(t, o)
	for _, named := range []string{"glass", ""} {
		for s, err := range l.Read(t.Context(), byBackend(target("shelf", "a", nil), named)) {
			if err != nil || s.Backend != named || s.Absent {
				t.Errorf("%+v, %v", s, err)
			}
		}
		for s, err := range l.List(t.Context(), byBackend(target("shelf", "", nil), named)) {
			if err != nil || s.Backend != named || s.Name != "a" {
				t.Errorf("%+v, %v", s, err)
			}
		}
	}
	calls := len(c.calls)
	for _, x := range []struct{ kind, name, backend, want string }{
		{"shelf", "a", "glas", `error: shelf[a]: backend: shelf has no backend "glas", only glass, tin (did you mean "glass"?)`},
		{"shelf", "", "wood", `error: backend: shelf has no backend "wood", only glass, tin`},
		{"shelf", "a", "tin", `error: shelf[a]: there is no tin here`},
		{"jar", "a", "glass", `error: jar[a]: backend: nothing is to be chosen, the kind jar is always done in one way`},
		{"jar", "", "glass", `error: backend: nothing is to be chosen, the kind jar is always done in one way`},
	} {
		named := byBackend(target(x.kind, x.name, nil), x.backend)
		look := l.Read(t.Context(), named)
		if x.name == "" {
			look = l.List(t.Context(), named)
		}
		if got := seen(look); !slices.Equal(got, []string{x.want}) {
			t.Errorf("%s\n%s", got, x.want)
		}
	}
	if len(c.calls) != calls {
		t.Errorf("something was opened: %v", c.calls[calls:])
	}
}
