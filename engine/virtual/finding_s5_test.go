package virtual_test

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// boundAs binds an interface with a function f (nil for none) to a backend with its own, and returns what is passed and logged, too.
func boundAs(t *testing.T, f, have *virtual.Function, gives any) (*virtual.Module, *said, *eventLog) {
	t.Helper()
	i := &virtual.Interface{Module: "m"}
	if f != nil {
		f.Name = "f"
		i.Functions = []virtual.Function{*f}
	}
	have.Name = "f"
	s, log := &said{gives: map[string]any{"f": gives}}, &eventLog{}
	m, err := virtual.Bind(t.Context(), i, backendOf([]virtual.Function{*have}, s), virtual.Env{Log: slog.New(log), Told: &virtual.Told{}})
	if err != nil {
		t.Fatal(err)
	}
	return m, s, log
}

func warned(r *virtual.Result) (list []string) {
	for _, w := range r.Warnings {
		list = append(list, w.Event)
	}
	return list
}

// TestFindingS5Swallowed: an argument that a deprecated function takes only because it takes any is passed on, with a warning of its own beside that
// of the function.
func TestFindingS5Swallowed(t *testing.T) {
	m, s, log := boundAs(t, nil, &virtual.Function{Params: []virtual.Param{{Name: "name"}, {Name: "kwargs", Kind: virtual.KwArgs}}}, true)
	for range 2 {
		r, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"a"}, Named: map[string]any{"root": "/r"}})
		if err != nil || !slices.Equal(warned(r), []string{"deprecated", "swallowed"}) || s.passed["root"] != "/r" {
			t.Errorf("%+v, %v; passed %v", r, err, s.passed)
		}
	}
	log.expect(t, []string{"warning:deprecated:f", "warning:swallowed:f"})
	if r, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"a"}}); err != nil || !slices.Equal(warned(r), []string{"deprecated"}) {
		t.Errorf("without such an argument: %+v, %v", r, err)
	}
}

// TestFindingS5Undeclared: an argument that only the module knows is checked, passed on, and warned about. One that is meant so is not warned
// about, and what nobody knows is refused, also where the backend takes anything.
func TestFindingS5Undeclared(t *testing.T) {
	number := &schema.Type{Kind: schema.KindInt}
	have := func(more ...virtual.Param) *virtual.Function {
		return &virtual.Function{Params: append([]virtual.Param{{Name: "name"}, {Name: "depth", Type: number, Optional: true, Kind: virtual.KeywordOnly}}, more...)}
	}
	f := &virtual.Function{Params: []virtual.Param{{Name: "name"}}}
	m, s, log := boundAs(t, f, have(), true)
	for range 2 {
		r, err := m.Call(t.Context(), "f", virtual.Args{Named: map[string]any{"name": "a", "depth": 3}})
		if err != nil || !slices.Equal(warned(r), []string{"undeclared"}) || !maps.Equal(s.passed, map[string]any{"name": "a", "depth": 3}) {
			t.Errorf("%+v, %v; passed %v", r, err, s.passed)
		}
	}
	log.expect(t, []string{"warning:undeclared:f"})
	if r, err := m.Call(t.Context(), "f", virtual.Args{Named: map[string]any{"name": "a"}, Extra: map[string]any{"depth": 3}}); err != nil || len(r.Warnings) > 0 {
		t.Errorf("as an extra: %+v, %v", r, err)
	}
	all, _, _ := boundAs(t, f, have(virtual.Param{Name: "kwargs", Kind: virtual.KwArgs}), true)
	for _, m := range []*virtual.Module{m, all} {
		for key, value := range map[string]any{"deepth": 3, "depth": "deep"} {
			if _, err := m.Call(t.Context(), "f", virtual.Args{Named: map[string]any{"name": "a", key: value}}); !isType[*virtual.BadArgumentsError](err) {
				t.Errorf("%s = %v: %v", key, value, err)
			}
		}
	}
}

// TestFindingS5OneAlone: a function that is Alone gives text for one name and a map for several, whether its backend gives that or maps. Its
// description keeps that.
func TestFindingS5OneAlone(t *testing.T) {
	versions := shape(t, map[string]any{"type": "map_of", "of": "string"})
	names := []virtual.Param{{Name: "names", Kind: virtual.VarArgs}}
	f := &virtual.Function{Params: names, Returns: versions, Alone: true}
	for _, c := range []struct {
		names       []any
		gives, want any
	}{
		{[]any{"a"}, map[string]any{"a": "1"}, "1"},
		{[]any{"a"}, "1", "1"},
		{[]any{"a"}, map[string]any{}, ""},
		{[]any{"a"}, "", ""},
		{[]any{"a", "b"}, map[string]any{"a": "1"}, map[string]any{"a": "1"}},
		{nil, map[string]any{"a": "1"}, map[string]any{"a": "1"}},
	} {
		m, _, _ := boundAs(t, f, &virtual.Function{Params: names}, c.gives)
		r, err := m.Call(t.Context(), "f", virtual.Args{Positional: c.names})
		if err != nil || !schema.Equal(r.Common, c.want) {
			t.Errorf("%v of %v: %+v, %v", c.names, c.gives, r, err)
		}
	}
	m, _, _ := boundAs(t, f, &virtual.Function{Params: names}, []any{"1"})
	if _, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"a", "b"}}); !isType[*virtual.ReturnShapeError](err) {
		t.Errorf("a list: %v", err)
	}
	i := &virtual.Interface{Module: "m", Functions: []virtual.Function{*f}}
	n, err := schema.NodeOf(i.Describe())
	if err != nil {
		t.Fatal(err)
	}
	if again, ds := virtual.Declared(n); ds.Err() != nil || !again.Functions[0].Alone {
		t.Errorf("%+v, %v", again, ds)
	}
	if page := virtual.Page(i, nil, nil); !strings.Contains(page, "A call about one gives its value alone.") {
		t.Error(page)
	}
	f.Returns = shape(t, "string")
	i.Functions[0] = *f
	if n, err = schema.NodeOf(i.Describe()); err != nil {
		t.Fatal(err)
	}
	if _, ds := virtual.Declared(n); ds.Err() == nil {
		t.Error("a function that gives text anyway is alone")
	}
}
