package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Notifier tells systemd how this process stands, in its protocol sd_notify: docs/systemd.md lists
// the messages and their times. A Notifier without a listener does nothing.
//
// Its methods may be called from any goroutine. The methods that the engine's loop calls, by
// Configure and Observe, never block. The others may wait for systemd, a second at most.
type Notifier struct {
	addr     *net.UnixAddr // nil when nothing listens
	watchdog time.Duration // systemd ends us when it hears nothing for so long; 0 for never
	log      *slog.Logger

	heartbeats chan struct{} // the loop has gone around
	stirs      chan struct{} // the counts may have changed

	mu      sync.Mutex // held while sending, so that what is told is in order
	stage   stage
	began   time.Time
	refused string                 // what was wrong with the newest graph; empty for nothing
	good    bool                   // a graph has been in effect
	held    *reactor.RemovalsError // beside the graph in effect; nil for none
	text    string                 // the status as it was told
	failed  bool                   // telling has failed, which is logged once
}

// stage is how far the service is, in the eyes of systemd.
type stage int

const (
	stageStarting stage = iota
	stageReady
	stageReloading
	stageStopping
)

const (
	notifyWait       = time.Second      // for systemd to take what it is told
	statusEvery      = time.Second      // at most so often the status is told
	defaultHeartbeat = 10 * time.Second // how often the loop shows that it is alive, without a watchdog
	startLimit       = 10 * time.Minute // a start that takes longer is given up by systemd
)

// New reads what systemd has put into the environment (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID), and
// takes it out of there: no child of the program speaks for it. A watchdog's time that makes no
// sense is a warning in the log, and there is no watchdog then. Call it once, before other goroutines run.
func New(log *slog.Logger) *Notifier {
	s := &Notifier{log: log, heartbeats: make(chan struct{}, 1), stirs: make(chan struct{}, 1), began: time.Now()}
	if name := os.Getenv("NOTIFY_SOCKET"); name != "" {
		s.addr = &net.UnixAddr{Name: name, Net: "unixgram"}
	}
	watchdog, err := daemon.SdWatchdogEnabled(true)
	if err != nil {
		log.Warn("there is no watchdog: what systemd says of it makes no sense", "error", err)
		watchdog = 0
	}
	if s.addr != nil {
		s.watchdog = watchdog
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name) // fails only for a name that is none
	}
	return s
}

// Configure has the engine's loop show that it goes around: it sets Heartbeat and HeartbeatEvery, if systemd listens.
func (s *Notifier) Configure(o *mgmt.Options) {
	if s.addr != nil {
		o.Heartbeat, o.HeartbeatEvery = s.heartbeat, s.heartbeatEvery()
	}
}

// heartbeatEvery is how often the loop has to call heartbeat.
func (s *Notifier) heartbeatEvery() time.Duration {
	if s.watchdog > 0 {
		return s.watchdog / 4
	}
	return defaultHeartbeat
}

// Observe returns an Observer that tells o first and then the Notifier.
func (s *Notifier) Observe(o mgmt.Observer) mgmt.Observer {
	if s.addr == nil {
		return o
	}
	return o.With(mgmt.Observer{
		Swapped:   s.swapped,
		Ran:       func(reactor.Run) { s.stir() },
		Loaded:    func(func() *resgraph.Graph) { s.loaded() },
		Refused:   s.refuse,
		Converged: func(bool, reactor.Counts) { s.stir() },
	})
}

// heartbeat is called by the engine's loop to show that it goes around.
func (s *Notifier) heartbeat() { ask(s.heartbeats) }

// stir says that the counts may have changed.
func (s *Notifier) stir() { ask(s.stirs) }

// swapped notes what is held beside a graph that takes effect; loaded follows.
func (s *Notifier) swapped(w reactor.Swap) {
	s.mu.Lock()
	s.held = w.Held
	s.mu.Unlock()
	s.stir()
}

// loaded says that a graph has taken effect: the first one ends the start, one
// during a reload ends that.
func (s *Notifier) loaded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused, s.good = "", true
	if s.held != nil {
		s.refused = heldText(s.held)
	}
	s.ready()
}

func heldText(held *reactor.RemovalsError) string {
	if held.Start {
		return fmt.Sprintf("graph held (it lacks %d of the %d resources of before; nothing runs until mgmt resume)", len(held.Removed), held.Of)
	}
	return fmt.Sprintf("graph held (it removes %d of %d resources; mgmt resume accepts that)", len(held.Removed), held.Of)
}

// refuse says that a graph could not be used and the last good one stays in effect. It ends
// a reload too: there is no other way to say in this protocol that one has failed.
func (s *Notifier) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = "graph refused"
	held, ok := errors.AsType[*reactor.RemovalsError](err)
	if ok {
		s.refused = heldText(held)
	}
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		s.refused += " (" + ds.Summary() + ")"
	}
	if s.stage == stageStarting && !ok {
		s.send("STATUS=" + s.line("")) // there is no good one yet; a held one waits for a person, and the start does not
		return
	}
	s.ready()
}

// ready tells of the end of a start or of a reload, with mu held.
func (s *Notifier) ready() {
	if s.stage == stageStopping {
		return
	}
	assignments := []string{"STATUS=" + s.line(cmp.Or(s.text, "graph in effect"))}
	if s.stage != stageReady {
		assignments = append(assignments, daemon.SdNotifyReady)
	}
	s.stage = stageReady
	s.send(assignments...)
	s.stir()
}

// Reloading tells of the begin of a reload. Call it before the graph is read again; the graph that is taken or
// refused ends the reload. Before the first graph there is no reload in the eyes of systemd, nor at the end.
func (s *Notifier) Reloading() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == stageReady || s.stage == stageReloading {
		s.stage = stageReloading
		s.send(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()), "STATUS=reloading the graph")
	}
}

// stopping tells of the begin of the end.
func (s *Notifier) stopping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == stageStopping {
		return
	}
	s.stage = stageStopping
	s.send(daemon.SdNotifyStopping, "STATUS=stopping")
}

// stands tells how the graph stands.
func (s *Notifier) stands(r reactor.Rest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text := r.String(); text != s.text && s.stage == stageReady {
		s.text = text
		s.send("STATUS=" + s.line(text))
	}
}

// alive tells that the loop goes around, for the watchdog. Before the service is ready, it tells
// that the start may take longer.
func (s *Notifier) alive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stage == stageStarting && time.Since(s.began) < startLimit:
		longer := max(3*defaultHeartbeat, 3*s.heartbeatEvery())
		s.send("EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(longer.Microseconds(), 10))
	case s.stage != stageStarting && s.watchdog > 0:
		s.send(daemon.SdNotifyWatchdog)
	}
}

// isStopping reports whether the end has begun.
func (s *Notifier) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stage == stageStopping
}

// line is the status in one line.
func (s *Notifier) line(counts string) string {
	switch {
	case s.refused == "":
		return counts
	case counts == "", !s.good:
		return s.refused
	default:
		return s.refused + ", the last good one stays in effect: " + counts
	}
}

// send tells systemd, with mu held. A failure is logged once: the engine does not depend on it.
func (s *Notifier) send(assignments ...string) {
	if s.addr == nil {
		return
	}
	err := datagram(s.addr, strings.Join(assignments, "\n"))
	if err != nil && !s.failed {
		s.failed = true
		s.log.Warn("systemd cannot be told how the service stands", "error", err)
	}
}

func datagram(addr *net.UnixAddr, text string) error {
	conn, err := net.DialUnix(addr.Net, nil, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(notifyWait)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte(text)); err != nil {
		return fmt.Errorf("write to %s: %w", addr.Name, err)
	}
	return nil
}

// Start keeps the status up to date and the watchdog fed, and tells of the end of ctx. The caller calls stop
// when Run has returned; stop tells that the service stops, and waits for the goroutines of Start.
//
// Now is Engine.Snapshot. Stalled may be nil. It is called on a goroutine of the Notifier when the loop has not gone
// around for three quarters of the time that systemd waits: there is still time for a dump.
func (s *Notifier) Start(ctx context.Context, now func(context.Context) (reactor.Snapshot, error), stalled func(context.Context)) (stop func()) {
	if s.addr == nil {
		return func() {}
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { s.tellRest(life, now) })
	wg.Go(func() { s.watch(life, stalled) })
	wg.Go(func() {
		select {
		case <-ctx.Done():
			s.stopping()
		case <-life.Done():
		}
	})
	return func() {
		s.stopping()
		end()
		wg.Wait()
	}
}

// tellRest tells how the graph stands when that may have changed, but not more
// often than statusEvery.
func (s *Notifier) tellRest(ctx context.Context, now func(context.Context) (reactor.Snapshot, error)) {
	for {
		select {
		case <-s.stirs:
		case <-ctx.Done():
			return
		}
		if is, err := now(ctx); err == nil {
			s.stands(is.Rest)
		}
		select {
		case <-time.After(statusEvery):
		case <-ctx.Done():
			return
		}
	}
}

// ask leaves a question in a channel of capacity one, unless there is one.
func ask(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
