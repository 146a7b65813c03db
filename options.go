package mgmt

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/sharing"
)

// StateFolder is a folder for state, with the code that keeps its journal. A program that names none does not link that code.
type StateFolder = statedir.Folder

// StateIn returns the state folder of a path, for Options.State. The folder need not be there yet. It is nil for an empty path.
func StateIn(path string) StateFolder { return statedir.In(path) }

// World is a store that hosts share, with the code that exports and collects. A program that names none does not link that code.
type World = sharing.World

// Share returns the World of a store, for Options.World. The store stays the caller's, who closes it after Run. With nil, each Engine
// has a store in memory of its own, and shares with itself.
func Share(store engine.World) World { return sharing.With(store) }

// DefaultLease is how long a host may be out of reach before the others take it for dead.
const DefaultLease = 15 * time.Second

// Options say how graphs are run. The zero value is usable. Run, Open and Plan copy them: only the objects that they name (Registry,
// Backends, World, Host, State, Store, Logger, Stdin, channels and functions) stay the caller's. Any number of engines may be made of the same Options. Two that
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

	Store engine.Store // the journal of State when nil, in memory if there is none

	// State is the folder in which resources keep state, and the journal is; see StateIn. Run makes it, for its
	// user alone, where it is not there. When nil, a temporary folder, which is removed at the end of Run.
	State StateFolder

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
	// *engine.AbandonedError too.
	MaxRuntime time.Duration

	// Abandon, when it is closed, makes Run return, at the end of its context, without waiting for methods that ignore that end; the
	// commands that still run are killed. The error is an *engine.AbandonedError where something was left behind. A Run that begins later
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
