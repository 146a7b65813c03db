package virtual

import (
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Difference is one way in which a backend's function is not as the interface
// declares it.
type Difference struct {
	Kind  DifferenceKind
	Param string // of the interface, or of the backend where only that has it; empty for the whole
	To    string // Renamed: what the backend calls it

	Want, Have string // Default and Type: of the interface and of the backend

	required bool // Missing: the interface requires it
}

// DifferenceKind is a sort of difference.
type DifferenceKind uint8

// The kinds of difference.
const (
	Renamed        DifferenceKind = iota // a required parameter has another name, or another meaning
	Missing                              // the backend has no such parameter: giving it is refused, and so is each call that must
	ExtraRequired                        // the backend requires one that the interface does not have
	VarArgsDiffer                        // only one of them takes further arguments by position
	TypeDiffers                          // the backend takes other values
	DefaultDiffers                       // the interface's is passed
	OrderDiffers                         // they are passed by name
	Swallowed                            // the backend has no such parameter, but takes any by name
	ExtraOptional                        // the backend has one more, which only Args.Extra reaches
	KwArgsDiffer                         // only one of them takes further arguments by name
	ReturnsDiffer                        // the stated result of the backend is not of the declared shape: each result is refused
	ReturnsAdapt                         // the backend returns one value for a map of them, or a map for one: results are adapted
	ArgumentAdapt                        // the backend takes one value for a map of them, or a map for one: arguments are adapted
)

var differenceKinds = []string{"renamed", "missing", "extra_required", "varargs", "type", "default", "order", "swallowed", "extra_optional", "kwargs", "returns", "returns_adapted", "argument_adapted"}

// String returns the word for the kind.
func (k DifferenceKind) String() string { return wordOf(differenceKinds, int(k)) }

// Severity says what follows from a difference.
type Severity uint8

// The severities.
const (
	SeverityOK    Severity = iota // nothing
	SeverityAdapt                 // calls are adapted
	SeverityWarn                  // some calls are refused
	SeverityError                 // no call is possible
)

// String returns the word for the severity.
func (s Severity) String() string { return wordOf([]string{"ok", "adapt", "warn", "error"}, int(s)) }

var severities = [...]Severity{
	Renamed: SeverityError, Missing: SeverityWarn, ExtraRequired: SeverityError, VarArgsDiffer: SeverityError, TypeDiffers: SeverityError,
	DefaultDiffers: SeverityAdapt, OrderDiffers: SeverityAdapt, ReturnsAdapt: SeverityAdapt, ArgumentAdapt: SeverityAdapt,
	Swallowed: SeverityOK, ExtraOptional: SeverityOK, KwArgsDiffer: SeverityOK, ReturnsDiffer: SeverityWarn,
}

// Severity says what follows.
func (d Difference) Severity() Severity { return severities[d.Kind] }

// String says it in words.
func (d Difference) String() string {
	switch d.Kind {
	case Renamed:
		return fmt.Sprintf("%s is called %s", d.Param, d.To)
	case Missing:
		text := fmt.Sprintf("it has no parameter %s", d.Param)
		if d.required {
			text += ", which each call must give: so each is refused"
		}
		return text
	case ExtraRequired:
		return fmt.Sprintf("it requires %s", d.Param)
	case VarArgsDiffer:
		return fmt.Sprintf("further arguments by position: declared is %s, it has %s", d.Want, d.Have)
	case TypeDiffers, DefaultDiffers:
		return fmt.Sprintf("the %s of %s: declared is %s, it has %s", d.Kind, d.Param, d.Want, d.Have)
	case OrderDiffers:
		return "its parameters have another order"
	case Swallowed:
		return fmt.Sprintf("%s is one of those that it takes by name, known or not", d.Param)
	case ReturnsDiffer:
		return "what it returns is refused: " + d.Have
	case ReturnsAdapt:
		return "what it returns is adapted: " + d.Have
	case ArgumentAdapt:
		return fmt.Sprintf("what %s gives is adapted: %s", d.Param, d.Have)
	case ExtraOptional:
		return fmt.Sprintf("%s is its own", d.Param)
	case KwArgsDiffer:
		return fmt.Sprintf("further arguments by name: declared is %s, it has %s", d.Want, d.Have)
	}
	return d.Kind.String()
}

// Compare returns how a backend's function differs from the declared one: first
// in the order of the interface, then the functions and parameters of the backend
// alone.
func Compare(want, have *Function) []Difference {
	var all []Difference
	renamed := renames(want, have)
	for i := range want.Params {
		if p := &want.Params[i]; p.named() {
			all = append(all, p.compare(have, renamed[p.Name], i > 0)...)
		}
	}
	for i := range have.Params {
		p := &have.Params[i]
		if !p.named() || want.param(p.Name) != nil || slices.Contains(valuesOf(renamed), p.Name) {
			continue
		}
		kind := ExtraRequired
		if p.Optional {
			kind = ExtraOptional
		}
		all = append(all, Difference{Kind: kind, Param: p.Name})
	}
	for _, r := range []struct {
		kind ParamKind
		diff DifferenceKind
	}{{VarArgs, VarArgsDiffer}, {KwArgs, KwArgsDiffer}} {
		a, b := want.rest(r.kind) != nil, have.rest(r.kind) != nil
		if a != b {
			all = append(all, Difference{Kind: r.diff, Want: literal(a), Have: literal(b)})
		}
	}
	if !sameOrder(want, have) {
		all = append(all, Difference{Kind: OrderDiffers})
	}
	if how := adapts(have.Returns, want.Returns); how != "" {
		all = append(all, Difference{Kind: ReturnsAdapt, Have: how})
	} else if why := misfit(have.Returns, want.Returns, ""); why != "" {
		all = append(all, Difference{Kind: ReturnsDiffer, Have: why})
	}
	return all
}

func valuesOf(m map[string]string) (all []string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// compare returns how have takes the parameter p. Adapted says that arguments for it may be
// adapted: those of the first parameter, which names what the call is about, may not.
func (p *Param) compare(have *Function, renamed string, adapted bool) []Difference {
	q := have.param(p.Name)
	switch {
	case renamed != "":
		return []Difference{{Kind: Renamed, Param: p.Name, To: renamed}}
	case q == nil && have.rest(KwArgs) != nil:
		return []Difference{{Kind: Swallowed, Param: p.Name}}
	case q == nil:
		return []Difference{{Kind: Missing, Param: p.Name, required: p.required()}}
	}
	var all []Difference
	if p.Optional && q.Optional && !schema.Equal(p.Default, q.Default) {
		all = append(all, Difference{Kind: DefaultDiffers, Param: p.Name, Want: literal(p.Default), Have: literal(q.Default)})
	}
	switch how := adapts(p.Type, q.Type); {
	case p.Type == nil || q.Type == nil || schema.Assignable(p.Type, q.Type) == nil:
	case adapted && how != "":
		all = append(all, Difference{Kind: ArgumentAdapt, Param: p.Name, Have: how})
	default:
		all = append(all, Difference{Kind: TypeDiffers, Param: p.Name, Want: p.Type.String(), Have: q.Type.String()})
	}
	return all
}

// renames pairs the required parameters that the backend does not know with its own
// parameters in the same places that the interface does not know.
func renames(want, have *Function) map[string]string {
	pairs := map[string]string{}
	for i := range min(len(want.Params), len(have.Params)) {
		p, q := &want.Params[i], &have.Params[i]
		if p.Kind == Positional && q.Kind == Positional && p.required() && have.param(p.Name) == nil && want.param(q.Name) == nil {
			pairs[p.Name] = q.Name
		}
	}
	return pairs
}

// sameOrder reports whether the parameters that both have stand in one order.
func sameOrder(want, have *Function) bool {
	return slices.Equal(shared(want, have), shared(have, want))
}

// shared returns the names of a's positional parameters that b has too.
func shared(a, b *Function) (names []string) {
	for _, p := range a.Params {
		if q := b.param(p.Name); p.Kind == Positional && q != nil && q.Kind == Positional {
			names = append(names, p.Name)
		}
	}
	return names
}
