package machine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/internal/show"
	"github.com/reactivegraph/mgmt/daemon/single"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// lookOptions are those of looking and of setting.
func lookOptions(f *show.Flags, a *cli.App, p *show.Presenter) mgmt.Options {
	o := inputs.Options(a, p.Logger)
	o.Debug = f.Debug
	return o
}

// observations are things as they are seen, or why they can't be.
type observations = iter.Seq2[look.Observation, error]

// looking is one look of a verb.
// It belongs to one call of a verb and one goroutine. code is the sum of the exit codes, as bits.
type looking struct {
	log  *show.Flags
	a    *cli.App
	code int // so far
	// quiet is set where the user ends the verb by a signal, as --watch is ended.
	quiet bool // a signal is how it ends
}

// each looks and takes the results, until it is over or a signal comes. It returns
// the context's end as an error, and what take returns.
// One failure does not end the look at the others. The looker and the presenter are closed before
// it returns.
// An error of take ends the look at once, such as a pipe whose reader has gone.
func (s *looking) each(ctx context.Context, see func(context.Context, *look.Inspector) observations, take func(look.Observation) error) (err error) {
	p := s.log.Presenter(s.a)
	defer p.Close()
	l, err := single.Look(lookOptions(s.log, s.a, p))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	hooks := cli.SignalHooks{Tell: p.Signalled, Abandon: l.Abandon}
	if s.quiet {
		hooks.Tell = func(os.Signal, string) {}
	}
	ctx, stop := s.a.OnSignals(ctx, hooks)
	defer stop()
	for seen, err := range see(ctx, l) {
		if err != nil {
			s.failed(err)
		} else if err := take(seen); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// failed says why something could not be seen.
// It prints to standard error at once, so that the results of the others stay complete.
func (s *looking) failed(err error) {
	s.code |= lookCode(err)
	if e := s.log.Diagnose(s.a, err); e.Error() != "" {
		fmt.Fprintln(s.a.Err, s.a.Program()+": "+render.Visible(e.Error()))
	}
}

// lookCode tells a wrong question from a failure.
// Exit code 1 means that another question is needed, 4 that this machine could not answer.
// Diagnostics are about the target as it was written. ErrBlind says that the kind can't be seen
// so.
func lookCode(err error) int {
	_, diagnosed := errors.AsType[schema.Diagnostics](err)
	_, unknown := errors.AsType[*engine.UnknownKindError](err)
	if diagnosed || unknown || errors.Is(err, look.ErrBlind) {
		return cli.ExitUsage
	}
	return cli.ExitFailed
}

// end returns the error with which the program ends. A wrong question outweighs the
// rest.
func (s *looking) end(err error) error {
	_, signalled := errors.AsType[cli.SignalError](err)
	switch {
	// The things that were seen until then are written. The code says that something is missing.
	case signalled:
		return cli.WithCode(s.code|cli.ExitFailed, fmt.Errorf("ended before all was seen: %w", err))
	case err != nil:
		return err
	case s.code&cli.ExitUsage != 0:
		return cli.WithCode(cli.ExitUsage, nil)
	default:
		return cli.WithCode(s.code, nil)
	}
}

// show looks at things. code is what became of them before.
// The look comes after a change, so its code is added to that of the change, as bits.
func (f *resourceFlags) show(ctx context.Context, a *cli.App, targets []look.Target, code int) error {
	return f.write(ctx, &looking{log: &f.log, a: a, code: code}, len(targets) > 1, func(ctx context.Context, l *look.Inspector) observations {
		return l.Read(ctx, targets...)
	})
}

// list shows all things of a kind.
// Each thing that can't be seen is a line on standard error, and the rest of the list follows.
func (f *resourceFlags) list(ctx context.Context, a *cli.App, k engine.Kind) error {
	return f.write(ctx, &looking{log: &f.log, a: a}, true, func(ctx context.Context, l *look.Inspector) observations {
		return l.List(ctx, inputs.AnyOf(k.Name, f.backend, f.target))
	})
}

// write writes the results, each thing as soon as it is seen.
func (f *resourceFlags) write(ctx context.Context, s *looking, many bool, see func(context.Context, *look.Inspector) observations) error {
	out, err := f.newObservationWriter(s.a.Out, many)
	if err != nil {
		return err
	}
	// The writer is closed also after an error, so that a list in JSON is one document.
	err = s.each(ctx, see, func(seen look.Observation) error { return out.add(seen.Shown) })
	return s.end(errors.Join(err, out.close()))
}

// follow shows a thing each time that it changes.
// The code is 0 after a signal, also where a look has failed before it.
func (f *resourceFlags) follow(ctx context.Context, a *cli.App, t look.Target) error {
	s := &looking{log: &f.log, a: a, quiet: true}
	err := s.each(ctx,
		func(ctx context.Context, l *look.Inspector) observations { return l.Follow(ctx, t) },
		func(seen look.Observation) error { return f.writeAgain(a.Out, seen.Shown) })
	if _, ok := errors.AsType[cli.SignalError](err); ok {
		return nil // that is how it ends
	}
	return s.end(err)
}

// set makes things as they are wanted, and shows them.
func (f *resourceFlags) set(ctx context.Context, a *cli.App, targets []look.Target) error {
	out, err := f.apply(ctx, a, targets)
	// A failure of the machine keeps the bits of the changes. A wrong target has altered
	// nothing.
	switch {
	case err == nil:
		return f.show(ctx, a, targets, out.ExitCode())
	case lookCode(err) == cli.ExitFailed:
		return f.log.End(a, out.ExitCode()|cli.ExitFailed, err)
	default:
		return f.log.Diagnose(a, err)
	}
}

// apply sets things by an engine of their own. It takes the same path as a graph, so the checks
// and the secrets are the same. On signals the engine stops; OnSignals tells how.
func (f *resourceFlags) apply(ctx context.Context, a *cli.App, targets []look.Target) (single.Outcome, error) {
	p := f.log.Presenter(a)
	defer p.Close()
	o := lookOptions(&f.log, a, p)
	if f.noop {
		o.Noop = reactor.NoopAll
	}
	o.Observer = mgmt.Observer{Ran: p.Ran, Warned: p.Warned, Stopping: p.Stopping}
	o.Background = func(_ context.Context, e *mgmt.Engine) { p.Runs(e) }
	abandoned := make(chan struct{})
	o.Abandon = abandoned
	ctx, stop := a.OnSignals(ctx, cli.SignalHooks{Tell: p.Signalled, Abandon: func() { close(abandoned) }})
	defer stop()
	p.Follow(ctx)
	return single.Set(ctx, o, targets...)
}
