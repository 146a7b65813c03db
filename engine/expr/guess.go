package expr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// elsewhere has the functions of other languages, in small letters and without low lines, and those of expressions with the same value.
var elsewhere = map[string]string{
	"len": "size", "length": "size", "count": "size",
	"tolower": "lowerAscii", "tolowercase": "lowerAscii", "downcase": "lowerAscii", "toupper": "upperAscii", "touppercase": "upperAscii", "upcase": "upperAscii",
	"strip": "trim", "trimspace": "trim", "substr": "substring", "includes": "contains", "hasprefix": "startsWith", "hassuffix": "endsWith",
	"str": "string", "tostring": "string", "toint": "int", "tonumber": "int", "parseint": "int", "float": "double", "tofloat": "double", "parsefloat": "double",
	"tojson": "json", "jsonencode": "json", "jsondecode": "fromJSON", "parsejson": "fromJSON", "toyaml": "yaml", "yamlencode": "yaml", "yamldecode": "fromYAML",
	"base64encode": "base64", "b64encode": "base64", "b64enc": "base64", "base64decode": "fromBase64", "b64decode": "fromBase64", "b64dec": "fromBase64",
	"match": "matches", "regexmatch": "matches", "regexreplace": "regex.replace", "gsub": "regex.replace",
	"max": "math.greatest", "min": "math.least", "default": "orValue", "unique": "distinct", "uniq": "distinct", "some": "exists", "any": "exists", "every": "all",
	"file": "read", "lookup": "read", "render": "template",
}

// plain writes the name of a function as the keys of elsewhere are written.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// calls returns the functions that an expression calls, by the numbers of the calls.
func calls(a *ast.AST) map[int64]ast.CallExpr {
	all := map[int64]ast.CallExpr{}
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind {
			all[e.ID()] = e.AsCall()
		}
	}))
	return all
}

// macros returns the functions that the parser replaces, such as exists and map.
func (s *Scope) macros() (names []string) {
	for _, m := range s.env.Macros() {
		if name := m.Function(); isWord(rune(name[0])) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// unknown says that there is no function of a name, and which one was probably meant.
func (s *Scope) unknown(name string) (message, suggestion string) {
	if _, is := s.names[name]; is {
		return fmt.Sprintf("%s is no function", name), ""
	}
	known := slices.DeleteFunc(append(s.words(), s.macros()...), func(w string) bool { _, variable := s.names[w]; return variable })
	slices.Sort(known)
	there := func(name string) string {
		if slices.Contains(known, name) {
			return name
		}
		return ""
	}
	inGroup := ""
	for _, w := range known {
		if _, word, ok := strings.Cut(w, "."); ok && strings.EqualFold(word, name) {
			inGroup = w
		}
	}
	near := cmp.Or(there(elsewhere[plain(name)]), inGroup, schema.Nearest(name, known), longer(name, known),
		there(elsewhere[schema.Nearest(plain(name), sortedKeys(elsewhere))]))
	if near == "" {
		return fmt.Sprintf("there is no function %q; docs/expressions.md says which there are", name), ""
	}
	return fmt.Sprintf("there is no function %q", name), near
}

// misread returns the names that the misspelt macros of an expression would declare, by the numbers of the parts that use them. Their
// faults follow from the names of the macros.
func (s *Scope) misread(a *ast.AST, issues *cel.Issues) map[int64]bool {
	all, macros, called := map[int64]bool{}, s.macros(), calls(a)
	for _, e := range issues.Errors() {
		m := undeclared.FindStringSubmatch(e.Message)
		call, is := called[e.ExprID]
		if m == nil || !is || !call.IsMemberFunction() || len(call.Args()) < 2 {
			continue
		}
		if _, near := s.unknown(m[1]); !slices.Contains(macros, near) {
			continue
		}
		for _, declared := range call.Args()[:len(call.Args())-1] {
			for _, part := range call.Args() {
				ast.PostOrderVisit(part, ast.NewExprVisitor(func(e ast.Expr) {
					if declared.Kind() == ast.IdentKind && e.Kind() == ast.IdentKind && e.AsIdent() == declared.AsIdent() {
						all[e.ID()] = true
					}
				}))
			}
		}
	}
	return all
}
