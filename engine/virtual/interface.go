package virtual

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Interface is what a module is, whoever does it.
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
	// Extra says that few backends have the function, and none must.
	Extra bool
	// Deprecated says that the function will go, and what to call instead; empty for
	// one that stays. No backend must have it.
	Deprecated string

	// AliasOf is the function of which this is another name; of backends only.
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

var nameRule = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// identifier is what functions and parameters are called.
var identifier = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// IsIdentifier reports whether a function or a parameter can have a name: letters, digits and _, with no digit first.
func IsIdentifier(name string) bool { return identifier.MatchString(name) }

// Validate returns all that is wrong with the interface: it is the
// programmer's fault.
func (i *Interface) Validate() error {
	var errs []error
	if !nameRule.MatchString(i.Module) {
		errs = append(errs, fmt.Errorf("module %q: a module is a word in lower case", i.Module))
	}
	for n, f := range i.Functions {
		if !IsIdentifier(f.Name) || f.Name[0] == '_' {
			errs = append(errs, fmt.Errorf("function %q: a function is a word of letters, digits and _, and begins with a letter", f.Name))
		}
		if find(i.Functions[:n], f.Name) != nil {
			errs = append(errs, fmt.Errorf("function %s is declared twice", f.Name))
		}
		if f.AliasOf != "" {
			errs = append(errs, fmt.Errorf("function %s is an alias: an interface has none", f.Name))
		}
		errs = append(errs, f.validate()...)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("interface %s: %w", i.Module, err)
	}
	return nil
}

// validate checks what holds for a function of a backend too.
func (f *Function) validate() (errs []error) {
	for n, p := range f.Params {
		bad := func(what string) {
			errs = append(errs, fmt.Errorf("function %s: parameter %q %s", f.Name, p.Name, what))
		}
		before := f.Params[:n]
		switch {
		case p.Name == "":
			bad("has no name")
		case !IsIdentifier(p.Name):
			bad("is no word of letters, digits and _ that begins with no digit")
		case slices.ContainsFunc(before, func(o Param) bool { return o.Name == p.Name }):
			bad("is there twice")
		case slices.ContainsFunc(before, func(o Param) bool { return o.Kind > p.Kind }):
			bad("stands behind one of a later kind")
		case !p.named() && slices.ContainsFunc(before, func(o Param) bool { return o.Kind == p.Kind }):
			bad("is the second of its kind")
		case p.Optional && !p.fits(p.Default):
			bad(fmt.Sprintf("is %s, and its default is %s", p.Type, literal(p.Default)))
		case p.Kind == Positional && !p.Optional && slices.ContainsFunc(before, func(o Param) bool { return o.Optional }):
			bad("is required and stands behind an optional one")
		}
	}
	if f.Default != nil {
		if _, _, err := split(f.Returns, f.Default); err != nil {
			errs = append(errs, fmt.Errorf("function %s: its default: %w", f.Name, err))
		}
	}
	return errs
}
