package expr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/expr"
)

var values = map[string]any{
	"facts": map[string]any{"hostname": "w1", "cpus": int64(4), "roles": []any{"web", "db"}},
	"vars":  map[string]any{"n": int64(3), "sites": map[string]any{"b": map[string]any{"port": int64(80)}, "a": map[string]any{"port": int64(81)}}},
	"data":  map[string]any{"k": "v"},
}

func scope(t testing.TB) *expr.Scope {
	t.Helper()
	s, err := expr.NewScope(map[string]expr.Type{
		"facts": expr.Object("facts", map[string]expr.Type{"hostname": expr.Text, "cpus": expr.Int, "roles": expr.ListOf(expr.Text)}),
		"vars":  expr.Object("vars", map[string]expr.Type{"n": expr.Int, "sites": expr.OfValue(values["vars"].(map[string]any)["sites"])}),
		"data":  expr.MapOf(expr.Type{}),
	}, expr.Function{Name: "twice", Params: []expr.Type{expr.Text}, Result: expr.Text, Do: func(args []any) (any, error) {
		s := args[0].(string)
		if s == "" {
			return nil, errors.New("nothing can't be doubled")
		}
		return s + s, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEval(t *testing.T) {
	s := scope(t)
	for src, want := range map[string]any{
		"facts.hostname":          "w1",
		"facts.cpus * 2 + vars.n": int64(11),
		"1.5 > 1":                 true,
		"vars.n > 2 ? 'a' : 'b'":  "a",
		`data.?nope.orValue("x")`: "x",
		`data.?nope`:              expr.Absent{},
		`data["k"]`:               "v",
		`has(data.nope)`:          false,
		"facts.roles.join('+')":   "web+db",
		`vars.sites.transformList(k, v, k + string(v.port))`: []any{"a81", "b80"},
		`vars.sites.transformMap(k, v, v.port > 80, v.port)`: map[string]any{"a": int64(81)},
		`{"a": 1, "b": [true, null]}`:                        map[string]any{"a": int64(1), "b": []any{true, nil}},
		"'A'.lowerAscii()":                                   "a",
		"twice('ab')":                                        "abab",
		"duration('90s')":                                    "1m30s",
		"regex.replace('abc', 'b', 'x')":                     "axc",
		"[2, 1].sort()[0]":                                   int64(1),
		"math.greatest(1, 3)":                                int64(3),
		"'%s-%d'.format(['a', 3])":                           "a-3",
	} {
		p, faults := s.Compile(src)
		if faults != nil {
			t.Errorf("%s: %v", src, faults)
			continue
		}
		got, err := p.Eval(values)
		if err != nil {
			t.Errorf("%s: %v", src, err)
		}
		if list, ok := got.([]any); ok && strings.Contains(src, "transformList") && len(list) == 2 && list[0] == "b80" {
			list[0], list[1] = list[1], list[0] // maps have no order there
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", src, d)
		}
	}
}

// TestFaults: everything that is wrong has its place in characters, and the word that was meant.
func TestFaults(t *testing.T) {
	s := scope(t)
	for src, want := range map[string]string{
		"":                      `0: the expression between ${{ and }} is empty; for the characters ${{ write $${{`,
		" facts.hostnam":        `7: facts has no "hostnam" (hostname)`,
		"fact.hostname":         `0: there is no "fact" here (facts)`,
		"'ä' + siz(vars.sites)": `6: there is no function "siz" (size)`,
		"1 + 'x'":               `2: + can't be applied to (int, text)`,
		"vars.n.x":              `6: int has no fields`,
		"vars.n +":              `8: this is no expression: a value is missing between + and the end; for the characters ${{ write $${{`,
		"facts.cpu + vars.m":    `6: facts has no "cpu" (cpus); 17: vars has no "m"`,
		"twice(1)":              `0: twice can't be applied to (int)`,
		"facts['hostname']":     `5: [...] is for lists and maps: of facts write facts.NAME`,
		"1\n + nope":            `5: there is no "nope" here; for the characters ${{ write $${{`,
	} {
		p, faults := s.Compile(src)
		if p != nil {
			t.Errorf("%q is compiled", src)
		}
		var list []string
		for _, f := range faults {
			line := fmt.Sprintf("%d: %s", f.At, f.Message)
			if f.Suggestion != "" {
				line += " (" + f.Suggestion + ")"
			}
			list = append(list, line)
		}
		if got := strings.Join(list, "; "); got != want {
			t.Errorf("%q:\n got %s\nwant %s", src, got, want)
		}
	}
}

func TestEvalFaults(t *testing.T) {
	s := scope(t)
	for src, want := range map[string]string{
		"'' + data.nope":   `9: there is no key "nope"`,
		"twice('')":        "5: nothing can't be doubled",
		"1 / (vars.n - 3)": "2: division by zero",
		"{1: 2}":           "0: the keys of a map must be text",
		"lists.range(100000).map(x, lists.range(100)).size()":                                                   "too much",
		`"a".replace("a", "aaaaaaaaaaaaaaaaaaaa")` + strings.Repeat(`.replace("a", "aaaaaaaaaaaaaaaaaaaa")`, 8): "too much",
	} {
		p, faults := s.Compile(src)
		if faults != nil {
			t.Errorf("%s: %v", src, faults)
			continue
		}
		v, err := p.Eval(values)
		f, ok := errors.AsType[*expr.Fault](err)
		if !ok || !strings.Contains(fmt.Sprintf("%d: %s", f.At, f.Message), want) {
			t.Errorf("%s = %.60v, %v, want %s", src, v, err, want)
		}
	}
}

// TestReads: what an expression reads is known when it is compiled.
func TestReads(t *testing.T) {
	s := scope(t)
	for src, want := range map[string][]expr.Input{
		"1":                               nil,
		"facts.hostname + facts.hostname": {{"facts", "hostname"}},
		"vars.n > 0 ? facts.cpus : 1":     {{"vars", "n"}, {"facts", "cpus"}},
		"has(facts.cpus)":                 {{"facts", "cpus"}},
		"[facts].size()":                  {{"facts", ""}},
		"facts.roles.exists(r, r == 'x')": {{"facts", "roles"}},
	} {
		p, faults := s.Compile(src)
		if faults != nil {
			t.Fatal(src, faults)
		}
		if d := cmp.Diff(want, p.Reads()); d != "" {
			t.Errorf("%s:\n%s", src, d)
		}
	}
}

func TestWith(t *testing.T) {
	s, err := scope(t).With(map[string]expr.Type{"each": expr.Object("each", map[string]expr.Type{"key": expr.Text})})
	if err != nil {
		t.Fatal(err)
	}
	p, faults := s.Compile("each.key + facts.hostname")
	if faults != nil {
		t.Fatal(faults)
	}
	values := map[string]any{"facts": values["facts"], "each": map[string]any{"key": "k"}}
	if got, err := p.Eval(values); got != "kw1" || err != nil {
		t.Error(got, err)
	}
	if _, faults := s.Compile("each.kee"); len(faults) != 1 || faults[0].Suggestion != "key" {
		t.Error(faults)
	}
}

// TestWithNothing: a scope without names may get some, and a scope may get none.
func TestWithNothing(t *testing.T) {
	s, err := expr.NewScope(nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.With(nil); err != nil {
		t.Fatal(err)
	}
	if s, err = s.With(map[string]expr.Type{"n": expr.Int}); err != nil {
		t.Fatal(err)
	}
	p, faults := s.Compile("n + 1")
	if faults != nil {
		t.Fatal(faults)
	}
	if got, err := p.Eval(map[string]any{"n": int64(1)}); got != int64(2) || err != nil {
		t.Error(got, err)
	}
}

// TestNearKeys: a key that a map lacks is found, and the key that was meant, wherever the map is from. A key is not said to be missing in a map that has it.
func TestNearKeys(t *testing.T) {
	s, err := scope(t).With(map[string]expr.Type{"late": {}})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	names := map[string]any{"facts": values["facts"], "vars": values["vars"], "data": map[string]any{"users": map[string]any{"anna": map[string]any{"shell": "sh"}}, "list": []any{map[string]any{"port": int64(1)}}},
		"late": func() any { asked++; return map[string]any{"color": "red"} }}
	for src, want := range map[string]string{
		"data.users.anna.shel":                                  `15: there is no key "shel" (shell)`,
		"data.user.anna":                                        `4: there is no key "user" (users)`,
		"data['user']['anna']":                                  `4: there is no key "user" (users)`,
		"data.list[0].prot":                                     `12: there is no key "prot" (port)`,
		"late.colour":                                           `4: there is no key "colour" (color)`,
		"{'a': {'shell': 1}}.a.shel":                            `21: there is no key "shel" (shell)`,
		"[{'shell': 1}][0].shel":                                `17: there is no key "shel" (shell)`,
		"[{'use': 1}].map(data, data.user)":                     `27: there is no key "user"`, // data is another one here
		"data.?users.value().ana":                               `19: there is no key "ana" (anna)`,
		"data.users.transformMap(k, v, v.shell).ana":            `38: there is no key "ana" (anna)`,
		"data.users.transformList(k, v, {k: v})[0].ana":         `41: there is no key "ana" (anna)`,
		"[{'a': 1}].map(m, m.b)":                                `19: there is no key "b"`,
		"[{'shell': 1}, {'shel': 2}, {'x': 1}].map(m, m.shell)": `46: there is no key "shell"`,
	} {
		p, faults := s.Compile(src)
		if faults != nil {
			t.Errorf("%s: %v", src, faults)
			continue
		}
		_, err := p.Eval(names)
		f, ok := errors.AsType[*expr.Fault](err)
		if !ok {
			t.Errorf("%s: %v", src, err)
			continue
		}
		message, _, _ := strings.Cut(f.Message, ";")
		got := fmt.Sprintf("%d: %s", f.At, message)
		if f.Suggestion != "" {
			got += " (" + f.Suggestion + ")"
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", src, got, want)
		}
	}
	if asked > 3 { // for the value, for the parts of it, and for the keys
		t.Errorf("the late name was asked %d times", asked)
	}
}

func TestAsText(t *testing.T) {
	for want, v := range map[string]any{"a": "a", "true": true, "1": int64(1), "2": uint64(2), "1.5": 1.5, "3": 3.0} {
		if got, err := expr.AsText(v); got != want || err != nil {
			t.Errorf("AsText(%v) = %q, %v", v, got, err)
		}
	}
	for _, v := range []any{nil, []any{}, map[string]any{}, expr.Absent{}} {
		if got, err := expr.AsText(v); err == nil {
			t.Errorf("AsText(%v) = %q", v, got)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	p, _ := scope(b).Compile("facts.hostname + '-' + string(vars.n)")
	for b.Loop() {
		if _, err := p.Eval(values); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	s := scope(b)
	for b.Loop() {
		if _, faults := s.Compile("facts.hostname + '-' + string(vars.n)"); faults != nil {
			b.Fatal(faults)
		}
	}
}
