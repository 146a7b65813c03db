package mgmt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/changes"
	"github.com/reactivegraph/mgmt/internal/feed"
	"github.com/reactivegraph/mgmt/internal/install"
	"github.com/reactivegraph/mgmt/internal/stream"
)

// Engine runs graphs until the context of Open ends, or Close is called. All methods may be called from any goroutine, the reader of
// Events and the Observer among them. After the end, those that ask the engine, or alter something, return reactor.ErrStopped.
type Engine struct {
	opt     options
	cancel  context.CancelFunc
	reactor *reactor.Reactor
	history *journal.History
	host    engine.Host
	session *session

	stream   stream.Stream[Event]
	observer *stream.Reader[Event] // of the stream, for Options.Observer

	kinds   atomic.Pointer[engine.Registry] // of the next graph; see SetKinds
	reloads chan chan install.Verdict       // see Reload
	asks    atomic.Pointer[asking]          // see AskedBy
	ended   chan struct{}                   // closed at the end of the graphs
	offers  changes.Offers                  // of each Changes, what waits for Resume

	done   chan struct{} // closed at the end
	err    error         // of that
	report Report

	statuses []reactor.Status // of Plan, by vertex of the graph in effect, at the end
}

// Report is how things stood when Run ended, by the states at rest; see Rest.
type Report struct {
	Counts    reactor.Counts
	Converged bool     // the graph had converged
	Early     bool     // it had never converged
	Cut       []string // resources whose change was cut off by the end; they count as failed
}

// ExitCode returns the code of a process that reports this; see Rest.Code.
func (r Report) ExitCode() int { return r.rest().Code() }

func (r Report) rest() reactor.Rest {
	return reactor.Rest{Counts: r.Counts, Converged: r.Converged, Early: r.Early}
}

// MaxRuntimeError is the error of Run when it took longer than it might.
type MaxRuntimeError struct {
	After    time.Duration
	Restless []string // what kept changing or has not come to an end, the worst first
}

func (e *MaxRuntimeError) Error() string {
	if len(e.Restless) == 0 {
		return fmt.Sprintf("ended after %s as asked", e.After)
	}
	return fmt.Sprintf("not converged after %s: %s", e.After, joinSome(e.Restless, 5))
}

// Wait waits for the end, and returns what Run returns. Callable more than once, from any goroutine but that of the Observer.
func (e *Engine) Wait() error {
	<-e.done
	return e.err
}

// Close ends the Engine, and returns as Wait does.
func (e *Engine) Close() error {
	e.cancel()
	return e.Wait()
}

// whole runs the graphs of a frontend, and closes everything.
func (s *session) whole(ctx context.Context, f gapi.Frontend) (err error) {
	defer func() {
		s.e.err = err
		s.e.cancel()
		close(s.e.done)
	}()
	defer s.close(&err)
	defer s.background(ctx)()
	defer close(s.e.ended)
	defer s.heedAbandon()()
	return s.run(ctx, f)
}

// heedAbandon abandons the run when Options.Abandon is closed. The returned function ends that.
func (s *session) heedAbandon() (end func()) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-s.opt.Abandon:
			s.abandon()
		case <-over:
		}
	})
	return func() {
		close(over)
		wg.Wait()
	}
}

// abandon has the run not wait for methods that ignore the end of their context.
func (s *session) abandon() {
	s.reactor.Abandon()
	if h, ok := s.host.(interface{ KillAll() }); ok {
		h.KillAll()
	}
}

// Report returns how the graph stood at the end. It is valid after that.
func (e *Engine) Report() Report { return e.report }

// Status returns the state of one vertex. For a member of an automatic group it
// is that of the group: Status.Resource is the resource that runs it, and Status.Member the
// member. The error is a *reactor.UnknownResourceError if the graph has no such resource.
func (e *Engine) Status(ctx context.Context, resource string) (reactor.Status, error) {
	return owned(ctx, e, resource, func(r *reactor.Reactor, id string) (reactor.Status, error) {
		st, err := r.Status(ctx, id)
		if id != resource {
			st.Member = resource
		}
		return st, err
	})
}

// Params returns the parameters that a resource declares, without secrets. For a member of an automatic group they are those of the resource
// that runs it.
func (e *Engine) Params(ctx context.Context, resource string) ([]reactor.Param, error) {
	return owned(ctx, e, resource, func(r *reactor.Reactor, id string) ([]reactor.Param, error) { return r.Params(ctx, id) })
}

// owned asks about a resource by its name, and if no vertex has that name, about the
// resource that runs it. The name goes first: a paused resource may have left the graph.
func owned[T any](ctx context.Context, e *Engine, resource string, ask func(*reactor.Reactor, string) (T, error)) (T, error) {
	answer, err := ask(e.reactor, resource)
	if _, unknown := errors.AsType[*reactor.UnknownResourceError](err); !unknown {
		return answer, err
	}
	if id := e.owner(resource); id != resource {
		return ask(e.reactor, id)
	}
	return answer, err
}

// owner returns the resource that runs another one; the name itself where the graph in effect does not have it.
func (e *Engine) owner(resource string) string { return e.session.graphs.Parts().Owner(resource) }

// Snapshot returns how the graph stands: its counts, the state of every vertex, and all that is paused, awaited and going on, of one
// moment. Its cost grows with the graph, 2 ms and 1.4 MB for 10,000 resources; Status asks for one.
func (e *Engine) Snapshot(ctx context.Context) (reactor.Snapshot, error) {
	return e.reactor.Snapshot(ctx)
}

// Pause leaves resources, or with an empty name everything, alone for a while; all of them at one moment, or with an error none;
// see reactor.Reactor.Pause. A member of an automatic group pauses the whole group: Running.Group says which.
func (e *Engine) Pause(ctx context.Context, pauses ...reactor.Pause) error {
	err := e.reactor.Pause(ctx, pauses...)
	if _, unknown := errors.AsType[*reactor.UnknownResourceError](err); !unknown {
		return err
	}
	owned := slices.Clone(pauses)
	for i := range owned {
		owned[i].Resource = e.owner(owned[i].Resource)
	}
	if slices.Equal(owned, pauses) {
		return err
	}
	return e.reactor.Pause(ctx, owned...)
}

// Resume ends pauses, and lets held changes through; see reactor.Reactor.Resume. It returns for whom, and an error for a named resource that
// is neither paused nor held. With All everything is
// resumed, a graph that Options.MaxRemovals holds is read again, and may make its removals; the caller of Apply applies it again, and a Run of Changes makes its held removals itself.
func (e *Engine) Resume(ctx context.Context, which reactor.Which) (resumed []string, err error) {
	if which.All {
		return nil, e.resumeAll(ctx)
	}
	for _, name := range which.Named {
		id, err := owned(ctx, e, name, func(r *reactor.Reactor, id string) (string, error) { return id, r.Resume(ctx, id) })
		if err != nil {
			return resumed, err
		}
		resumed = append(resumed, id)
	}
	more, err := e.reactor.ResumeHeld(ctx, which.Among)
	return append(resumed, more...), err
}

func (e *Engine) resumeAll(ctx context.Context) error {
	if err := e.reactor.Resume(ctx, ""); err != nil {
		return err
	}
	e.offers.Accept()
	if !e.session.graphs.Accept(ctx) {
		return nil
	}
	v, err := e.Reload(ctx)
	return cmp.Or(err, v.Refused)
}

// Decide approves changes that wait for that, or rejects them; see reactor.Reactor.Decide. Which ones wait stands in a Snapshot.
func (e *Engine) Decide(ctx context.Context, d reactor.Decision) error {
	return e.reactor.Decide(ctx, d)
}

// Retry tries failed resources again at once, and returns which; see reactor.Reactor.Retry. With an error,
// such as for a named one that has not failed, it tries none. For a member of an automatic group that is the resource that runs it.
func (e *Engine) Retry(ctx context.Context, which reactor.Which) ([]string, error) {
	if which.All {
		return e.reactor.Retry(ctx)
	}
	return e.reactor.RetryFailed(ctx, which.Among, e.owners(which.Named)...)
}

// owners returns the resources that run others, each once.
func (e *Engine) owners(resources []string) []string {
	ids := make([]string, len(resources))
	for i, name := range resources {
		ids[i] = e.owner(name)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// SetLimits makes other bounds count than those of the Options; see
// reactor.Reactor.SetLimits.
func (e *Engine) SetLimits(ctx context.Context, l reactor.Limits) error {
	return e.reactor.SetLimits(ctx, l)
}

// Dump says in text, for every vertex that is not settled, its activity or the
// thing that it waits for.
func (e *Engine) Dump(ctx context.Context) (string, error) {
	return e.reactor.Dump(ctx)
}

// Works reports whether something goes on that ends without a timer,; see reactor.Reactor.Works. With the
// clock of a simulated machine, it tells whether the time may move.
func (e *Engine) Works(ctx context.Context, sleepers []context.Context) (bool, error) {
	return e.reactor.Works(ctx, sleepers)
}

// HostStats says what the engine holds of the machine at the moment, without
// waiting for its loop.
func (e *Engine) HostStats() host.Stats {
	if h, ok := e.host.(interface{ Stats() host.Stats }); ok {
		return h.Stats()
	}
	return host.Stats{}
}

// Folders returns the folders that are watched, and what tells of changes in each. It waits for the
// goroutine of the watches, which a file system that does not answer can hold up; ctx bounds that.
func (e *Engine) Folders(ctx context.Context) ([]host.Folder, error) {
	type watcher interface {
		Folders(context.Context) ([]host.Folder, error)
	}
	if h, ok := e.host.(watcher); ok {
		return h.Folders(ctx)
	}
	return nil, nil
}

// SetKinds has each graph from the next one on made of other kinds, as Options.Registry and
// Options.Backends give them; nil for none. Resources of the graph that runs stay as they are until the
// next graph, which replaces those whose kind is another one by then. With an error the kinds stay.
func (e *Engine) SetKinds(kinds *engine.Registry, backends *virtual.Catalog) error {
	bound, err := e.opt.bound(kinds, backends)
	if err != nil {
		return err
	}
	e.kinds.Store(bound)
	return nil
}

// StateLoss returns what the state folder has lost while it is in use; nil where it has lost nothing. It does not block.
func (e *Engine) StateLoss() *statedir.Loss {
	return e.session.state.Loss()
}

// History returns the events of this run and, with Options.State, of
// earlier runs. It may be used until the end. Its users decide its content: the engine itself
// writes nothing there.
func (e *Engine) History() *journal.History {
	return e.history
}

// Store returns the records that must survive a crash, for parts beside the graph: each uses tables with a name of its own. It may be used until
// the end.
func (e *Engine) Store() records.Store { return e.session.state.Store }

// registry returns the kinds of the next graph.
func (e *Engine) registry() *engine.Registry { return e.kinds.Load() }

// Verdict is what became of one graph.
type Verdict struct {
	Generation int                // of the graph that is in effect now; 0 for none
	Swap       reactor.Swap       // the changes, where this graph took effect; else zero
	Warnings   schema.Diagnostics // the findings about a graph that took effect
	Refused    error              // why this graph is not in effect; nil where it is
}

// Held returns why the graph waits for Resume, and nil where it does not: it removes more than
// Options.MaxRemovals allows.
func (v Verdict) Held() *reactor.RemovalsError {
	held, _ := errors.AsType[*reactor.RemovalsError](v.Refused)
	return held
}

// MarshalJSON writes the fields, with Refused as its text; it is left out where it is nil.
func (v Verdict) MarshalJSON() ([]byte, error) {
	type fields Verdict // without this method
	return json.Marshal(struct {
		fields
		Refused string `json:",omitempty"`
	}{fields(v), textOf(v.Refused)})
}

// Apply puts a graph in the place of the running one, and returns its verdict once it is in
// effect or refused. It does not wait until the graph has converged. The graph is the engine's from
// then on. Only the differences are touched. See static.Graph and gapi.Ready for how to make one.
//
// The error is Verdict.Refused where that is not nil: schema.Diagnostics with all that is wrong,
// a *reactor.RemovalsError where the graph is held (call Resume with an empty name, and Apply it again),
// or the error of a resource's Init. Otherwise the error is that of ctx, or reactor.ErrStopped
// after its end. With any error the graph before goes on.
//
// Callable from any goroutine, and from the reader of Events; calls wait for each other. It takes the place of a frontend (Run with nil), or adds to one: the graph that came last is in effect.
func (e *Engine) Apply(ctx context.Context, d *gapi.Declared) (Verdict, error) {
	v, err := e.session.graphs.Apply(ctx, d)
	return Verdict(v), err
}

// Patch is one change of the graph that runs. One with neither of both is refused.
type Patch struct {
	Upsert *gapi.Declared // resources to change, or to add; nil for none
	Delete []string       // the ids (kind[name]) of resources that go; Upsert declares none of them
}

// Patch changes a part of the graph that runs, at the cost of the part alone: what it upserts comes, and what it deletes goes, both or
// neither, and in one change, which one Swap tells of. So nothing runs with the half of it: a resource that comes may take over what
// one that goes has managed, such as a path. It returns when the part is in effect, which is before it has converged.
//
// With an error nothing has changed. It is schema.Diagnostics where the part is bad, a *graph.CycleError, reactor.InitErrors where
// resources can't be initialised, a *reactor.UnknownResourceError for an id that the graph does not have, a *reactor.ReferredError where a
// resource that stays has declared an edge to one that goes, refers to it by a parameter or receives from it, or a *reactor.RemovalsError
// where Options.MaxRemovals holds it (call Resume with an empty name, and Patch again).
//
// A part is declared like a graph, and collects nothing. It may refer to resources that run and are not in it. Edges that a resource of the part had
// declared before give way to its new ones; edges that others have declared stay. A resource that goes and has the metaparameter reverse is
// undone, as by a whole graph without it, and at the cost of that.
//
// Law: the graph that runs is the one that would run if the whole graph, with the part, had been handed over. Automatic edges,
// groups, clashes and secrets are those of the whole. The cost of a part is that of its own resources, and of those that ask for them. These parts cost what
// the whole graph costs: the first one after a whole graph; a part that alters a resource which runs in a group, or might, or lets it notify or come
// later; one after which an automatic edge would close a cycle; and a part that asks for all files below a folder, or makes such a file.
//
// The next whole graph of the frontend replaces all, what came by Patch included. The events tell of a part as of a graph, of a refused one too.
// Callable from any goroutine; it waits for a graph that is being put into effect, and the part is the engine's from then on.
func (e *Engine) Patch(ctx context.Context, p Patch) error {
	return e.session.graphs.Patch(ctx, p.Upsert, p.Delete...)
}

// Running is the graph that runs, as Engine.Look shows it.
type Running interface {
	gapi.Running
	// After yields the ids of the vertices that a declared edge leads to, each with the id of the vertex that has declared the edge.
	After(id string) iter.Seq2[string, string]
	// Group returns the resource that runs the given one, and the other members of its automatic group, in their order. A resource that
	// is in no group runs itself, and there are no others. ok is false where the graph has no such resource.
	Group(id string) (owner string, members []string, ok bool)
}

// ErrNoGraph says that no graph is in effect yet.
var ErrNoGraph = errors.New("no graph is in effect yet")

// Look calls f with the graph in effect. It costs what f asks for, and waits for nothing: a graph that is being
// built is seen when it is in effect, and the next part may take effect while f looks. f keeps nothing that it was shown. The
// error is that of f, or ErrNoGraph before the first graph. Callable from any goroutine.
func (e *Engine) Look(_ context.Context, f func(Running) error) error {
	if !e.session.graphs.Begun() {
		return ErrNoGraph
	}
	return f(e.session.graphs.Parts())
}

// Changes gathers changes of single resources by their ids, as a work queue does by its keys, and puts them into effect in batches. While
// one batch is under way the next one gathers: a resource that changes many times meanwhile changes once, and the last change wins.
//
// Put and Delete never wait, and may be called from any goroutine, also before Run is called. The changes of a batch come and go in one change of
// the graph, as those of Engine.Patch do. Where that is refused, those that the error names are left out, and the others are tried
// again; where it names none, all are left out. What must come together, or not at all, is for Engine.Patch.
//
// Removals that Options.MaxRemovals holds stay gathered, while other changes go on. Later removals join them. Engine.Resume with an empty
// name lets those go that are held by then, and a Put takes its own back.
type Changes struct{ queue *changes.Queue }

// Changes returns a writer without changes. Call its Run.
func (e *Engine) Changes() *Changes {
	return &Changes{e.offers.Queue(changes.Options{Graphs: e.session.graphs, Registry: e.registry, Done: e.done, Log: e.opt.Logger})}
}

// Put has a resource be as declared, in place of what was gathered for it. The declaration is the writer's from then on; static.Declare
// makes one. It may refer to resources that run, and to those that are put before its batch begins.
func (c *Changes) Put(d gapi.Declaration) { c.queue.Put(d) }

// Delete has a resource leave the graph, by its id (kind[name]). One that is not there has left.
func (c *Changes) Delete(id string) { c.queue.Delete(id) }

// Run puts into effect what is gathered, batch after batch, until ctx or the Engine ends. It calls refused for each change that is left
// out, with an error as of Engine.Patch, and once for a removal that begins to wait for Resume, with a *reactor.RemovalsError. Where
// refused is nil, Options.Logger gets these as warnings. The error of Run is the cause of the end of ctx, or
// reactor.ErrStopped. The changes that are not in effect by then stay gathered, for the next Run. A second Run waits for the end of the first.
func (c *Changes) Run(ctx context.Context, refused func(id string, err error)) error {
	return c.queue.Run(ctx, refused)
}

// Reload has the frontend read its input again and yield it, changed or not, and
// returns the outcome of that graph, never of a graph that was read before the
// call. It waits for a graph that is just being put into effect. It needs
// Options.Reload. Callable from any goroutine.
func (e *Engine) Reload(ctx context.Context) (Verdict, error) {
	if e.opt.Reload == nil {
		return Verdict{Refused: feed.ErrNoMore}, nil
	}
	answer := make(chan install.Verdict, 1)
	select {
	case e.reloads <- answer:
	case <-e.ended:
		return Verdict{}, reactor.ErrStopped
	case <-ctx.Done():
		return Verdict{}, context.Cause(ctx)
	}
	select {
	case v := <-answer:
		return Verdict(v), nil
	case <-e.ended:
		return Verdict{}, reactor.ErrStopped
	case <-ctx.Done():
		return Verdict{}, context.Cause(ctx)
	}
}

// Check builds the first graph of a frontend with the kinds of this engine, and returns
// everything that is wrong with it, warnings too. It puts nothing into effect, and may be
// called at any time.
func (e *Engine) Check(ctx context.Context, f gapi.Frontend) schema.Diagnostics {
	kinds := e.registry()
	env := gapi.Env{Registry: func() *engine.Registry { return kinds }, NoWatch: true, Hostname: e.opt.Hostname, Logger: e.opt.Logger}
	for d, err := range f.Graphs(ctx, env) {
		if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
			return ds
		}
		if err == nil {
			g, ds := gapi.Build(kinds, d)
			g, ds = gapi.CheckMachine(g, ds, func() engine.Machine {
				if e.opt.Host != nil {
					return host.MachineAt(e.opt.Host)
				}
				return host.MachineOf((&host.FactReader{Roles: e.opt.Roles, Hostname: e.opt.Hostname}).Facts())
			}, nil)
			_, ds = install.Judge(e.reactor.Policy(), g, ds, nil)
			return ds
		}
		return schema.Diagnostics{{Severity: schema.Error, Message: err.Error()}}
	}
	return schema.Diagnostics{{Severity: schema.Error, Message: "there is no graph"}}
}

// AskedBy says who asks for graphs until done is called: Swap.Origin.By has it of each graph that takes effect meanwhile. left returns
// what these graphs have no more: a frontend may have read its input before it was asked to. Callable from any goroutine; of several
// askers the last one counts.
func (e *Engine) AskedBy(who string) (left func() []reactor.Leaving, done func()) {
	a := &asking{who: who}
	e.asks.Store(a)
	return a.list, func() { e.asks.CompareAndSwap(a, nil) }
}

// asking is one who asks for graphs.
type asking struct {
	who string

	mu   sync.Mutex
	left []reactor.Leaving
}

func (a *asking) list() []reactor.Leaving {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.left
}

// asked notes a swap, and who asks for graphs now.
func (e *Engine) asked(w reactor.Swap) reactor.Swap {
	if a := e.asks.Load(); a != nil {
		w.Origin.By = cmp.Or(a.who, w.Origin.By)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.left = append(a.left, w.Leaving...)
	}
	return w
}
