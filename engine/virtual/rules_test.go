package virtual_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// TestMatch: a rule holds if any fact has any of the values, exactly: neither case nor type is converted, and numbers count by value.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		rule, facts map[string]any
		want        bool
	}{
		{map[string]any{}, map[string]any{"os": "x"}, false},
		{map[string]any{"os": []any{}}, map[string]any{"os": "x"}, false},
		{map[string]any{"os": []any{"x"}}, nil, false},
		{map[string]any{"os": []any{"x"}}, map[string]any{"os": nil}, false},
		{map[string]any{"os": []any{nil}}, map[string]any{"os": nil}, false},
		{map[string]any{"os": []any{"x"}}, map[string]any{"os": "x"}, true},
		{map[string]any{"os": []any{"x"}}, map[string]any{"os": "X"}, false},
		{map[string]any{"os": []any{"y", "x"}}, map[string]any{"os": "x"}, true},
		{map[string]any{"os": []any{"y"}, "init": []any{"z"}}, map[string]any{"os": "x", "init": "z"}, true},
		{map[string]any{"os": []any{"x"}}, map[string]any{"os": []any{"a", "x"}}, true},
		{map[string]any{"os": []any{"x"}}, map[string]any{"os": []string{"a", "x"}}, true},
		{map[string]any{"os": []any{"x"}}, map[string]any{"os": []string{"a", "b"}}, false},
		{map[string]any{"n": []any{7}}, map[string]any{"n": int64(7)}, true},
		{map[string]any{"n": []any{7.0}}, map[string]any{"n": uint64(7)}, true},
		{map[string]any{"n": []any{7.5}}, map[string]any{"n": int64(7)}, false},
		{map[string]any{"n": []any{"7"}}, map[string]any{"n": int64(7)}, false},
		{map[string]any{"n": []any{int64(7)}}, map[string]any{"n": "7"}, false},
		{map[string]any{"n": []any{int64(9007199254740993)}}, map[string]any{"n": int64(9007199254740993)}, true},
		{map[string]any{"n": []any{int64(9007199254740993)}}, map[string]any{"n": int64(9007199254740992)}, false},
		{map[string]any{"n": []any{int64(9007199254740993)}}, map[string]any{"n": uint64(9007199254740992)}, false},
		{map[string]any{"n": []any{int64(-1)}}, map[string]any{"n": uint64(1<<64 - 1)}, false},
		{map[string]any{"b": []any{true}}, map[string]any{"b": true}, true},
		{map[string]any{"b": []any{"true"}}, map[string]any{"b": true}, false},
	} {
		rule := virtual.Match{}
		for key, v := range c.rule {
			rule[key] = v.([]any)
		}
		if got := rule.Holds(c.facts); got != c.want {
			t.Errorf("%v of %v: %v", c.rule, c.facts, got)
		}
	}
	rule := virtual.Match{"os": {"Debian", "Ubuntu"}, "init": {"openrc"}, "n": {7, true}}
	for range 5 {
		if got := rule.String(); got != "init is openrc, or n is 7 or true, or os is Debian or Ubuntu" {
			t.Error(got)
		}
	}
}

// TestLintOfRules: a rule that holds for no known fact, or would hold but for its case or type, is told with its place.
func TestLintOfRules(t *testing.T) {
	facts := virtual.Facts{"os": "Debian", "n": int64(7), "tags": []string{"a", "B"}}
	i := &virtual.Interface{Module: "m", Functions: []virtual.Function{
		{Name: "f", NotApplicable: virtual.Match{"os": {"debian", "Debian"}}, Supported: virtual.Match{"so": {"x"}, "n": {"7"}}},
		{Name: "g", Supported: virtual.Match{"os": {"Fedora"}, "n": {7}, "tags": {"b", "A", "c"}}},
	}}
	b := &virtual.Backend{Name: "b", When: virtual.Match{"kernel": {"x"}}, Unless: virtual.Match{"os": {"DEBIAN"}}}
	var got []string
	for _, f := range append(i.Lint(facts), b.Lint(facts)...) {
		got = append(got, f.Key+"|"+f.String())
	}
	want := []string{
		`not_applicable|function f: not_applicable: os is "Debian" here and not "debian": values are compared exactly`,
		`supported|function f: supported: n is 7 here and not "7": values are compared exactly`,
		`supported|function f: supported: there is no fact "so" (did you mean "os"?)`,
		`supported|function g: supported: tags is "B" here and not "b": values are compared exactly`,
		`supported|function g: supported: tags is "a" here and not "A": values are compared exactly`,
		`when|backend b: when: there is no fact "kernel"`,
		`unless|backend b: unless: os is "Debian" here and not "DEBIAN": values are compared exactly`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// TestSelect: the choice goes by the facts, the programs, the priority and the name. A wanted backend may be one for other facts, and its
// programs must be there.
func TestSelect(t *testing.T) {
	backends := []*virtual.Backend{
		{Name: "dnf", Module: "pkg", When: virtual.Match{"os": {"Fedora"}}, Needs: []string{"dnf|yum"}},
		{Name: "apt", Module: "pkg", When: virtual.Match{"os": {"Debian"}}, Unless: virtual.Match{"init": {"none"}}, Needs: []string{"apt-get"}},
		{Name: "all", Module: "pkg", Priority: -1},
		{Name: "any", Module: "pkg", Priority: -1},
		{Name: "other", Module: "svc", Priority: 9},
	}
	programs := func(names ...string) func(string) bool {
		return func(p string) bool { return slices.Contains(names, p) }
	}
	for name, c := range map[string]struct {
		system    virtual.System
		want      string // the backend that is asked for
		chosen    string
		ambiguous string
		refused   string // parts of the reasons
	}{
		"by its facts":        {virtual.System{Facts: virtual.Facts{"os": "Debian"}, Has: programs("apt-get")}, "", "apt", "", "dnf: it is for machines where os is Fedora (here os is Debian)"},
		"the other program":   {virtual.System{Facts: virtual.Facts{"os": "Fedora"}, Has: programs("yum")}, "", "dnf", "", "apt: it is for machines where os is Debian (here os is Fedora)"},
		"no program":          {virtual.System{Facts: virtual.Facts{"os": "Fedora"}}, "", "all", "any", "dnf: there is no program dnf or yum"},
		"unless":              {virtual.System{Facts: virtual.Facts{"os": "Debian", "init": "none"}, Has: programs("apt-get")}, "", "all", "any", "apt: it is not for machines where init is none (here init is none)"},
		"nothing known":       {virtual.System{}, "", "all", "any", "apt: it is for machines where os is Debian (here os is not known)"},
		"wanted":              {virtual.System{Facts: virtual.Facts{"os": "Debian", "init": "none"}, Has: programs("dnf")}, "dnf", "dnf", "", "apt: dnf was asked for"},
		"wanted all the same": {virtual.System{Facts: virtual.Facts{"os": "Debian", "init": "none"}, Has: programs("apt-get")}, "apt", "apt", "", "all: apt was asked for"},
		"wanted, lacking":     {virtual.System{Facts: virtual.Facts{"os": "Fedora"}}, "dnf", "", "", "dnf: there is no program dnf or yum"},
		"wanted, unknown":     {virtual.System{}, "pacman", "", "", "pacman: there is no such backend, only all, any, apt, dnf"},
		"of another module":   {virtual.System{}, "other", "", "", "other: there is no such backend, only all, any, apt, dnf"},
	} {
		sel, err := virtual.Select("pkg", backends, c.system, c.want)
		if c.chosen == "" {
			none, ok := errors.AsType[*virtual.NoBackendError](err)
			if !ok || none.Module != "pkg" || err.Error() != "no backend of pkg can be used here: "+c.refused {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || sel.Backend.Name != c.chosen || strings.Join(sel.Ambiguous, " ") != c.ambiguous {
			t.Errorf("%s: %+v %v", name, sel, err)
			continue
		}
		var reasons []string
		for _, r := range sel.Refused {
			reasons = append(reasons, r.Backend+": "+r.Reason)
		}
		if !slices.Contains(reasons, c.refused) || !slices.IsSorted(reasons) {
			t.Errorf("%s: refused %q", name, reasons)
		}
	}
	if _, err := virtual.Select("none", backends, virtual.System{}, ""); err == nil || err.Error() != "no backend of none is known" {
		t.Error(err)
	}
	if _, err := virtual.Select("none", backends, virtual.System{}, "x"); err == nil || err.Error() != "no backend of none can be used here: x: there is no such backend" {
		t.Error(err)
	}
}

// TestSignature: parameters are written in the notation of the specification, and a secret default is not shown.
func TestSignature(t *testing.T) {
	opt := func(name string, v any) virtual.Param { return virtual.Param{Name: name, Optional: true, Default: v} }
	for want, params := range map[string][]virtual.Param{
		"()":     nil,
		"(a, b)": {{Name: "a"}, {Name: "b"}},
		`(n=None, t=True, f=False, i=7, x=1.5, s='it\'s \\ \n')`: {opt("n", nil), opt("t", true), opt("f", false), opt("i", int64(7)), opt("x", 1.5), opt("s", "it's \\ \n")},
		"(l=[1, 'a', []], m={'a': None, 'b': {}})":               {opt("l", []any{int64(1), "a", []any{}}), opt("m", map[string]any{"b": map[string]any{}, "a": nil})},
		"(s='" + schema.Redacted + "', e='', src=os.sep)":        {opt("s", schema.NewSecret("hunter2")), opt("e", schema.NewSecret("")), opt("src", virtual.Source("os.sep"))},
		"(a, *, b, c=1)":          {{Name: "a"}, {Name: "b", Kind: virtual.KeywordOnly}, {Name: "c", Kind: virtual.KeywordOnly, Optional: true, Default: int64(1)}},
		"(a, *more, b, **others)": {{Name: "a"}, {Name: "more", Kind: virtual.VarArgs}, {Name: "b", Kind: virtual.KeywordOnly}, {Name: "others", Kind: virtual.KwArgs}},
	} {
		f := virtual.Function{Name: "f", Params: params}
		if got := f.Signature(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestSpread: of each function it is told which backends have it, and with which signatures; what is private is left out.
func TestSpread(t *testing.T) {
	a, b := virtual.Param{Name: "a"}, virtual.Param{Name: "b"}
	got := virtual.Spread([]*virtual.Backend{
		{Name: "two", Functions: []virtual.Function{{Name: "g", Params: []virtual.Param{a}}, {Name: "f", Params: []virtual.Param{a}}, {Name: "_own"}}},
		{Name: "one", Functions: []virtual.Function{{Name: "f", Params: []virtual.Param{a, b}}}},
		{Name: "three", Functions: []virtual.Function{{Name: "f", Params: []virtual.Param{a}}}},
	})
	var lines []string
	for _, s := range got {
		lines = append(lines, s.Function+": "+strings.Join(s.Backends, " ")+" "+strings.Join(s.Signatures, " "))
	}
	if !slices.Equal(lines, []string{"f: one three two (a) (a, b)", "g: two (a)"}) {
		t.Errorf("%q", lines)
	}
	if virtual.Spread(nil) != nil {
		t.Error("of no backends there are functions")
	}
}

// TestWords: statuses and ways to watch are words, and other words are refused with those that there are.
func TestWords(t *testing.T) {
	for s := virtual.Implemented; s <= virtual.SignatureMismatch; s++ {
		text, err := s.MarshalText()
		var back virtual.Status
		if err != nil || back.UnmarshalText(text) != nil || back != s || string(text) != s.String() {
			t.Errorf("%s: %q %v", s, text, err)
		}
	}
	var s virtual.Status
	if err := s.UnmarshalText([]byte("implmented")); err == nil || !strings.Contains(err.Error(), "implemented") {
		t.Error(err)
	}
	var w virtual.WatchMode
	for _, word := range []string{"poll", "files", "signal"} {
		if err := w.UnmarshalText([]byte(word)); err != nil || w.String() != word {
			t.Errorf("%s: %s %v", word, w, err)
		}
		if text, err := w.MarshalText(); err != nil || string(text) != word {
			t.Errorf("%s: %q %v", word, text, err)
		}
	}
	if err := w.UnmarshalText([]byte("guess")); err == nil || !strings.Contains(err.Error(), "poll") || w != virtual.WatchSignal {
		t.Error(w, err)
	}
}

// TestErrorTexts: an error says which function of which backend it is about, and what would do.
func TestErrorTexts(t *testing.T) {
	at := virtual.FunctionError{Module: "pkg", Function: "install", Backend: "apt"}
	cause := errors.New("no space")
	for want, err := range map[string]error{
		"pkg.install is not implemented by the backend apt":                                   &virtual.NotImplementedError{FunctionError: at},
		"pkg.install is not supported by the backend apt on this machine":                     &virtual.NotSupportedError{FunctionError: at},
		"pkg.install is not supported by the backend apt on this machine, only where os is x": &virtual.NotSupportedError{FunctionError: at, Supported: virtual.Match{"os": {"x"}}},
		"there is no function pkg.install":                                                    &virtual.UnknownFunctionError{FunctionError: at},
		"there is no function pkg.install (did you mean pkg.instal?)":                         &virtual.UnknownFunctionError{FunctionError: at, Near: "instal"},
		"pkg.install: a is missing; b is text":                                                &virtual.BadArgumentsError{FunctionError: at, Problems: []string{"a is missing", "b is text"}},
		"pkg.install: the backend apt has no a, b":                                            &virtual.UnsupportedArgumentError{FunctionError: at, Params: []string{"a", "b"}},
		"pkg.install: the backend apt returned what its interface does not allow: no space":   &virtual.ReturnShapeError{FunctionError: at, Err: cause},
		"pkg.install: no space":                                                               &virtual.CallError{FunctionError: at, Err: cause},
		`there is no module "pgk"`:                                                            &virtual.UnknownModuleError{Module: "pgk"},
		`there is no module "pgk" (did you mean "pkg"?)`:                                      &virtual.UnknownModuleError{Module: "pgk", Near: "pkg"},
	} {
		if err.Error() != want {
			t.Errorf("%s, want %s", err, want)
		}
		if strings.HasSuffix(want, "no space") && !errors.Is(err, cause) {
			t.Errorf("%s: its cause is lost", want)
		}
	}
}
