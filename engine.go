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
	offers  sync.Map                        // by *Changes: the *offer that waits for Resume

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

// Resume ends pauses, and lets held changes through; see reactor.Reactor.Resume. With an
// empty name a graph that Options.MaxRemovals holds is read again and may make its
// removals; the caller of Apply applies it again, and a Run of Changes makes its held removals itself.
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
// reactor.Reactor.ResumeHeld.
func (e *Engine) ResumeHeld(ctx context.Context, resources []string) ([]string, error) {
	return e.reactor.ResumeHeld(ctx, resources)
}

// RetryFailed is Retry for those of some resources that can be tried again, and for named ones; see
// reactor.Reactor.RetryFailed.
func (e *Engine) RetryFailed(ctx context.Context, among []string, named ...string) ([]string, error) {
	return e.reactor.RetryFailed(ctx, among, e.owners(named)...)
}

// Retry tries failed resources again at once, without names all failed ones,
// and returns which; see reactor.Reactor.Retry. For a member of an automatic group that is the resource
// that runs it.
func (e *Engine) Retry(ctx context.Context, resources ...string) ([]string, error) {
	return e.reactor.Retry(ctx, e.owners(resources)...)
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
	if h, ok := e.host.(interface {
		Folders(context.Context) ([]host.Folder, error)
	}); ok {
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

// registry returns the kinds of the next graph.
func (e *Engine) registry() *engine.Registry { return e.kinds.Load() }
