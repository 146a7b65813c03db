package expr_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/expr"
)

func TestSplit(t *testing.T) {
	src := func(at int, s string) expr.Piece { return expr.Piece{Text: s, At: at, Source: true} }
	chars := func(at int, s string) expr.Piece { return expr.Piece{Text: s, At: at} }
	for text, want := range map[string][]expr.Piece{
		"":                          nil,
		"plain ${X} {{ x }} $(y)":   nil,
		"${{ a }}":                  {src(3, " a ")},
		"x${{a}}y":                  {chars(0, "x"), src(4, "a"), chars(7, "y")},
		"$${{ a }}":                 {chars(0, "${{ a }}")},
		"$$${{ a }}":                {chars(0, "$${{ a }}")},
		`${{ "}}" }}`:               {src(3, ` "}}" `)},
		`${{ {"a": {"b": 1}} }}.`:   {src(3, ` {"a": {"b": 1}} `), chars(22, ".")},
		`${{ {"a": {"b": 1}}}}`:     {src(3, ` {"a": {"b": 1}}`)},
		`${{ '\'}}' }}`:             {src(3, ` '\'}}' `)},
		`${{ r'\' }}`:               {src(3, ` r'\' `)},
		`${{ """a"}}""" }}`:         {src(3, ` """a"}}""" `)},
		"${{ a // }}\n }}":          {src(3, " a // }}\n ")},
		"${{ a }}${{ b }}":          {src(3, " a "), src(11, " b ")},
		"ä${{ ö }}":                 {chars(0, "ä"), src(5, " ö ")},
		"a }} b":                    nil,
		"${{ x[{'a': 1}['a']] }} }": {src(3, " x[{'a': 1}['a']] "), chars(23, " }")},
	} {
		got, fault := expr.Split(text)
		if fault != nil {
			t.Errorf("Split(%q): %v", text, fault)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("Split(%q):\n%s", text, d)
		}
	}
}

func TestSplitWithoutEnd(t *testing.T) {
	for text, at := range map[string]int{
		"${{": 0, "ab ${{ x": 3, "ä${{ x }": 1, `${{ "}}`: 0, "${{ {1: 2}}": 0, "${{ a }} ${{ '": 9, "${{ a // }}": 0,
	} {
		got, fault := expr.Split(text)
		if fault == nil || fault.At != at || !strings.Contains(fault.Message, expr.Escaped) {
			t.Errorf("Split(%q) = %v, %v, want a fault at %d that names %s", text, got, fault, at, expr.Escaped)
		}
	}
}

// FuzzSplit: every piece stands where it says, and what is escaped comes back as it was.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"${{ a }}", "$${{", "x ${{ {'}}': {}}['}}'] }} y", "${{ r\"\\\" }}", "$$${{ '''a' }} ''' }}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pieces, fault := expr.Split(text)
		if fault != nil {
			if fault.At < 0 || fault.At > len(text) {
				t.Fatalf("the fault is at %d of %d", fault.At, len(text))
			}
		}
		for _, p := range pieces {
			if p.Source && (!strings.HasPrefix(text[p.At:], p.Text+expr.Close) || !strings.HasSuffix(text[:p.At], expr.Open)) {
				t.Fatalf("%q is not at %d of %q", p.Text, p.At, text)
			}
		}
		again, fault := expr.Split(strings.ReplaceAll(text, expr.Open, expr.Escaped))
		if fault != nil {
			t.Fatalf("an escaped text has the fault %v", fault)
		}
		var b strings.Builder
		for _, p := range again {
			if p.Source {
				t.Fatalf("%q has an expression where all marks are escaped", text)
			}
			b.WriteString(p.Text)
		}
		if again != nil && b.String() != text {
			t.Fatalf("%q became %q", text, b.String())
		}
	})
}
