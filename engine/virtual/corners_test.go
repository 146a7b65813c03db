package virtual_test

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

func shape(t *testing.T, v any) *schema.Type {
	t.Helper()
	s, err := virtual.ParseShape(v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// one binds an interface of one function f to a backend that gives a value.
func one(t *testing.T, f virtual.Function, have *virtual.Function, gives any, facts virtual.Facts, o ...virtual.Option) *virtual.Module {
	t.Helper()
	f.Name = "f"
	var fs []virtual.Function
	if have != nil {
		have.Name = "f"
		fs = []virtual.Function{*have}
	}
	i := &virtual.Interface{Module: "m", Functions: []virtual.Function{f}}
	b := backendOf(fs, &said{gives: map[string]any{"f": gives}})
	m, err := virtual.Bind(t.Context(), i, b, virtual.Env{Facts: facts, Log: slog.New(slog.DiscardHandler)}, o...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func call(t *testing.T, m *virtual.Module) *virtual.Result {
	t.Helper()
	r, err := m.Call(t.Context(), "f", virtual.Args{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFreshAnswers: what the module makes up is nobody else's.
func TestFreshAnswers(t *testing.T) {
	here := virtual.Match{"os": {"x"}}
	made := map[string]any{"list": []any{}}
	for _, m := range []*virtual.Module{
		one(t, virtual.Function{NotApplicable: here, Default: made}, nil, nil, virtual.Facts{"os": "x"}),
		one(t, virtual.Function{NotFound: made, Returns: shape(t, "int")}, &virtual.Function{}, made, nil),
	} {
		call(t, m).Common.(map[string]any)["list"] = "spoiled"
		if r := call(t, m); !reflect.DeepEqual(r.Common, map[string]any{"list": []any{}}) {
			t.Errorf("%v", r.Common)
		}
	}
}

// TestExtrasInside: what is not declared is kept apart at its path, at any depth.
func TestExtrasInside(t *testing.T) {
	record := map[string]any{"type": "record", "fields": map[string]any{"n": "int"}, "optional": map[string]any{"o": "int"}}
	s := shape(t, map[string]any{"type": "map_of", "of": map[string]any{"type": "list_of", "of": record}})
	value := map[string]any{"a": []any{map[string]any{"n": int64(1)}, map[string]any{"n": int64(2), "own": "x"}}, "b": []any{}}
	r := call(t, one(t, virtual.Function{Returns: s}, &virtual.Function{}, value, nil))
	if want := map[string]any{"a": map[string]any{"1": map[string]any{"own": "x"}}}; !reflect.DeepEqual(r.Extra, want) {
		t.Errorf("%v", r.Extra)
	}
	inner := shape(t, map[string]any{"type": "record", "fields": map[string]any{"r": record, "m": "map", "l": "list", "b": "bool", "s": "string", "f": "float", "a": "any"}})
	r = call(t, one(t, virtual.Function{Returns: inner, NotApplicable: virtual.Match{"os": {"x"}}}, nil, nil, virtual.Facts{"os": "x"}))
	want := map[string]any{"r": map[string]any{"n": int64(0)}, "m": map[string]any{}, "l": []any{}, "b": false, "s": "", "f": float64(0), "a": nil}
	if !reflect.DeepEqual(r.Common, want) {
		t.Errorf("the least record is %v", r.Common)
	}
	r = call(t, one(t, virtual.Function{Returns: inner}, &virtual.Function{}, map[string]any{
		"r": map[string]any{"n": int64(1), "own": true}, "m": map[string]any{"any": "thing"}, "l": []any{}, "b": true, "s": "", "f": 1.5, "a": int64(1),
	}, nil))
	if want := map[string]any{"r": map[string]any{"own": true}}; !reflect.DeepEqual(r.Extra, want) {
		t.Errorf("%v", r.Extra)
	}
}

// TestLax: what is wrong passes whole.
func TestLax(t *testing.T) {
	s := shape(t, map[string]any{"type": "record", "fields": map[string]any{"n": "int"}})
	value := map[string]any{"n": "x", "own": true}
	r := call(t, one(t, virtual.Function{Returns: s}, &virtual.Function{}, value, nil, virtual.Lax()))
	if !reflect.DeepEqual(r.Common, value) || len(r.Extra) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestNumbersAndTexts: a number is no text, nothing included.
func TestNumbersAndTexts(t *testing.T) {
	for _, c := range []struct {
		fact, value any
		want        bool
	}{
		{int64(0), "0", false}, {int64(0), "x", false}, {"x", int64(0), false}, {int64(0), false, false}, {int64(2), 2.0, true}, {2, uint64(2), true},
		{true, true, true}, {true, "true", false}, {[]string{"a", "b"}, "b", true}, {[]any{"a"}, "b", false}, {nil, nil, false},
	} {
		m := virtual.Match{"k": {"none", c.value}}
		if m.Holds(virtual.Facts{"k": c.fact}) != c.want {
			t.Errorf("%#v is %#v: not %v", c.fact, c.value, c.want)
		}
	}
}

// TestRequiredByTheBackendOnly: a parameter with a default here and none there is
// always passed, so it does not differ.
func TestRequiredByTheBackendOnly(t *testing.T) {
	want := virtual.Function{Params: []virtual.Param{{Name: "p", Optional: true, Default: int64(1)}}}
	have := virtual.Function{Params: []virtual.Param{{Name: "p"}}}
	if ds := virtual.Compare(&want, &have); len(ds) > 0 {
		t.Errorf("%v", ds)
	}
}

// TestManyUnsupported: all that the backend lacks is named, in one order.
func TestManyUnsupported(t *testing.T) {
	var f virtual.Function
	named := map[string]any{}
	for _, p := range []string{"d", "b", "a", "c"} {
		f.Params = append(f.Params, virtual.Param{Name: p, Optional: true})
		named[p] = true
	}
	m := one(t, f, &virtual.Function{}, nil, nil)
	for range 20 {
		_, err := m.Call(t.Context(), "f", virtual.Args{Named: named})
		if err == nil || err.Error() != "m.f: the backend b has no a, b, c, d" {
			t.Fatal(err)
		}
	}
}

// TestAskedForNevertheless: who names a backend gets it, whatever the facts are.
func TestAskedForNevertheless(t *testing.T) {
	all := []*virtual.Backend{{Name: "b", Module: "m", When: virtual.Match{"os": {"y"}}, Unless: virtual.Match{"os": {"x"}}}}
	if sel, err := virtual.Select("m", all, virtual.System{Facts: virtual.Facts{"os": "x"}}, "b"); err != nil || sel.Backend != all[0] {
		t.Errorf("%v, %v", sel, err)
	}
}

// TestGenerateAltersNothing of the backends that it reads.
func TestGenerateAltersNothing(t *testing.T) {
	backend := func(params ...string) *virtual.Backend {
		f := virtual.Function{Name: "f", AliasOf: "g"}
		for _, p := range params {
			f.Params = append(f.Params, virtual.Param{Name: p})
		}
		return &virtual.Backend{Name: "b", Functions: []virtual.Function{f}}
	}
	a := backend("p", "q", "r")
	if i := virtual.Generate("m", true, a, backend("q")); i.Functions[0].Signature() != "(q)" || i.Functions[0].AliasOf != "" {
		t.Errorf("%+v", i)
	}
	if !reflect.DeepEqual(a, backend("p", "q", "r")) {
		t.Errorf("%+v", a.Functions)
	}
}

// TestChangedOnce: another backend is news once.
func TestChangedOnce(t *testing.T) {
	other := wireBackend()
	other.Name, other.When = "other", virtual.Match{"kernel": {"BSD"}}
	_, kind := lamps(t, virtual.Facts{}, "wire", wireBackend(), other)
	var got []bool
	log := &eventLog{}
	for _, kernel := range []string{"Linux", "BSD", "BSD", "Linux", "Linux"} {
		if _, err := kind.Open(t.Context(), virtual.Env{Facts: virtual.Facts{"kernel": kernel}, Log: slog.New(log)}, ""); err != nil {
			t.Fatal(err)
		}
		got = append(got, slices.Contains(log.take(), "info:backend_changed"))
	}
	if want := []bool{false, true, false, true, false}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

type ownArgs struct {
	Name string `yaml:"name" mgmt:"required"`
	Own  int    `yaml:"own"`
}

func (ownArgs) Default() ownArgs { return ownArgs{Own: 42} }

type nameArgs struct {
	Name string `yaml:"name" mgmt:"required"`
}

// TestOwnDefaults: a parameter that only the backend has, has the backend's default;
// and of what is not there nothing is said, whatever stands for it.
func TestOwnDefaults(t *testing.T) {
	type info struct {
		N int `yaml:"n"`
	}
	fn := virtual.Declare[nameArgs, info]("f", "", virtual.OrNotFound(map[string]any{"n": int64(-1)}))
	got := 0
	b := virtual.Native("b", func(context.Context, virtual.Env) (int, error) { return 0, nil },
		virtual.Func("f", func(_ int, _ context.Context, a ownArgs) (info, error) {
			got = a.Own
			return info{}, virtual.ErrNotFound
		}))
	b.Module = "m"
	m, err := virtual.Bind(t.Context(), &virtual.Interface{Module: "m", Functions: []virtual.Function{fn.Function()}}, b, virtual.Env{})
	if err != nil {
		t.Fatal(err)
	}
	v, r, err := fn.Call(t.Context(), m, nameArgs{"x"})
	if err != nil || got != 42 || v.N != 0 || r.Found {
		t.Errorf("%d, %+v, %+v, %v", got, v, r, err)
	}
	if _, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"x"}, Extra: map[string]any{"own": int64(7)}}); err != nil || got != 7 {
		t.Errorf("%d, %v", got, err)
	}
}

// TestLacks: where each call must give what the backend does not have each is refused, and so is who needs the
// function; where it makes no sense anyway, nobody is.
func TestLacks(t *testing.T) {
	want := virtual.Function{Params: []virtual.Param{{Name: "a"}, {Name: "root"}, {Name: "b", Optional: true}}}
	have := virtual.Function{Name: "f", Params: []virtual.Param{{Name: "a"}}}
	m := one(t, want, &have, nil, nil)
	if v := m.Verdicts()[0]; v.Status != virtual.Implemented || !slices.Equal(v.Lacks(), []string{"root"}) {
		t.Errorf("%+v", v)
	}
	_, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"x", "/r"}})
	for _, err := range []error{err, m.Needs("f")} {
		if !isType[*virtual.UnsupportedArgumentError](err) || err.Error() != "m.f: the backend b has no root" {
			t.Error(err)
		}
	}
	want.Name = "f"
	page := virtual.Matrix(&virtual.Interface{Module: "m", Functions: []virtual.Function{want}}, []*virtual.Backend{backendOf([]virtual.Function{have}, nil)})
	if !strings.Contains(page, "| f | refused, without root, b |") {
		t.Error(page)
	}
	want.NotApplicable = virtual.Match{"os": {"x"}}
	if err := one(t, want, &have, nil, virtual.Facts{"os": "x"}).Needs("f"); err != nil {
		t.Error(err)
	}
}

// TestMisfit: what a backend says that it returns is compared with what is declared when it is bound: a function whose
// results would all be refused is none that a graph can need. More keys, and what is not known, are all right.
func TestMisfit(t *testing.T) {
	record := map[string]any{"type": "record", "fields": map[string]any{"name": "string", "gid": "int"}, "optional": map[string]any{"shell": "string"}}
	fields := func(more map[string]any) map[string]any { return map[string]any{"type": "record", "fields": more} }
	of := func(kind string, v any) map[string]any { return map[string]any{"type": kind, "of": v} }
	for _, c := range []struct {
		want, have any
		why        string
	}{
		{record, record, ""},
		{record, fields(map[string]any{"name": "string", "gid": "int", "more": "bool"}), ""},
		{record, fields(map[string]any{"name": "string"}), "the result has no key gid"},
		{of("map_of", record), of("map_of", fields(map[string]any{"name": "string", "gid": "string"})), "*.gid is text, and not"},
		{of("list_of", record), of("list_of", fields(map[string]any{"name": "string", "gid": "int", "shell": "bool"})), "[].shell is true or false"},
		{"map", "bool", "the result is true or false, and not a map"},
		{"float", "int", ""},
		{"int", "float", "and not a whole number"},
		{nil, "bool", ""},
		{"bool", nil, ""},
		{"any", "int", ""},
		{"list", of("list_of", "int"), ""},
		{of("list_of", "int"), "list", ""},
	} {
		have := virtual.Function{Name: "f", Returns: shape(t, c.have)}
		m := one(t, virtual.Function{Returns: shape(t, c.want)}, &have, nil, nil)
		v := m.Verdicts()[0]
		if got := v.Misfit(); !strings.Contains(got, c.why) || (got == "") != (c.why == "") || v.Status != virtual.Implemented {
			t.Errorf("%v for %v: %q, %s", c.have, c.want, got, v.Status)
		}
		if err := m.Needs("f"); isType[*virtual.ReturnShapeError](err) != (c.why != "") {
			t.Errorf("%v for %v: %v", c.have, c.want, err)
		}
	}
}
