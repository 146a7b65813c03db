package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/expr"
)

// TestSyntaxFaults: an expression that is none says so in plain words, at its place, and says how to write the usual slips.
func TestSyntaxFaults(t *testing.T) {
	s := scope(t)
	for src, want := range map[string]string{
		"vars.n + )":                            `9: a value is missing between + and )`,
		"(vars.n":                               `7: the bracket ( is not closed before the end`,
		"{'a': 1":                               `7: the bracket { is not closed before the end`,
		"vars.n vars.n":                         `7: vars follows n without an operator`,
		"vars..n":                               `5: the name behind the dot is missing`,
		"vars.":                                 `5: the name behind the dot is missing`,
		"vars.in":                               `5: in is a reserved word; for the key of a map write ["in"]`,
		"'abc":                                  `0: the text that begins with ' here has no end`,
		"vars.n ? 1":                            `10: a condition needs two values: write CONDITION ? VALUE : OTHER`,
		"if vars.n then 2":                      `0: if is not of this language: write CONDITION ? VALUE : OTHER`,
		"vars.n and vars.n":                     `7: and is not of this language: write &&`,
		"vars.n = 1":                            `7: = is not of this language: write == to compare`,
		"vars.n | upper":                        `7: | is not of this language: there are no filters, write FUNCTION(VALUE); for a condition write ||`,
		"not vars.n":                            `4: not is not of this language: write !`,
		"size(,)":                               `5: a value is missing between ( and ,`,
		"'it's'":                                `4: s follows 'it' without an operator; write a text with ' in it between two "`,
		"vars.sites.map(x -> x)":                `18: -> is not of this language: write LIST.map(x, VALUE)`,
		"null ?? 1":                             `6: ?? is not of this language: write NAME.?KEY.orValue(OTHER)`,
		`'\q'`:                                  `0: the text '\q' has a backslash that means nothing; write \\ for a backslash`,
		"vars.n}":                               `6: there is no bracket that } closes`,
		"vars.n, 1":                             `6: , is not expected here`,
		"  )":                                   `2: there is no value before )`,
		"'ä' 'ö'":                               `4: 'ö' follows 'ä' without an operator; write a text with ' in it between two "`,
		"'a' '" + strings.Repeat("b", 99) + "'": `4: '` + strings.Repeat("b", 29) + `... follows 'a' without an operator; write a text with ' in it between two "`,
		"let x":                                 `0: let is a reserved word`,
		"@":                                     `0: @ is not expected here`,
		"'a\nb'":                                `0: a text between two ' has no line break; write \n, or three ' at both ends`,
		"1 + \"ä\nb\" + 1":                      `4: a text between two " has no line break; write \n, or three " at both ends`,
		"'''a\n\\q'''":                          "2: the text '''a\n\\q''' has a backslash that means nothing; write \\\\ for a backslash",
		"1 + // one\n *":                        `12: * is not expected here`,
	} {
		p, faults := s.Compile(src)
		if p != nil || len(faults) != 1 {
			t.Errorf("%q: %v", src, faults)
			continue
		}
		want = strings.Replace(want, ": ", ": this is no expression: ", 1) + "; for the characters ${{ write $${{"
		if got := fmt.Sprintf("%d: %s", faults[0].At, faults[0].Message); got != want {
			t.Errorf("%q:\n got %s\nwant %s", src, got, want)
		}
	}
}

// FuzzSyntaxFaults: whatever an expression is, the search for its fault ends, and gives a place in it.
func FuzzSyntaxFaults(f *testing.F) {
	for _, src := range []string{"'", "\"\\", "a ? b", "ä '", "}}", "r'\\", "//", "'''a"} {
		f.Add(src)
	}
	s := scope(f)
	f.Fuzz(func(t *testing.T, src string) {
		_, faults := s.Compile(src)
		for _, fault := range faults {
			if fault.At < 0 || fault.At > len(src) || fault.Message == "" {
				t.Errorf("%q: %+v", src, fault)
			}
		}
	})
}

// TestBoundsOfSource: an expression has as many bytes as MaxSource, and no more levels than the parser takes. A fault says which bound it is.
func TestBoundsOfSource(t *testing.T) {
	s := scope(t)
	quoted := func(char string, bytes int) string { return "'" + strings.Repeat(char, (bytes-2)/len(char)) + "'" }
	for what, c := range map[string]struct {
		src  string
		want string // empty where the expression is good
	}{
		"as many bytes":           {quoted("a", expr.MaxSource), ""},
		"one byte more":           {quoted("a", expr.MaxSource+1), "the expression has 16385 bytes, and may have 16384"},
		"long characters":         {quoted("ä", expr.MaxSource), ""},
		"too many of them":        {quoted("ä", expr.MaxSource+2), "the expression has 16386 bytes, and may have 16384"},
		"blanks count":            {strings.Repeat(" ", expr.MaxSource) + "1", "the expression has 16385 bytes"},
		"99 brackets":             {strings.Repeat("(", 99) + "1" + strings.Repeat(")", 99), ""},
		"101 brackets":            {strings.Repeat("(", 101) + "1" + strings.Repeat(")", 101), "expression recursion limit exceeded: 100"},
		"brackets without an end": {strings.Repeat("[", 8000), "expression recursion limit exceeded: 100"},
		"8000 signs":              {strings.Repeat("!", 8000) + "true", ""},
		"a long sum":              {"vars.n" + strings.Repeat("+vars.n", 2000), "max recursion depth exceeded"},
		"a long path":             {"data" + strings.Repeat(".k", 8000), "max recursion depth exceeded"},
		"nested lists":            {strings.Repeat("[", 101) + strings.Repeat("]", 101), "expression recursion limit exceeded: 100"},
	} {
		p, faults := s.Compile(c.src)
		switch {
		case c.want == "" && (p == nil || faults != nil):
			t.Errorf("%s: %v", what, faults)
		case c.want != "" && (p != nil || len(faults) != 1 || !strings.Contains(faults[0].Message, c.want)):
			t.Errorf("%s: %v, want %s", what, faults, c.want)
		}
	}
}
