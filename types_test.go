package mgmt_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
)

// shelf is a world of things of the type rec, whose provider notes what it is asked.
type shelf struct {
	mu     sync.Mutex
	things map[string]provider.Record
	calls  []string
	fail   func(call string) error
	lazy   bool                 // Set changes nothing
	news   chan []provider.Name // for Watch
	made   int
}

func newShelf(names ...string) *shelf {
	s := &shelf{things: map[string]provider.Record{}, news: make(chan []provider.Name, 100)}
	for _, n := range names {
		s.things[n] = provider.Record{"ensure": "present", "name": n, "a": "1"}
	}
	return s
}

func (s *shelf) note(format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := fmt.Sprintf(format, args...)
	s.calls = append(s.calls, call)
	if s.fail != nil {
		return s.fail(call)
	}
	return nil
}

func (s *shelf) log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// put changes a thing from the outside.
func (s *shelf) put(name, a string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.things[name] = provider.Record{"ensure": "present", "name": name, "a": a}
}

func (s *shelf) get(name string) provider.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.things[name]
}

// clerk is the provider of a shelf.
type clerk struct{ *shelf }

func (c clerk) Get(_ context.Context, _ *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		what := "all"
		if !f.All {
			what = fmt.Sprint(f.Names)
		}
		if err := c.note("get %s", what); err != nil {
			yield(nil, err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, n := range slices.Sorted(maps.Keys(c.things)) {
			if f.Has(provider.NameOf(n)) && !yield(c.things[n], nil) {
				return
			}
		}
	}
}

func (c clerk) Set(_ context.Context, rt *provider.Runtime, changes []provider.Change) error {
	slices.SortFunc(changes, func(a, b provider.Change) int { return strings.Compare(a.Title, b.Title) })
	var names []string
	for _, ch := range changes {
		names = append(names, ch.Title)
	}
	if err := c.note("set %v noop=%v", names, rt.Noop); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range changes {
		switch {
		case rt.Noop || c.lazy:
		case ch.Should["ensure"] == "absent":
			delete(c.things, ch.Name.String())
			rt.Log.Deleted(ch.Title)
		default:
			rec := ch.Is.Record.Clone()
			if rec == nil {
				rec = provider.Record{}
			}
			maps.Copy(rec, ch.Should)
			c.things[ch.Name.String()] = rec
		}
	}
	return nil
}

// alert is a clerk that tells of changes.
type alert struct{ clerk }

func (a alert) Watch(ctx context.Context, _ *provider.Runtime, armed func(), changed func(...provider.Name)) error {
	armed()
	for {
		select {
		case <-ctx.Done():
			return nil
		case names := <-a.news:
			changed(names...)
		}
	}
}

// rec is the definition of the type.
func rec(features provider.Features) provider.Definition {
	return provider.Definition{
		Name: "rec", Doc: "A thing on a shelf.", Features: features,
		Attributes: []provider.Attribute{
			{Name: "ensure", Type: "Enum[present, absent]", Doc: "Whether it is there.", Default: "present", HasDefault: true},
			{Name: "name", Type: "String", Doc: "Its name.", Role: provider.Namevar},
			{Name: "a", Type: "Optional[String]", Doc: "Some text."},
			{Name: "n", Type: "Optional[Integer]", Doc: "Some number."},
			{Name: "uid", Type: "Optional[Integer]", Doc: "Some number that stays.", Role: provider.InitOnly},
			{Name: "sum", Type: "Optional[String]", Doc: "What can't be set.", Role: provider.ReadOnly},
		},
	}
}

// withRec returns a registry that knows the type.
func withRec(t *testing.T, d provider.Definition, make func() provider.Provider) *engine.Registry {
	t.Helper()
	k, err := provider.New(d, make)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := engine.DefaultRegistry().With(k.Name(), k.New)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// converge runs a graph until it has converged.
func converge(t *testing.T, graph string, o mgmt.Options) (mgmt.Report, error) {
	t.Helper()
	o.ConvergedExit = true
	o.MaxRuntime = time.Minute
	o.Strict = true
	e, f := from(t, graph, o)
	err := e.Run(t.Context(), f)
	return e.Report(), err
}

func wantCalls(t *testing.T, s *shelf, want ...string) {
	t.Helper()
	if got := s.log(); !slices.Equal(got, want) {
		t.Errorf("the provider was asked\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTypeInSync: one Get for all, and nothing else.
func TestTypeInSync(t *testing.T) {
	s := newShelf("x", "y", "z")
	reg := withRec(t, rec(0), func() provider.Provider { return clerk{s} })
	_, err := converge(t, "resources: {rec: [{name: x, a: '1'}, {name: y}, {name: z, ensure: present}]}", mgmt.Options{Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	wantCalls(t, s, "get all")
}

// TestTypeConverges: what differs is set, in one call, and read again.
func TestTypeConverges(t *testing.T) {
	s := newShelf("x", "y")
	reg := withRec(t, rec(0), func() provider.Provider { return clerk{s} })
	rep, err := converge(t, "resources: {rec: [{name: x, a: '2'}, {name: y, ensure: absent}, {name: z, n: 3}]}", mgmt.Options{Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	if s.get("x")["a"] != "2" || s.get("y") != nil || s.get("z")["n"] != int64(3) {
		t.Errorf("%v", s.things)
	}
	if rep.ExitCode() != 0 {
		t.Errorf("code %d", rep.ExitCode())
	}
	t.Log(s.log())
}

// TestTypeBelievesNothing: a Set that changes nothing fails its resources.
func TestTypeBelievesNothing(t *testing.T) {
	for name, features := range map[string]provider.Features{"all": 0, "names": provider.SimpleGetFilter} {
		t.Run(name, func(t *testing.T) {
			s := newShelf("x")
			s.lazy = true
			reg := withRec(t, rec(features), func() provider.Provider { return clerk{s} })
			rep, err := converge(t, "resources: {rec: [{name: x, a: '2'}]}", mgmt.Options{Registry: reg})
			if err != nil {
				t.Fatal(err)
			}
			if rep.ExitCode() != 4 {
				t.Errorf("code %d, %v", rep.ExitCode(), s.log())
			}
		})
	}
}

// TestTypeUnavailable: a Get that fails fails all of the type, and is called once.
func TestTypeUnavailable(t *testing.T) {
	s := newShelf("x", "y")
	s.fail = func(string) error { return errors.New("no shelf") }
	reg := withRec(t, rec(0), func() provider.Provider { return clerk{s} })
	rep, err := converge(t, "resources: {rec: [{name: x, a: '2'}, {name: y}]}", mgmt.Options{Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	if rep.ExitCode() != 4 {
		t.Errorf("code %d, %+v", rep.ExitCode(), rep.Counts)
	}
	wantCalls(t, s, "get all")
}
