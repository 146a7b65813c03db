package reactor

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Noop says what a graph may alter.
type Noop uint8

// The policies of law 11.
const (
	NoopOff     Noop = iota // what the metaparameter noop says; false where it says nothing
	NoopDefault             // what the metaparameter noop says; true where it says nothing
	NoopAll                 // nothing is altered, whatever the metaparameter says
)

// Defaults of Options.
const (
	DefaultStartTimeout = 30 * time.Second
	DefaultSweep        = time.Hour
	runsPerCore         = 8
)

// Options configure a Reactor. Host, World and Store are required.
type Options struct {
	Program, Version, Hostname string // given to resources

	Host  engine.Host
	World world.World
	Lease time.Duration // given to resources
	Store records.Store

	Images Images // keeps the state before each change; nil for nothing

	// Place takes a place of a semaphore that hosts share, for one run. It waits for it until ctx ends. The place is
	// held until release is called; lost is closed when it can no longer be proved. It is called by runs, several at
	// once. Without it, such a semaphore is an error of the run.
	Place func(ctx context.Context, topic, name string, count int) (release func(), lost <-chan struct{}, err error)

	StateDir string // VarDir lives below it; when empty, VarDir is an error
	ReadOnly bool   // VarDir makes no folder and removes none: for a plan

	Once bool // no Watch is started: every vertex is looked at as if polled, once; for a plan

	// Layer gets the effects of the vertices that would change, and the vertices below look at the machine through it; nil for none.
	Layer Layer

	Logger   *slog.Logger // discards when nil
	Debug    bool         // given to resources
	Listener Listener

	MaxChanges Budget   // how much may be altered; the zero value means without bound
	Approve    Approval // which changes wait for Decide; the zero value is for none
	Windows    Windows  // when something may be altered; nil is for always
	Policy     Policy   // what it denies is not altered; nil for none

	ApproveExpiry time.Duration // how long an approval counts that was not used; DefaultApproveExpiry when 0

	// Past returns what is known of a resource, for Policy; nil where nothing is. Runs call it.
	Past func(resource string) Past
	// Author returns who has asked for the graph that takes effect now, empty where nobody is known. It is called for each.
	Author   func() string
	Flapping Flapping // when a resource counts as flapping; the zero value is never
	Storm    Storm    // when a resource runs too often; the zero value is never

	MaxRemovals Removals // how much a Swap may remove before it is refused with a *RemovalsError; the zero value sets no bound
	InEffect    []string // ids of the vertices that an earlier process had in effect last: the first Swap that takes effect removes the ones that it lacks; nil for none
	Asking      []string // those of InEffect that leave only when somebody agrees (leaving: ask)

	// Declared remembers the declarations of what is right. With it a resource that is declared as when it was last right has been altered
	// by somebody else, also while no engine was running. Without it each resource of the first graph counts as newly declared.
	Declared *Declared

	// Heartbeat, when not nil, is called by the loop every HeartbeatEvery (a second when
	// 0): as long as it comes, the loop is alive. It must return soon.
	Heartbeat      func()
	HeartbeatEvery time.Duration
	// Clock gives the time, and all timers; that of the machine when nil.
	Clock clock.Clock
	// Wall is the wall clock, by which a Pause ends; that of Clock when nil.
	Wall func() time.Time

	Noop     Noop
	Parallel int // runs at once; when 0, 8 for each core, and at least 128 of kinds whose runs take a few microseconds

	// Quiet is how long nothing must have happened for the graph to be called
	// converged.
	Quiet time.Duration
	// StartTimeout is how long a Watch may take to say Running; 30 s when 0.
	StartTimeout time.Duration
	// Sweep is how often every vertex is looked at without an event, spread over
	// the time; an hour when 0, never when negative.
	Sweep time.Duration

	paths    safepath.Walker // of Host
	mayWiden bool            // Parallel was not given; see widen
}

// Looker is one who looks at paths through a Layer.
type Looker = interface {
	// Awaits is called for a look at something that only a run of this resource can tell; it is empty where no single one can.
	Awaits(resource string)
	// Moved is called when something that was looked at on the machine is copied to the layer: it has another inode there.
	Moved()
}

// Layer has the effects of resources that would change, over a machine that is not touched.
type Layer interface {
	// Paths returns the Walker of the machine as it would be, for one who looks.
	Paths(by Looker) safepath.Walker
	// Lay adds the effect of a resource that has told of these changes. It is called on the loop, and does no I/O. shared is
	// that of the resource. It reports whether those who look at paths see all of the effect, and who has looked at its paths before.
	Lay(r engine.Res, shared engine.Shared, changes []engine.Change) (seen bool, before []Looker)
	// Looked returns who has looked at a path, at what is below it, or at all of a folder above. It is called as Lay is.
	Looked(path string) []Looker
	// Again makes the effect of a resource that was laid once more, above what was laid since, and returns who has looked at its paths before.
	// A second call for the same resource does nothing. It is called as Lay is.
	Again(resource string) (before []Looker)
	// Doubt adds a resource of which it is unknown what it would do, and returns who has looked at its paths before. It is called as Lay is.
	Doubt(r engine.Res) (before []Looker)
	// Late returns, by the resource of an effect, who has looked before at where links lead from its paths. It is called on the loop when all is
	// at rest, and reads links.
	Late() map[string][]Looker
	// Plans reports whether an effect makes a thing.
	Plans(kind, name string) bool
}

// complete returns the options with the defaults in place of empty ones. The error names each fault.
func (o Options) complete() (Options, error) {
	if o.Host == nil || o.World == nil || o.Store == nil {
		return o, errors.New("reactor: Host, World and Store are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.mayWiden = o.Parallel <= 0
	o.Parallel = cmp.Or(max(o.Parallel, 0), runsPerCore*runtime.NumCPU())
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	o.Sweep = cmp.Or(o.Sweep, DefaultSweep)
	o.ApproveExpiry = cmp.Or(o.ApproveExpiry, DefaultApproveExpiry)
	o.HeartbeatEvery = cmp.Or(o.HeartbeatEvery, time.Second)
	o.Clock = clock.Or(o.Clock)
	o.paths = safepath.Of(o.Host)
	if o.Wall == nil {
		o.Wall = o.Clock.Now
	}
	return o, errors.Join(o.MaxChanges.Validate(), o.Flapping.Validate(), o.Storm.Validate())
}

// env makes the values that the resources have in common.
func (o *Options) env() *lifecycle.Env {
	return lifecycle.NewEnv(lifecycle.Options{
		Program: o.Program, Version: o.Version, Hostname: o.Hostname,
		Host: o.Host, World: o.World, Lease: o.Lease, StateDir: o.StateDir, ReadOnly: o.ReadOnly, Logger: o.Logger, Debug: o.Debug,
	})
}
