// Package install puts graphs into effect: whole graphs and parts, those of a frontend and those that a program hands over. It
// builds them with the kinds of the moment, has them compiled and takes them through a stage of the reactor.
//
// # Laws
//
//   - One graph or part is put into effect at a time, in the order in which the callers came.
//   - A refused graph or part alters nothing: the graph before it goes on.
//   - After a part, the graph in effect is the one that the whole graph, with the part, would have led to.
//   - An optional resource that is at fault is put aside with its dependents, and tried again with each part.
//   - The resources that other hosts export follow their exports, at the cost of the changes.
//
// # Ownership
//
// An Installer belongs to one Run, which calls Recollect on a goroutine of its own and Close at its end. All methods are callable
// from any goroutine. Those that put something into effect wait for each other.
package install

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
	"github.com/reactivegraph/mgmt/gapi/sharing"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// Options are the surroundings of an Installer. All fields are needed but Effect, Input and the switches.
type Options struct {
	Reactor  *reactor.Reactor
	Host     engine.Host
	Hostname string // of this host in the graph and in the store
	Sharing  sharing.Sharing
	Effect   statedir.Effect         // keeps the names in effect; nil for none
	Store    records.Store           // has the changes that are to be undone
	Input    string                  // where the first graph comes from
	Registry func() *engine.Registry // the kinds of the next graph
	Policy   func() reactor.Policy   // that judges the next graph; nil for none
	Log      *slog.Logger

	ReadOnly    bool // of a plan
	NoAutoEdges bool
	NoAutoGroup bool
	Leaving     engine.Leaving // of resources that do not say it
	Sema        int            // at most so many CheckApply at once, of all resources together; 0 for no limit

	// These functions are told, in order, while the graph or part is being put into effect. They must not block.
	Warned  func(schema.Diagnostics)     // the findings about a graph that takes effect
	Loaded  func(func() *resgraph.Graph) // a graph or a part is in effect; the function returns the whole graph
	Refused func(error)                  // Apply has refused a graph, or Patch a part

	Life context.Context // the life of the Run; after its end nothing is put into effect
}

// Installer puts graphs and parts into effect.
type Installer struct {
	Options
	memory transform.Memory
	drafts gapi.Memory
	parts  atomic.Pointer[transform.Parts] // of the graph in effect; stored under using
	last   atomic.Pointer[reactor.Swap]    // the newest that took effect; nil for none
	held   atomic.Pointer[heldGraph]       // the newest graph, if it is held; else nil
	using  chan struct{}                   // capacity 1; full while a graph is built and put into effect

	origin  atomic.Pointer[provenance.Origin] // of the graph in effect, or of the one that is being put into effect
	renamed atomic.Bool                       // the last graphs have brought or taken names, or altered how they leave, and Effect was not told

	// These fields stand under using.
	input     string           // where the graph in effect comes from
	refers    *gapi.Referrers  // of the graph in effect; nil before a Delete
	noop      bool             // the last whole graph only looks
	collected collect.Standing // the collected resources of the graph in effect
	withdrawn *heldGraph       // that exports have gone; nil where nothing holds that
	follows   bool             // the graph in effect is the last one of the frontend
	aside     map[string]put   // of the same: the resources that were put aside
	elsewhere map[string]bool  // of the last whole one: the resources that run under another id, since they have a target
	kinds     *engine.Registry // it was built with
	judgedBy  reactor.Policy   // the last whole one
}

// New returns an Installer with an empty graph.
func New(o Options) *Installer {
	in := &Installer{Options: o, using: make(chan struct{}, 1), input: o.Input}
	empty := graph.New[*resgraph.Vertex]("")
	in.origin.Store(&provenance.Origin{})
	in.partsOf(transform.Compiled{Base: empty, Grouped: empty})
	return in
}

// Verdict is the outcome of one graph.
type Verdict struct {
	Generation int                // of the graph that is in effect now; 0 for none
	Swap       reactor.Swap       // the changes, where this graph took effect; else zero
	Warnings   schema.Diagnostics // the findings about a graph that took effect
	Refused    error              // why this graph is not in effect; nil where it is
}

// Held returns why the graph waits for Resume, and nil where it does not.
func (v Verdict) Held() *reactor.RemovalsError {
	held, _ := errors.AsType[*reactor.RemovalsError](v.Refused)
	return held
}

// Apply puts a graph in the place of the running one, and returns its verdict. The error is that of the graph, of ctx, or
// reactor.ErrStopped after the end of the Run.
func (in *Installer) Apply(ctx context.Context, d *gapi.Declared) (Verdict, error) {
	if err := in.enter(ctx); err != nil {
		return Verdict{}, err
	}
	defer in.leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(in.Life, func() { cancel(reactor.ErrStopped) })()
	in.follows = false
	warnings, err := in.use(ctx, d, in.input)
	switch {
	case errors.Is(err, reactor.ErrStopped):
		return Verdict{}, reactor.ErrStopped
	case err != nil && ctx.Err() != nil:
		return Verdict{}, context.Cause(ctx)
	}
	v := in.verdict(warnings, err)
	in.held.Store(heldBy(v.Held(), true))
	if err != nil {
		in.Refused(err)
	}
	return v, err
}

// Take judges a graph that a frontend has yielded, and wrong is its error. It waits for graphs that Apply puts into effect. The
// graph comes from another input than the one before where from is not nil.
func (in *Installer) Take(ctx context.Context, d *gapi.Declared, wrong error, from *string) (Verdict, error) {
	select {
	case in.using <- struct{}{}:
	case <-ctx.Done():
		return Verdict{}, context.Cause(ctx)
	}
	defer func() { <-in.using }()
	var warnings schema.Diagnostics
	input := in.input
	if from != nil {
		input = *from
	}
	if wrong == nil {
		warnings, wrong = in.use(ctx, d, input)
	}
	in.follows = wrong == nil
	v := in.verdict(warnings, wrong)
	in.held.Store(heldBy(v.Held(), false))
	return v, wrong
}

// Patch changes resources of the graph that runs, or adds them, and removes others by their ids, at the cost of both. The part is nil for none.
func (in *Installer) Patch(ctx context.Context, part *gapi.Declared, remove ...string) error {
	return in.change(ctx, in.judged, func(st *reactor.Stage) error { return in.patch(ctx, st, part, remove) })
}

// Write is Patch for a writer that keeps the removals which are held, and makes them again with those that are accepted by then. held is
// told before Refused is. What else waits for Resume goes on waiting.
func (in *Installer) Write(ctx context.Context, accepted []string, held func(*reactor.RemovalsError), part *gapi.Declared, remove ...string) error {
	judged := func(err error) {
		if why, ok := errors.AsType[*reactor.RemovalsError](err); ok {
			held(why)
		}
		if err != nil {
			in.Refused(err)
		}
	}
	return in.change(ctx, judged, func(st *reactor.Stage) error {
		st.Accept(accepted)
		return in.patch(ctx, st, part, remove)
	})
}

// patch is Patch within a stage.
func (in *Installer) patch(ctx context.Context, st *reactor.Stage, part *gapi.Declared, remove []string) error {
	if part == nil && remove != nil {
		return in.remove(ctx, st, remove)
	}
	return in.upsert(ctx, st, part, remove...)
}

// change does something with the graph that runs, while no other graph is put into effect. The frontend does not know of it.
func (in *Installer) change(ctx context.Context, judged func(error), do func(*reactor.Stage) error) error {
	if err := in.enter(ctx); err != nil { // a stage ends before its graph is noted
		return err
	}
	defer in.leave()
	err := apart.Call("a method", func() error {
		return in.staged(ctx, func(st *reactor.Stage) error {
			in.follows = false
			return do(st)
		})
	})
	if errors.Is(err, reactor.ErrStopped) || err != nil && ctx.Err() != nil {
		return err // it was not judged
	}
	judged(err)
	return err
}

// judged notes the outcome of a part. A part that MaxRemovals holds can't be read again by a frontend: its caller hands it over again
// after Accept. Until then the next part may take effect, and ends the wait. A whole graph ends it, too. The caller holds using.
func (in *Installer) judged(err error) {
	why, held := errors.AsType[*reactor.RemovalsError](err)
	switch before := in.held.Load(); {
	case held:
		in.held.Store(&heldGraph{why: why, applied: true, part: true})
	case err == nil && before != nil && before.part:
		in.held.CompareAndSwap(before, nil)
	}
	if err != nil {
		in.Refused(err)
	}
}

// enter waits until no other graph or part is being put into effect. The caller takes a token from using at its end.
func (in *Installer) enter(ctx context.Context) error {
	select {
	case in.using <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-in.Life.Done():
		return reactor.ErrStopped
	}
}

// leave ends what enter has begun.
func (in *Installer) leave() { <-in.using }

// verdict completes the findings that use has returned for a graph.
func (in *Installer) verdict(warnings schema.Diagnostics, err error) Verdict {
	last := cmp.Or(in.last.Load(), &reactor.Swap{})
	v := Verdict{Generation: last.Generation, Refused: err}
	if err == nil {
		v.Swap, v.Warnings = *last, warnings
	}
	return v
}

// heldGraph is a graph that waits for Resume.
type heldGraph struct {
	why     *reactor.RemovalsError
	applied bool // by Apply: no frontend can read it again
	part    bool // it is the graph that Patch asks for
}

// heldBy returns nil where nothing holds a graph.
func heldBy(why *reactor.RemovalsError, applied bool) *heldGraph {
	if why == nil {
		return nil
	}
	return &heldGraph{why: why, applied: applied}
}

// Swapped notes a swap, and returns it with the origin of the graph. It is called on the loop of the reactor, before Stage.Commit returns.
func (in *Installer) Swapped(w reactor.Swap) reactor.Swap {
	w.Origin = *in.origin.Load()
	if rest := w.Origin; rest.By != "" {
		rest.By = "" // nobody has asked for the changes that other hosts make to it
		in.origin.Store(&rest)
	}
	if w.Added+w.Removed > 0 || w.Policy {
		in.renamed.Store(true)
	}
	in.last.Store(&w)
	return w
}

// comesFrom notes the origin of the graph that is about to be put into effect. Who has made a deploy has asked for it once.
func (in *Installer) comesFrom(d *gapi.Declared) {
	if d == nil {
		return
	}
	o, was := d.Origin, *in.origin.Load()
	if was.By = o.By; was == o {
		o.By = ""
	}
	in.origin.Store(&o)
}

// Origin returns where the graph in effect, or the one that is being put into effect, comes from.
func (in *Installer) Origin() provenance.Origin { return *in.origin.Load() }

// Parts returns the graph in effect; an empty one before the first.
func (in *Installer) Parts() *transform.Parts { return in.parts.Load() }

// Begun reports whether a graph has taken effect.
func (in *Installer) Begun() bool { return in.last.Load() != nil }

// Accept lets the graph that waits for Resume make its removals. It reports whether the frontend has to read that graph again.
func (in *Installer) Accept(ctx context.Context) (again bool) {
	held := in.held.Load()
	if held == nil {
		return false
	}
	in.Reactor.AcceptRemovals(ctx, held.why.Removed)
	in.Sharing.Exports.Signal()
	return !held.applied
}

// Close waits for the graph that is being put into effect. No other one is, after that. Life has ended before the call.
func (in *Installer) Close() { in.using <- struct{}{} }
