package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/install"
	"github.com/reactivegraph/mgmt/internal/stream"
)

// Engine runs the graphs of one Config. Config.Start returns a running one, and Config.Engine one to call Run, Start, Plan
// or Set on, once. All methods may be called from any goroutine, the reader of Events and the Observer among them. Those that ask the
// engine, or alter something, return ErrNotRunning before that call, and reactor.ErrStopped after its end.
type Engine struct {
	config *Config

	begun     atomic.Bool // Run, Start, Plan or Set was called
	abandoned atomic.Bool // see Abandon

	ready   chan struct{} // closed when the next ones are set
	reactor *reactor.Reactor
	history *journal.History
	host    engine.Host
	session *session

	stream   stream.Stream[Event]
	observer *stream.Reader[Event] // of the stream, for Options.Observer; set with ready

	kinds   atomic.Pointer[engine.Registry] // of the next graph; see SetKinds
	reloads chan chan install.Verdict       // see Reload
	asks    atomic.Pointer[asking]          // see AskedBy
	ended   chan struct{}                   // closed at the end of Run
	offers  sync.Map                        // by *Changes: the *offer that waits for Resume

	done chan struct{} // closed at the end of Run, and of a Run that could not begin
	err  error         // of that

	grace  time.Duration // see timeGrace
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

// ErrUsed is the error of a second Run, Plan or Set.
var ErrUsed = errors.New("mgmt: an Engine runs once")

// ErrNotRunning is the error of every method that needs a running Engine, before Run, Start, Plan or Set was called. After the end
// it is reactor.ErrStopped. Start, or Ready, tells when the methods answer.
var ErrNotRunning = errors.New("mgmt: the Engine does not run yet: call Run or Start first")

// Run runs the graphs of the frontend until ctx ends, the graph has converged
// (with ConvergedExit), or MaxRuntime is over, and leaves nothing behind. It
// returns nil, a *MaxRuntimeError, an *engine.AbandonedError after Abandon, or
// the error of the frontend if there was no graph at all. How the graph stood is
// in Report. With a nil frontend, graphs come by Apply only.
func (e *Engine) Run(ctx context.Context, f gapi.Frontend) error {
	return e.runWith(ctx, f, options{Options: e.config.opt})
}

// Start is Run on a goroutine of its own. It returns when the graphs begin to be read, and Apply
// and all other methods answer. The error is that of the store, the host or the reactor; then
// nothing runs. The frontend may be nil, as of Run. Call Wait after it.
func (e *Engine) Start(ctx context.Context, f gapi.Frontend) error {
	s, err := e.begin(ctx, options{Options: e.config.opt})
	if err != nil {
		return err
	}
	go func() { _ = s.whole(ctx, f) }() // Wait returns its error
	return nil
}

// Wait waits for the end of Run or Start, and returns what Run returns; where Start has failed, its error. Callable
// more than once, from any goroutine but that of the Observer, and before Start.
func (e *Engine) Wait() error {
	<-e.done
	return e.err
}

// runWith is Run with the options of this run.
func (e *Engine) runWith(ctx context.Context, f gapi.Frontend, o options) error {
	s, err := e.begin(ctx, o)
	if err != nil {
		return err
	}
	return s.whole(ctx, f)
}

// begin opens all that a Run needs.
func (e *Engine) begin(ctx context.Context, o options) (*session, error) {
	if e.begun.Swap(true) {
		return nil, ErrUsed
	}
	s, err := e.openUnlessAbandoned(ctx, o)
	if err != nil {
		e.stream.End()
		close(e.ready)
		e.over(err)
		return nil, err
	}
	if e.abandoned.Load() { // while it was opened
		e.Abandon()
	}
	return s, nil
}

func (e *Engine) openUnlessAbandoned(ctx context.Context, o options) (*session, error) {
	if e.abandoned.Load() {
		return nil, &engine.AbandonedError{}
	}
	return e.open(ctx, o)
}

// over lets Wait return. It is called once.
func (e *Engine) over(err error) {
	e.err = err
	close(e.done)
}

// whole is Run after begin.
func (s *session) whole(ctx context.Context, f gapi.Frontend) (err error) {
	defer func() { s.e.over(err) }()
	defer s.close(&err)
	defer s.background(ctx)()
	defer close(s.e.ended)
	return s.run(ctx, f)
}

// Report returns how the graph stood at the end. It is valid after Run.
func (e *Engine) Report() Report { return e.report }

// Abandon makes Run, at the end of its context, return without waiting for methods that ignore that end; the commands that still run
// are killed. The error of Run is an *engine.AbandonedError where something was left behind. A Run that begins after the call returns
// one at once, and alters nothing. Abandon does not wait, and may be called from any goroutine, at any time, and more than once.
func (e *Engine) Abandon() {
	e.abandoned.Store(true)
	select {
	case <-e.ready:
	default:
		return // begin looks at the flag
	}
	if e.reactor != nil {
		e.reactor.Abandon()
		if h, ok := e.host.(interface{ KillAll() }); ok {
			h.KillAll()
		}
	}
}

// Ready returns a channel that is closed when Run, Start, Plan or Set has begun, or has failed to: from then on no method returns
// ErrNotRunning. It is for what a program starts before Run.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// running returns the reactor, as soon as a Run that was called has opened it.
func (e *Engine) running(ctx context.Context) (*reactor.Reactor, error) {
	if !e.begun.Load() {
		return nil, ErrNotRunning
	}
	select {
	case <-e.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if e.reactor == nil {
		return nil, reactor.ErrStopped
	}
	return e.reactor, nil
}

// Status returns the state of one vertex while Run is going on. For a member of an automatic group it
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

// owned asks about a resource by its name, and if no vertex has that name, about the
// resource that runs it. The name goes first: a paused resource may have left the graph.
func owned[T any](ctx context.Context, e *Engine, resource string, ask func(*reactor.Reactor, string) (T, error)) (T, error) {
	r, err := e.running(ctx)
	if err != nil {
		var none T
		return none, err
	}
	answer, err := ask(r, resource)
	if _, unknown := errors.AsType[*reactor.UnknownResourceError](err); !unknown {
		return answer, err
	}
	if id := e.owner(resource); id != resource {
		return ask(r, id)
	}
	return answer, err
}

// Group returns the resource of the graph in effect that runs the given one, and the other members of its
// automatic group in their order. A resource that is in no group runs itself, and
// there are no others. The error is a *reactor.UnknownResourceError if the graph has no such resource. Callable
// while Run is going on.
func (e *Engine) Group(ctx context.Context, resource string) (owner string, members []string, err error) {
	if _, err := e.running(ctx); err != nil {
		return "", nil, err
	}
	owner, members, ok := e.session.graphs.Parts().Group(resource)
	if !ok {
		return "", nil, &reactor.UnknownResourceError{Resource: resource}
	}
	return owner, members, nil
}

// owner returns the resource that runs another one; the name itself where the graph in effect does not have it.
func (e *Engine) owner(resource string) string { return e.session.graphs.Parts().Owner(resource) }

// Statuses returns the state of every vertex while Run is going on.
func (e *Engine) Statuses(ctx context.Context) ([]reactor.Status, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, err
	}
	return r.Statuses(ctx)
}

// Ongoing returns the runs that have been going on for a while, at least for that long, the oldest first, while Run is going on.
func (e *Engine) Ongoing(ctx context.Context, least time.Duration) ([]reactor.Ongoing, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, err
	}
	return r.Ongoing(ctx, least)
}

// Realizing returns the resources that a new graph waits for, which have to be brought
// about before they leave, while Run is on.
func (e *Engine) Realizing(ctx context.Context) ([]string, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, err
	}
	return r.Realizing(ctx)
}

// AbsentPauses returns the pauses of resources that are not in the graph, while Run is
// going on.
func (e *Engine) AbsentPauses(ctx context.Context) ([]reactor.Pause, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, err
	}
	return r.AbsentPauses(ctx)
}

// Pause leaves resources, or with an empty name everything, alone for a while; all of them at one moment, or with an error none;
// see reactor.Reactor.Pause. A member of an automatic group pauses the whole group: Group says which. Callable
// while Run is going on.
func (e *Engine) Pause(ctx context.Context, pauses ...reactor.Pause) error {
	r, err := e.running(ctx)
	if err != nil {
		return err
	}
	err = r.Pause(ctx, pauses...)
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
	return r.Pause(ctx, owned...)
}

// Resume ends pauses, and lets held changes through; see reactor.Reactor.Resume. With an
// empty name a graph that Options.MaxRemovals holds is read again and may make its
// removals; the caller of Apply applies it again, and a Run of Changes makes its held removals itself. Callable while Run is going on.
func (e *Engine) Resume(ctx context.Context, resource string) error {
	_, err := owned(ctx, e, resource, func(r *reactor.Reactor, id string) (struct{}, error) {
		return struct{}{}, r.Resume(ctx, id)
	})
	if err != nil || resource != "" {
		return err
	}
	e.offers.Range(func(c, of any) bool { c.(*Changes).accept(of.(*offer)); return true })
	if !e.session.graphs.Accept(ctx) {
		return nil
	}
	v, err := e.Reload(ctx)
	return cmp.Or(err, v.Refused)
}

// ResumeHeld is Resume for those of some resources that are paused or held, and returns which; see
// reactor.Reactor.ResumeHeld. Callable while Run is going on.
func (e *Engine) ResumeHeld(ctx context.Context, resources []string) ([]string, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, err
	}
	return r.ResumeHeld(ctx, resources)
}

// RetryFailed is Retry for those of some resources that can be tried again, and for named ones; see
// reactor.Reactor.RetryFailed. Callable while Run is going on.
func (e *Engine) RetryFailed(ctx context.Context, among []string, named ...string) ([]string, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, err
	}
	return r.RetryFailed(ctx, among, e.owners(named)...)
}

// Retry tries failed resources again at once, without names all failed ones,
// and returns which; see reactor.Reactor.Retry. For a member of an automatic group that is the resource
// that runs it. Callable while Run is going on.
func (e *Engine) Retry(ctx context.Context, resources ...string) ([]string, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, err
	}
	return r.Retry(ctx, e.owners(resources)...)
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
// reactor.Reactor.SetLimits. Callable while Run is going on.
func (e *Engine) SetLimits(ctx context.Context, l reactor.Limits) error {
	r, err := e.running(ctx)
	if err != nil {
		return err
	}
	return r.SetLimits(ctx, l)
}

// Dump says in text, for every vertex that is not settled, its activity or the
// thing that it waits for. Callable while Run is going on.
func (e *Engine) Dump(ctx context.Context) (string, error) {
	r, err := e.running(ctx)
	if err != nil {
		return "", err
	}
	return r.Dump(ctx)
}

// Rest returns how the graph stands by the states at rest, while Run is going on.
func (e *Engine) Rest(ctx context.Context) (reactor.Rest, error) {
	r, err := e.running(ctx)
	if err != nil {
		return reactor.Rest{}, err
	}
	return r.Rest(ctx)
}

// Stand returns the state of every vertex and how the graph stands, both of one moment,
// while Run is going on.
func (e *Engine) Stand(ctx context.Context) ([]reactor.Status, reactor.Rest, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, reactor.Rest{}, err
	}
	return r.Stand(ctx)
}

// Works reports whether something goes on that ends without a timer, while Run is going on; see reactor.Reactor.Works. With the
// clock of a simulated machine, it tells whether the time may move.
func (e *Engine) Works(ctx context.Context, sleepers []context.Context) (bool, error) {
	r, err := e.running(ctx)
	if err != nil {
		return false, err
	}
	return r.Works(ctx, sleepers)
}

// Counts returns the number of vertices by state at rest while Run is going on.
func (e *Engine) Counts(ctx context.Context) (reactor.Counts, error) {
	r, err := e.running(ctx)
	if err != nil {
		return reactor.Counts{}, err
	}
	return r.Counts(ctx)
}

// HostStats says what the engine holds of the machine at the moment, without
// waiting for its loop; zero before Run.
func (e *Engine) HostStats() host.Stats {
	select {
	case <-e.ready:
		if h, ok := e.host.(interface{ Stats() host.Stats }); ok {
			return h.Stats()
		}
	default:
	}
	return host.Stats{}
}

// Folders returns the folders that are watched, and what tells of changes in each; none before Run. It waits for the
// goroutine of the watches, which a file system that does not answer can hold up; ctx bounds that.
func (e *Engine) Folders(ctx context.Context) ([]host.Folder, error) {
	select {
	case <-e.ready:
		if h, ok := e.host.(interface {
			Folders(context.Context) ([]host.Folder, error)
		}); ok {
			return h.Folders(ctx)
		}
	default:
	}
	return nil, nil
}

// SetKinds has each graph from the next one on made of other kinds, as Options.Registry and
// Options.Backends give them; nil for none. Resources of the graph that runs stay as they are until the
// next graph, which replaces those whose kind is another one by then. With an error the kinds stay.
// Callable from any goroutine, also before Run.
func (e *Engine) SetKinds(kinds *engine.Registry, backends *virtual.Catalog) error {
	bound, err := e.config.opt.bound(cmp.Or(kinds, engine.DefaultRegistry()), backends)
	if err != nil {
		return fmt.Errorf("mgmt: %w", err)
	}
	e.kinds.Store(bound)
	return nil
}

// StateLoss returns what the state folder has lost while it is in use; nil where it has lost nothing, and before Ready. It does not block.
func (e *Engine) StateLoss() *statedir.Loss {
	select {
	case <-e.ready:
		return e.session.state.Loss()
	default:
		return nil
	}
}

// History returns the events of this run and, with Options.State, of
// earlier runs; nil before Run, and if that has failed at its start. It waits while Run opens it, and may be
// used until that returns. Its users decide its content: the engine itself
// writes nothing there.
func (e *Engine) History() *journal.History {
	if !e.begun.Load() {
		return nil
	}
	<-e.ready
	return e.history
}

// registry returns the kinds of the next graph.
func (e *Engine) registry() *engine.Registry { return e.kinds.Load() }
