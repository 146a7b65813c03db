// Package mgmt is the front door for programs that embed the engine. It puts the
// reactor, the machine's host, a journal and a frontend together. A program calls these functions, in this order:
//
//  1. New checks the Options and returns an Engine. The zero value of Options is good. The kinds are
//     those of engine.DefaultRegistry: import package resources for the ones that come with mgmt.
//  2. Engine.Events, for a program that wants to hear of everything from the beginning. Options.Observer has
//     a function for each kind of event instead.
//  3. Engine.Run, with a frontend: package gapi/yaml follows files, gapi/static has graphs made in Go.
//     It brings the machine to the latest graph and keeps it there, until its context ends. Or Engine.Start, which
//     returns at once, and Engine.Wait for its end. Engine.Plan instead of them says what Run would
//     do, and alters nothing. An Engine runs once.
//  4. While that goes on, Engine.Apply puts a graph into effect and returns its verdict. Declare the graph with
//     static.NewGraph. Engine.Upsert and Engine.Delete change a part of the graph, at the cost of the part.
//     Engine.Reload has the frontend read its input again.
//  5. At any time: Engine.Status, Statuses and Stand say how things stand, Dump names the causes of waiting.
//     Engine.Pause, Resume and Retry act on resources, SetLimits on the safety limits.
//  6. After the end, Engine.Report has the counts, and the exit code of a program.
//
// Options.Host takes a fake machine, so a test runs the whole engine and touches nothing. All methods of an
// Engine may be called from any goroutine, the reader of Events and the Observer among them.
package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
)

// The reports of the engine, and its limits.
type (
	Noop     = reactor.Noop
	Run      = reactor.Run
	Swap     = reactor.Swap
	Counts   = reactor.Counts
	Status   = reactor.Status
	Budget   = reactor.Budget
	Flapping = reactor.Flapping
	Storm    = reactor.Storm
	Pause    = reactor.Pause
	Held     = reactor.Held
	Rest     = reactor.Rest
	Limits   = reactor.Limits
)

// The policies of noop; see the reactor's.
const (
	NoopOff     = reactor.NoopOff
	NoopDefault = reactor.NoopDefault
	NoopAll     = reactor.NoopAll
)

// Options configure an Engine. The zero value is usable.
type Options struct {
	Program, Version string
	Hostname         string   // of this machine; asked of the system when empty
	Roles            []string // the purposes of the machine, as its user says: the fact roles

	Registry *engine.Registry // the kinds, read anew for each graph; engine.DefaultRegistry when nil
	Backends *virtual.Catalog // the backends of the virtual kinds; virtual.DefaultCatalog when nil

	// World is the store that resources and hosts share; one in memory when nil. It is the caller's, who
	// closes it after Run.
	World engine.World
	// Lease is how long the store keeps what this host has published after the host has died; DefaultLease when 0.
	Lease time.Duration

	// Host is the machine; that of this process when nil. It is the caller's: Run does not close it. Tests
	// give a fake one, such as enginetest.NewHost. Abandon calls its method KillAll(), if it has one.
	Host engine.Host

	Store engine.Store // a journal in StateDir when nil, in memory if there is none

	// StateDir is where resources keep state, and the journal is; Run makes it, for its
	// user alone, where it is not there. A temporary folder that is removed at the end of
	// Run when empty.
	StateDir string

	Logger *slog.Logger // discards when nil
	Debug  bool
	Stdin  io.Reader // a frontend reads it as "-"

	Noop     Noop
	Parallel int  // CheckApply at once; 8 for each core when 0
	Sema     int  // at most so many CheckApply at once, of all resources together; 0 for no limit
	NoWatch  bool // do not follow the frontend's input

	NoAutoEdges bool // leave out the edges that resources ask for by themselves
	NoAutoGroup bool // run every resource as a vertex of its own

	MaxRemovals reactor.Removals // how much a graph may remove before it is held and waits for Resume; zero means without bound

	// Input names where the graphs come from, such as the path of a file. A Run with the StateDir
	// and the Input of an earlier one holds its first graph too, by MaxRemovals, if that lacks
	// resources of the earlier one. Nothing runs until Resume or a better graph. When empty, and with
	// ConvergedExit or NoopAll, the first graph is taken as it is.
	Input string

	MaxChanges Budget    // how much may be altered before the engine holds and waits for Resume; zero means without bound
	Storm      *Storm    // when a resource runs too often and is slowed; reactor.DefaultStorm when nil
	Flapping   *Flapping // when a resource counts as flapping and is left alone for a while; reactor.DefaultFlapping when nil

	// Heartbeat, when not nil, is called every HeartbeatEvery (a second when 0) by the loop
	// that schedules, as long as it is alive. It must return soon.
	Heartbeat      func()
	HeartbeatEvery time.Duration

	// Reload has the frontend read its input again and yield it, changed or not,
	// whenever something is received from it: Observer.Loaded or Refused then tells
	// how that went. A token in a channel of capacity one is enough, as several
	// questions are one. It is never closed; nil for none.
	Reload <-chan struct{}

	// BeforeReload, when not nil, is called before the frontend reads its input again
	// because Reload, or the method of that name, asked. Its error refuses the reload: the
	// input is not read, and the last good graph goes on. A Source that it returns is read in
	// place of the input; nil for the same input. It may call SetKinds, and may block.
	BeforeReload func(context.Context) (*Source, error)

	// Strict makes Run return the error when the first graph cannot be used,
	// instead of waiting for a better one.
	Strict bool

	// ConvergedTimeout is how long nothing must have happened for the graph to
	// be called converged.
	ConvergedTimeout time.Duration
	// ConvergedExit ends Run when the graph has converged.
	ConvergedExit bool
	// MaxRuntime ends Run with a *MaxRuntimeError; 0 for never. A method that
	// ignores the end of its context is abandoned 5 s later: then the error is an
	// *engine.AbandonedError too.
	MaxRuntime time.Duration

	Observer Observer

	// Background, when not nil, runs on a goroutine of its own beside the graph: it may
	// use the Engine and its History. Its context ends when everything in the graph
	// has come to its end; then Run waits for its return, and only then gives up the
	// state.
	Background func(context.Context, *Engine)

	readOnly bool                // for Plan
	secret   map[string][]string // for Set: by id, parameters that must not be shown
}

// Engine runs graphs. Make it with New, and call Run, Plan or Set once.
type Engine struct {
	opt  Options
	once sync.Once

	ready   chan struct{} // closed when the next ones are set
	reactor *reactor.Reactor
	history *journal.History
	host    engine.Host
	session *session

	stream   stream
	observer *reader // of the stream, for Options.Observer; set with ready

	kinds   atomic.Pointer[engine.Registry] // of the next graph; see SetKinds
	reloads chan chan Verdict               // see Reload
	ended   chan struct{}                   // closed at the end of Run

	heldGraph atomic.Pointer[heldGraph] // the newest graph, if it is held; else nil

	done chan struct{} // closed at the end of what Start began
	err  error         // of that

	grace  time.Duration // see timeGrace
	report Report

	planned  *engine.Graph // of Plan
	statuses []Status      // of Plan, by vertex of planned, at the end
}

// Report is how things stood when Run ended, by the states at rest; see Rest.
type Report struct {
	Counts    Counts
	Converged bool     // the graph had converged
	Early     bool     // it had never converged
	Cut       []string // resources whose change was cut off by the end; they count as failed
}

// ExitCode returns the code of a process that reports this; see Rest.Code.
func (r Report) ExitCode() int { return r.rest().Code() }

func (r Report) rest() Rest {
	return Rest{Counts: r.Counts, Converged: r.Converged, Early: r.Early}
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

// DefaultLease is how long a host may be out of reach before the others take it for dead.
const DefaultLease = 15 * time.Second

// New checks the options. It starts nothing.
func New(o Options) (*Engine, error) {
	switch {
	case o.Parallel < 0, o.Sema < 0:
		return nil, errors.New("mgmt: Parallel and Sema must not be negative")
	case o.ConvergedTimeout < 0, o.MaxRuntime < 0, o.HeartbeatEvery < 0, o.Lease < 0:
		return nil, errors.New("mgmt: times must not be negative")
	}
	if err := errors.Join(o.MaxChanges.Validate(), cmp.Or(o.Flapping, new(Flapping{})).Validate(), cmp.Or(o.Storm, new(Storm{})).Validate()); err != nil {
		return nil, fmt.Errorf("mgmt: %w", err)
	}
	if o.StateDir != "" {
		var err error
		if o.StateDir, err = filepath.Abs(o.StateDir); err != nil {
			return nil, fmt.Errorf("mgmt: the state folder: %w", err)
		}
	}
	if o.Registry == nil {
		o.Registry = engine.DefaultRegistry()
	}
	var err error
	if o.Registry, err = o.bound(o.Registry, o.Backends); err != nil {
		return nil, fmt.Errorf("mgmt: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.World == nil {
		o.World = memory.New()
	}
	o.Lease = cmp.Or(o.Lease, DefaultLease)
	if o.Program == "" {
		o.Program = "mgmt"
	}
	e := &Engine{opt: o, ready: make(chan struct{}), reloads: make(chan chan Verdict), ended: make(chan struct{}), done: make(chan struct{}), grace: timeGrace}
	e.kinds.Store(o.Registry)
	return e, nil
}

// bound returns kinds whose virtual ones choose among the backends, and by the roles.
func (o *Options) bound(kinds *engine.Registry, backends *virtual.Catalog) (*engine.Registry, error) {
	if backends == nil && len(o.Roles) == 0 && o.Host == nil {
		return kinds, nil
	}
	from := cmp.Or(backends, virtual.DefaultCatalog())
	facts := (&host.FactReader{Roles: o.Roles}).Facts
	if o.Host != nil {
		facts = o.Host.Facts
	}
	return virtual.Rebind(kinds, from, virtual.LocalSystem(facts))
}

// SetKinds has each graph from the next one on made of other kinds, as Options.Registry and
// Options.Backends give them; nil for none. Resources of the graph that runs stay as they are until the
// next graph, which replaces those whose kind is another one by then. With an error the kinds stay.
// Callable from any goroutine, also before Run.
func (e *Engine) SetKinds(kinds *engine.Registry, backends *virtual.Catalog) error {
	bound, err := e.opt.bound(cmp.Or(kinds, engine.DefaultRegistry()), backends)
	if err != nil {
		return fmt.Errorf("mgmt: %w", err)
	}
	e.kinds.Store(bound)
	return nil
}

// registry returns the kinds of the next graph.
func (e *Engine) registry() *engine.Registry { return e.kinds.Load() }

// machineOf returns the machine of a host. A host that does not tell its programs has those of this machine.
func machineOf(h engine.Host) engine.Machine {
	if m, ok := h.(engine.MachineHost); ok {
		return m.Machine()
	}
	return host.MachineOf(h.Facts())
}

// ErrUsed is the error of a second Run, Plan or Set.
var ErrUsed = errors.New("mgmt: an Engine runs once")

// Run runs the graphs of the frontend until ctx ends, the graph has converged
// (with ConvergedExit), or MaxRuntime is over, and leaves nothing behind. It
// returns nil, a *MaxRuntimeError, an *engine.AbandonedError after Abandon, or
// the error of the frontend if there was no graph at all. How the graph stood is
// in Report. With a nil frontend, graphs come by Apply only.
func (e *Engine) Run(ctx context.Context, f gapi.Frontend) error {
	s, err := e.begin(ctx)
	if err != nil {
		return err
	}
	return s.whole(ctx, f)
}

// begin opens all that a Run needs.
func (e *Engine) begin(ctx context.Context) (*session, error) {
	if !e.first() {
		return nil, ErrUsed
	}
	s, err := e.open(ctx)
	if err != nil {
		e.stream.end()
		close(e.ready)
	}
	return s, err
}

// whole is Run after begin.
func (s *session) whole(ctx context.Context, f gapi.Frontend) (err error) {
	defer s.close(&err)
	defer s.background(ctx)()
	defer close(s.e.ended)
	return s.run(ctx, f)
}

func (e *Engine) first() (yes bool) {
	e.once.Do(func() { yes = true })
	return yes
}

// Report returns how the graph stood at the end. It is valid after Run.
func (e *Engine) Report() Report { return e.report }

// Abandon makes Run return without waiting for methods that ignore the end of
// the context; the commands that still run are killed. Callable from any
// goroutine while Run is going on.
func (e *Engine) Abandon() {
	<-e.ready
	if e.reactor != nil {
		e.reactor.Abandon()
		if h, ok := e.host.(interface{ KillAll() }); ok {
			h.KillAll()
		}
	}
}

// running waits until Run has begun, and returns the reactor.
func (e *Engine) running(ctx context.Context) (*reactor.Reactor, error) {
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
func (e *Engine) Status(ctx context.Context, resource string) (Status, error) {
	return owned(ctx, e, resource, func(r *reactor.Reactor, id string) (Status, error) {
		st, err := r.Status(ctx, id)
		if id != resource {
			st.Member = resource
		}
		return st, err
	})
}

// Statuses returns the state of every vertex while Run is going on.
func (e *Engine) Statuses(ctx context.Context) ([]Status, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, err
	}
	return r.Statuses(ctx)
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
func (e *Engine) AbsentPauses(ctx context.Context) ([]Pause, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, err
	}
	return r.AbsentPauses(ctx)
}

// Pause leaves a resource, or with an empty name everything, alone for a while;
// see reactor.Reactor.Pause. A member of an automatic group pauses the whole group: Group says which. Callable
// while Run is going on.
func (e *Engine) Pause(ctx context.Context, p Pause) error {
	_, err := owned(ctx, e, p.Resource, func(r *reactor.Reactor, id string) (struct{}, error) {
		p.Resource = id
		return struct{}{}, r.Pause(ctx, p)
	})
	return err
}

// Resume ends pauses, and lets held changes through; see reactor.Reactor.Resume. With an
// empty name a graph that Options.MaxRemovals holds is read again and may make its
// removals; the caller of Apply applies it again. Callable while Run is going on.
func (e *Engine) Resume(ctx context.Context, resource string) error {
	r, err := e.running(ctx)
	if err != nil {
		return err
	}
	_, err = owned(ctx, e, resource, func(r *reactor.Reactor, id string) (struct{}, error) {
		return struct{}{}, r.Resume(ctx, id)
	})
	if err != nil || resource != "" {
		return err
	}
	held := e.heldGraph.Load()
	if held == nil {
		return nil
	}
	r.AcceptRemovals(ctx, held.why.Removed)
	if held.applied {
		return nil
	}
	v, err := e.Reload(ctx)
	return cmp.Or(err, v.Refused)
}

// Retry tries failed resources again at once, without names all failed ones,
// and returns which; see reactor.Reactor.Retry. For a member of an automatic group that is the resource
// that runs it. Callable while Run is going on.
func (e *Engine) Retry(ctx context.Context, resources ...string) ([]string, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(resources))
	for i, name := range resources {
		ids[i] = e.owner(name)
	}
	slices.Sort(ids)
	return r.Retry(ctx, slices.Compact(ids)...)
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
func (e *Engine) Rest(ctx context.Context) (Rest, error) {
	r, err := e.running(ctx)
	if err != nil {
		return Rest{}, err
	}
	return r.Rest(ctx)
}

// Stand returns the state of every vertex and how the graph stands, both of one moment,
// while Run is going on.
func (e *Engine) Stand(ctx context.Context) ([]Status, Rest, error) {
	r, err := e.running(ctx)
	if err != nil {
		return nil, Rest{}, err
	}
	return r.Stand(ctx)
}

// Counts returns the number of vertices by state at rest while Run is going on.
func (e *Engine) Counts(ctx context.Context) (Counts, error) {
	r, err := e.running(ctx)
	if err != nil {
		return Counts{}, err
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

func tempState() (dir string, remove func() error, err error) {
	dir, err = os.MkdirTemp("", "mgmt-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// globalSema is the semaphore that Options.Sema makes every resource take.
func globalSema(n int) string { return "all resources:" + strconv.Itoa(n) }
