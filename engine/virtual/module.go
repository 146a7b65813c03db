package virtual

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Module is an interface that is bound to one backend. Close it after use.
type Module struct {
	Interface *Interface
	Backend   *Backend

	plan   *plan
	caller Caller
	log    *slog.Logger // of logger
	told   *Told
	lax    bool
}

// logger returns the log, which says what it is about. It is made when there is something to
// say: most modules are quiet, and those of a Watch are there for long.
func (m *Module) logger() *slog.Logger {
	return m.log.With("module", m.Interface.Module, "backend", m.Backend.Name)
}

// plan is what a check has said of each function. Modules share it; it is not
// altered.
type plan struct {
	verdicts []Verdict
	byName   map[string]*Verdict
}

func newPlan(i *Interface, b *Backend, facts Facts) *plan {
	p := &plan{verdicts: Check(i, b, facts), byName: map[string]*Verdict{}}
	for n := range p.verdicts {
		v := &p.verdicts[n]
		p.byName[v.Function] = v
	}
	return p
}

// same reports whether calls do the same by both.
func (p *plan) same(o *plan) bool {
	return p == o || slices.EqualFunc(p.verdicts, o.verdicts, func(a, b Verdict) bool {
		return a.Function == b.Function && a.Status == b.Status
	})
}

// warn tells of contradictions.
func (p *plan) warn(log *slog.Logger) {
	for _, v := range p.verdicts {
		if v.Contradicts {
			log.Warn("the backend has a function that is not applicable here; it is not called", "event", "contradiction", "function", v.Function)
		}
	}
}

// Option is a choice of Bind.
type Option func(*Module)

// Lax has results that do not fit their shape pass as they are, with a warning.
func Lax() Option { return func(m *Module) { m.lax = true } }

// Bind checks the backend against the interface for the facts of env, opens it,
// and returns a module with every function of both. env.Log gets the warnings of
// calls, and now one for each contradiction.
func Bind(ctx context.Context, i *Interface, b *Backend, env Env, options ...Option) (*Module, error) {
	m, err := bind(ctx, i, b, newPlan(i, b, env.Facts), env, options)
	if err == nil {
		m.plan.warn(m.logger())
	}
	return m, err
}

func bind(ctx context.Context, i *Interface, b *Backend, p *plan, env Env, options []Option) (*Module, error) {
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	caller, err := b.opened(ctx, env)
	if err != nil {
		return nil, &CallError{FunctionError{i.Module, "open", b.Name}, err}
	}
	m := &Module{Interface: i, Backend: b, plan: p, caller: caller, log: env.Log, told: env.Told}
	for _, o := range options {
		o(m)
	}
	return m, nil
}

// opened opens the backend. A panic of it, and a backend that gives nothing, are errors.
func (b *Backend) opened(ctx context.Context, env Env) (c Caller, err error) {
	defer callsafe.Recover("open", &err)
	if c, err = b.Open(ctx, env); err == nil && c == nil {
		err = errors.New("the backend has opened nothing")
	}
	return c, err
}

// Close ends the backend. A panic of it is an error.
func (m *Module) Close() (err error) {
	if c, ok := m.caller.(io.Closer); ok {
		defer callsafe.Recover("close", &err)
		return c.Close()
	}
	return nil
}

// Functions returns the names of all functions that can be called, sorted.
func (m *Module) Functions() []string {
	var names []string
	for _, v := range m.plan.verdicts {
		names = append(names, v.Function)
	}
	slices.Sort(names)
	return names
}

// Verdicts says of each function the effect of a call, in the order of Check.
func (m *Module) Verdicts() []Verdict { return slices.Clone(m.plan.verdicts) }

// Watch subscribes to events that may change the given things, or to everything if
// there are none. Where the backend cannot see changes it returns nil and no
// error: poll.
func (m *Module) Watch(ctx context.Context, names []string) (events.Subscription, error) {
	w, ok := m.caller.(Watcher)
	if !ok {
		return nil, nil
	}
	return w.Watch(ctx, names)
}

// Needs returns an error for each of the functions that a call of would be one,
// or nil. Not applicable does not count as an error: the caller has nothing to do here.
// FUNCTION.PARAMETER is an error too where the backend would not take that parameter.
func (m *Module) Needs(functions ...string) error {
	return needs(m.Interface, m.Backend, m.plan.byName, functions)
}

func needs(i *Interface, b *Backend, verdicts map[string]*Verdict, functions []string) error {
	var errs []error
	for _, need := range functions {
		f, param, with := strings.Cut(need, ".")
		v := verdicts[f]
		err := refusal(i, b, v, f)
		at := FunctionError{i.Module, f, b.Name}
		switch {
		case err != nil:
		case len(v.Lacks()) > 0:
			err = &UnsupportedArgumentError{at, v.Lacks()}
		case v.Misfit() != "":
			err = &ReturnShapeError{at, errors.New(v.Misfit())}
		}
		if err == nil && with && !v.takes(param) {
			err = &UnsupportedArgumentError{at, []string{param}}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// takes reports whether the backend takes a parameter, if it is asked at all.
func (v *Verdict) takes(param string) bool {
	return v.Status == NotApplicable || v.have.param(param) != nil || v.have.rest(KwArgs) != nil
}

// refusal returns the error that a call of a function is, whatever its arguments,
// or nil.
func refusal(i *Interface, b *Backend, v *Verdict, function string) error {
	at := FunctionError{i.Module, function, b.Name}
	switch {
	case v == nil:
		return &UnknownFunctionError{at, nearestFunction(i, b, function)}
	case v.Status == NotImplemented:
		return &NotImplementedError{at}
	case v.Status == NotSupported:
		return &NotSupportedError{at, v.want.Supported}
	case v.Status == SignatureMismatch:
		return &SignatureMismatchError{at, v.want.Signature(), v.have.Signature(), v.Differences}
	}
	return nil
}

func nearestFunction(i *Interface, b *Backend, name string) string {
	var names []string
	for _, f := range slices.Concat(i.Functions, b.Functions) {
		names = append(names, f.Name)
	}
	return schema.Nearest(name, names)
}
