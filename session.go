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
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
	"github.com/reactivegraph/mgmt/gapi/sharing"
	"github.com/reactivegraph/mgmt/graph"
	"golang.org/x/sync/errgroup"
)

// session is one Run: all that has to be closed after it.
type session struct {
	e       *Engine
	opt     options
	host    engine.Host
	reactor *reactor.Reactor
	state   *statedir.Dir
	memory  transform.Memory
	drafts  gapi.Memory
	parts   atomic.Pointer[transform.Parts] // of the graph in effect; stored under using
	refers  *gapi.Referrers                 // of the same, under using; nil before a Delete
	noop    bool                            // the last whole graph only looks; under using
	closers []func() error
	rested  chan Counts     // the graph has converged
	ended   chan struct{}   // closed when the reactor has ended
	life    context.Context // ends after the reactor, by finish: of Apply
	finish  context.CancelFunc

	reloading *reloading
	input     string               // where the graph in effect comes from; under using
	using     chan struct{}        // capacity 1; full while a graph is built and put into effect
	last      atomic.Pointer[Swap] // the newest that took effect; nil for none
	hostname  string               // of this host in the graph and in the store
	sharing   sharing.Sharing      // Whole and Part of its Publisher, and its Exports, under using
	collected collect.Standing     // the collected resources of the graph in effect; under using
	withdrawn *heldGraph           // that exports have gone; nil where nothing holds that; under using
	follows   bool                 // the graph in effect is the last one of the frontend; under using
	aside     map[string]put       // of the same: the resources that were put aside
	elsewhere map[string]bool      // of the last whole one: the resources that run under another id, since they have a target
	kinds     *engine.Registry     // it was built with
	renamed   atomic.Bool          // the last graphs have brought or taken names, and the state folder was not told
}

// errRested and errTime are the causes of contexts that Run itself ends.
var (
	errRested = errors.New("converged")
	errTime   = errors.New("the time is over")
)

// timeGrace is how long after the end of MaxRuntime methods that ignore the end
// of their context are waited for.
const timeGrace = 5 * time.Second

func (e *Engine) open(ctx context.Context, o options) (*session, error) {
	s := &session{e: e, opt: o, rested: make(chan Counts, 1), ended: make(chan struct{}), reloading: newReloading(), using: make(chan struct{}, 1), input: o.Input}
	empty := graph.New[*engine.Vertex]("")
	s.partsOf(transform.Compiled{Base: empty, Grouped: empty})
	s.life, s.finish = context.WithCancel(context.WithoutCancel(ctx))
	s.closers = append(s.closers, func() error { s.finish(); return nil })
	dir, err := statedir.Open(statedir.Options{Folder: o.State, Store: o.Store, ReadOnly: o.readOnly, Keep: o.Noop != NoopAll, Clock: engine.SystemClock{}, Log: o.Logger})
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
	e.reactor, e.host, e.session = s.reactor, s.host, s
	close(e.ready)
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
	}
	return err
}

// openWorld takes the store of the Options, or makes one, with its users.
func (s *session) openWorld() {
	s.hostname = cmp.Or(s.opt.Hostname, s.host.Facts().Hostname)
	o := &s.opt
	s.sharing = sharing.Open(o.World, sharing.Env{
		Clock: engine.ClockOf(s.host), Lease: o.Lease, Host: s.hostname, Version: o.Version, Roles: o.Roles, Facts: s.host.Facts,
		Accept: o.Accept, Log: o.Logger, Quiet: o.readOnly || o.Noop == NoopAll, Offline: o.readOnly, File: s.state.Collected(),
	})
	s.closers = append(s.closers, s.sharing.Exports.Close)
}

// inEffect returns the resources that an earlier Run has had in effect with the same Options.Input, if the first graph is to be
// compared with them. A run that ends by itself has no user who could tell it to go on.
func (s *session) inEffect() []string {
	o := &s.opt
	if o.Input == "" || o.readOnly || o.ConvergedExit || o.Noop == NoopAll {
		return nil
	}
	return s.state.InEffect(o.Input)
}

func (s *session) reactorOptions() reactor.Options {
	o := &s.opt
	return reactor.Options{
		Program: o.Program, Version: o.Version, Hostname: s.hostname,
		Host: s.host, Clock: engine.ClockOf(s.host), World: s.sharing.Store, Lease: o.Lease, Store: s.state.Store, Place: s.sharing.Place,
		StateDir: s.state.Path, ReadOnly: o.readOnly, Once: o.readOnly,
		Logger: o.Logger, Debug: o.Debug,
		MaxRemovals: o.MaxRemovals, InEffect: s.inEffect(),
		MaxChanges: o.MaxChanges, Flapping: *cmp.Or(o.Flapping, new(reactor.DefaultFlapping())), Storm: *cmp.Or(o.Storm, new(reactor.DefaultStorm())),
		Heartbeat: o.Heartbeat, HeartbeatEvery: o.HeartbeatEvery,
		Noop: o.Noop, Parallel: o.Parallel, Quiet: o.ConvergedTimeout,
		Listener: s.listener(),
	}
}

// listener takes the reports of the reactor, on its loop, into the stream.
func (s *session) listener() reactor.Listener {
	to := s.e
	return reactor.Listener{
		Swapped:   s.swapped,
		Ran:       func(r Run) { to.tell(Event{Kind: EventRan, Run: r}) },
		Converged: s.converged,
		Stopping:  func(list []string) { to.tell(Event{Kind: EventStopping, Resources: list}) },
		Paused:    func(p Pause, on bool) { to.tell(Event{Kind: either(on, EventPaused, EventResumed), Pause: p}) },
		Held: func(id string, h *Held) {
			to.tell(Event{Kind: either(h != nil, EventHeld, EventReleased), Resource: id, Held: h})
		},
		Behind: s.e.observer.Behind,
	}
}

func either(first bool, a, b EventKind) EventKind {
	if first {
		return a
	}
	return b
}

func (s *session) swapped(w Swap) {
	if w.Added+w.Removed > 0 {
		s.renamed.Store(true)
	}
	s.last.Store(&w)
	s.e.tell(Event{Kind: EventSwapped, Swap: w})
	s.sharing.Publisher.Swapped(w.Name)
}

func (s *session) converged(yes bool, c Counts) {
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
	if f == nil || s.opt.readOnly {
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
	g.Go(func() error {
		defer close(s.ended)
		return s.reactor.Run(ctx)
	})
	g.Go(func() error {
		defer close(s.reloading.over)
		return s.feed(ctx, f)
	})
	g.Go(func() error {
		s.reloading.run(ctx, s.e.reloads, s.opt.Reload)
		return nil
	})
	g.Go(func() error {
		s.sharing.Publisher.Run(ctx)
		return nil
	})
	g.Go(func() error {
		s.recollect(ctx)
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
	s.using <- struct{}{} // no Apply goes on, and none begins
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
	order := make([]*Status, len(list)) // pointers: a sort of large structs is 10 KB of program
	for i := range list {
		order[i] = &list[i]
	}
	slices.SortStableFunc(order, func(a, b *Status) int { return cmp.Compare(b.Changed, a.Changed) })
	var out []string
	for _, st := range order {
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

// take judges a graph that a frontend has yielded. It waits for graphs that Apply puts into effect. next is the source
// that the graph comes from, if it has changed.
func (s *session) take(ctx context.Context, d *gapi.Declared, wrong error, next *Source) (Verdict, error) {
	select {
	case s.using <- struct{}{}:
	case <-ctx.Done():
		return Verdict{}, context.Cause(ctx)
	}
	defer func() { <-s.using }()
	var warnings schema.Diagnostics
	input := s.input
	if next != nil {
		input = next.Input
	}
	if wrong == nil {
		warnings, wrong = s.use(ctx, d, input)
	}
	s.follows = wrong == nil
	v := s.verdict(warnings, wrong)
	s.e.heldGraph.Store(heldBy(v.Held(), false))
	return v, wrong
}

// useAs builds a declared graph with the kinds of this moment, and puts it into effect. input is where it
// comes from; see Options.Input. The caller holds using.
func (s *session) useAs(ctx context.Context, d *gapi.Declared, input string) (warnings schema.Diagnostics, err error) {
	kinds := s.e.registry()
	draft := s.drafts.NewDraft(kinds, d)
	st, err := s.reactor.Stage(ctx)
	if err != nil {
		return nil, err
	}
	defer st.Drop()
	if g := draft.Graph(); g != nil {
		s.limit(g)
		st.Compare(g)
	}
	g, diags := draft.Check(st.SameAt)
	if g, diags = gapi.CheckMachine(g, diags, machineOf(s.host), st.SameAt); g == nil {
		return nil, diags
	}
	if len(diags) > 0 {
		s.e.tell(Event{Kind: EventWarned, Warnings: diags})
	}
	s.hide(g)
	if err := s.commit(ctx, st, g, d.Noop, transform.Known{Same: st.SameAt, UIDs: draft.UIDs}); err != nil {
		return nil, err
	}
	moved := input != s.input
	s.input, s.kinds = input, kinds
	s.tellGraph(moved)
	return diags, nil
}

// commit puts a checked graph into effect. noop says that it only looks. The caller holds using, and tells of the graph.
func (s *session) commit(ctx context.Context, st *reactor.Stage, g *engine.Graph, noop bool, known transform.Known) error {
	t, err := transform.Compile(ctx, g, transform.Options{
		NoAutoEdges: s.opt.NoAutoEdges, NoAutoGroup: s.opt.NoAutoGroup, Memory: &s.memory, Host: s.host, Known: known,
		Undoing: transform.Undoing{Store: s.state.Store, Registry: s.e.registry(), Noop: noop},
	})
	if err != nil {
		return err
	}
	t.Log(ctx, s.opt.Logger)
	if s.opt.readOnly {
		s.e.planned = t.Grouped
	}
	if err := st.Commit(ctx, t.Grouped); err != nil {
		return err
	}
	s.memory.Keep()
	s.partsOf(t)
	s.refers, s.noop = nil, noop
	s.sharing.Publisher.Whole(t.Base)
	return nil
}

// partsOf opens a whole graph to changes of its parts.
func (s *session) partsOf(t transform.Compiled) {
	m := &s.memory
	if s.opt.NoAutoEdges {
		m = nil
	}
	p := t.Parts(m)
	if before := s.parts.Load(); before != nil && before.Prepared() {
		p.Prepare() // parts, and looks, will come: none of them waits for the index
	}
	s.parts.Store(p)
}

// tellGraph tells of a graph, or a part, that has taken effect. Moved says that it comes from another input than the one before.
func (s *session) tellGraph(moved bool) {
	p := s.parts.Load()
	if (s.renamed.Swap(false) || moved) && s.state.Effect != nil {
		s.state.Effect.Keep(p.IDs, s.input)
	}
	s.e.tell(Event{Kind: EventLoaded, Graph: p.Graph})
}

// limit makes every resource take the semaphore of Options.Sema.
func (s *session) limit(g *engine.Graph) {
	if s.opt.Sema == 0 {
		return
	}
	for _, v := range g.All() {
		if v == nil {
			continue // of a part
		}
		m := v.Res.MetaParams()
		m.Sema = append(slices.Clip(m.Sema), globalSema(s.opt.Sema))
	}
}
