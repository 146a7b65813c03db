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

// optional is a parameter with a default.
func optional(name string, def any) virtual.Param {
	return virtual.Param{Name: name, Kind: virtual.KeywordOnly, Optional: true, Default: def}
}

// bound returns a module of one function in the two forms, what reaches its backend, and the log.
func bound(t *testing.T, want, have virtual.Function, gives any) (*virtual.Module, *said, *eventLog) {
	t.Helper()
	want.Name, have.Name = "f", "f"
	s, log := &said{gives: map[string]any{"f": gives}}, &eventLog{}
	i := &virtual.Interface{Module: "m", Functions: []virtual.Function{want}}
	b := &virtual.Backend{Name: "b", Module: "m", Functions: []virtual.Function{have}, Open: func(context.Context, virtual.Env) (virtual.Caller, error) { return s, nil }}
	for _, err := range []error{i.Validate(), b.Validate()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := virtual.Bind(t.Context(), i, b, virtual.Env{Facts: virtual.Facts{"os": "X"}, Log: slog.New(log), Told: &virtual.Told{}})
	if err != nil {
		t.Fatal(err)
	}
	return m, s, log
}

// TestFindingF1Identifiers: functions and parameters are called as their authors like.
func TestFindingF1Identifiers(t *testing.T) {
	for name, ok := range map[string]bool{"ListAll": true, "x1": true, "größe": true, "A_b": true, "1x": false, "a b": false, "a.b": false, "a-b": false, "": false} {
		i := &virtual.Interface{Module: "m", Functions: []virtual.Function{{Name: name}}}
		if err := i.Validate(); (err == nil) != ok {
			t.Errorf("function %q: %v", name, err)
		}
		i.Functions = []virtual.Function{{Name: "f", Params: []virtual.Param{{Name: name}}}}
		if err := i.Validate(); (err == nil) != ok {
			t.Errorf("parameter %q: %v", name, err)
		}
		if virtual.IsIdentifier(name) != ok {
			t.Errorf("%q is taken for the opposite", name)
		}
	}
	type camel struct {
		AllOf  string `yaml:"AllOf" mgmt:"required"`
		DryRun bool   `yaml:"dryRun"`
	}
	f := virtual.Declare[camel, string]("ListAll", "Lists.").Function()
	if got := f.Signature(); got != "(AllOf, dryRun=False)" {
		t.Error(got)
	}
}

// TestFindingF2Swallowed: an argument that only the catch-all of a backend takes is in the warnings of each result,
// and in the log once.
func TestFindingF2Swallowed(t *testing.T) {
	want := virtual.Function{Params: []virtual.Param{{Name: "a"}, optional("root", ""), optional("known", "")}}
	have := virtual.Function{Params: []virtual.Param{{Name: "a"}, optional("known", ""), {Name: "rest", Kind: virtual.KwArgs}}}
	m, s, log := bound(t, want, have, nil)
	for n := range 3 {
		r, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"x"}, Named: map[string]any{"root": "/r", "known": "k"}, Extra: map[string]any{"zeal": true}})
		if err != nil || len(r.Warnings) != 1 || r.Warnings[0].Event != "swallowed" || !strings.Contains(r.Warnings[0].Text, "root, zeal") {
			t.Fatalf("%+v, %v", r, err)
		}
		if logged := log.take(); len(logged) != 1 && n == 0 || n > 0 && len(logged) > 0 {
			t.Errorf("call %d logged %v", n, logged)
		}
	}
	if want := map[string]any{"a": "x", "root": "/r", "known": "k", "zeal": true}; !reflect.DeepEqual(s.passed, want) {
		t.Errorf("passed %v", s.passed)
	}
	for _, args := range []map[string]any{{"a": "x"}, {"a": "x", "root": ""}} {
		if r, err := m.Call(t.Context(), "f", virtual.Args{Named: args}); err != nil || len(r.Warnings) > 0 {
			t.Errorf("%v: %+v, %v", args, r, err)
		}
	}
}

// TestFindingF2Declared: what the interface itself takes by any name is no news.
func TestFindingF2Declared(t *testing.T) {
	rest := virtual.Function{Params: []virtual.Param{{Name: "rest", Kind: virtual.KwArgs}}}
	m, _, log := bound(t, rest, rest, nil)
	r, err := m.Call(t.Context(), "f", virtual.Args{Named: map[string]any{"z": 1}})
	if err != nil || len(r.Warnings) > 0 || len(log.take()) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestFindingF3NotApplicableChecks: a call that can do nothing here is still refused if it can be right nowhere.
func TestFindingF3NotApplicableChecks(t *testing.T) {
	f := virtual.Function{NotApplicable: virtual.Match{"os": {"X"}}, Params: []virtual.Param{{Name: "a", Type: &schema.Type{Kind: schema.KindBool}}}}
	m, s, log := bound(t, f, f, nil)
	log.take()
	for _, c := range []struct {
		args virtual.Args
		bad  bool
	}{
		{virtual.Args{Positional: []any{true}}, false},
		{virtual.Args{}, true},
		{virtual.Args{Positional: []any{"text"}}, true},
		{virtual.Args{Positional: []any{true, true}}, true},
		{virtual.Args{Named: map[string]any{"a": true, "b": 1}}, true},
	} {
		r, err := m.Call(t.Context(), "f", c.args)
		if isType[*virtual.BadArgumentsError](err) != c.bad || !c.bad && (err != nil || r.Status != virtual.NotApplicable) {
			t.Errorf("%v: %+v, %v", c.args, r, err)
		}
		if logged := log.take(); slices.Equal(logged, []string{"debug:not_applicable:f"}) == c.bad {
			t.Errorf("%v: logged %v", c.args, logged)
		}
	}
	if s.passed != nil {
		t.Error("the backend was called")
	}
}

// TestFindingF4DefaultIsAccepted: who asks for what happens anyway needs no parameter for that.
func TestFindingF4DefaultIsAccepted(t *testing.T) {
	want := virtual.Function{Params: []virtual.Param{{Name: "a"}, optional("refresh", false), optional("level", int64(3)), optional("none", nil)}}
	m, s, _ := bound(t, want, virtual.Function{Params: []virtual.Param{{Name: "a"}}}, nil)
	for _, c := range []struct {
		named   map[string]any
		refused string
	}{
		{map[string]any{"refresh": false, "level": int64(3), "none": nil}, ""},
		{map[string]any{"level": 3.0}, ""},
		{map[string]any{"refresh": true, "level": int64(3)}, "refresh"},
		{map[string]any{"level": int64(4), "none": ""}, "level none"},
	} {
		s.passed = nil
		_, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"x"}, Named: c.named})
		refused, _ := err.(*virtual.UnsupportedArgumentError)
		switch {
		case c.refused != "" && (refused == nil || strings.Join(refused.Params, " ") != c.refused):
			t.Errorf("%v: %v", c.named, err)
		case c.refused == "" && (err != nil || !reflect.DeepEqual(s.passed, map[string]any{"a": "x"})):
			t.Errorf("%v: passed %v, %v", c.named, s.passed, err)
		}
	}
}

// TestFindingF5Adapters: a backend that says that it returns one value does for a map of values, and the other way.
func TestFindingF5Adapters(t *testing.T) {
	names := virtual.Param{Name: "names", Kind: virtual.VarArgs}
	mapOf := func(word string) *schema.Type { return shape(t, map[string]any{"type": "map_of", "of": word}) }
	all := map[string]any{"a": "1", "b": "2"}
	for _, c := range []struct {
		want, have   *schema.Type
		args         []any
		gives, value any // value nil: the result is refused
	}{
		{mapOf("string"), shape(t, "string"), []any{"a"}, "1", map[string]any{"a": "1"}},
		{mapOf("string"), shape(t, "string"), []any{"a", "b"}, all, all},
		{mapOf("string"), shape(t, "string"), []any{"a", "b"}, "1", nil},
		{mapOf("string"), shape(t, "string"), nil, "1", nil},
		{mapOf("string"), nil, []any{"a"}, "1", nil}, // it has not said that it does so
		{shape(t, "string"), mapOf("string"), []any{"b"}, all, "2"},
		{shape(t, "string"), mapOf("string"), []any{"x"}, map[string]any{"X": "1"}, "1"},
		{shape(t, "string"), mapOf("string"), []any{"x"}, all, nil},
		{shape(t, "string"), mapOf("string"), []any{"x"}, "1", "1"},
		{shape(t, "bool"), mapOf("bool"), nil, map[string]any{"a": true, "b": true}, true},
		{shape(t, "bool"), mapOf("bool"), nil, map[string]any{"a": true, "b": false}, false},
		{shape(t, "bool"), mapOf("bool"), nil, map[string]any{}, nil},
		{shape(t, "bool"), mapOf("bool"), nil, map[string]any{"a": true, "b": "x"}, nil},
		{shape(t, "int"), mapOf("string"), []any{"a"}, map[string]any{"a": "1"}, nil},
	} {
		m, _, _ := bound(t, virtual.Function{Params: []virtual.Param{names}, Returns: c.want}, virtual.Function{Params: []virtual.Param{names}, Returns: c.have}, c.gives)
		r, err := m.Call(t.Context(), "f", virtual.Args{Positional: c.args})
		switch {
		case c.value == nil && !isType[*virtual.ReturnShapeError](err):
			t.Errorf("%v for %v, %v: %+v, %v", c.have, c.want, c.gives, r, err)
		case c.value != nil && (err != nil || !reflect.DeepEqual(r.Common, c.value)):
			t.Errorf("%v for %v, %v: %+v, %v", c.have, c.want, c.gives, r, err)
		}
	}
}

// TestFindingF5ArgumentAdapters: a backend that takes one value does for a map of values, and the other way.
func TestFindingF5ArgumentAdapters(t *testing.T) {
	name := virtual.Param{Name: "name"}
	param := func(ty *schema.Type, optional bool) virtual.Param {
		return virtual.Param{Name: "v", Type: ty, Optional: optional}
	}
	mapOf := func(word string) *schema.Type { return shape(t, map[string]any{"type": "map_of", "of": word}) }
	one, all := map[string]any{"a": "1"}, map[string]any{"a": "1", "b": "2"}
	for _, c := range []struct {
		want, have virtual.Param
		about      any
		value      any // nil: not given
		passed     map[string]any
		fault      string
	}{
		{param(shape(t, "string"), false), param(mapOf("string"), false), "a", "1", map[string]any{"name": "a", "v": one}, ""},
		{param(shape(t, "string"), true), param(mapOf("string"), true), "a", nil, map[string]any{"name": "a", "v": nil}, ""},
		{param(shape(t, "string"), false), param(mapOf("string"), false), []any{"a", "b"}, "1", nil, "v: the backend takes a map of values"},
		{param(mapOf("string"), false), param(shape(t, "string"), false), "a", one, map[string]any{"name": "a", "v": "1"}, ""},
		{param(mapOf("string"), false), param(shape(t, "string"), false), "b", one, nil, "v: the backend takes one value"},
		{param(mapOf("string"), false), param(shape(t, "string"), false), "a", all, nil, "v: the backend takes one value"},
		{param(mapOf("string"), false), param(shape(t, "string"), false), []any{"a", "b"}, one, map[string]any{"name": []any{"a", "b"}, "v": "1"}, ""},
		{param(mapOf("string"), false), param(shape(t, "string"), true), "a", map[string]any{}, map[string]any{"name": "a"}, ""},
		{param(mapOf("string"), false), param(shape(t, "string"), false), "a", map[string]any{}, nil, "v: the backend takes one value"},
	} {
		m, s, _ := bound(t, virtual.Function{Params: []virtual.Param{name, c.want}}, virtual.Function{Params: []virtual.Param{name, c.have}}, nil)
		args := virtual.Args{Positional: []any{c.about}}
		if c.value != nil {
			args.Named = map[string]any{"v": c.value}
		}
		_, err := m.Call(t.Context(), "f", args)
		switch {
		case c.fault != "" && (!isType[*virtual.BadArgumentsError](err) || !strings.Contains(err.Error(), c.fault) || s.passed != nil):
			t.Errorf("%v of %v: passed %v, %v", c.value, c.about, s.passed, err)
		case c.fault == "" && (err != nil || !reflect.DeepEqual(s.passed, c.passed)):
			t.Errorf("%v of %v: passed %v, %v", c.value, c.about, s.passed, err)
		}
		v := m.Verdicts()[0]
		if got := virtual.Compare(&virtual.Function{Params: []virtual.Param{name, c.want}}, &virtual.Function{Params: []virtual.Param{name, c.have}}); v.Status != virtual.Implemented ||
			len(got) != 1 || got[0].Kind != virtual.ArgumentAdapt || got[0].Severity() != virtual.SeverityAdapt || !strings.Contains(got[0].String(), "v gives is adapted") {
			t.Errorf("%v, %v", v.Status, got)
		}
	}
	// The first parameter names what the call is about, so nothing could be its key.
	first := virtual.Compare(&virtual.Function{Params: []virtual.Param{param(mapOf("string"), false)}}, &virtual.Function{Params: []virtual.Param{param(shape(t, "string"), false)}})
	if len(first) != 1 || first[0].Kind != virtual.TypeDiffers {
		t.Errorf("%v", first)
	}
}

// TestFindingF6Roundtrip: what describes an interface is read back as the same one.
func TestFindingF6Roundtrip(t *testing.T) {
	type args struct {
		Pkgs     map[string]string `yaml:"pkgs" mgmt:"required"`
		Password *schema.Secret    `yaml:"password"`
		Level    int               `yaml:"level" arg:"kwonly"`
	}
	type info struct {
		Name  string            `yaml:"name"`
		Shell *string           `yaml:"shell"`
		Files map[string][]bool `yaml:"files"`
	}
	i := &virtual.Interface{Module: "thing", Doc: "Things.", Functions: []virtual.Function{
		virtual.Declare[args, map[string]info]("Install", "Installs.", virtual.AsExtra).Function(),
		virtual.Declare[virtual.Nothing, info]("get", "Gets.", virtual.OrNotFound(nil)).Function(),
		{Name: "any", NotApplicable: virtual.Match{"os": {"X", int64(1)}}, Supported: virtual.Match{}, Deprecated: "call get", Default: int64(1),
			Params: []virtual.Param{{Name: "list", Kind: virtual.VarArgs}, {Name: "rest", Kind: virtual.KwArgs}}},
	}}
	for range 2 {
		n, err := schema.NodeOf(i.Describe())
		if err != nil {
			t.Fatal(err)
		}
		back, ds := virtual.Declared(n)
		if ds.Err() != nil || !virtual.IsDeclaration(n) {
			t.Fatal(ds)
		}
		if got, want := back.Describe(), i.Describe(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, want\n%v", got, want)
		}
		for k := range i.Functions {
			f, g := &i.Functions[k], &back.Functions[k]
			if differ := virtual.Compare(f, g); f.Signature() != g.Signature() || len(differ) > 0 || f.Extra != g.Extra {
				t.Errorf("%s%s, want %s: %v", g.Name, g.Signature(), f.Signature(), differ)
			}
		}
		i = back
	}
}
