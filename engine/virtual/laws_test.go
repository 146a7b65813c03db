package virtual_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

var names = []string{"a", "b", "c", "d"}

// anyFunction draws a function that is valid.
func anyFunction(t *rapid.T, name string) virtual.Function {
	f := virtual.Function{Name: name}
	for _, p := range rapid.Permutation([]string{"p", "q", "r", "s"}).Draw(t, "names")[:rapid.IntRange(0, 4).Draw(t, "params")] {
		q := virtual.Param{Name: p, Optional: rapid.Bool().Draw(t, "optional")}
		if rapid.IntRange(0, 4).Draw(t, "kwonly") == 0 {
			q.Kind = virtual.KeywordOnly
		}
		if q.Optional {
			q.Default = rapid.SampledFrom([]any{nil, true, int64(1), "x"}).Draw(t, "default")
		}
		f.Params = append(f.Params, q)
	}
	if rapid.Bool().Draw(t, "varargs") {
		f.Params = append(f.Params, virtual.Param{Name: "rest", Kind: virtual.VarArgs})
	}
	if rapid.Bool().Draw(t, "kwargs") {
		f.Params = append(f.Params, virtual.Param{Name: "more", Kind: virtual.KwArgs})
	}
	slices.SortStableFunc(f.Params, func(a, b virtual.Param) int {
		if a.Kind != b.Kind {
			return int(a.Kind) - int(b.Kind)
		}
		switch {
		case a.Optional == b.Optional, a.Kind != virtual.Positional:
			return 0
		case a.Optional:
			return 1
		}
		return -1
	})
	return f
}

func anyFunctions(t *rapid.T, label string) (fs []virtual.Function) {
	for _, n := range rapid.Permutation(names).Draw(t, label)[:rapid.IntRange(0, len(names)).Draw(t, "count")] {
		fs = append(fs, anyFunction(t, n))
	}
	return fs
}

func anyRule(t *rapid.T, label string) virtual.Match {
	if rapid.Bool().Draw(t, label) {
		return nil
	}
	return virtual.Match{rapid.SampledFrom([]string{"os", "init"}).Draw(t, label): {rapid.SampledFrom([]any{"x", "y"}).Draw(t, label)}}
}

func anyInterface(t *rapid.T) *virtual.Interface {
	i := &virtual.Interface{Module: "m", Functions: anyFunctions(t, "interface")}
	for n := range i.Functions {
		f := &i.Functions[n]
		f.Supported, f.NotApplicable, f.Extra = anyRule(t, "supported"), anyRule(t, "not applicable"), rapid.Bool().Draw(t, "extra")
		f.Deprecated = rapid.SampledFrom([]string{"", "call another one"}).Draw(t, "deprecated")
	}
	return i
}

func anyFacts(t *rapid.T) virtual.Facts {
	return virtual.Facts{"os": rapid.SampledFrom([]any{"x", "z", []any{"y", "z"}}).Draw(t, "os"), "init": "y"}
}

func backendOf(fs []virtual.Function, c virtual.Caller) *virtual.Backend {
	return &virtual.Backend{Name: "b", Module: "m", Functions: fs, Open: func(context.Context, virtual.Env) (virtual.Caller, error) { return c, nil }}
}

// TestCheckLaws: every function has one status, which rules as simple as the
// specification give too; checking is a function of what it is given.
func TestCheckLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i, b, facts := anyInterface(t), backendOf(anyFunctions(t, "backend"), nil), anyFacts(t)
		verdicts := virtual.Check(i, b, facts)
		seen := map[string]bool{}
		for _, v := range verdicts {
			if seen[v.Function] {
				t.Fatalf("%s is there twice", v.Function)
			}
			seen[v.Function] = true
			if want := ruleStatus(i.Function(v.Function), functionOf(b, v.Function), facts); v.Status != want {
				t.Fatalf("%s is %s, want %s (%v)", v.Function, v.Status, want, v.Differences)
			}
		}
		for _, f := range slices.Concat(i.Functions, b.Functions) {
			if !seen[f.Name] {
				t.Fatalf("%s is not there", f.Name)
			}
		}
		if !reflect.DeepEqual(verdicts, virtual.Check(i, b, facts)) {
			t.Fatal("another time it is otherwise")
		}
	})
}

// ruleStatus is the specification, word for word.
func ruleStatus(want, have *virtual.Function, facts virtual.Facts) virtual.Status {
	switch {
	case want == nil:
		return virtual.Deprecated
	case want.NotApplicable.Holds(facts):
		return virtual.NotApplicable
	case have == nil && (want.Extra || want.Deprecated != "" || want.Supported != nil && !want.Supported.Holds(facts)):
		return virtual.NotSupported
	case have == nil:
		return virtual.NotImplemented
	case callable(want, have) && want.Deprecated != "":
		return virtual.Deprecated
	case callable(want, have):
		return virtual.Implemented
	}
	return virtual.SignatureMismatch
}

// callable says whether a call can be adapted, though it may be refused for a parameter that the backend lacks.
func callable(want, have *virtual.Function) bool {
	takes := map[string]bool{}
	var varargs [2]bool
	for _, p := range have.Params {
		takes[p.Name] = p.Kind == virtual.Positional || p.Kind == virtual.KeywordOnly
		varargs[0] = varargs[0] || p.Kind == virtual.VarArgs
	}
	gives := map[string]bool{}
	required := map[string]bool{}
	for _, p := range want.Params {
		gives[p.Name] = p.Kind == virtual.Positional || p.Kind == virtual.KeywordOnly
		required[p.Name] = gives[p.Name] && !p.Optional
		varargs[1] = varargs[1] || p.Kind == virtual.VarArgs
	}
	for _, p := range have.Params {
		if takes[p.Name] && !p.Optional && !gives[p.Name] {
			return false
		}
	}
	for n, p := range want.Params {
		if !required[p.Name] || takes[p.Name] {
			continue
		}
		if p.Kind == virtual.Positional && n < len(have.Params) && have.Params[n].Kind == virtual.Positional && !gives[have.Params[n].Name] {
			return false // it is called otherwise there
		}
	}
	return varargs[0] == varargs[1]
}

// TestCallLaws: what the backend gets is what was given, with the defaults of the
// interface for the rest, and nothing that it does not know.
func TestCallLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, have := anyFunction(t, "f"), anyFunction(t, "f")
		s := &said{gives: map[string]any{}}
		i := &virtual.Interface{Module: "m", Functions: []virtual.Function{want}}
		m, err := virtual.Bind(context.Background(), i, backendOf([]virtual.Function{have}, s), virtual.Env{})
		if err != nil {
			t.Fatal(err)
		}
		args := virtual.Args{Named: map[string]any{}}
		for _, p := range want.Params {
			if (p.Kind == virtual.Positional || p.Kind == virtual.KeywordOnly) && (!p.Optional || rapid.Bool().Draw(t, "give")) {
				args.Named[p.Name] = "given " + p.Name
			}
		}
		_, err = m.Call(context.Background(), "f", args)
		known := map[string]bool{}
		catchAll := false
		for _, p := range have.Params {
			known[p.Name] = true
			catchAll = catchAll || p.Kind == virtual.KwArgs
		}
		lacks := false
		for name := range args.Named {
			lacks = lacks || !known[name] && !catchAll
		}
		switch {
		case m.Verdicts()[0].Status == virtual.SignatureMismatch:
			if !isType[*virtual.SignatureMismatchError](err) || s.passed != nil {
				t.Fatalf("%v, passed %v", err, s.passed)
			}
		case lacks:
			if !isType[*virtual.UnsupportedArgumentError](err) || s.passed != nil {
				t.Fatalf("%v, passed %v", err, s.passed)
			}
		case err != nil:
			t.Fatal(err)
		default:
			expected := maps.Clone(args.Named)
			for _, p := range want.Params {
				if _, given := expected[p.Name]; p.Optional && !given && known[p.Name] {
					expected[p.Name] = p.Default
				}
				if p.Kind == virtual.VarArgs {
					expected["rest"] = []any{}
				}
			}
			if !reflect.DeepEqual(s.passed, expected) {
				t.Fatalf("%s on %s: passed %v, want %v", want.Signature(), have.Signature(), s.passed, expected)
			}
		}
	})
}

// TestGenerateLaws: an interface that is made of a backend fits it, merging with
// itself changes nothing, and what is made of two is in both.
func TestGenerateLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := backendOf(anyFunctions(t, "a"), nil), backendOf(anyFunctions(t, "b"), nil)
		i := virtual.Generate("m", false, a)
		for _, v := range virtual.Check(i, a, nil) {
			if v.Status != virtual.Implemented || len(v.Differences) > 0 {
				t.Fatalf("%s on itself: %s %v", v.Function, v.Status, v.Differences)
			}
		}
		if !reflect.DeepEqual(i, virtual.Generate("m", false, a, a)) {
			t.Fatal("merged with itself it is another one")
		}
		for _, f := range virtual.Generate("m", false, a, b).Functions {
			g, h := functionOf(a, f.Name), functionOf(b, f.Name)
			if g == nil || h == nil {
				t.Fatalf("%s is not in both", f.Name)
			}
			for _, p := range f.Params {
				if !strings.Contains(h.Signature(), p.Name) {
					t.Fatalf("%s%s has %s", f.Name, h.Signature(), p.Name)
				}
			}
		}
	})
}

// anyShape draws a type of results; anyValue a value, which rarely fits.
func anyShape(t *rapid.T, depth int) *schema.Type {
	kinds := []schema.Kind{schema.KindAny, schema.KindBool, schema.KindInt, schema.KindString}
	if depth > 0 {
		kinds = append(kinds, schema.KindList, schema.KindMap, schema.KindStruct, schema.KindStruct)
	}
	s := &schema.Type{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch s.Kind {
	case schema.KindInt:
		s.Bits = 64
	case schema.KindList, schema.KindMap:
		s.Elem = anyShape(t, depth-1)
	case schema.KindStruct:
		for _, key := range names[:rapid.IntRange(0, 3).Draw(t, "fields")] {
			part := anyShape(t, depth-1)
			part.Optional = rapid.Bool().Draw(t, "optional")
			s.Fields = append(s.Fields, &schema.Field{Key: key, Type: part})
		}
	}
	return s
}

func anyValue(t *rapid.T, s *schema.Type, depth int) any {
	if rapid.IntRange(0, 15).Draw(t, "wrong") == 0 {
		return rapid.SampledFrom([]any{nil, true, int64(1), "x", []any{}, map[string]any{}}).Draw(t, "value")
	}
	switch s.Kind {
	case schema.KindBool:
		return rapid.Bool().Draw(t, "bool")
	case schema.KindInt:
		return rapid.Int64().Draw(t, "int")
	case schema.KindString:
		return rapid.String().Draw(t, "text")
	case schema.KindList:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, anyValue(t, s.Elem, depth-1))
		}
		return list
	case schema.KindMap, schema.KindStruct:
		m := map[string]any{}
		for _, key := range names[:rapid.IntRange(0, 4).Draw(t, "keys")] {
			elem := s.Elem
			if s.Kind == schema.KindStruct {
				if elem = (&schema.Type{}); s.Field(key) != nil {
					elem = s.Field(key).Type
				}
			}
			m[key] = anyValue(t, elem, depth-1)
		}
		return m
	}
	return "anything"
}

// TestResultLaws: what passes the check is declared and right, what is taken out of it
// is the rest, and checking what has passed once more changes nothing.
func TestResultLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := anyShape(t, 3)
		s := &said{gives: map[string]any{"f": anyValue(t, shape, 3)}}
		given := fmt.Sprintf("%#v", s.gives["f"])
		i := &virtual.Interface{Module: "m", Functions: []virtual.Function{{Name: "f", Returns: shape}}}
		m, err := virtual.Bind(context.Background(), i, backendOf([]virtual.Function{{Name: "f"}}, s), virtual.Env{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Call(context.Background(), "f", virtual.Args{})
		if err != nil {
			if !isType[*virtual.ReturnShapeError](err) {
				t.Fatal(err)
			}
			return
		}
		if r.Extra == nil {
			t.Fatal("no extras are no map")
		}
		s.gives["f"] = r.Common
		again, err := m.Call(context.Background(), "f", virtual.Args{})
		if err != nil || !schema.Equal(again.Common, r.Common) || len(again.Extra) > 0 {
			t.Fatalf("%s: again %+v, %v", given, again, err)
		}
		if leaves(r.Common)+leaves(r.Extra) < strings.Count(given, "int64") {
			t.Fatalf("%s: something is lost in %v and %v", given, r.Common, r.Extra)
		}
	})
}

// leaves counts the values that hold no others.
func leaves(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, part := range v {
			n += leaves(part)
		}
	case []any:
		for _, part := range v {
			n += leaves(part)
		}
	default:
		n = 1
	}
	return n
}

// TestSelectLaws: the choice does not depend on the order of the backends, and is
// one that suits, of the highest priority.
func TestSelectLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []*virtual.Backend
		for _, n := range names {
			all = append(all, &virtual.Backend{Name: n, Module: "m", When: anyRule(t, "when"), Unless: anyRule(t, "unless"),
				Priority: rapid.IntRange(0, 2).Draw(t, "priority"), Needs: rapid.SampledFrom([][]string{nil, {"sh"}, {"x"}, {"x|sh"}}).Draw(t, "needs")})
		}
		s := virtual.System{Facts: anyFacts(t), Has: func(p string) bool { return p == "sh" }}
		suits := func(b *virtual.Backend) bool {
			return (b.When == nil || b.When.Holds(s.Facts)) && !b.Unless.Holds(s.Facts) && !slices.Contains(b.Needs, "x")
		}
		sel, err := virtual.Select("m", all, s, "")
		again, err2 := virtual.Select("m", rapid.Permutation(all).Draw(t, "order"), s, "")
		if fmt.Sprint(err) != fmt.Sprint(err2) || !reflect.DeepEqual(sel, again) {
			t.Fatalf("%v, %v and %v, %v", sel, err, again, err2)
		}
		for _, b := range all {
			switch {
			case err != nil && suits(b):
				t.Fatalf("%s suits, but %v", b.Name, err)
			case err == nil && suits(b) && b.Priority > sel.Backend.Priority:
				t.Fatalf("%s was chosen and not %s", sel.Backend.Name, b.Name)
			}
		}
		if err == nil && !suits(sel.Backend) {
			t.Fatalf("%s does not suit", sel.Backend.Name)
		}
	})
}
