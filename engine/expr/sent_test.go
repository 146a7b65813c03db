package expr_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine/expr"
)

// TestSent: the checker knows the type of what is sent, each call is found with its place, and an argument is known before anything is sent.
func TestSent(t *testing.T) {
	types := map[string]expr.Type{"a.text": expr.Text, "a.int": expr.Int, "a.float": expr.Float, "a.bool": expr.Bool, "a.texts": expr.ListOf(expr.Text),
		"a.ints": expr.ListOf(expr.Int), "a.map": expr.MapOf(expr.Int), "a.struct": expr.Object("sender", map[string]expr.Type{"x": expr.Int})}
	silent := errors.New("nothing was sent yet")
	sent := &expr.Sent{TypeOf: func(ref string) expr.Type { return types[ref] }, Do: func(ref string) (any, error) {
		switch ref {
		case "a.text":
			return "x", nil
		case "a.int":
			return int64(2), nil
		case "a.texts":
			return []any{"p", "q"}, nil
		case "a.struct":
			return map[string]any{"x": int64(5)}, nil
		}
		return nil, silent
	}}
	s, err := expr.NewScopeSent(map[string]expr.Type{"n": expr.Text, "list": expr.ListOf(expr.Text)}, sent)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]any{"n": "text", "list": []any{"int"}}
	for src, want := range map[string]string{
		"sent('a.text') + 'y'":                      "xy [a.text@5]",
		"sent('a.int') * 3":                         "6 [a.int@5]",
		"sent('a.texts').join('+')":                 "p+q [a.texts@5]",
		"sent('a.struct').x + 1":                    "6 [a.struct@5]",
		"true ? 'ä' : sent('a.text')":               "ä [a.text@18]",
		"[sent('a.text'), sent('a.text')].join('')": "xx [a.text@6 a.text@22]",
		"sent('a.' + n)":                            "x [(a.text)@5]",
		"sent('a.other')":                           "nothing was sent yet [a.other@5]",
		"'' + sent('a.text') + sent('a.' + n)":      "xx [a.text@10 (a.text)@27]",
		"1 + 1":                                     "2 []",
		"sent(1)":                                   "0: sent can't be applied to (int)",
		"sent('a.int') + 'x'":                       "14: + can't be applied to (int, text)",
		"sent('a.bool') + 1":                        "15: + can't be applied to (bool, int)",
		"sent('a.float') + 1":                       "16: + can't be applied to (float, int)",
		"list.map(l, sent('a.' + l))":               "17: the argument of sent must be known when the graph is loaded: it may have neither variables of map and filter nor sent values in it",
		"sent(sent('a.text'))":                      "5: the argument of sent must be known when the graph is loaded: it may have neither variables of map and filter nor sent values in it",
		"sen('a')":                                  `0: there is no function "sen" (sent)`,
	} {
		p, faults := s.Compile(src)
		if faults != nil {
			if got := said(faults); got != want {
				t.Errorf("%s:\n got %s\nwant %s", src, got, want)
			}
			continue
		}
		v, err := p.Eval(names)
		got := fmt.Sprint(v)
		if err != nil {
			got = err.Error()
		}
		calls := []string{}
		for _, c := range p.Sent() {
			ref := c.Ref
			if c.Arg != nil {
				v, err := c.Arg.Eval(names)
				ref = fmt.Sprintf("(%v)", v)
				if err != nil {
					t.Errorf("%s: the argument: %v", src, err)
				}
			}
			calls = append(calls, fmt.Sprintf("%s@%d", ref, c.At))
		}
		if got = fmt.Sprint(got, " ", calls); got != want {
			t.Errorf("%s:\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestCalls: calls of a function are found with the texts that are written out, wherever they stand; a method is no call of a function.
func TestCalls(t *testing.T) {
	s := scope(t)
	for _, c := range []struct {
		src     string
		calls   string
		uses    bool
		isWhole bool
	}{
		{"twice('a')", "[{twice a}]", true, true},
		{"twice(twice('ä'))", "[{twice ä}]", true, true},
		{"'x' + twice('a') + twice(facts.hostname)", "[{twice a}]", true, false},
		{"true ? 'x' : twice('b')", "[{twice b}]", true, false},
		{"facts.roles.map(r, twice(r))", "[]", true, false},
		{"'twice'", "[]", false, false},
	} {
		p, faults := s.Compile(c.src)
		if faults != nil {
			t.Fatal(c.src, said(faults))
		}
		if got := fmt.Sprint(p.Calls("nope", "twice")); got != c.calls {
			t.Errorf("%s calls %s, want %s", c.src, got, c.calls)
		}
		if got := p.Uses("twice"); got != c.uses || p.Uses("nope") || p.Uses() {
			t.Errorf("%s uses it: %t", c.src, got)
		}
		if got := p.IsCallOf("twice"); got != c.isWhole {
			t.Errorf("%s is a call of it: %t", c.src, got)
		}
	}
	if p, faults := s.Compile("'A'.lowerAscii()"); faults != nil || p.IsCallOf("lowerAscii") || !p.Uses("lowerAscii") {
		t.Errorf("a method is a call of a function: %s", said(faults))
	}
}
