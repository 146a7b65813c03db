package host

import (
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/reactivegraph/mgmt/engine/clock"
)

// inbox has all that other goroutines hand to the hub. It is the only part of the hub that
// they touch, always under its mutex; the hub's goroutine takes it over in one go (take), and
// is woken for that by hub.poke.
type inbox struct {
	mu       sync.Mutex
	started  bool
	ended    bool
	closing  *sub                  // closed subscriptions, to be taken out
	requests *request              // new ones, the latest first
	pending  map[*request]struct{} // not settled
	querying map[string][]*request // of names in a folder that has not answered yet; a goroutine asks it
	asked    []*request            // their file systems have answered
	overflow bool                  // events were lost, and it is time to look at everything
	losing   func() bool           // stops the timer that runs out at that time; nil when nothing was lost
	remounts []string              // mount points at which something has changed
	exits    bool                  // a process has ended that a name waits for
}

// A hub is the file watches of a process. Who holds mu owns everything but the inbox: its goroutine (run), one of the
// source that serves what it has read, or one that asks (lockServed).
type hub struct {
	mu   sync.Mutex
	over bool // nobody serves any more

	each, gives func(event) // event and give, as values that are made once
	closes      func(*sub)  // close

	log   *slog.Logger
	open  func(clock.Clock) (eventSource, error)
	clock clock.Clock
	self  int           // our own process
	every time.Duration // the time between two looks at folders that cannot be watched

	calls    chan func()   // to run on the hub's goroutine
	wake     chan struct{} // wakes the goroutine: the inbox has something
	stop     chan struct{} // closed to end it
	done     chan struct{} // closed when nothing of the hub is left
	carriers sync.WaitGroup

	in inbox

	w      eventSource // nil until needed, and while none is to be had
	events <-chan event
	mounts *mountFollower // nil where there is no table of mounts
	root   *node
	byID   map[fileID]*dir
	rearms map[fileID]int // since the queue was empty last; see rearm
	byPath map[string]*dir
	loops  map[*node]struct{} // symbolic links that lead to themselves

	queue   []*node // to be looked at
	waiting []*request
	fresh   []*entry // of new subscriptions, whose names are to be inspected

	polled map[*dir]struct{}
	scans  []*dir // to be polled in this round
	timer  *clock.Timer
	limits limiter

	wrote bool // an event of ours was served; see listen

	transits transits
	exits    exits
	culprits culprits

	stats struct{ subs, watches, polled, resyncs atomic.Int64 }
}

func newHub(c clock.Clock, log *slog.Logger, open func(clock.Clock) (eventSource, error), every time.Duration) *hub {
	h := &hub{
		clock: c, log: log, open: open, every: every, self: os.Getpid(),
		calls:  make(chan func()),
		wake:   make(chan struct{}, 1),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
		root:   &node{mark: markFresh},
		in:     inbox{pending: make(map[*request]struct{}), querying: make(map[string][]*request)},
		byID:   make(map[fileID]*dir),
		rearms: make(map[fileID]int),
		byPath: make(map[string]*dir),
		loops:  make(map[*node]struct{}),
		polled: make(map[*dir]struct{}),
		timer:  clock.NewTimer(c, time.Hour),

		transits: newTransits(c),
		exits:    exits{of: make(map[*actor]map[*transit]struct{})},
	}
	h.each, h.gives, h.closes = h.event, h.give, h.close
	h.timer.Stop()
	return h
}

// start takes a request, and starts the hub's goroutine if it was not started yet. It
// reports false if the hub has ended.
func (h *hub) start(r *request) bool {
	h.in.mu.Lock()
	defer h.in.mu.Unlock()
	if h.in.ended {
		return false
	}
	r.next, h.in.requests = h.in.requests, r
	h.in.pending[r] = struct{}{}
	if !h.in.started {
		h.in.started = true
		go h.run()
	}
	return true
}

// end ends the hub, without waiting for done.
func (h *hub) end() {
	h.in.mu.Lock()
	defer h.in.mu.Unlock()
	if h.in.ended {
		return
	}
	h.in.ended = true
	close(h.stop)
	if !h.in.started {
		close(h.done)
	}
}

// Work is done in steps between which events are served. There are more steps
// than events, so that work always comes to an end.
const stepsPerEvent = 4

// always is ready whenever it is asked for.
func always() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// run is the hub's goroutine.
func (h *hub) run() {
	defer close(h.done)
	defer h.shut()
	if err := h.followMounts(); err != nil {
		h.log.Debug("mounts are not followed", "error", err)
	}
	ready := always()
	for {
		h.mu.Lock()
		var work <-chan struct{}
		if h.busy() {
			work = ready
		}
		events := h.events
		h.mu.Unlock()
		do := func() {}
		select {
		case <-h.stop:
			return
		case ev, ok := <-events:
			do = func() { h.read(ev, ok) }
		case do = <-h.calls:
		case <-h.wake:
			do = h.take
		case <-h.timer.C:
			do = h.round
		case <-h.transits.timer.C:
			do = h.ripen
		case <-work:
		}
		h.mu.Lock()
		do()
		h.listen()
		h.work(stepsPerEvent)
		h.mu.Unlock()
	}
}

// serve serves events on the goroutine that has read them, unless the hub does something else.
func (h *hub) serve(evs []event) bool {
	if !h.mu.TryLock() {
		return false
	}
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	for _, ev := range evs {
		h.give(ev)
	}
	h.listen()
	h.work(stepsPerEvent)
	if h.busy() {
		h.wakeUp() // the rest is its work
	}
	return true
}

// give serves an event after the work that those before it have made: else it would be lost.
func (h *hub) give(ev event) {
	for h.busy() {
		h.work(stepsPerEvent)
	}
	h.event(ev)
}

// read handles an event and those that have come with it.
func (h *hub) read(ev event, ok bool) {
	for left := eventsAtOnce; ; left-- {
		if !ok {
			h.events = nil // closed by shut only
			return
		}
		h.event(ev)
		if h.busy() || left == 0 {
			return // before another one is taken: it would be lost
		}
		select {
		case ev, ok = <-h.events:
		default:
			return
		}
	}
}

func (h *hub) busy() bool { return len(h.queue) > 0 || len(h.scans) > 0 }

// work does some of the steps that are due; when all are done, it answers the goroutines that wait
// for that.
func (h *hub) work(steps int) {
	for ; steps > 0 && len(h.queue) > 0; steps-- {
		n := h.queue[0]
		h.queue[0] = nil
		h.queue = h.queue[1:]
		h.step(n)
	}
	if len(h.queue) > 0 {
		return
	}
	h.queue = nil
	clear(h.rearms)
	for _, r := range h.waiting {
		h.settle(r)
	}
	h.waiting = nil
	if len(h.scans) > 0 {
		d := h.scans[0]
		h.scans = h.scans[1:]
		h.scan(d)
	}
}

// push puts n into the queue with the marks.
func (h *hub) push(n *node, m mark) {
	if n.mark&markQueued == 0 {
		h.queue = append(h.queue, n)
	}
	n.mark |= m | markQueued
}

// take takes over the requests that other goroutines have left.
func (h *hub) take() {
	h.in.mu.Lock()
	s, lost, remounts, asked, r, exits := h.in.closing, h.in.overflow, h.in.remounts, h.in.asked, h.in.requests, h.in.exits
	h.in.closing, h.in.overflow, h.in.remounts, h.in.asked, h.in.requests, h.in.exits = nil, false, nil, nil, nil, false
	h.in.mu.Unlock()
	if exits {
		h.exited()
	}
	for ; s != nil; s = s.nextClosing {
		h.drop(s)
	}
	for ; r != nil; r = r.next {
		h.ask(r)
	}
	for _, r := range asked {
		h.admit(r)
	}
	h.inspectNew()
	for _, point := range remounts {
		h.remount(point)
	}
	if lost {
		h.stats.resyncs.Add(1)
		h.log.Warn("file events were lost, looking at everything again")
		h.push(h.root, markStale|markLoud|markLost)
	}
}

// wakeUp makes the hub's goroutine call take.
func (h *hub) wakeUp() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// opened makes sure that there is a watcher.
func (h *hub) opened() error {
	if h.w != nil {
		return nil
	}
	w, err := h.open(h.clock)
	if err != nil {
		return err
	}
	h.w, h.events = w, w.events()
	if d, ok := w.(directSource); ok {
		d.serveBy(h.serve)
	}
	h.carriers.Go(func() { h.carry(w.errors()) })
	return nil
}

// carry passes on the watcher's errors. It must never wait for the hub's
// goroutine: that may be inside the watcher, which may be waiting for us.
func (h *hub) carry(errs <-chan error) {
	for err := range errs {
		if !errors.Is(err, fsnotify.ErrEventOverflow) {
			h.log.Debug("file watcher", "error", err)
			continue
		}
		h.lose(lossDelay)
	}
}

// lose has everything looked at after a time, since events were lost.
func (h *hub) lose(after time.Duration) {
	h.in.mu.Lock()
	defer h.in.mu.Unlock()
	if h.in.losing == nil {
		h.in.losing = h.clock.AfterFunc(after, func() {
			h.in.lost()
			h.wakeUp()
		})
	}
}

// lossDelay is how long after a loss everything is looked at. Where so much
// happens that events are lost, more is lost right after: one look serves all of
// it.
const lossDelay = 50 * time.Millisecond

// calm stops the timer of a loss.
func (b *inbox) calm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.losing != nil {
		b.losing()
	}
}

// lost notes that it is time to look at everything.
func (b *inbox) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.overflow, b.losing = true, nil
}

// shut lets go of everything.
func (h *hub) shut() {
	h.mu.Lock()
	h.over = true
	h.mu.Unlock()
	h.timer.Stop()
	h.mounts.close()
	if h.w != nil {
		if err := h.w.Close(); err != nil {
			h.log.Debug("closing the file watcher", "error", err)
		}
	}
	h.exits.shut()
	h.transits.timer.Stop()
	h.carriers.Wait()
	h.in.calm()
	h.settleAll()
}
