package expr

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Program is a compiled expression.
type Program struct {
	src   string
	ast   *ast.AST
	run   cel.Program
	again func() (cel.Program, error) // the program once more, which notes the value of each part
	out   Type
	reads []Input
	sent  []SentCall
}

// Input is what an expression reads: a name of its scope, or one field of it.
type Input struct {
	Name  string
	Field string // empty for the whole
}

// Compile checks an expression. It returns every fault that it finds, and no program with one.
func (s *Scope) Compile(src string) (*Program, []Fault) {
	if strings.TrimSpace(src) == "" {
		return nil, []Fault{{Message: "the expression between ${{ and }} is empty; for the characters ${{ write $${{"}}
	}
	if len(src) > MaxSource { // the library counts characters
		return nil, []Fault{{Message: fmt.Sprintf("the expression has %d bytes, and may have %d: divide it, for example into vars", len(src), MaxSource)}}
	}
	parsed, issues := s.env.Parse(src)
	if err := issues.Err(); err != nil {
		return nil, s.syntax(src, issues)
	}
	checked, issues := s.env.Check(parsed)
	if err := issues.Err(); err != nil {
		return nil, s.faults(src, parsed.NativeRep(), issues)
	}
	a := checked.NativeRep()
	sent, faults := s.sentCalls(src, a)
	if len(faults) > 0 {
		return nil, faults
	}
	opts := append(limits(a, cmp.Or(s.cost, maxCost)), ordered(a)...)
	run, err := s.env.Program(checked, opts...)
	if err != nil { // of a call whose arguments are written out
		f := Fault{Message: err.Error()}
		if bad, ok := errors.AsType[*types.Err](err); ok && bad.NodeID() != 0 {
			f.At = nameAt(src, placeOf(src, a, bad.NodeID()))
		}
		return nil, []Fault{f}
	}
	again := func() (cel.Program, error) {
		return s.env.Program(checked, append(slices.Clip(opts), cel.EvalOptions(cel.OptTrackState))...)
	}
	return &Program{src, a, run, again, fromCEL(checked.OutputType()), readsOf(a, s.names), sent}, nil
}

// CompileBool is Compile for an expression that is true or false.
func (s *Scope) CompileBool(src string) (*Program, []Fault) {
	p, faults := s.Compile(src)
	if len(faults) == 0 && p.Type().String() != Bool.String() {
		return nil, []Fault{{Message: "it has to be true or false, and this is " + p.Type().String()}}
	}
	return p, faults
}

// Found returns faults of an expression as findings at its node, which may be absent. key names it.
func Found(n *schema.Node, key, src string, faults []Fault) (ds schema.Diagnostics) {
	for _, f := range faults {
		pos := n.Pos
		if n.Text == src && !strings.Contains(src, "\n") { // in one line, the place inside it counts
			pos.Col += int32(f.At)
			if n.Quoted {
				pos.Col++
			}
		}
		ds = append(ds, schema.Diagnostic{Pos: pos, Message: key + ": " + f.Message, Suggestion: f.Suggestion})
	}
	return ds
}

// IsTooCostly reports whether an error of Eval says that an expression did not come to an end within its bounds.
func IsTooCostly(err error) bool {
	f, ok := errors.AsType[*Fault](err)
	return ok && f.Err != nil && beyond.MatchString(f.Err.Error())
}

// Type returns the type of the values that the expression has.
func (p *Program) Type() Type { return p.out }

// Reads returns the inputs of the expression, each once.
func (p *Program) Reads() []Input { return p.reads }

// limits returns the options that bound an evaluation. Tracking costs more than most expressions, so one whose cost can't be more than its own
// size and that of its values goes without it.
func limits(a *ast.AST, cost uint64) []cel.ProgramOption {
	bounded := true
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			bounded = false
		case ast.CallKind:
			bounded = bounded && isCheap(e.AsCall().FunctionName())
		}
	}))
	if bounded {
		return []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	}
	return []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CostLimit(cost), cel.MemoryLimit(maxMemory)}
}

// cheap are functions whose results are no larger than their arguments.
var cheap = []string{"size", "string", "int", "uint", "double", "bool", "contains", "startsWith", "endsWith", "lowerAscii", "upperAscii", "trim", "has",
	"orValue", "or", "hasValue", "value", "optional.of", "optional.none"}

// isCheap reports whether a function is an operator, or one of those.
func isCheap(function string) bool {
	_, operator := operators.FindReverse(function)
	return operator || strings.HasPrefix(function, "_") || isSent(function) || slices.Contains(cheap, function)
}

// readsOf finds the names of the scope in an expression, and the fields that it selects of them.
func readsOf(a *ast.AST, names map[string]Type) []Input {
	var reads []Input
	selected := map[int64]bool{} // identifiers in front of a field
	add := func(in Input) {
		if _, ok := names[in.Name]; ok && !slices.Contains(reads, in) {
			reads = append(reads, in)
		}
	}
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			sel := e.AsSelect()
			if of := sel.Operand(); of.Kind() == ast.IdentKind {
				selected[of.ID()] = true
				add(Input{of.AsIdent(), sel.FieldName()})
			}
		case ast.IdentKind:
			if !selected[e.ID()] {
				add(Input{Name: e.AsIdent()})
			}
		}
	}))
	return reads
}

// Eval computes the value. names has a value for each name of the scope that the expression reads. The error is a *Fault. Absent is the value
// of an optional that has none.
func (p *Program) Eval(names map[string]any) (any, error) {
	out, _, err := p.run.Eval(names)
	if err == nil {
		v, err := plainOf(out)
		if err != nil {
			return nil, &Fault{Message: err.Error()}
		}
		return v, nil
	}
	f := &Fault{Message: evalWords(err), Err: err}
	if bad, ok := errors.AsType[*types.Err](err); ok && bad.NodeID() != 0 {
		at, near := p.missing(bad.NodeID(), err, names)
		f.At, f.Suggestion = placeOf(p.src, p.ast, cmp.Or(at, bad.NodeID())), near
	}
	return nil, f
}

// placeOf returns where a node of an expression begins, in characters.
func placeOf(src string, a *ast.AST, id int64) int {
	loc := a.SourceInfo().GetStartLocation(id)
	return offset(src, loc.Line(), loc.Column())
}

// offset returns the characters before a place, whose line counts from 1 and whose column from 0.
func offset(src string, line, column int) int {
	if line < 1 || column < 0 {
		return 0
	}
	n := 0
	for range line - 1 {
		head, rest, more := strings.Cut(src, "\n")
		if !more {
			break
		}
		n += utf8.RuneCountInString(head) + 1
		src = rest
	}
	return n + column
}
