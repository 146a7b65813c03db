package expr_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/expr"
)

// list makes a list of values.
func list(v ...any) []any { return append([]any{}, v...) }

// TestFunctions: the functions of the language count characters and not bytes, take empty values, and give the plain values of a graph.
func TestFunctions(t *testing.T) {
	s := deep(t)
	names := map[string]any{"any": "t", "lines": list("b", "a"), "ports": map[string]any{"one": int64(1)}, "data": map[string]any{"k": "v"}}
	for src, want := range map[string]any{
		"size('ä😀')":                             int64(2),
		"size(b'ä')":                             int64(2),
		"size([])":                               int64(0),
		"size({})":                               int64(0),
		"''.split(',')":                          list(""),
		"'ä😀'.split('')":                         list("ä", "😀"),
		"'a,b,c'.split(',', 2)":                  list("a", "b,c"),
		"'a,b'.split(',', 0)":                    list(),
		"[].join(',')":                           "",
		"lines.join()":                           "ba",
		"'äöü'.substring(1, 2)":                  "ö",
		"'äöü'.substring(3)":                     "",
		"'äöü'.charAt(1)":                        "ö",
		"'äöü'.charAt(3)":                        "",
		"'äöü'.indexOf('ü')":                     int64(2),
		"'äöü'.indexOf('x')":                     int64(-1),
		"'äbä'.lastIndexOf('ä')":                 int64(2),
		"'ÄB'.lowerAscii()":                      "Äb",
		"' \\u00a0a\\t'.trim()":                  "a",
		"'äb'.reverse()":                         "bä",
		"'a'.replace('', '-')":                   "-a-",
		"'aaa'.replace('a', 'b', 2)":             "bba",
		"'aaa'.replace('a', 'b', 0)":             "aaa",
		"'%d%%'.format([5])":                     "5%",
		"int(-1.9)":                              int64(-1),
		"string(1.5)":                            "1.5",
		"1 < 1.5":                                true,
		"[3, 1, 2].sort()":                       list(int64(1), int64(2), int64(3)),
		"[1, [2, [3]]].flatten()":                list(int64(1), int64(2), list(int64(3))),
		"[1, 1, 2].distinct()":                   list(int64(1), int64(2)),
		"[1, 2, 3].slice(1, 1)":                  list(),
		"lists.range(0)":                         list(),
		"sets.equivalent([1, 1], [1])":           true,
		"math.greatest([1, 2.5])":                2.5,
		"'abc'.matches('b')":                     true,
		"regex.extractAll('a1', '[0-9]')":        list("1"),
		"[?optional.none(), 1]":                  list(int64(1)),
		"[optional.none()]":                      list(expr.Absent{}),
		"{?'a': optional.none()}":                map[string]any{},
		"{'a': optional.of(1)}":                  map[string]any{"a": int64(1)},
		"regex.extract('abc', 'x')":              expr.Absent{},
		"data.?a.?b.orValue(3)":                  int64(3),
		"timestamp('2020-01-01T00:00:00+02:00')": "2019-12-31T22:00:00Z",
		"duration('1h') + duration('1m')":        "1h1m",
		"null":                                   nil,
		"1u":                                     uint64(1),
		"b'ab'":                                  "ab",
		"r'\\d'":                                 `\d`,
		"'''a\nb'''":                             "a\nb",
		"false && any.x":                         false, // the other side decides alone
		"any.x || true":                          true,
		"true ? 1 : 1 / 0":                       int64(1),
	} {
		p, faults := s.Compile(src)
		if faults != nil {
			t.Errorf("%s: %s", src, said(faults))
			continue
		}
		got, err := p.Eval(names)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", src, err, d)
		}
	}
}

// TestFaultsOfValues: a value that a function does not take is a fault at the place of the call, in characters.
func TestFaultsOfValues(t *testing.T) {
	s := deep(t)
	names := map[string]any{"any": "t", "lines": list("b", "a"), "ports": map[string]any{"one": int64(1)}}
	for src, want := range map[string]string{
		"'ä' + 'äöü'.substring(4)":       "21: index out of range: 4",
		"'äöü'.substring(-1)":            "15: index out of range: -1",
		"'äöü'.substring(2, 1)":          "15: invalid substring range. start: 2, end: 1",
		"'äöü'.charAt(4)":                "12: index out of range: 4",
		"9223372036854775807 + 1":        "20: integer overflow",
		"9223372036854775807 * 2":        "20: integer overflow",
		"0u - 1u":                        "3: unsigned integer overflow",
		"1 / 0":                          "2: division by zero",
		"1 % 0":                          "2: modulus by zero",
		"[1, 2][2]":                      "6: index out of bounds: 2",
		"lines[-1]":                      "5: index out of bounds: -1",
		"lists.range(-1)":                "11: lists.range: size must be non-negative, got -1",
		"lists.range(100000000)":         "11: lists.range: size 100000000 exceeds maximum allowed (1000000)",
		"[1, 'a'].sort()":                "13: list elements must have the same type",
		"[1, [2]].flatten(-1)":           "16: level must be non-negative",
		"[1, 2, 3].slice(0, 4)":          "15: cannot slice(0, 4), list is length 3",
		"math.abs(-9223372036854775808)": "8: integer overflow",
		"math.bitShiftLeft(1, -1)":       "17: math.bitShiftLeft() negative offset: -1",
		"regex.replace('a', '(', 'b')":   "13: error parsing regexp: missing closing ): `(`",
		"optional.none().value()":        "21: optional.none() dereference",
		"any + 1":                        "4: no such overload",
		"!any":                           "0: no such overload",
		"any ? 1 : 2":                    "4: no such overload",
		"twice(dyn(1))":                  "5: no such overload: twice(int)",
		"type(1)":                        "0: type is no value of a graph",
		"[[type(1)]]":                    "0: type is no value of a graph",
		"{'a': {'b': type(1)}}":          "0: type is no value of a graph",
		"[{true: 1}]":                    "0: the keys of a map must be text, not bool: write string(...)",
		"mgmt.facts{}":                   "10: an expression can't make mgmt.facts",
		"string(vars.n)":                 "11: no such attribute(s): vars", // the caller gives no value of it
	} {
		p, faults := s.Compile(src)
		if faults != nil {
			t.Errorf("%s: %s", src, said(faults))
			continue
		}
		v, err := p.Eval(names)
		f, ok := errors.AsType[*expr.Fault](err)
		if !ok || v != nil {
			t.Errorf("%s = %v, %v", src, v, err)
			continue
		}
		if got := fmt.Sprintf("%d: %s", f.At, f.Message); got != want {
			t.Errorf("%s:\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestFunctionsOfTheCaller: forms of one name are told apart by their types, a panic and a strange value are faults, and the error of a
// function is in the chain of the fault.
func TestFunctionsOfTheCaller(t *testing.T) {
	broken := errors.New("the store is away")
	text := func(do func() (any, error)) func([]any) (any, error) {
		return func([]any) (any, error) { return do() }
	}
	f := func(name string, param, result expr.Type, do func() (any, error)) expr.Function {
		return expr.Function{Name: name, Params: []expr.Type{param}, Result: result, Do: text(do)}
	}
	s, err := expr.NewScope(nil,
		f("form", expr.Text, expr.Text, func() (any, error) { return "text", nil }),
		f("form", expr.Int, expr.Text, func() (any, error) { return "int", nil }),
		f("form", expr.ListOf(expr.Text), expr.Text, func() (any, error) { return "texts", nil }),
		f("form", expr.MapOf(expr.ListOf(expr.Int)), expr.Text, func() (any, error) { return "map", nil }),
		f("boom", expr.Text, expr.Text, func() (any, error) { panic("a hole") }),
		f("odd", expr.Text, expr.Type{}, func() (any, error) { return struct{ A int }{1}, nil }),
		f("away", expr.Text, expr.Text, func() (any, error) { return nil, fmt.Errorf("read: %w", broken) }),
		f("nothing", expr.Text, expr.Type{}, func() (any, error) { return nil, nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{
		"form('a') + form(1) + form(['a']) + form({'a': [1]})": "textinttextsmap",
		"boom('a')":      "internal error: a hole",
		"odd('a')":       "unsupported conversion to ref.Val: (struct { A int }){1}",
		"away('a')":      "read: the store is away",
		"nothing('a')":   "<nil>",
		"away('a') + ''": "read: the store is away",
	} {
		p, faults := s.Compile(src)
		if faults != nil {
			t.Errorf("%s: %s", src, said(faults))
			continue
		}
		v, err := p.Eval(nil)
		got := fmt.Sprint(v)
		if err != nil {
			got = err.Error()
		}
		if got != want || errors.Is(err, broken) != strings.Contains(src, "away") {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
	if _, err := expr.NewScope(nil, f("size", expr.Text, expr.Text, nil)); err == nil {
		t.Error("a function takes the form of one of the language")
	}
}

// TestConcurrentUse: scopes and programs are shared by goroutines, which compile, compute and extend at once.
func TestConcurrentUse(t *testing.T) {
	s := scope(t)
	p, faults := s.Compile("facts.roles.map(r, r + string(vars.n)).join(data.nope)")
	if faults != nil {
		t.Fatal(said(faults))
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			inner, err := s.With(map[string]expr.Type{"each": expr.Int})
			if err != nil {
				t.Error(err)
				return
			}
			q, faults := inner.Compile("each * vars.n")
			if faults != nil {
				t.Error(said(faults))
				return
			}
			names := map[string]any{"facts": values["facts"], "vars": values["vars"], "data": values["data"], "each": int64(i)}
			if got, err := q.Eval(names); got != int64(3*i) || err != nil {
				t.Errorf("%d: %v, %v", i, got, err)
			}
			if f, ok := errors.AsType[*expr.Fault](second(p.Eval(names))); !ok || f.At != 48 {
				t.Errorf("%d: %+v", i, f)
			}
		})
	}
	wg.Wait()
}

func second[T any](_ T, err error) error { return err }
