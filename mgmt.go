// Package mgmt is the front door for programs that embed the engine. It puts the
// reactor, the machine's host, a journal and a frontend together. A program calls these functions:
//
//  1. Run, with Options and a frontend: package gapi/yaml follows files, gapi/static has graphs made in Go.
//     It brings the machine to the latest graph and keeps it there, until its context ends. Its Report has the counts, and
//     the exit code of a program. The zero value of Options is good. The kinds are those of engine.DefaultRegistry. Import the
//     packages of the kinds that the graphs name, such as resources/file, or resources/all for all that come with mgmt.
//  2. Plan, with the same arguments, says what Run would do, and alters nothing.
//  3. Open instead of Run, which returns an Engine that runs. Engine.Close ends it. Engine.Wait waits for its end, and Engine.Report
//     has the counts then.
//  4. While that goes on, Engine.Apply puts a graph into effect and returns its verdict. Declare the graph with
//     static.NewGraph. Engine.Patch changes a part of the graph, at the cost of the part.
//     Engine.Changes gathers such changes by resource, as a work queue does, for programs that follow something.
//     Engine.Reload has the frontend read its input again.
//  5. Engine.Events is an iterator over everything that happens from then on. Options.Observer has a function for each kind of event
//     instead, and misses nothing.
//  6. At any time: Engine.Snapshot says how the graph stands, Engine.Status of one resource, and Dump names the causes of waiting.
//     Engine.Pause, Resume and Retry act on resources, SetLimits on the safety limits.
//
// Options.Host takes another machine, so a test runs the whole engine without this one. On simulate.NewHost, commands are a function and
// changes are told by the test. Its files are those of this machine: simulate.NewFolder puts a folder in the place of their root.
//
// # More than the front door
//
//   - A kind of your own is a struct that implements engine.Res. Package traits has its abilities as structs to embed,
//     engine.RegisterResource adds it, and enginetest.Run tests it.
//   - Another source of graphs implements gapi.Frontend, which is one method.
//   - Package daemon makes a whole daemon of a configuration, as mgmt run is one: with its state, its socket, its store, metrics and systemd.
//   - Package engine/control serves the API that the verbs of mgmt ask, and engine/metrics the figures for Prometheus.
//   - Package service makes the program a service of systemd.
//
// The page docs/embedding.md has a whole program, and docs/writing-a-resource.md a whole kind.
package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/sharing"
	"github.com/reactivegraph/mgmt/internal/install"
)

// Run runs the graphs of a frontend until ctx ends, the graph has converged (with ConvergedExit), or MaxRuntime is over, and leaves
// nothing behind. The error is nil, a *MaxRuntimeError, an *reactor.AbandonedError (see Options.Abandon), or that of the frontend if
// there was no graph at all. The Report says how the graph stood at the end, and is valid with an error too.
func Run(ctx context.Context, o Options, f gapi.Frontend) (Report, error) {
	e, err := Open(ctx, o, f)
	if err != nil {
		return Report{}, err
	}
	err = e.Wait()
	return e.Report(), err
}

// Open returns an Engine that runs the graphs of a frontend, as Run does, takes others, and answers questions. The frontend may be
// nil: then graphs come by Engine.Apply. The error is that of the options, the state folder or the host; then nothing runs. Call
// Engine.Close at the end, or end ctx and call Engine.Wait.
func Open(ctx context.Context, o Options, f gapi.Frontend) (*Engine, error) {
	return start(ctx, options{Options: o}, f)
}

// start checks and copies the options, and runs the graphs of a frontend on a goroutine.
func start(ctx context.Context, o options, f gapi.Frontend) (*Engine, error) {
	var err error
	if o.Options, err = o.Options.ready(); err != nil {
		return nil, err
	}
	kinds, err := o.Kinds()
	if err != nil {
		return nil, err
	}
	if o.abandoned() {
		return nil, &reactor.AbandonedError{}
	}
	e := &Engine{opt: o, reloads: make(chan chan install.Verdict), ended: make(chan struct{}), done: make(chan struct{})}
	e.kinds.Store(kinds)
	ctx, e.cancel = context.WithCancel(ctx)
	s, err := e.open(ctx)
	if err != nil {
		e.cancel()
		return nil, err
	}
	go func() { _ = s.whole(ctx, f) }() // Wait returns its error
	return e, nil
}

// Validate says what is wrong with the options: each negative number, limit that makes no sense, and backends that do not fit the
// kinds. Run, Open and Plan do so too. It starts nothing, reads nothing and makes nothing.
func (o Options) Validate() error {
	ready, err := o.ready()
	if err == nil {
		_, err = ready.Kinds()
	}
	return err
}

// Kinds returns the kinds of the first graph: those of Registry, where the virtual ones choose among the Backends for this machine.
func (o Options) Kinds() (*engine.Registry, error) { return o.bound(o.Registry, o.Backends) }

// ready returns a copy with the defaults in place of empty options, or what is wrong with them.
func (o Options) ready() (Options, error) {
	if err := o.check(); err != nil {
		return o, fmt.Errorf("mgmt: %w", err)
	}
	c := o.clone()
	if err := c.complete(); err != nil {
		return o, fmt.Errorf("mgmt: %w", err)
	}
	return c, nil
}

// abandoned reports whether Abandon is closed.
func (o *Options) abandoned() bool {
	select {
	case <-o.Abandon:
		return true
	default:
		return false
	}
}

// check says what is wrong with options.
func (o *Options) check() error {
	switch {
	case o.Parallel < 0, o.Sema < 0:
		return errors.New("the options Parallel and Sema must not be negative")
	case o.ConvergedTimeout < 0, o.MaxRuntime < 0, o.ApproveExpiry < 0, o.HeartbeatEvery < 0, o.Lease < 0:
		return errors.New("times must not be negative")
	}
	if _, err := lend.Parse(o.Accept); err != nil {
		return fmt.Errorf("the option Accept: %w", err)
	}
	return errors.Join(o.MaxChanges.Validate(), cmp.Or(o.Flapping, new(reactor.Flapping{})).Validate(), cmp.Or(o.Storm, new(reactor.Storm{})).Validate())
}

// clone returns a copy that shares no memory with o that a caller may write to.
func (o *Options) clone() Options {
	c := *o
	c.Roles = slices.Clone(o.Roles)
	c.Accept = slices.Clone(o.Accept)
	c.Windows, c.Approve.Kinds = slices.Clone(o.Windows), slices.Clone(o.Approve.Kinds)
	c.Storm, c.Flapping = copied(o.Storm), copied(o.Flapping)
	return c
}

// copied returns a pointer to a copy; nil for nil.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// complete puts the defaults in place of empty options.
func (o *Options) complete() (err error) {
	if o.State != nil {
		if o.State, err = o.State.Abs(); err != nil {
			return fmt.Errorf("the state folder: %w", err)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Program = cmp.Or(o.Program, "mgmt")
	o.Lease = cmp.Or(o.Lease, DefaultLease)
	return nil
}

// bound returns kinds whose virtual ones choose among the backends, and by the roles.
func (o *Options) bound(kinds *engine.Registry, backends *virtual.Catalog) (*engine.Registry, error) {
	kinds = cmp.Or(kinds, engine.DefaultRegistry())
	if backends == nil && len(o.Roles) == 0 && o.Host == nil {
		return kinds, nil
	}
	from := cmp.Or(backends, virtual.DefaultCatalog())
	facts := (&host.FactReader{Roles: o.Roles, Hostname: o.Hostname}).Facts
	if o.Host != nil {
		facts = o.Host.Facts
	}
	bound, err := virtual.Rebind(kinds, from, virtual.LocalSystem(facts))
	if err != nil {
		return nil, fmt.Errorf("mgmt: %w", err)
	}
	return bound, nil
}

// StateFolder is a folder for state, with the code that keeps its journal. A program that names none does not link that code.
type StateFolder = statedir.Folder

// StateIn returns the state folder of a path, for Options.State. The folder need not be there yet. It is nil for an empty path.
func StateIn(path string) StateFolder { return statedir.In(path) }

// World is a store that hosts share, with the code that exports and collects. A program that names none does not link that code.
type World = sharing.World

// Share returns the World of a store, for Options.World. The store stays the caller's, who closes it after Run. With nil, each Engine
// has a store in memory of its own, and shares with itself.
func Share(store world.World) World { return sharing.With(store) }

// DefaultLease is how long a host may be out of reach before the others take it for dead.
const DefaultLease = 15 * time.Second

// Options say how graphs are run. The zero value is usable. Run, Open and Plan copy them: only the objects that they name (Registry,
// Backends, World, Host, State, Store, Images, Policy, Logger, Stdin, channels and functions) stay the caller's. Any number of engines may be made of the same Options. Two that
// run at the same time need two state folders, since a state folder has one user, and only one of them can read Stdin, Reload and
// the rest that has one reader.
type Options struct {
	Program, Version string
	Hostname         string   // of this machine, in the store, for resources and as a fact, unless Host is given; asked of the system when empty
	Roles            []string // the purposes of the machine, as its user says: the fact roles

	Registry *engine.Registry // the kinds, read anew for each graph; engine.DefaultRegistry when nil
	Backends *virtual.Catalog // the backends of the virtual kinds; virtual.DefaultCatalog when nil

	// World is the store that resources and hosts share; see Share. When nil, nothing is exported, a wish to collect gets a warning, and
	// a resource that needs a store, such as kv, fails and says so.
	World World
	// Lease is the time for which the store keeps the keys of this host after the host has died; DefaultLease when 0.
	Lease time.Duration

	// Accept says which resources may come from other hosts by collect, in the notation of lend.Parse: KIND, KIND=PATTERN, KIND.FIELD.
	// When nil, lend.Default.
	Accept []string

	// Host is the machine; that of this process when nil. It is the caller's: Run does not close it. Tests
	// give a simulated one. That of simulate.NewHost (enginetest.NewHost) has the files of this machine, and that of
	// simulate.NewFolder those of a folder. Where Abandon is closed, its method KillAll() is called, if it has one.
	Host engine.Host

	Store records.Store // the journal of State when nil, in memory if there is none

	// State is the folder in which resources keep state, and the journal is; see StateIn. Run makes it, for its
	// user alone, where it is not there. When nil, a temporary folder, which is removed at the end of Run.
	State StateFolder

	// Images keeps the state of the machine before each change; nil for nothing. See package engine/journal/images.
	Images reactor.Images

	Logger *slog.Logger // discards when nil; where Observer.Ran is set, lines of resources come on the Observer's goroutine, in order with it
	Debug  bool
	Stdin  io.Reader // a frontend reads it as "-"

	Noop     reactor.Noop
	Parallel int  // CheckApply at once; when 0, 8 for each core, and at least 128 of kinds whose runs take a few microseconds
	Sema     int  // at most so many CheckApply at once, of all resources together; 0 for no limit
	NoWatch  bool // do not follow the frontend's input

	NoAutoEdges bool // leave out the edges that resources ask for by themselves
	NoAutoGroup bool // run every resource as a vertex of its own

	MaxRemovals reactor.Removals // how much a graph may remove before it is held and waits for Resume; zero means without bound

	Leaving engine.Leaving // of the resources whose metaparameters do not say it

	// Input names where the graphs come from, such as the path of a file. A Run with the State
	// and the Input of an earlier one holds its first graph too, by MaxRemovals, if that lacks
	// resources of the earlier one. Nothing runs until Resume or a better graph. When empty, and with
	// ConvergedExit or NoopAll, the first graph is taken as it is.
	Input string

	Approve reactor.Approval // which changes wait for Decide; zero for none
	Windows reactor.Windows  // when something may be changed; nil for always
	Policy  reactor.Policy   // judges each graph and each change, see engine/policy; nil for none

	ApproveExpiry time.Duration // how long an approval counts that was not used; reactor.DefaultApproveExpiry when 0

	// Past says what the history knows of a resource, for Policy; nil for nothing. control.PastOf does where its Recorder writes the history.
	Past func(ctx context.Context, h *journal.History, resource string) reactor.Past

	MaxChanges reactor.Budget    // how much may be altered before the engine holds and waits for Resume; zero means without bound
	Storm      *reactor.Storm    // when a resource runs too often and is slowed; reactor.DefaultStorm when nil
	Flapping   *reactor.Flapping // when a resource counts as flapping and is left alone for a while; reactor.DefaultFlapping when nil

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
	// *reactor.AbandonedError too.
	MaxRuntime time.Duration

	// Abandon, when it is closed, makes Run return, at the end of its context, without waiting for methods that ignore that end; the
	// commands that still run are killed. The error is an *reactor.AbandonedError where something was left behind. A Run that begins later
	// returns one at once, and alters nothing. Nil for never.
	Abandon <-chan struct{}

	Observer Observer

	// Background, when not nil, runs on a goroutine of its own at the same time as the graph, or the plan: it may
	// use the Engine and its History. Its context ends when everything in the graph
	// has come to its end; then Run waits for its return, and only then gives up the
	// state.
	Background func(context.Context, *Engine)
}

// Source is another place that graphs come from, to which a reload goes over. Its first graph decides:
// the source counts from the moment when that graph is in effect. If the graph is refused, or held by
// MaxRemovals, the frontend before goes on, and so does its graph.
type Source struct {
	Frontend gapi.Frontend
	Input    string // its name; see Options.Input
	Taken    func() // called once, when the source counts, by the goroutine that reads graphs; nil for none
}

// options are those of one Run or Plan.
type options struct {
	Options
	readOnly bool          // of Plan
	grace    time.Duration // see timeGrace
}
