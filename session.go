package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
	"golang.org/x/sync/errgroup"
)

// session is one Run: what has to be closed after it.
type session struct {
	e       *Engine
	host    *host.Host
	reactor *reactor.Reactor
	store   engine.Store
	memory  transform.Memory
	closers []func() error
	rested  chan Counts   // the graph has converged
	ended   chan struct{} // closed when the reactor has ended

	forgetful bool // there is a state folder, and nothing can be written to it
	reloading *reloading
	effect    *effectKeeper
	renamed   atomic.Bool // the last graphs have brought or taken names, and effect was not told
}

// errRested and errTime are the causes of contexts that Run itself ends.
var (
	errRested = errors.New("converged")
	errTime   = errors.New("the time is over")
)

// timeGrace is how long after the end of MaxRuntime methods that ignore the end
// of their context are waited for.
const timeGrace = 5 * time.Second

func (e *Engine) open(ctx context.Context) (*session, error) {
	s := &session{e: e, rested: make(chan Counts, 1), ended: make(chan struct{}), reloading: newReloading()}
	state := e.opt.StateDir
	if state == "" && !e.opt.readOnly {
		dir, remove, err := tempState()
		if err != nil {
			return nil, err
		}
		state = dir
		s.closers = append(s.closers, remove)
	}
	store, err := s.openStore()
	if err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	s.store = store
	if !s.forgetful {
		s.effect = e.opt.newEffectKeeper()
		s.closers = append(s.closers, s.effect.close)
	}
	// The host outlives ctx: it ends with close, after the reactor.
	if s.host, err = host.New(context.WithoutCancel(ctx), host.Options{Logger: e.opt.Logger, Roles: e.opt.Roles, Ledger: e.opt.ledger()}); err == nil {
		s.closers = append(s.closers, s.host.Close)
		s.reactor, err = reactor.New(e.reactorOptions(s, state, store))
	}
	if err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	e.reactor, e.host = s.reactor, s.host
	close(e.ready)
	return s, nil
}

func (e *Engine) reactorOptions(s *session, state string, store engine.Store) reactor.Options {
	o := &e.opt
	return reactor.Options{
		Program: o.Program, Version: o.Version, Hostname: cmp.Or(o.Hostname, s.host.Facts().Hostname),
		Host: s.host, World: o.World, Store: store,
		StateDir: state, ReadOnly: o.readOnly, Once: o.readOnly,
		Logger: o.Logger, Debug: o.Debug,
		MaxRemovals: o.MaxRemovals, InEffect: o.readInEffect(),
		MaxChanges: o.MaxChanges, Fight: *cmp.Or(o.Fight, new(reactor.DefaultFight())), Storm: *cmp.Or(o.Storm, new(reactor.DefaultStorm())),
		Beat: o.Beat, BeatEvery: o.BeatEvery,
		Noop: o.Noop, Parallel: o.Parallel, Quiet: o.ConvergedTimeout,
		Listener: reactor.Listener{
			Swapped:   s.swapped,
			Ran:       o.Observer.Ran,
			Converged: s.converged,
			Lingers:   o.Observer.Lingers,
			Paused:    o.Observer.Paused,
			Held:      o.Observer.Held,
		},
	}
}

func (s *session) swapped(w Swap) {
	if w.Added+w.Removed > 0 {
		s.renamed.Store(true)
	}
	if f := s.e.opt.Observer.Swapped; f != nil {
		f(w)
	}
}

func (s *session) converged(yes bool, c Counts) {
	if f := s.e.opt.Observer.Converged; f != nil {
		f(yes, c)
	}
	if !yes {
		return
	}
	select {
	case s.rested <- c:
	default:
	}
}

func (s *session) closeAll() error {
	var errs []error
	for _, c := range slices.Backward(s.closers) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// close closes what open has opened, and adds what went wrong to err.
func (s *session) close(err *error) { *err = errors.Join(*err, s.closeAll()) }

// beside starts Options.Beside. The returned function ends it.
func (s *session) beside(ctx context.Context) (end func()) {
	f := s.e.opt.Beside
	if f == nil || s.e.opt.readOnly {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { f(ctx, s.e) })
	return func() {
		cancel()
		wg.Wait()
	}
}

func (s *session) run(ctx context.Context, f gapi.Frontend) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(s.ended)
		return s.reactor.Run(ctx)
	})
	g.Go(func() error {
		defer close(s.reloading.over)
		return s.feed(ctx, f)
	})
	g.Go(func() error {
		s.reloading.run(ctx, s.e.reloads, s.e.opt.Reload)
		return nil
	})
	if s.e.opt.ConvergedExit {
		g.Go(func() error { return s.awaitRest(ctx, cancel) })
	}
	var late error // nil, or of awaitTime
	if d := s.e.opt.MaxRuntime; d > 0 {
		g.Go(func() error {
			late = s.awaitTime(ctx, d, cancel)
			return nil
		})
	}
	err := g.Wait()
	final, cut := s.reactor.Final()
	s.e.report = Report{Counts: final.Counts, Converged: final.Converged, Early: final.Early, Cut: cut}
	if late == nil || err == nil {
		return cmp.Or(late, err)
	}
	return errors.Join(late, err)
}

func (s *session) awaitRest(ctx context.Context, cancel context.CancelCauseFunc) error {
	select {
	case <-s.rested:
	case <-ctx.Done():
		return nil
	}
	var err error
	if s.e.opt.readOnly {
		s.e.statuses, err = s.reactor.Statuses(ctx)
	}
	cancel(errRested)
	return err
}

// awaitTime ends Run when the time is over, and says what has not come to rest.
func (s *session) awaitTime(ctx context.Context, d time.Duration, cancel context.CancelCauseFunc) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil
	}
	err := &MaxRuntimeError{After: d}
	if list, e := s.reactor.Statuses(ctx); e == nil {
		err.Restless = restless(list)
	}
	cancel(errTime)
	s.endInTime()
	return err
}

// endInTime waits for the end of the reactor, but not for ever: a time limit holds,
// also where a method ignores the end of its context. Only commands that are let
// finish (engine.Command.Cost) take longer.
func (s *session) endInTime() {
	for {
		grace := time.NewTimer(s.e.grace)
		select {
		case <-s.ended:
			grace.Stop()
			return
		case <-grace.C:
		}
		if !s.reactor.Finishing() {
			s.e.Abandon()
			return
		}
	}
}

// restless names the resources that keep a graph from converging: unrest, and more
// than one change.
func restless(list []Status) []string {
	slices.SortStableFunc(list, func(a, b Status) int { return cmp.Compare(b.Changed, a.Changed) })
	var out []string
	for _, st := range list {
		switch {
		case st.Changed > 1: // whatever it does at this moment
			out = append(out, fmt.Sprintf("%s has changed %d times", st.Resource, st.Changed))
		case st.State == engine.StateStarting, st.State == engine.StateWaiting, st.State == engine.StateRunning:
			out = append(out, fmt.Sprintf("%s is %s", st.Resource, st.State))
		}
	}
	return out
}

func joinSome(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// feed gives the frontend's graphs to the reactor.
func (s *session) feed(ctx context.Context, f gapi.Frontend) error {
	o := &s.e.opt
	env := gapi.Env{
		Registry: o.Registry, Host: s.host, NoWatch: o.NoWatch,
		Hostname: cmp.Or(o.Hostname, s.host.Facts().Hostname), Logger: o.Logger, Stdin: o.Stdin,
	}
	if o.Reload != nil {
		env.Reload, env.Before = s.reloading.ask, o.BeforeReload
	}
	var last error
	good := false
	for d, err := range f.Graphs(ctx, env) {
		if err == nil {
			err = s.use(ctx, d)
		}
		held, _ := errors.AsType[*reactor.RemovalsError](err)
		s.e.heldGraph.Store(held)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil && s.e.opt.readOnly:
			return nil // a plan is of the first graph
		case err == nil:
			good = true
			s.judged(ctx, nil)
			continue
		case !good && o.Strict && held == nil: // what is held waits for Resume
			return err
		}
		last = err
		if o.Observer.Refused != nil {
			o.Observer.Refused(err)
		}
		s.judged(ctx, err)
	}
	if good || ctx.Err() != nil {
		return nil
	}
	if last == nil {
		last = errors.New("the frontend has given no graph")
	}
	return last
}

// use builds a declared graph and puts it into effect.
func (s *session) use(ctx context.Context, d *gapi.Declared) error {
	g, diags := gapi.Rebuild(s.e.opt.Registry, d, func(g *engine.Graph) {
		s.limit(g)
		s.reactor.Compare(ctx, g)
	})
	if g == nil {
		return diags
	}
	if warned := s.e.opt.Observer.Warned; warned != nil && len(diags) > 0 {
		warned(diags)
	}
	s.hide(g)
	g, err := s.transform(ctx, g, d.Noop)
	if err != nil {
		return err
	}
	if s.e.opt.readOnly {
		s.e.planned = g
	}
	if err := s.reactor.Swap(ctx, g); err != nil {
		return err
	}
	if s.renamed.Swap(false) {
		s.effect.keep(g)
	}
	s.memory.Keep()
	if loaded := s.e.opt.Observer.Loaded; loaded != nil {
		loaded(g)
	}
	return nil
}

// limit makes every resource take the semaphore of Options.Sema.
func (s *session) limit(g *engine.Graph) {
	if s.e.opt.Sema == 0 {
		return
	}
	for _, v := range g.All() {
		m := v.Res.MetaParams()
		m.Sema = append(slices.Clip(m.Sema), globalSema(s.e.opt.Sema))
	}
}
