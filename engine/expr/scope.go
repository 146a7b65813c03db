package expr

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Bounds of one expression. A tracked evaluation stops at them; see Scope.limits.
const (
	maxCost   = 5_000_000
	maxMemory = 64 << 20
	maxLevels = 100
)

// Scope declares the names and the functions that expressions may use.
type Scope struct {
	env   *cel.Env
	names map[string]Type
	sent  *Sent  // nil where nothing is sent
	cost  uint64 // 0 for maxCost

	// functions are what env has besides the names. With needs them, as the library lets a name of an environment neither go nor change its
	// type.
	functions []cel.EnvOption
}

// base is the environment that all scopes of a process share.
var base = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewCustomEnv(
		cel.StdLib(), cel.OptionalTypes(), ext.TwoVarComprehensions(),
		ext.Strings(), ext.Math(), ext.Lists(), ext.Sets(), ext.Regex(),
		cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(MaxSource), cel.ParserRecursionLimit(maxLevels), cel.ParserErrorRecoveryLimit(5),
		cel.EagerlyValidateDeclarations(false),
	)
})

// NewScope returns a scope with these names and functions. The error is one of a declaration, and so of the program.
func NewScope(names map[string]Type, functions ...Function) (*Scope, error) {
	return NewScopeSent(names, nil, functions...)
}

// NewScopeSent is NewScope with the function sent; nil for none.
func NewScopeSent(names map[string]Type, sent *Sent, functions ...Function) (*Scope, error) {
	env, err := base()
	if err != nil {
		return nil, err
	}
	var opts []cel.EnvOption
	for _, f := range functions {
		opts = append(opts, f.declare())
	}
	if sent != nil {
		opts = append(opts, sent.options()...)
	}
	s := &Scope{names: names, sent: sent, functions: opts}
	s.env, err = env.Extend(append(declare(env, names), opts...)...)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Within returns the scope with another bound of what one evaluation may cost.
func (s *Scope) Within(cost uint64) *Scope {
	t := *s
	t.cost = cost
	return &t
}

// With returns the scope with further names. A name of the scope before is hidden by an equal one.
func (s *Scope) With(names map[string]Type) (*Scope, error) {
	all := make(map[string]Type, len(s.names)+len(names))
	maps.Copy(all, s.names)
	maps.Copy(all, names)
	on, opts := s.env, declare(s.env, names)
	if len(all) < len(s.names)+len(names) { // the library takes no second type for a name, so a scope that hides one is made anew
		var err error
		if on, err = base(); err != nil {
			return nil, err
		}
		opts = append(declare(on, all), s.functions...)
	}
	env, err := on.Extend(opts...)
	if err != nil {
		return nil, err
	}
	return &Scope{env, all, s.sent, s.cost, s.functions}, nil
}

// declare returns the options that add names to an environment.
func declare(env *cel.Env, names map[string]Type) []cel.EnvOption {
	p := provider{env.CELTypeProvider(), map[string]map[string]Type{}}
	opts := []cel.EnvOption{cel.CustomTypeProvider(p)}
	for _, name := range sortedKeys(names) {
		opts = append(opts, cel.Variable(name, names[name].of()))
		p.take(names[name])
	}
	return opts
}

// take takes an object and those in it.
func (p provider) take(t Type) {
	if t.elem != nil {
		p.take(*t.elem)
	}
	if t.fields == nil {
		return
	}
	p.objects[t.cel.TypeName()] = t.fields
	for _, f := range t.fields {
		p.take(f)
	}
}

// words returns the names that an expression may begin with, for suggestions.
func (s *Scope) words() []string {
	words := append(sortedKeys(s.names), "math.greatest", "math.least") // these two are macros
	for name := range s.env.Functions() {
		if isWord(rune(name[0])) && name[0] != '_' && !strings.Contains(name, "@") {
			words = append(words, name)
		}
	}
	if s.sent != nil {
		words = append(words, SentName)
	}
	slices.Sort(words)
	return words
}

// HasFunction reports whether a function or a method of this name is there, and which one was probably meant. The function sent is none here.
func (s *Scope) HasFunction(name string) (ok bool, suggestion string) {
	if _, ok := s.env.Functions()[name]; ok && isWord(rune(name[0])) && name[0] != '_' {
		return true, ""
	}
	return false, schema.Nearest(name, slices.DeleteFunc(s.words(), func(w string) bool { _, variable := s.names[w]; return variable || w == SentName }))
}

// sortedKeys gives an order to the keys of a map, so that equal scopes make equal messages.
func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// Function is a function that the caller of NewScope computes. Its arguments and its result are plain values.
type Function struct {
	Name   string
	Params []Type
	Result Type

	// Do computes the result. It must be safe for concurrent use.
	Do func(args []any) (any, error)
}

// typeWord writes a type as a word.
var typeWord = strings.NewReplacer("(", "_", ")", "", ", ", "_")

// declare returns the option that adds a function. The name of its overload has the types of its parameters, since two overloads may not
// have one name.
func (f Function) declare() cel.EnvOption {
	params := make([]*cel.Type, len(f.Params))
	var id strings.Builder
	id.WriteString(f.Name)
	for i, p := range f.Params {
		params[i] = p.of()
		id.WriteString("_" + typeWord.Replace(p.of().String()))
	}
	do := func(args ...value) value {
		plain := make([]any, len(args))
		for i, a := range args {
			v, err := plainOf(a)
			if err != nil {
				return types.WrapErr(err)
			}
			plain[i] = v
		}
		v, err := f.Do(plain)
		if err != nil {
			return types.WrapErr(err)
		}
		return types.DefaultTypeAdapter.NativeToValue(v)
	}
	return cel.Function(f.Name, cel.Overload(id.String(), params, f.Result.of(), cel.FunctionBinding(do)))
}
