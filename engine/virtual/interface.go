package virtual

import (
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// Interface says what a module offers, whichever backend does it.
type Interface struct {
	Module    string
	Doc       string
	Functions []Function // in the order in which they are shown
}

// Function is one function of an interface, or of a backend.
type Function struct {
	Name   string
	Doc    string
	Params []Param

	// Returns is the least that every backend returns: nil for anything. Of a
	// record, optional fields may be absent, and more keys are extras.
	Returns *schema.Type
	// Default is what a call answers where the function is not applicable; nil
	// for the zero value of Returns.
	Default any
	// NotFound is what a call answers about a thing that is not there; nil if the
	// function has no such answer.
	NotFound any

	// NotApplicable says where the function makes no sense.
	NotApplicable Match
	// Supported says where a backend should have the function; nil for everywhere.
	// Elsewhere it may have it.
	Supported Match
	// Alone says that a call about one thing gives the value of that, in the place of a map with it: the zero value where the map
	// would not have it. A backend may do so, too. Fn.Call gives the map.
	Alone bool
	// Extra says that few backends have the function, and none must.
	Extra bool
	// Deprecated says that the function will go, and names its replacement; empty
	// for a function that stays. No backend must have it.
	Deprecated string

	// AliasOf is the function that has this as another name; of backends only.
	AliasOf string
}

// Param is one parameter.
type Param struct {
	Name     string
	Doc      string
	Kind     ParamKind
	Type     *schema.Type // nil for anything; of varargs and kwargs the type of the whole
	Optional bool         // it may be left out
	Default  any          // with Optional: what is passed then; nil for null
}

// ParamKind says how an argument reaches a parameter.
type ParamKind uint8

// The kinds of parameters, in the order in which they stand.
const (
	Positional  ParamKind = iota // by position, or by name
	VarArgs                      // all further ones by position
	KeywordOnly                  // by name
	KwArgs                       // all further ones by name
)

var paramKinds = []string{"positional", "varargs", "kwonly", "kwargs"}

// String returns the kind as descriptions write it.
func (k ParamKind) String() string { return wordOf(paramKinds, int(k)) }

// MarshalText implements encoding.TextMarshaler.
func (k ParamKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *ParamKind) UnmarshalText(text []byte) error {
	return readWord(paramKinds, string(text), "kind of parameter", k)
}

func wordOf(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return fmt.Sprintf("(%d)", i)
}

// readWord sets v to the place of a word.
func readWord[T ~uint8](words []string, word, what string, v *T) error {
	i := slices.Index(words, word)
	if i < 0 {
		return fmt.Errorf("there is no %s %q, only %v", what, word, words)
	}
	*v = T(i)
	return nil
}

// Function returns the function of that name, or nil.
func (i *Interface) Function(name string) *Function { return find(i.Functions, name) }

func find(fs []Function, name string) *Function {
	for i := range fs {
		if fs[i].Name == name {
			return &fs[i]
		}
	}
	return nil
}

// param returns the parameter of that name which an argument of a name can
// reach, or nil.
func (f *Function) param(name string) *Param {
	for i := range f.Params {
		if p := &f.Params[i]; p.Name == name && p.named() {
			return p
		}
	}
	return nil
}

// rest returns the parameter that takes all further arguments, VarArgs or
// KwArgs, or nil.
func (f *Function) rest(kind ParamKind) *Param {
	for i := range f.Params {
		if f.Params[i].Kind == kind {
			return &f.Params[i]
		}
	}
	return nil
}

func (p *Param) named() bool { return p.Kind == Positional || p.Kind == KeywordOnly }

// fits reports whether a value may be passed; null may where it means that nothing is said.
func (p *Param) fits(v any) bool {
	if _, source := v.(Source); source || v == nil || p.Type == nil {
		return true
	}
	return schema.Check(p.Type, v).Err() == nil
}

func (p *Param) required() bool { return p.named() && !p.Optional }

var nameRule = lazyregexp.New(`^[a-z][a-z0-9_]*$`)

// identifier is what functions and parameters are called.
var identifier = lazyregexp.New(`^[\pL_][\pL\pN_]*$`)

// IsIdentifier reports whether a function or a parameter can have a name: letters, digits and _, with no digit first.
func IsIdentifier(name string) bool { return identifier.MatchString(name) }

// fault is what is wrong with a description, and where in it: a path such as functions[0].params[1], empty for the whole.
type fault struct {
	path string
	err  error
}

func (f fault) in(path string) fault { return fault{join(path, f.path), f.err} }

// faultsText returns all faults as one error, or nil.
func faultsText(what string, faults []fault) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f.err
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Validate returns all that is wrong with the interface: it is the
// programmer's fault.
func (i *Interface) Validate() error { return faultsText("interface "+i.Module, i.faults()) }

func (i *Interface) faults() (all []fault) {
	if !nameRule.MatchString(i.Module) {
		all = append(all, fault{"interface", fmt.Errorf("module %q: a module is a word in lower case", i.Module)})
	}
	for n, f := range i.Functions {
		at := fmt.Sprintf("functions[%d]", n)
		if !IsIdentifier(f.Name) || f.Name[0] == '_' {
			all = append(all, fault{at + ".name", fmt.Errorf("function %q: a function is a word of letters, digits and _, and begins with a letter", f.Name)})
		}
		if find(i.Functions[:n], f.Name) != nil {
			all = append(all, fault{at + ".name", fmt.Errorf("function %s is declared twice", f.Name)})
		}
		if f.AliasOf != "" {
			all = append(all, fault{at + ".alias_of", fmt.Errorf("function %s is an alias: an interface has none", f.Name)})
		}
		for _, wrong := range f.faults() {
			all = append(all, wrong.in(at))
		}
	}
	return all
}

// faults are what is wrong with a function of a backend too.
func (f *Function) faults() (all []fault) {
	for n := range f.Params {
		p := &f.Params[n]
		if wrong := p.wrong(f.Params[:n]); wrong != "" {
			all = append(all, fault{fmt.Sprintf("params[%d]", n), fmt.Errorf("function %s: parameter %q %s", f.Name, p.Name, wrong)})
		}
	}
	if f.Alone && (f.Returns == nil || f.Returns.Kind != schema.KindMap) {
		all = append(all, fault{"alone", fmt.Errorf("function %s: alone is for a map: it takes one value out of it", f.Name)})
	}
	if f.Default != nil {
		if _, _, err := split(f.Returns, f.Default); err != nil {
			all = append(all, fault{"default", fmt.Errorf("function %s: its default: %w", f.Name, err)})
		}
	}
	return all
}

// wrong says what is wrong with a parameter that stands behind others; empty if nothing is.
func (p *Param) wrong(before []Param) string {
	switch {
	case p.Name == "":
		return "has no name"
	case !IsIdentifier(p.Name):
		return "is no word of letters, digits and _ that begins with no digit"
	case slices.ContainsFunc(before, func(o Param) bool { return o.Name == p.Name }):
		return "is there twice"
	case slices.ContainsFunc(before, func(o Param) bool { return o.Kind > p.Kind }):
		return "stands behind one of a later kind"
	case !p.named() && slices.ContainsFunc(before, func(o Param) bool { return o.Kind == p.Kind }):
		return "is the second of its kind"
	case p.Optional && !p.fits(p.Default):
		return fmt.Sprintf("is %s, and its default is %s", p.Type, literal(p.Default))
	case p.Kind == Positional && !p.Optional && slices.ContainsFunc(before, func(o Param) bool { return o.Optional }):
		return "is required and stands behind an optional one"
	}
	return ""
}
