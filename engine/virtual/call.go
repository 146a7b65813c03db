package virtual

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// Args are the arguments of a call. They are plain values.
type Args struct {
	Positional []any
	Named      map[string]any
	Extra      map[string]any // for parameters that only the backend has
}

// Result is what a call gives.
type Result struct {
	Common  any            // what the interface declares, checked
	Extra   map[string]any // what only this backend says; never nil
	Backend string
	Status  Status // Implemented, NotApplicable or Deprecated
	Found   bool   // the thing that was asked about is there

	// Warnings are what the caller should know although the call has worked: each call
	// has its own, whatever the log was told before.
	Warnings []Warning
}

// Warning is one.
type Warning struct {
	Event string // deprecated, or, with Lax, return_shape
	Text  string
}

// Call calls a function of the module. The error is one of the types of this
// package: that of a status, *BadArgumentsError or *UnsupportedArgumentError before
// anything was done, *ReturnShapeError, or *CallError with what the backend says.
func (m *Module) Call(ctx context.Context, function string, args Args) (*Result, error) {
	v := m.plan.byName[function]
	if err := refusal(m.Interface, m.Backend, v, function); err != nil {
		return nil, err
	}
	r := &Result{Backend: m.Backend.Name, Status: v.Status, Extra: map[string]any{}, Found: true}
	if v.Status == NotApplicable {
		m.logger().Debug("the function is not applicable here; the default is the answer", "event", "not_applicable", "function", function)
		r.Common = v.want.answer()
		return r, nil
	}
	at := FunctionError{m.Interface.Module, function, m.Backend.Name}
	passed, err := v.adapt(at, args)
	if err != nil {
		return nil, err
	}
	if v.Status == Deprecated {
		m.deprecated(at, v, r)
	}
	var hidden secrets.Texts
	hidden.Learn(passed, false)
	value, err := m.ask(ctx, function, passed)
	return m.result(at, v, r, value, err, &hidden)
}

// deprecated warns about a function, the log only if it was not told before.
func (m *Module) deprecated(at FunctionError, v *Verdict, r *Result) {
	why := "the interface of the module does not have it"
	if v.want != nil {
		why = v.want.Deprecated
	}
	r.Warnings = append(r.Warnings, Warning{Deprecated.String(), fmt.Sprintf("%s is deprecated: %s", at.name(), why)})
	if m.told.first(m.Backend.Name + " " + at.name()) {
		m.logger().Warn("the function is deprecated; this is told once", "event", Deprecated.String(), "function", at.Function, "reason", why)
	}
}

// ask calls the backend. A panic of it is an error.
func (m *Module) ask(ctx context.Context, function string, args map[string]any) (_ any, err error) {
	defer engine.Caught(function, &err)
	return m.caller.Call(ctx, function, args)
}

// result fills r with what the backend returned. What is hidden is in no error or warning.
func (m *Module) result(at FunctionError, v *Verdict, r *Result, value any, err error, hidden *secrets.Texts) (*Result, error) {
	switch {
	case errors.Is(err, ErrNotFound) && v.want != nil && v.want.NotFound != nil:
		value = v.want.NotFound
	case err != nil:
		if v.want != nil && holdsSecret(v.want.Returns) {
			err = unsaid(err)
		}
		return nil, &CallError{at, hidden.Error(err)}
	}
	switch {
	case v.want == nil: // nobody said what it returns
		r.Common = value
		return r, nil
	case v.want.NotFound != nil && schema.Equal(value, v.want.NotFound):
		r.Common, r.Found = schema.Clone(v.want.NotFound), false
		return r, nil
	}
	value = conceal(v.want.Returns, value)
	common, extra, err := split(v.want.Returns, value)
	if err != nil {
		err = misshapen(v.want.Returns, value, hidden)
	}
	if err != nil && !m.lax {
		return nil, &ReturnShapeError{at, err}
	}
	if err != nil {
		m.logger().Warn("the backend returned what its interface does not allow", "event", "return_shape", "function", at.Function, "error", err)
		r.Warnings = append(r.Warnings, Warning{"return_shape", (&ReturnShapeError{at, err}).Error()})
		common, extra = value, nil
	}
	r.Common = common
	maps.Copy(r.Extra, extra)
	return r, nil
}

// misshapen says what is wrong with a value that is not of a shape, without what is
// hidden. That is taken out of the value, because who names a part of it shortens that.
func misshapen(t *schema.Type, value any, hidden *secrets.Texts) error {
	_, _, err := split(t, hidden.Value(value))
	if err == nil {
		err = errors.New("a text that holds a secret of the call is wrong")
	}
	return hidden.Error(err)
}

// adapt turns the arguments of a caller into those of the backend, all by name.
func (v *Verdict) adapt(at FunctionError, args Args) (map[string]any, error) {
	declared := v.want
	if declared == nil {
		declared = v.have
	}
	b := binder{f: declared, given: map[string]any{}}
	b.bind(args)
	if len(b.problems) > 0 {
		return nil, &BadArgumentsError{at, b.problems}
	}
	passed, unknown := v.pass(&b, args.Extra)
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return nil, &UnsupportedArgumentError{at, unknown}
	}
	return passed, nil
}

// pass returns what reaches the backend, and what it would have to know and does
// not.
func (v *Verdict) pass(b *binder, extra map[string]any) (passed map[string]any, unknown []string) {
	passed = map[string]any{}
	give := func(name string, value any) {
		if v.have.param(name) == nil && v.have.rest(KwArgs) == nil {
			unknown = append(unknown, name)
			return
		}
		passed[name] = value
	}
	for name, value := range b.given {
		give(name, value)
	}
	for name, value := range extra {
		give(name, value)
	}
	if rest := v.have.rest(VarArgs); rest != nil {
		passed[rest.Name] = schema.Clone(b.further)
	}
	if v.want == nil {
		return passed, unknown
	}
	for _, p := range v.want.Params {
		if _, given := passed[p.Name]; p.named() && p.Optional && !given && v.have.param(p.Name) != nil {
			passed[p.Name] = schema.Clone(p.Default)
		}
	}
	return passed, unknown
}

// binder gives arguments to parameters.
type binder struct {
	f        *Function
	given    map[string]any // by name: of parameters, and those for KwArgs
	further  []any          // those for VarArgs
	problems []string
}

func (b *binder) fail(format string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

func (b *binder) bind(args Args) {
	b.further = []any{}
	b.positional(args.Positional)
	for _, name := range slices.Sorted(maps.Keys(args.Named)) {
		b.named(name, args.Named[name])
	}
	for i := range b.f.Params {
		if p := &b.f.Params[i]; p.required() {
			if _, ok := b.given[p.Name]; !ok {
				b.fail("%s is required", p.Name)
			}
		}
	}
	for name := range args.Extra {
		if b.f.param(name) != nil {
			b.fail("%s is declared, so it is no extra argument", name)
		}
	}
}

func (b *binder) positional(values []any) {
	for i := range b.f.Params {
		if p := &b.f.Params[i]; p.Kind == Positional && len(values) > 0 {
			b.set(p, values[0])
			values = values[1:]
		}
	}
	rest := b.f.rest(VarArgs)
	if rest == nil && len(values) > 0 {
		b.fail("%d arguments too many", len(values))
		return
	}
	for _, v := range values {
		if rest.Type != nil {
			b.check(rest.Name, rest.Type.Elem, v)
		}
		b.further = append(b.further, v)
	}
}

func (b *binder) named(name string, value any) {
	p := b.f.param(name)
	rest := b.f.rest(VarArgs)
	_, twice := b.given[name]
	switch {
	case twice:
		b.fail("%s is given twice", name)
	case p != nil:
		b.set(p, value)
	case rest != nil && rest.Name == name:
		b.all(rest, value)
	case b.f.rest(KwArgs) != nil:
		b.given[name] = value
	default:
		b.unknown(name)
	}
}

// all takes a list for VarArgs that was given by name.
func (b *binder) all(rest *Param, value any) {
	items, ok := value.([]any)
	if !ok {
		b.fail("%s is a list", rest.Name)
		return
	}
	if len(b.further) > 0 {
		b.fail("%s is given by position and by name", rest.Name)
	}
	b.check(rest.Name, rest.Type, value)
	b.further = items
}

func (b *binder) unknown(name string) {
	var names []string
	for _, p := range b.f.Params {
		names = append(names, p.Name)
	}
	text := "there is no parameter " + name
	if near := schema.Nearest(name, names); near != "" {
		text += fmt.Sprintf(" (did you mean %s?)", near)
	}
	b.problems = append(b.problems, text)
}

func (b *binder) set(p *Param, value any) {
	b.check(p.Name, p.Type, value)
	b.given[p.Name] = value
}

// check adds what is wrong with a value, under the name of its parameter.
func (b *binder) check(name string, t *schema.Type, value any) {
	if t == nil {
		return
	}
	one := &schema.Type{Kind: schema.KindStruct, Fields: []*schema.Field{{Key: name, Type: t}}}
	for _, d := range schema.Check(one, map[string]any{name: value}) {
		if d.Severity == schema.Error {
			b.fail("%s", d)
		}
	}
}
