package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/expr"
)

// said returns faults as one line, with their places and suggestions.
func said(faults []expr.Fault) string {
	var list []string
	for _, f := range faults {
		line := fmt.Sprintf("%d: %s", f.At, f.Message)
		if f.Suggestion != "" {
			line += " (" + f.Suggestion + ")"
		}
		list = append(list, line)
	}
	return strings.Join(list, "; ")
}

// deep is a scope with objects in objects, in lists and in maps.
func deep(t testing.TB) *expr.Scope {
	t.Helper()
	item := expr.Object("item", map[string]expr.Type{"name": expr.Text})
	s, err := scope(t).With(map[string]expr.Type{
		"any": {}, "lines": expr.ListOf(expr.Text), "ports": expr.MapOf(expr.Int),
		"o": expr.Object("o", map[string]expr.Type{"in": expr.Object("o.in", map[string]expr.Type{"port": expr.Int}), "list": expr.ListOf(item), "map": expr.MapOf(item)}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFaultsOfTypes: a wrong type, a wrong count, an unknown field and a word in a wrong place are faults of Compile. Each has the place in
// characters, and words that show the expression as it is written.
func TestFaultsOfTypes(t *testing.T) {
	s := deep(t)
	for src, want := range map[string]string{
		// operators as they are written
		"1 ? 2 : 3":            "2: ? : can't be applied to (int, int, int)",
		"true ? 1 : 'a'":       "5: ? : can't be applied to (bool, int, text)",
		"[1]['a']":             "3: [...] can't be applied to (list(int), text)",
		"ports[1]":             "5: [...] can't be applied to (map(text, int), int)",
		"[1][?'a']":            "3: [?...] can't be applied to (list(int), text)",
		"!1":                   "0: ! can't be applied to (int)",
		"-'a'":                 "0: - can't be applied to (text)",
		"'a' == 1":             "4: == can't be applied to (text, int)",
		"1 == 1.0":             "2: == can't be applied to (int, float)",
		"[1] < [2]":            "4: < can't be applied to (list(int), list(int))",
		"true + true":          "5: + can't be applied to (bool, bool)",
		"'a' in 'abc'":         "4: in can't be applied to (text, text)",
		"'😀' + '😀' + 1":        "10: + can't be applied to (text, int)",
		"'a'\n+ 'ä'\n  + true": "12: + can't be applied to (text, bool)",
		// functions
		"size()":                      "0: size can't be applied to ()",
		"size(1)":                     "0: size can't be applied to (int)",
		"size('a', 'b')":              "0: size can't be applied to (text, text)",
		"'a'.split(1)":                "4: split can't be applied to text.(int)",
		"split('a', ',')":             "0: split can't be applied to (text, text)",
		"[1].join(',')":               "4: join can't be applied to list(int).(text)",
		"lines.join(1)":               "6: join can't be applied to list(text).(int)",
		"any.split(1)":                "4: split can't be applied to any.(int)",
		"int(true)":                   "0: int can't be applied to (bool)",
		"string([1])":                 "0: string can't be applied to (list(int))",
		"lists.range('a')":            "6: lists.range can't be applied to (text)",
		"math.ceil(1)":                "5: math.ceil can't be applied to (int)",
		"sets.contains(1, [1])":       "5: sets.contains can't be applied to (int, list(int))",
		"[[1]].sort()":                "6: sort can't be applied to list(list(int)).()",
		"twice('a', 'b')":             "0: twice can't be applied to (text, text)",
		"'a'.twice()":                 "4: twice can't be applied to text.()",
		"twice(null)":                 "0: twice can't be applied to (null)",
		"lists.rang(1)":               `6: there is no "lists.rang" here (lists.range)`,
		"regex.replaceAll('a', 'b')":  `6: there is no "regex.replaceAll" here (regex.replace)`,
		"lines.map(x, x + y)":         `17: there is no "y" here; for the characters ${{ write $${{`,
		"nope(1) + nope2":             `0: there is no function "nope"; docs/expressions.md says which there are; 10: there is no "nope2" here; for the characters ${{ write $${{`,
		"each.key":                    "0: each is there in a resource with for_each only",
		"module.x":                    "0: there is no module here: the key use names those of a graph",
		"has(facts.nope)":             `0: facts has no "nope"`,
		"'abc' + sent('exec[a].out')": `8: there is no function "sent"; docs/expressions.md says which there are`,
		// words in a wrong place
		"size":               "0: size is a function: write size(...)",
		"1 + twice":          "4: twice is a function: write twice(...)",
		"dyn":                "0: dyn is a function: write dyn(...)",
		"o{}":                "1: no expression makes a value with o{...}",
		"math":               `0: there is no "math" here (math.abs)`,
		"facts{cpus: 1}":     "5: no expression makes a value with facts{...}",
		"lines.all(x, size)": "13: size is a function: write size(...)",
		// fields
		"o.in1.port":       `2: o has no "in1" (in)`,
		"o.list[0].nam":    `10: o.list[...] has no "nam" (name)`,
		"o.map['k'].nam":   `11: o.map[...] has no "nam" (name)`,
		"o.?lst":           `3: o has no "lst" (list)`,
		"facts.?hostnam":   `7: facts has no "hostnam" (hostname)`,
		"o.list[0].?nam":   `11: o.list[...] has no "nam" (name)`,
		"o.list.name":      "6: list(item) has no fields",
		"o['list']":        "1: [...] is for lists and maps: of o write o.NAME",
		"facts.cpus.x":     "10: int has no fields",
		"'ä'.x + 'ö'.y":    "3: text has no fields; 11: text has no fields",
		"facts\n  .hostnm": `9: facts has no "hostnm" (hostname)`,
	} {
		p, faults := s.Compile(src)
		if p != nil {
			t.Errorf("%s is compiled", src)
		}
		if got := said(faults); got != want {
			t.Errorf("%s:\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestFaultsOfConstants: a call whose arguments are written out is computed when it is compiled, and its fault stands at its name.
func TestFaultsOfConstants(t *testing.T) {
	s := scope(t)
	for src, want := range map[string]string{
		"int('x')":                            "0: type conversion error from 'string' to 'int'",
		"vars.n +\n int('1.5')":               "10: type conversion error from 'string' to 'int'",
		"'ä' + string(int('x'))":              "13: type conversion error from 'string' to 'int'",
		"facts.cpus > 1 ? 1 : int(1e99)":      "21: integer overflow",
		"vars.n + int('9223372036854775808')": "9: type conversion error from 'string' to 'int'",
		"[1u, uint(-1)]":                      "5: unsigned integer overflow",
		"true && bool('yes')":                 "8: type conversion error from 'string' to 'bool'",
		"1.0 + double('x')":                   "6: type conversion error from 'string' to 'double'",
		"string(timestamp('x'))":              `7: invalid RFC 3339 timestamp "x"`,
		"string(duration('x'))":               "7: type conversion error from 'string' to 'google.protobuf.Duration'",
		"'%s %s'.format(['a'])":               "8: index 1 out of range",
		"'%q'.format([1])":                    `5: could not parse formatting clause: unrecognized formatting clause "q"`,
	} {
		p, faults := s.Compile(src)
		if got := said(faults); p != nil || got != want {
			t.Errorf("%s:\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestFindingP8Functions: a function that is not there has the one that was meant, at the place of its name.
func TestFindingP8Functions(t *testing.T) {
	s := deep(t)
	for src, want := range map[string]string{
		"lenght(vars.sites)":                `0: there is no function "lenght" (size)`,
		"1 + len('a')":                      `4: there is no function "len" (size)`,
		"'a'.toLowerCase()":                 `4: there is no function "toLowerCase" (lowerAscii)`,
		"'a'.to_upper() + 'b'":              `4: there is no function "to_upper" (upperAscii)`,
		"'a'.uperAscii()":                   `4: there is no function "uperAscii" (upperAscii)`,
		"'a'.repalce('a', 'b')":             `4: there is no function "repalce" (replace)`,
		"tostring(1)":                       `0: there is no function "tostring" (string)`,
		"floor(1.5)":                        `0: there is no function "floor" (math.floor)`,
		"max(1, 2)":                         `0: there is no function "max" (math.greatest)`,
		"'ä' +\n  jion(lines)":              `8: there is no function "jion" (join)`,
		"lines.exsits(x, x == 'a')":         `6: there is no function "exsits" (exists)`,
		"lines.fliter(x, x.size() > 1) + y": `6: there is no function "fliter" (filter); 32: there is no "y" here; for the characters ${{ write $${{`,
		"lines.some(x, x == y)":             `6: there is no function "some" (exists); 19: there is no "y" here; for the characters ${{ write $${{`,
		"facts('os')":                       "0: facts is no function",
		"frobnicate(1)":                     `0: there is no function "frobnicate"; docs/expressions.md says which there are`,
		"github.ref(1)":                     `0: there is no "github" here; for the characters ${{ write $${{; 7: there is no function "ref"; docs/expressions.md says which there are`,
	} {
		p, faults := s.Compile(src)
		if got := said(faults); p != nil || got != want {
			t.Errorf("%s:\n got %s\nwant %s", src, got, want)
		}
	}
}
