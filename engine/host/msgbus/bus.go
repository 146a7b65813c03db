package msgbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/host"
)

const (
	dialPatience = 10 * time.Second // for one try to connect
	firstRetry   = 100 * time.Millisecond
	lastRetry    = 30 * time.Second
	maxCalls     = 64 // that wait for an answer at once; a bus refuses more than 128 of a connection
)

// A bus is the one connection of a process to a message bus. It is made when it
// is first asked for and made again when it is lost.
type shared struct {
	kind    bus.Kind
	address func() (string, error)
	log     *slog.Logger
	ctx     context.Context // ends with the Host
	clock   clock.Clock
	spawn   func(func()) bool // on a goroutine that the Host waits for

	dialing sync.Mutex    // held during the first connection
	calls   chan struct{} // of capacity maxCalls: one for each call that waits for its answer

	mu    sync.Mutex
	conn  *dbus.Conn // nil while there is none
	err   error      // why there is none
	begun bool       // there was one, so keep looks after it
	rules rules
}

var _ host.LazyBus = (*shared)(nil)

func init() { host.RegisterBuses(newBus) }

// newBus returns a bus that is not connected yet.
func newBus(o host.BusOptions) host.LazyBus {
	find := systemAddress
	switch {
	case o.Address != "":
		find = func() (string, error) { return o.Address, nil }
	case o.Kind == bus.Session:
		find = sessionAddress
	}
	return &shared{kind: o.Kind, address: find, log: o.Logger, ctx: o.Life, spawn: o.Spawn, clock: o.Clock, calls: make(chan struct{}, maxCalls)}
}

// systemAddress is where the system bus listens: the environment names it, or it is at its fixed place.
func systemAddress() (string, error) {
	if a := os.Getenv("DBUS_SYSTEM_BUS_ADDRESS"); a != "" {
		return a, nil
	}
	return "unix:path=/run/dbus/system_bus_socket", nil
}

// sessionAddress is where the bus of our own user listens. A user who has not logged in has none.
func sessionAddress() (string, error) {
	if a := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); a != "" {
		return a, nil
	}
	path := "/run/user/" + strconv.Itoa(os.Getuid()) + "/bus"
	if _, err := os.Stat(path); err != nil {
		return "", errors.New("DBUS_SESSION_BUS_ADDRESS is not set, and there is no " + path)
	}
	return "unix:path=" + dbus.EscapeBusAddressValue(path), nil
}

// Begin connects for the first time.
func (b *shared) Begin(ctx context.Context) error {
	b.dialing.Lock()
	defer b.dialing.Unlock()
	if b.begun {
		return nil
	}
	conn, err := b.dial(ctx)
	if err != nil {
		return err
	}
	b.begun = true
	b.set(conn, nil)
	if !b.spawn(func() { b.keep(conn) }) {
		conn.Close()
		return host.ErrClosed
	}
	return nil
}

// dial connects.
func (b *shared) dial(ctx context.Context) (*dbus.Conn, error) {
	address, err := b.address()
	if err != nil {
		return nil, b.fail("connect", err)
	}
	life, cancel := context.WithCancel(b.ctx)
	stopLate := b.clock.AfterFunc(dialPatience, cancel)
	stop := context.AfterFunc(ctx, cancel)
	conn, err := dbus.Connect(address, dbus.WithContext(life), dbus.WithSignalHandler(b))
	if inTime := stopLate(); stop() && inTime && err == nil {
		context.AfterFunc(conn.Context(), cancel)
		return conn, nil
	}
	cancel()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if err == nil {
		err = os.ErrDeadlineExceeded
	}
	return nil, b.fail("connect", err)
}

// fail names the bus and what was being done in an error.
func (b *shared) fail(doing string, err error) error {
	return fmt.Errorf("%s bus: %s: %w", b.kind, doing, err)
}

// keep connects again whenever the connection is lost.
func (b *shared) keep(conn *dbus.Conn) {
	for {
		<-conn.Context().Done()
		b.set(nil, errors.New("the connection was lost"))
		if b.ctx.Err() != nil {
			return
		}
		b.log.Warn("connection to the bus lost")
		if conn = b.again(); conn == nil {
			return
		}
		b.log.Info("connected to the bus again")
		b.rules.resync()
	}
}

// again tries to connect until it succeeds or the Host ends.
func (b *shared) again() *dbus.Conn {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		conn, err := b.dial(b.ctx)
		if err == nil {
			if err = b.rules.restore(func(m bus.Match) error { return b.addMatch(conn, m) }); err == nil {
				b.set(conn, nil)
				return conn
			}
			conn.Close()
		}
		b.set(nil, err)
		select {
		case <-b.ctx.Done():
			return nil
		case <-clock.NewTimer(b.clock, wait/2+rand.N(wait)).C:
		}
	}
}

// set notes the connection, or why there is none.
func (b *shared) set(conn *dbus.Conn, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conn, b.err = conn, err
}

// now returns the connection, if there is one.
func (b *shared) now() (*dbus.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return nil, host.ErrClosed
	}
	if b.conn == nil {
		return nil, b.fail("not connected", b.err)
	}
	return b.conn, nil
}

// Call implements bus.Bus. It waits where too many others wait for an answer.
func (b *shared) Call(ctx context.Context, dest, path, method string, args ...any) ([]any, error) {
	select {
	case b.calls <- struct{}{}:
		defer func() { <-b.calls }()
	case <-ctx.Done():
		return nil, b.fail(method, context.Cause(ctx))
	}
	conn, err := b.now()
	if err != nil {
		return nil, err
	}
	if !dbus.ObjectPath(path).IsValid() {
		return nil, b.fail(method, fmt.Errorf("%q is no object path", path))
	}
	call := conn.Object(dest, dbus.ObjectPath(path)).CallWithContext(ctx, method, 0, args...)
	if call.Err != nil {
		return nil, b.fail(method, answered(call.Err))
	}
	return call.Body, nil
}

// answered makes an error of the other side one of the engine.
func answered(err error) error {
	var remote dbus.Error
	if !errors.As(err, &remote) {
		return err
	}
	e := &bus.Error{Name: remote.Name}
	if len(remote.Body) > 0 {
		e.Message, _ = remote.Body[0].(string)
	}
	return e
}

// Signals subscribes to the signals that fit. Those of a sender that is named by a well-known name
// cannot be told from each other here, so a wake-up may also come for another sender's signal that
// fits otherwise, if another subscription of this process asked for it.
func (b *shared) Signals(ctx context.Context, matches ...bus.Match) (events.Subscription, error) {
	conn, err := b.now()
	if err != nil {
		return nil, err
	}
	needs := make([]*rule, 0, len(matches))
	s := host.NewWakeups(func(s *host.Wakeups) {
		for _, r := range needs {
			b.drop(r, s)
		}
	})
	for _, m := range matches {
		r, err := b.subscribe(ctx, conn, m, s)
		if r != nil {
			needs = append(needs, r)
		}
		if err != nil {
			s.Close()
			return nil, b.fail("subscribing to signals", err)
		}
	}
	s.Bind(ctx)
	return s, nil
}

// subscribe has s woken by the signals that fit, and waits until the bus knows it. The
// rule is nil if s was not added to one.
func (b *shared) subscribe(ctx context.Context, conn *dbus.Conn, m bus.Match, s *host.Wakeups) (*rule, error) {
	if err := checkMatch(m); err != nil {
		return nil, err
	}
	r, made := b.rules.add(m, s)
	if made && !b.spawn(func() {
		r.asked.err = b.addMatch(conn, r.asked.match)
		close(r.asked.ready)
	}) {
		return r, host.ErrClosed
	}
	select {
	case <-r.asked.ready:
		return r, r.asked.err
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
}

// drop takes out a closed subscription.
func (b *shared) drop(r *rule, s *host.Wakeups) {
	a := b.rules.remove(r, s)
	if a == nil {
		return
	}
	if conn, err := b.now(); err == nil {
		removeMatch(conn, a.match)
	}
}

// DeliverSignal is called by the connection, in order and one at a time.
func (b *shared) DeliverSignal(iface, name string, s *dbus.Signal) { b.rules.deliver(iface, name, s) }
