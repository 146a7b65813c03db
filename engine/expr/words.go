package expr

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// The library's messages that are said in words for users.
var (
	undeclared = lazyregexp.New(`^undeclared reference to '([^']*)'`)
	undefined  = lazyregexp.New(`^undefined field '([^']*)'`)
	noOverload = lazyregexp.New(`^found no matching overload for '([^']*)' applied to '([^']*)'`)
	noSelect   = lazyregexp.New(`^type '(.*)' does not support field selection`)
	beyond     = lazyregexp.New(`cost limit exceeded|memory limit`)
	noKey      = lazyregexp.New(`no such key: (.*)$`)
)

// escapeHint helps the author of a text that was never meant as an expression.
const escapeHint = "; for the characters ${{ write $${{"

// nameOf names a type in the words of a graph.
func nameOf(t *cel.Type) string {
	switch t.Kind() {
	case types.StringKind:
		return "text"
	case types.DoubleKind:
		return "float"
	case types.BoolKind, types.IntKind, types.UintKind:
		return t.String()
	case types.ListKind:
		return "a list"
	case types.MapKind:
		return "a map"
	case types.NullTypeKind:
		return "null"
	case types.DynKind, types.AnyKind:
		return "any"
	}
	return strings.TrimPrefix(t.String(), "mgmt.")
}

// syntax returns the fault of an expression that could not be parsed: the first one, since the others follow from it. A bound of
// the parser is said as it says it.
func (s *Scope) syntax(src string, issues *cel.Issues) []Fault {
	e := issues.Errors()[0]
	at, why := offset(src, e.Location.Line(), e.Location.Column()), e.Message
	if word, ok := strings.CutPrefix(why, "reserved identifier: "); ok {
		why = cmp.Or(foreign(token{text: word}), word+" is a reserved word")
	} else if strings.HasPrefix(why, "Syntax error: ") {
		why = misplaced(src, at)
	}
	return []Fault{{At: at, Message: "this is no expression: " + why + escapeHint}}
}

// faults returns the faults of an expression that could be parsed.
func (s *Scope) faults(src string, a *ast.AST, issues *cel.Issues) (all []Fault) {
	grouped, called, misread := s.groupCalls(a), calls(a), s.misread(a, issues)
	for _, e := range issues.Errors() {
		if misread[e.ExprID] {
			continue
		}
		f := Fault{At: offset(src, e.Location.Line(), e.Location.Column())}
		name, inGroup := grouped[e.ExprID]
		switch inGroup = inGroup && undeclared.MatchString(e.Message); {
		case inGroup && name == "":
			continue // the fault of its function says it
		case inGroup:
			group, _, _ := strings.Cut(name, ".")
			f.Message, f.Suggestion = fmt.Sprintf("there is no %q here", name), schema.Nearest(name, s.group(group))
		default:
			if m := undeclared.FindStringSubmatch(e.Message); m != nil && called[e.ExprID] != nil {
				f.Message, f.Suggestion = s.unknown(m[1])
				break
			}
			f.Message, f.Suggestion = s.say(e, a)
		}
		if undefined.MatchString(e.Message) { // the place of a selection is its dot
			rest := string([]rune(src)[f.At:])
			f.At += len(rest) - len(strings.TrimLeft(rest, ".? \n"))
		}
		f.At = nameAt(src, f.At)
		all = append(all, f)
	}
	return all
}

// nameAt returns where the name of a call begins, for the place of a call: the library has that of its bracket.
func nameAt(src string, at int) int {
	chars := []rune(src)
	if at >= len(chars) || chars[at] != '(' {
		return at
	}
	for at > 0 && isWord(chars[at-1]) {
		at--
	}
	return at
}

// say puts one message into words, with a suggestion.
func (s *Scope) say(e *cel.Error, a *ast.AST) (message, suggestion string) {
	if m := undeclared.FindStringSubmatch(e.Message); m != nil {
		near := cmp.Or(schema.Nearest(m[1], s.words()), longer(m[1], s.words()))
		switch {
		case m[1] == "each":
			return "each is there in a resource with for_each only", ""
		case m[1] == "module":
			return "there is no module here: the key use names those of a graph", ""
		case near == m[1]:
			return s.misused(m[1]), ""
		case near == "":
			return fmt.Sprintf("there is no %q here%s", m[1], escapeHint), ""
		}
		return fmt.Sprintf("there is no %q here", m[1]), near
	}
	if m := undefined.FindStringSubmatch(e.Message); m != nil {
		of, fields := s.fieldsAt(a, e.ExprID)
		return fmt.Sprintf("%s has no %q", of, m[1]), schema.Nearest(m[1], fields)
	}
	if m := noOverload.FindStringSubmatch(e.Message); m != nil {
		if of, ok := strings.CutPrefix(m[2], "(mgmt."); ok && m[1] == operators.Index {
			of, _, _ = strings.Cut(of, ",")
			return "[...] is for lists and maps: of " + of + " write " + of + ".NAME", ""
		}
		return fmt.Sprintf("%s can't be applied to %s", functionName(m[1]), typeNames(m[2])), ""
	}
	if m := noSelect.FindStringSubmatch(e.Message); m != nil {
		return typeNames(m[1]) + " has no fields", ""
	}
	return e.Message, ""
}

// misused says what is wrong where a word of the scope stands in a place of another kind. The library says of both that the word is not
// declared, and the word itself would be no suggestion.
func (s *Scope) misused(word string) string {
	if _, isName := s.names[word]; isName {
		return fmt.Sprintf("no expression makes a value with %s{...}", word)
	}
	return fmt.Sprintf("%s is a function: write %[1]s(...)", word)
}

// longer returns the first word that begins with another one, such as cidrContains for cidr. Short words begin too many.
func longer(word string, words []string) string {
	for _, w := range words {
		if len(word) > 2 && strings.HasPrefix(w, word) {
			return w
		}
	}
	return ""
}

// typeNames puts the types of a message of the library into words.
func typeNames(list string) string {
	for _, w := range [][2]string{{`\bstring\b`, "text"}, {`\bdouble\b`, "float"}, {`\bdyn\b`, "any"}, {`mgmt\.`, ""}} {
		list = regexp.MustCompile(w[0]).ReplaceAllString(list, w[1])
	}
	return list
}

// written are the operators that are no single sign.
var written = map[string]string{operators.Conditional: "? :", operators.Index: "[...]", operators.OptIndex: "[?...]", operators.OptSelect: ".?"}

// functionName returns a function or an operator as it is written.
func functionName(name string) string {
	if shown, ok := written[name]; ok {
		return shown
	}
	if shown, ok := operators.FindReverse(name); ok && shown != "" {
		return shown
	}
	if isSent(name) {
		return SentName
	}
	return strings.Trim(name, "_@")
}

// fieldsAt names the operand of a selection, and returns its fields.
func (s *Scope) fieldsAt(a *ast.AST, id int64) (of string, fields []string) {
	of = "this"
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		operand, _, isStep := stepOf(e)
		if e.ID() != id || !isStep {
			return
		}
		if t, path, ok := s.object(operand); ok {
			of, fields = path, sortedKeys(t.fields)
		}
	}))
	return of, fields
}

// object returns the type of a name or of a path of fields.
func (s *Scope) object(e ast.Expr) (t Type, path string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		t, ok = s.names[e.AsIdent()]
		return t, e.AsIdent(), ok
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index {
			return Type{}, "", false
		}
		of, path, ok := s.object(call.Args()[0])
		if !ok || of.elem == nil {
			return Type{}, "", false
		}
		return *of.elem, path + "[...]", true
	case ast.SelectKind:
		sel := e.AsSelect()
		of, path, ok := s.object(sel.Operand())
		t, has := of.fields[sel.FieldName()]
		return t, path + "." + sel.FieldName(), ok && has
	}
	return Type{}, "", false
}

// evalWords says why an evaluation gave no value.
func evalWords(err error) string {
	m := err.Error()
	switch {
	case strings.Contains(m, "cost limit exceeded"):
		return "the expression does too much: it is stopped at its limit"
	case strings.Contains(m, "memory limit"):
		return "the expression needs too much memory: it is stopped at its limit"
	}
	if found := noKey.FindStringSubmatch(m); found != nil {
		return fmt.Sprintf("there is no key %q; has(...) asks for one, and .?key.orValue(...) takes another value", found[1])
	}
	return m
}
