package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/journal/ineffect"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/simulate"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/sharing"
	"github.com/reactivegraph/mgmt/internal/apart"
	"github.com/reactivegraph/mgmt/internal/feed"
	"github.com/reactivegraph/mgmt/internal/install"
	"golang.org/x/sync/errgroup"
)

// session is one Run: all that has to be closed after it.
type session struct {
	e       *Engine
	opt     options
	host    engine.Host
	reactor *reactor.Reactor
	state   *statedir.Dir
	graphs  *install.Installer
	feed    *feed.Feed
	closers []func() error
	rested  chan reactor.Counts // the graph has converged
	ended   chan struct{}       // closed when the reactor has ended
	life    context.Context     // ends after the reactor, by finish: of Apply
	finish  context.CancelFunc
	lines   lines

	hostname string          // of this host in the graph and in the store
	sharing  sharing.Sharing // Whole and Part of its Publisher, and its Exports, are the installer's
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
	o := e.opt
	s := &session{e: e, opt: o, rested: make(chan reactor.Counts, 1), ended: make(chan struct{}), lines: lines{to: e}}
	s.life, s.finish = context.WithCancel(context.WithoutCancel(ctx))
	s.closers = append(s.closers, func() error { s.finish(); return nil })
	dir, err := statedir.Open(statedir.Options{Folder: o.State, Store: o.Store, ReadOnly: o.readOnly, Keep: o.Noop != reactor.NoopAll, Clock: clock.System{}, Log: o.Logger})
	if err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	s.state, e.history = dir, dir.History
	s.closers = append(s.closers, dir.Close)
	e.observer = e.stream.Join(o.Observer.wants(), maxUntold, maxBehind)
	// The host outlives ctx: it ends with close, after the reactor.
	if err = s.openHost(context.WithoutCancel(ctx)); err == nil {
		s.openWorld()
		s.reactor, err = reactor.New(s.reactorOptions())
	}
	if err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	s.graphs = install.New(s.installing())
	s.feed = feed.New(s.feeding())
	e.reactor, e.host, e.session = s.reactor, s.host, s
	return s, nil
}

// openHost takes the host of the Options, or opens that of this machine.
func (s *session) openHost(ctx context.Context) error {
	o := &s.opt
	if s.host = o.Host; s.host != nil {
		return nil
	}
	h, err := host.New(ctx, host.Options{Logger: o.Logger, Roles: o.Roles, Hostname: o.Hostname, Ledger: s.state.Ledger()})
	if err == nil {
		s.host = h
		s.closers = append(s.closers, h.Close)
		s.state.Renews(h.RenewLedger)
	}
	return err
}

// openWorld takes the store of the Options, or makes one, with its users.
func (s *session) openWorld() {
	s.hostname = cmp.Or(s.opt.Hostname, s.host.Facts().Hostname)
	o := &s.opt
	accept, _ := lend.Parse(o.Accept) // check has told of a fault
	s.sharing = sharing.Open(o.World, sharing.Env{
		Clock: engine.ClockOf(s.host), Lease: o.Lease, Host: s.hostname, Version: o.Version, Roles: o.Roles, Facts: s.host.Facts,
		Accept: accept, Log: o.Logger, Quiet: o.readOnly || o.Noop == reactor.NoopAll, Offline: o.readOnly, File: s.state.Collected(), Exported: s.state.Exported(),
	})
	s.closers = append(s.closers, s.sharing.Exports.Close)
}

// inEffect returns the resources that an earlier Run has had in effect with the same Options.Input, if the first graph is to be
// compared with them. A run that ends by itself has no user who could tell it to go on.
func (s *session) inEffect() (was ineffect.Names) {
	o := &s.opt
	if o.Input == "" || o.readOnly || o.ConvergedExit || o.Noop == reactor.NoopAll {
		return was
	}
	return s.state.InEffect(o.Input)
}

// leaving returns the resources in effect that a graph does not have.
func (s *session) leaving(g *resgraph.Graph) (left ineffect.Names) {
	if s.opt.Input == "" {
		return left
	}
	here := map[string]bool{}
	for i, v := range g.All() {
		here[g.ID(i)] = true
		for _, m := range v.Special().Group {
			here[m.Res.String()] = true
		}
	}
	left = s.state.InEffect(s.opt.Input)
	left.All = slices.DeleteFunc(left.All, func(id string) bool { return here[id] })
	left.Asking = slices.DeleteFunc(left.Asking, func(id string) bool { return here[id] })
	return left
}

// declared returns what earlier runs remember of declarations, nil where nothing is kept.
func (s *session) declared() *reactor.Declared {
	var d *reactor.Declared
	was, keeper := statedir.Declarations(s.state, func() map[string]reactor.Placed { return d.Placed() })
	if keeper == nil {
		return nil
	}
	d = reactor.NewDeclared(was.Salt, was.Prints, keeper)
	return d
}

func (s *session) reactorOptions() reactor.Options {
	o, was := &s.opt, s.inEffect()
	return reactor.Options{
		Program: o.Program, Version: o.Version, Hostname: s.hostname,
		Host: s.host, Clock: engine.ClockOf(s.host), World: s.sharing.Store, Lease: o.Lease, Store: s.state.Store, Images: o.Images, Place: s.sharing.Place,
		StateDir: s.state.Path, ReadOnly: o.readOnly, Once: o.readOnly, Layer: s.layer(),
		Logger: s.lines.logger(&o.Observer, o.Logger), Debug: o.Debug,
		MaxRemovals: o.MaxRemovals, InEffect: was.All, Asking: was.Asking, Declared: s.declared(),
		Approve: o.Approve, Windows: o.Windows, Policy: o.Policy, ApproveExpiry: o.ApproveExpiry, Past: s.past(), Author: s.author, MaxChanges: o.MaxChanges, Flapping: *cmp.Or(o.Flapping, new(reactor.DefaultFlapping())), Storm: *cmp.Or(o.Storm, new(reactor.DefaultStorm())),
		Heartbeat: o.Heartbeat, HeartbeatEvery: o.HeartbeatEvery,
		Noop: o.Noop, Parallel: o.Parallel, Quiet: o.ConvergedTimeout,
		Listener: s.listener(),
	}
}

// past returns what the policy may ask of the history; nil for nothing.
func (s *session) past() func(resource string) reactor.Past {
	if s.opt.Past == nil {
		return nil
	}
	return func(resource string) reactor.Past { return s.opt.Past(s.life, s.e.history, resource) }
}

// author returns who has asked for the graph that takes effect now.
func (s *session) author() string {
	if a := s.e.asks.Load(); a != nil && a.who != "" {
		return a.who
	}
	return s.graphs.Origin().By
}

// layer returns the layer of a plan; nil for a run.
func (s *session) layer() reactor.Layer {
	if !s.opt.readOnly {
		return nil
	}
	l := simulate.NewLayer(s.life, safepath.Of(s.host))
	s.closers = append(s.closers, l.Close)
	return l
}

// listener takes the reports of the reactor, on its loop, into the stream.
func (s *session) listener() reactor.Listener {
	to := s.e
	return reactor.Listener{
		Swapped:   s.swapped,
		Ran:       func(r reactor.Run) { to.tell(Event{Kind: EventRan, Run: r}) },
		Converged: s.converged,
		Stopping:  func(list []string) { to.tell(Event{Kind: EventStopping, Resources: list}) },
		Paused:    func(p reactor.Pause, on bool) { to.tell(Event{Kind: either(on, EventPaused, EventResumed), Pause: p}) },
		Held: func(id string, h *reactor.Held) {
			to.tell(Event{Kind: either(h != nil, EventHeld, EventReleased), Resource: id, Held: h})
		},
		Behind: s.e.observer.Behind,
	}
}

// installing returns the options of the installer of this run.
func (s *session) installing() install.Options {
	o, to := &s.opt, s.e
	return install.Options{
		Reactor: s.reactor, Host: s.host, Hostname: s.hostname, Sharing: s.sharing, Effect: s.state.Effect, Store: s.state.Store,
		Input: o.Input, Registry: to.registry, Policy: s.reactor.Policy, Log: o.Logger,
		ReadOnly: o.readOnly, NoAutoEdges: o.NoAutoEdges, NoAutoGroup: o.NoAutoGroup, Sema: o.Sema, Leaving: o.Leaving, Life: s.life,
		Warned:  func(list schema.Diagnostics) { to.tell(Event{Kind: EventWarned, Warnings: list}) },
		Loaded:  func(whole func() *resgraph.Graph) { to.tell(Event{Kind: EventLoaded, Graph: whole}) },
		Refused: func(why error) { to.tell(Event{Kind: EventRefused, Err: why}) },
	}
}

// feeding returns the options of the feed of this run.
func (s *session) feeding() feed.Options {
	o := &s.opt
	env := gapi.Env{Registry: s.e.registry, Host: s.host, NoWatch: o.NoWatch, Hostname: s.hostname, Logger: o.Logger, Stdin: o.Stdin}
	if o.World != nil {
		env.World = s.sharing.Store
		env.Proves = !o.readOnly && o.Noop != reactor.NoopAll // else no schedule stands in this process
	}
	return feed.Options{
		Env: env, Reload: o.Reload, Asks: s.e.reloads, To: s.graphs, Refused: s.graphs.Refused, First: o.readOnly, Strict: o.Strict,
		Before: func(ctx context.Context) (*feed.Source, error) {
			if o.BeforeReload == nil {
				return nil, nil
			}
			next, err := o.BeforeReload(ctx)
			return (*feed.Source)(next), err
		},
	}
}

func either(first bool, a, b EventKind) EventKind {
	if first {
		return a
	}
	return b
}

func (s *session) swapped(w reactor.Swap) {
	w = s.e.asked(s.graphs.Swapped(w))
	w.Held = cmp.Or(s.e.offers.Held(w), w.Held)
	s.e.tell(Event{Kind: EventSwapped, Swap: w})
	// A graph that keeps all that the one before had comes to no other rest.
	s.sharing.Publisher.Swapped(w.Name, w.Generation == 1 || w.Added+w.Changed+w.Removed > 0)
}

func (s *session) converged(yes bool, c reactor.Counts) {
	s.e.tell(Event{Kind: either(yes, EventConverged, EventStirred), Counts: c})
	if !yes {
		s.sharing.Publisher.Stirred()
		return
	}
	s.sharing.Publisher.Rested(c)
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

// background starts Options.Background. The returned function ends it.
func (s *session) background(ctx context.Context) (end func()) {
	f := s.opt.Background
	if f == nil {
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
	told := s.observe()
	g, ctx := errgroup.WithContext(ctx)
	// A method or a frontend that ends one of these goroutines ends Run.
	g.Go(func() error {
		defer close(s.ended)
		return apart.Call("the loop of the engine", func() error { return s.reactor.Run(ctx) })
	})
	g.Go(func() error {
		return apart.Call("the frontend", func() error { return s.feed.Run(ctx, f) })
	})
	g.Go(func() error {
		s.feed.Answer(ctx)
		return nil
	})
	g.Go(func() error {
		s.sharing.Publisher.Run(ctx)
		return nil
	})
	g.Go(func() error {
		s.graphs.Recollect(ctx)
		return nil
	})
	if s.opt.ConvergedExit {
		g.Go(func() error { return s.awaitRest(ctx, cancel) })
	}
	var late error // nil, or of awaitTime
	if d := s.opt.MaxRuntime; d > 0 {
		g.Go(func() error {
			late = s.awaitTime(ctx, d, cancel)
			return nil
		})
	}
	err := g.Wait()
	s.finish()
	s.graphs.Close() // no Apply goes on, and none begins
	s.lines.set(false)
	s.e.stream.End()
	told()
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
	if s.opt.readOnly {
		var now reactor.Snapshot
		now, err = s.reactor.Snapshot(ctx)
		s.e.statuses = now.Statuses
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
	if now, e := s.reactor.Snapshot(ctx); e == nil {
		err.Restless = restless(now.Statuses)
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
		grace := time.NewTimer(cmp.Or(s.opt.grace, timeGrace))
		select {
		case <-s.ended:
			grace.Stop()
			return
		case <-grace.C:
		}
		if !s.reactor.Finishing() {
			s.abandon()
			return
		}
	}
}

// restless names the resources that keep a graph from converging: unrest, and more
// than one change.
func restless(list []reactor.Status) []string {
	order := make([]*reactor.Status, len(list)) // pointers: a sort of large structs is 10 KB of program
	for i := range list {
		order[i] = &list[i]
	}
	slices.SortStableFunc(order, func(a, b *reactor.Status) int { return cmp.Compare(b.Changed, a.Changed) })
	var out []string
	for _, st := range order {
		switch {
		case st.Changed > 1: // whatever it does at this moment
			out = append(out, fmt.Sprintf("%s has changed %d times", st.Resource, st.Changed))
		case st.State == resgraph.StateStarting, st.State == resgraph.StateWaiting, st.State == resgraph.StateRunning:
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
