package host

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/hosting"
)

// Options are the choices of New.
type Options struct {
	// Logger tells of limits, lost events and lost connections; nil for none.
	Logger *slog.Logger
	// PollInterval is the time between two looks at directories that cannot be watched; one second
	// when 0.
	PollInterval time.Duration
	// BusAddresses are the addresses of buses that are not where the environment
	// or the system says.
	BusAddresses map[bus.Kind]string
	// Roles are what the machine is for, as its user says: the fact roles.
	Roles []string
	// Hostname is the name that the user gives to the machine, as FactReader.Hostname; empty for its own.
	Hostname string

	// Ledger is a file, made where it is missing, with the commands that run. The Host after a
	// killed Host reads it, and ends those commands or lets them finish (see engine.Command.Cost).
	// One Host at a time may use it. Empty for none.
	Ledger string

	// Clock gives the time, and all timers but the deadlines of the kernel; that of the machine when nil.
	Clock clock.Clock

	open func(clock.Clock) (eventSource, error)
}

// A Host is what this machine gives to the resources of one process. It is safe
// for concurrent use.
type Host struct {
	ctx    context.Context // ends with the Host
	cancel context.CancelCauseFunc
	unbind func() bool // from the context of New
	log    *slog.Logger
	clock  clock.Clock
	facts  FactReader
	feed   factFeed

	ledger *ledger // nil for none
	leftMu sync.Mutex
	left   leftovers // commands of an earlier Host that are let finish; list is under leftMu

	hub      *hub
	commands commands
	forks    forks
	service  func() bool          // see inService
	groups   []string             // see groupRoots
	swept    sync.Once            // of groups, before the first command in one
	buses    map[bus.Kind]LazyBus // nil where the program links none
}

var (
	_ hosting.Notifier = (*Host)(nil)
	_ hosting.Machiner = (*Host)(nil)
	_ hosting.Starter  = (*Host)(nil)
	_ hosting.Writers  = (*Host)(nil)
	_ hosting.Hearer   = (*Host)(nil)
)

// Clock is asked for by engine.ClockOf.
func (h *Host) Clock() clock.Clock { return h.clock }

// New returns a Host. It starts nothing and opens nothing: that is done when it
// is first asked for. When ctx ends, so does the Host; call Close to wait for it.
func New(ctx context.Context, o Options) (*Host, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.PollInterval <= 0 {
		o.PollInterval = time.Second
	}
	o.Clock = clock.Or(o.Clock)
	if o.open == nil {
		o.open = openSource
	}
	if _, err := os.Hostname(); err != nil {
		return nil, err
	}
	h := &Host{log: o.Logger, clock: o.Clock, hub: newHub(o.Clock, o.Logger, o.open, o.PollInterval), service: inService, groups: groupRoots}
	h.facts.Roles, h.facts.Hostname, h.feed.host = slices.Clone(o.Roles), o.Hostname, h
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	h.buses = newBuses(h, o)
	if o.Ledger != "" {
		h.adopt(o.Ledger)
	}
	h.unbind = context.AfterFunc(ctx, h.hub.end)
	return h, nil
}

// Watch implements engine.Host. The paths are cleaned; the subscription is closed
// when ctx ends, and its channel is never closed.
func (h *Host) Watch(ctx context.Context, paths []string, o events.Options) (events.Subscription, error) {
	return h.hub.watch(ctx, paths, o)
}

// Notify implements hosting.Notifier.
func (h *Host) Notify(paths []string, o events.Options, n hosting.Notice) (events.Subscription, error) {
	return h.hub.notify(paths, o, n)
}

// Writing implements hosting.Writers. Only watched names are known, by their real path.
func (h *Host) Writing(ctx context.Context, path string) bool { return h.hub.writing(ctx, path) }

// Hear implements hosting.Hearer.
func (h *Host) Hear(ctx context.Context) { h.hub.hear(ctx) }

// Close ends everything that the Host has started and waits for it. Subscriptions
// get no more wake-ups, and whatever still runs is killed. Later calls of the
// other methods fail with ErrClosed.
func (h *Host) Close() error {
	h.unbind()
	h.cancel(ErrClosed)
	h.KillAll()
	h.hub.end()
	<-h.hub.done
	h.feed.runs.Wait()
	h.commands.all.Wait()
	h.forks.close()
	h.ledger.close()
	return nil
}

// Stats are what the Host holds at the moment.
type Stats struct {
	Subscriptions int64 // to files
	Watches       int64 // directories that the kernel watches
	Polled        int64 // directories that are polled because it does not
	Resyncs       int64 // so far: how often events were lost, and everything was looked at again
}

// Stats says what the Host holds at the moment.
func (h *Host) Stats() Stats {
	s := &h.hub.stats
	return Stats{s.subs.Load(), s.watches.Load(), s.polled.Load(), s.resyncs.Load()}
}
