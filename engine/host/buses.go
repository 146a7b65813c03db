package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/clock"
)

// LazyBus is a bus that connects when it is first asked for. Begin connects, once, and fails while the bus has never been reached.
type LazyBus interface {
	bus.Bus
	Begin(ctx context.Context) error
}

// BusOptions are what a bus gets from its Host.
type BusOptions struct {
	Kind    bus.Kind
	Address string // empty for where the environment or the system says
	Logger  *slog.Logger
	Life    context.Context   // ends with the Host
	Clock   clock.Clock       // for all waits
	Spawn   func(func()) bool // runs a func on a goroutine that the Host waits for; false once the Host has ended
}

// makeBus makes the buses of all Hosts; nil where the program links none.
var makeBus func(BusOptions) LazyBus

// RegisterBuses sets how Hosts make their buses. Package msgbus calls it from its init function, and nothing else does.
func RegisterBuses(make func(BusOptions) LazyBus) { makeBus = make }

// errNoBuses is the error of a program that links no buses.
var errNoBuses = errors.New("this program has no code for message buses: import github.com/reactivegraph/mgmt/engine/host/msgbus")

// newBuses makes the buses of a Host; none where the program links none.
func newBuses(h *Host, o Options) map[bus.Kind]LazyBus {
	if makeBus == nil {
		return nil
	}
	all := map[bus.Kind]LazyBus{}
	for _, kind := range []bus.Kind{bus.System, bus.Session} {
		all[kind] = makeBus(BusOptions{
			Kind: kind, Address: o.BusAddresses[kind], Logger: o.Logger.With("bus", kind),
			Life: h.ctx, Clock: o.Clock, Spawn: h.commands.spawn,
		})
	}
	return all
}

// Bus implements engine.Host. It fails while the bus has never been reached;
// later, the methods of the result fail while it cannot be reached.
func (h *Host) Bus(ctx context.Context, which bus.Kind) (bus.Bus, error) {
	if h.buses == nil {
		return nil, errNoBuses
	}
	b := h.buses[which]
	if b == nil {
		return nil, fmt.Errorf("there is no bus %q", which)
	}
	if h.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if err := b.Begin(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Wakeups is a Subscription that a bus wakes.
type Wakeups struct{ sub }

// NewWakeups returns an open subscription. Close calls release, once.
func NewWakeups(release func(*Wakeups)) *Wakeups {
	w := &Wakeups{sub{c: make(chan struct{}, 1)}}
	w.release = func(*sub) { release(w) }
	return w
}

// Wake leaves a wake-up; lost says that events may have been lost. It never blocks.
func (w *Wakeups) Wake(source, path string, lost bool) {
	w.wake(change{source: source, path: path, lost: lost})
}

// Bind closes the subscription when the context ends.
func (w *Wakeups) Bind(ctx context.Context) { w.bind(ctx) }
