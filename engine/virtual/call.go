package virtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/callsafe"
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
	Event string // deprecated, swallowed, undeclared, or, with Lax, return_shape
	Text  string
}

// Call calls a function of the module. The error is one of the types of this
// package: that of a status, *BadArgumentsError or *UnsupportedArgumentError before
// anything was done, *ReturnShapeError, or *CallError with the message of the
// backend.
func (m *Module) Call(ctx context.Context, function string, args Args) (*Result, error) {
	r, about, err := m.call(ctx, function, args)
	if err == nil && about != "" && r.Found && r.Status != NotApplicable {
		m.plan.byName[function].want.alone(r, about)
	}
	return r, err
}

// call is Call with the result as it is declared, also of a function that is Alone. about is the one thing that such a call is about.
func (m *Module) call(ctx context.Context, function string, args Args) (_ *Result, about string, _ error) {
	v := m.plan.byName[function]
	if err := refusal(m.Interface, m.Backend, v, function); err != nil {
		return nil, "", err
	}
	r := &Result{Backend: m.Backend.Name, Status: v.Status, Extra: map[string]any{}, Found: true}
	at := FunctionError{m.Interface.Module, function, m.Backend.Name}
	b, err := v.bind(at, args)
	if err != nil {
		return nil, "", err
	}
	if v.Status == NotApplicable {
		m.logger().Debug("the function is not applicable here; the default is the answer", "event", "not_applicable", "function", function)
		r.Common = v.want.answer()
		return r, "", nil
	}
	h := v.hand(b, args.Extra)
	switch {
	case len(h.unknown) > 0:
		return nil, "", &UnsupportedArgumentError{at, h.unknown}
	case len(h.problems) > 0:
		return nil, "", &BadArgumentsError{at, h.problems}
	}
	if v.Status == Deprecated {
		m.deprecated(at, v, r)
	}
	if len(h.swallowed) > 0 {
		m.warn(at, Swallowed.String(), h.swallowed, r, "the backend takes an argument without knowing it, which may have no effect", "the backend %s takes %s without knowing it: it may have no effect")
	}
	if len(h.undeclared) > 0 {
		m.warn(at, undeclared, h.undeclared, r, "the argument is of this backend alone", "only the backend %s knows %s: the interface does not have it, and another backend may refuse it")
	}
	var hidden secrets.Texts
	hidden.Learn(h.passed, false)
	about = v.want.about(h.passed)
	value, err := m.ask(ctx, function, h.passed)
	if v.want != nil && err == nil {
		var all map[string]any
		value, all = v.fit(v.want.whole(value, about), about)
		maps.Copy(r.Extra, all)
	}
	r, err = m.result(at, v, r, value, err, &hidden)
	return r, about, err
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

// undeclared is the event of arguments that the backend has a parameter for, and the interface has none.
const undeclared = "undeclared"

// warn warns about arguments, the log only if it was not told before.
func (m *Module) warn(at FunctionError, event string, params []string, r *Result, told, text string) {
	names := strings.Join(params, ", ")
	r.Warnings = append(r.Warnings, Warning{event, at.name() + ": " + fmt.Sprintf(text, at.Backend, names)})
	if m.told.first(m.Backend.Name + " " + at.name() + " " + names) {
		m.logger().Warn(told+"; this is told once", "event", event, "function", at.Function, "params", names)
	}
}

// ask calls the backend. A panic of it is an error.
func (m *Module) ask(ctx context.Context, function string, args map[string]any) (_ any, err error) {
	defer callsafe.Recover(function, &err)
	return m.caller.Call(ctx, function, args)
}

// result fills r with the result of the backend. Hidden values are in no error or warning.
func (m *Module) result(at FunctionError, v *Verdict, r *Result, value any, err error, hidden *secrets.Texts) (*Result, error) {
	switch {
	case errors.Is(err, ErrNotFound) && v.want != nil && v.want.NotFound != nil:
		value = v.want.NotFound
	case err != nil:
		if v.want != nil && v.want.Returns.HoldsSecret() {
			err = unsaid(err)
		}
		return nil, &CallError{at, hidden.Error(err)}
	}
	switch {
	case v.want == nil: // no declaration says what it returns
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

// misshapen says the fault of a value that is not of a shape, without hidden
// values. That is taken out of the value, because a message that names a part of it
// shortens that.
func misshapen(t *schema.Type, value any, hidden *secrets.Texts) error {
	_, _, err := split(t, hidden.Value(value))
	if err == nil {
		err = errors.New("a text that holds a secret of the call is wrong")
	}
	return hidden.Error(err)
}

// bind gives the arguments of a caller to the parameters that are declared.
func (v *Verdict) bind(at FunctionError, args Args) (*binder, error) {
	b := &binder{f: cmp.Or(v.want, v.have), backend: v.have, given: map[string]any{}}
	b.bind(args)
	if len(b.problems) > 0 {
		return nil, &BadArgumentsError{at, b.problems}
	}
	return b, nil
}

// handed is what becomes of arguments: they reach the backend by name. The names are sorted.
type handed struct {
	passed     map[string]any
	unknown    []string // what the backend would have to know and does not
	swallowed  []string // what reaches it only because it takes any by name
	undeclared []string // what it knows and the interface does not
	problems   []string // what can't be adapted to it
}

// hand turns the arguments of a caller into those of the backend.
func (v *Verdict) hand(b *binder, extra map[string]any) handed {
	h := handed{passed: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(b.given)) {
		v.give(&h, name, b.given[name], v.want.said(name, b.given[name]))
		if v.want != nil && v.want.param(name) == nil && v.have.param(name) != nil && v.want.rest(KwArgs) == nil {
			h.undeclared = append(h.undeclared, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		v.give(&h, name, extra[name], true)
	}
	if rest := v.have.rest(VarArgs); rest != nil {
		h.passed[rest.Name] = schema.Clone(b.further)
	}
	if v.want == nil {
		return h
	}
	for _, p := range v.want.Params {
		if _, given := h.passed[p.Name]; p.named() && p.Optional && !given && v.have.param(p.Name) != nil {
			h.passed[p.Name] = schema.Clone(p.Default)
		}
	}
	v.suit(&h)
	return h
}

// give hands over one argument. A default is left out where the backend has no place for it.
func (v *Verdict) give(h *handed, name string, value any, says bool) {
	known, any := v.have.param(name) != nil, v.have.rest(KwArgs) != nil
	switch {
	case known || any:
		h.passed[name] = value
	case says:
		h.unknown = append(h.unknown, name)
	}
	if !known && any && says && !v.declaresRest(name) {
		h.swallowed = append(h.swallowed, name)
	}
}

// declaresRest reports whether the interface itself takes an argument as one of any names.
func (v *Verdict) declaresRest(name string) bool {
	return v.want != nil && v.want.param(name) == nil && v.want.rest(KwArgs) != nil
}

// said reports whether an argument says more than its default, which is what happens without it.
func (f *Function) said(name string, value any) bool {
	if f == nil {
		return true
	}
	p := f.param(name)
	return p == nil || !p.Optional || !same(value, p.Default)
}

// binder gives arguments to parameters.
type binder struct {
	f        *Function
	backend  *Function      // what the backend has, nil for nothing
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
	case b.backend != nil && b.backend.param(name) != nil:
		b.set(b.backend.param(name), value)
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

// check adds the faults of a value, under the name of its parameter.
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
