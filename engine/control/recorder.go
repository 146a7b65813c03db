package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Bounds of the events that wait to be encoded.
const (
	// They bound the memory of a burst. An event that does not fit is counted, and an event tells
	// the count.
	maxQueue     = 8192     // events
	maxQueueText = 16 << 20 // bytes of changed texts
	maxRecent    = 1024     // runs with nothing to tell
)

// RecorderOptions configure a Recorder.
// The zero value is fine for tests.
type RecorderOptions struct {
	Now     func() time.Time // that of the machine when nil; only for show, order rests on counters
	Version string           // for the event started
}

// Recorder turns the reports of the engine into events of a History, and knows the
// present state. Its functions may be called from any goroutine, in the order of what
// happened. They are for Options.Observer.
// Its methods for the observer never block and do no I/O. Run is the one goroutine that
// encodes and stores.
type Recorder struct {
	opt RecorderOptions
	// session and opt do not change.
	session string
	wake    chan struct{} // capacity 1: there is something in the queue

	mu      sync.Mutex
	queue   []item
	text    int    // bytes of changed texts in the queue
	dropped int    // events that did not fit
	pushed  uint64 // counts what came,
	flushed uint64 // and the events that have been kept or dropped since
	// recent has the runs that are too dull to be kept, for GET /v1/why.
	recent   recent
	odd      map[string]resgraph.State // resources that did not end ok last time
	speakers map[string]spoken         // who pauses, resumes, approves or rejects what at this moment
	decision *reactor.Decision         // that is being made; nil for none
	state    Standing
	// The graph is drawn when a request asks for it, so a change of a part does not pay for a
	// drawing.
	graph   func() *resgraph.Graph // that in effect; nil before the first
	loading bool                   // another one has taken effect, and its drawing has yet to come
	changed chan struct{}          // closed and replaced when there is news
}

// item is an event that waits to be encoded: a run, or a ready event.
// It holds no resource, so nothing of a graph that has gone is kept alive.
type item struct {
	// at is when it happened, and not when it is written.
	at      time.Time
	outcome Outcome
	run     reactor.Run
	event   *Event
}

// Standing is how things stand, besides the states of the vertices.
type Standing struct {
	// Started and Session are those of the daemon, and not of the machine.
	Started    time.Time
	Session    string
	Graph      string // name of the one in effect
	Generation int    // 0 before the first
	SameSince  int    // the first generation with the resources in effect
	Converged  bool
	Since      time.Time // when Converged became that
	Refused    string    // why a newer graph is not in effect; empty where there is none
	Held       bool      // that one waits to be resumed
}

// NewRecorder returns a Recorder. It keeps nothing until its Run is called.
// The session is the time of the start and the pid, in a form that needs no escape in a
// URL.
func NewRecorder(o RecorderOptions) *Recorder {
	if o.Now == nil {
		o.Now = clock.System{}.Now
	}
	now := o.Now()
	session := strconv.FormatInt(now.UnixNano(), 36) + "-" + strconv.Itoa(os.Getpid())
	r := &Recorder{
		opt: o, session: session,
		wake:     make(chan struct{}, 1),
		odd:      map[string]resgraph.State{},
		speakers: map[string]spoken{},
		state:    Standing{Started: now, Session: session, Since: now},
		changed:  make(chan struct{}),
	}
	r.tell(func(time.Time) *Event { return &Event{Outcome: Started, PID: os.Getpid(), Version: o.Version} })
	return r
}

// Ran takes a run; see mgmt.Observer.
func (r *Recorder) Ran(run reactor.Run) {
	now := r.opt.Now()
	r.mu.Lock()
	o, keep := r.judge(&run)
	if keep {
		r.push(item{at: now, outcome: o, run: run})
	} else {
		r.recent.add(now, o, run)
	}
	r.mu.Unlock()
	if keep {
		r.signal()
	}
}

// judge says in a word how a run ended, and whether the history wants it: it
// changed something, failed, ended differently from the one before, or looked
// because of something else than time and still is not ok.
func (r *Recorder) judge(run *reactor.Run) (o Outcome, keep bool) {
	before, odd := r.odd[run.Resource]
	switch {
	case run.State != resgraph.StateOK:
		r.odd[run.Resource] = run.State
		o = Outcome(run.State.String())
		if o == Held {
			return o, false // Held says it better
		}
		return o, o == Failed || !odd || before != run.State || !routine(run.Triggers)
	case odd:
		delete(r.odd, run.Resource)
	}
	switch {
	case run.Changed, len(run.Changes) > 0:
		return Changed, true
	case odd:
		return Recovered, true
	default:
		return OK, false
	}
}

// routine reports whether nothing but time has asked for a run.
func routine(list []reactor.Trigger) bool {
	return !slices.ContainsFunc(list, func(t reactor.Trigger) bool {
		return t.Cause != reactor.CauseSweep && t.Cause != reactor.CausePoll
	})
}

// push queues an event, or counts it where there is no room. It is called with
// the lock held.
func (r *Recorder) push(it item) {
	r.pushed++
	if len(r.queue) >= maxQueue {
		r.dropped++
		return
	}
	if n := textOf(it.run.Changes); r.text+n <= maxQueueText {
		r.text += n
	} else {
		it.run.Changes = withoutTexts(it.run.Changes)
	}
	r.queue = append(r.queue, it)
}

// textOf returns how many bytes of text some changes hold.
// Numbers and the like are small and do not count.
func textOf(list []engine.Change) (n int) {
	for i := range list {
		for _, x := range [2]any{list[i].From, list[i].To} {
			if s, ok := x.(string); ok {
				n += len(s)
			}
		}
	}
	return n
}

// The list of the engine is not altered: others hold it too.
func withoutTexts(list []engine.Change) []engine.Change {
	list = slices.Clone(list)
	for i := range list {
		for _, x := range [2]*any{&list[i].From, &list[i].To} {
			if s, ok := (*x).(string); ok {
				*x = omitted(len(s))
			}
		}
	}
	return list
}

// A token that waits already is enough, so it never blocks.
func (r *Recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Swapped takes a graph that took effect; see mgmt.Observer.
func (r *Recorder) Swapped(s reactor.Swap) {
	r.tell(func(time.Time) *Event {
		r.state.Graph, r.state.Generation, r.state.Refused = s.Name, s.Generation, ""
		r.state.Held, r.loading = s.Held != nil, true
		if s.Held != nil {
			r.state.Refused = s.Held.Error()
		}
		if s.Added+s.Changed+s.Removed > 0 || s.Policy || s.Generation == 1 {
			r.state.SameSince = s.Generation
		}
		swap := &Swap{
			Name: s.Name, Added: s.Added, Changed: s.Changed, Removed: s.Removed, Kept: s.Kept,
			Path: s.Origin.Path, Digest: s.Origin.Digest, Signer: s.Origin.Signer,
		}
		swap.Leaving, swap.More = LeavingOf(s.Leaving)
		return &Event{Outcome: Graph, Generation: s.Generation, By: s.Origin.By, Graph: swap}
	})
}

// Converged takes that the graph has come to rest, or no longer is at rest; see
// reactor.Listener. The latter does not make an event: its beginning does.
func (r *Recorder) Converged(yes bool, c reactor.Counts) {
	r.tell(func(now time.Time) *Event {
		r.state.Converged, r.state.Since = yes, now
		if !yes {
			return nil
		}
		return &Event{Outcome: Converged, Generation: r.state.Generation, Counts: c.Named()}
	})
}

// Loaded takes the graph that is in effect, as mgmt.Observer has it; it is never altered. The memory of
// resources that are not in it goes.
func (r *Recorder) Loaded(graph func() *resgraph.Graph) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.graph, r.loading = graph, false
	r.news()
	if len(r.odd) == 0 {
		return // the graph need not be drawn
	}
	g := graph()
	for id := range r.odd {
		if _, ok := g.Index(id); !ok {
			delete(r.odd, id)
		}
	}
}

// Refused takes why a graph could not be used.
func (r *Recorder) Refused(err error) {
	r.tell(func(time.Time) *Event {
		r.state.Refused = err.Error()
		_, r.state.Held = errors.AsType[*reactor.RemovalsError](err)
		return &Event{Outcome: Refused, Error: err.Error()}
	})
}

// Missed takes that so many events were not told.
// The engine calls it when its own queue was full.
func (r *Recorder) Missed(n int) {
	r.mu.Lock()
	r.dropped += n
	r.mu.Unlock()
	r.signal()
}

// Paused takes that an operator's pause has begun or ended; see mgmt.Observer.
func (r *Recorder) Paused(p reactor.Pause, on bool) {
	r.tell(func(time.Time) *Event {
		said := r.speaker(p.Resource)
		e := &Event{Outcome: Resumed, Resource: p.Resource, By: said.who, Reason: said.why}
		if on {
			e.Reason = "" // which the pause has
			e.Outcome, e.Pause = Paused, pauseOf(&p)
		}
		return e
	})
}

// Held takes that a limit holds a resource, or with nil no longer does; see
// reactor.Listener.
func (r *Recorder) Held(resource string, h *reactor.Held) {
	r.tell(func(time.Time) *Event {
		e := &Event{Outcome: Resumed, Resource: resource}
		if h != nil {
			e.Outcome, e.Held = Held, holdOf(h)
		} else {
			said := r.speaker(resource)
			e.By, e.Reason = said.who, said.why
		}
		if d := r.decision; d != nil && d.Of(resource) && (d.Approve || h != nil) {
			e.Outcome, e.By, e.Reason = Rejected, d.By, d.Reason
			if d.Approve { // with Held where others have to, too
				e.Outcome = Approved
			}
		}
		return e
	})
}

// spoken is who asks for something, and the reason.
type spoken struct{ who, why string }

// retried takes that a user has failed resources tried again.
func (r *Recorder) retried(who, why string, resources []string) {
	for _, id := range resources {
		r.tell(func(time.Time) *Event { return &Event{Outcome: TriedAgain, Resource: id, By: who, Reason: why} })
	}
}

// speaks notes until done is called that a user pauses or resumes resources,
// or with an empty name everything.
func (r *Recorder) speaks(who, why string, resources ...string) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range resources {
		r.speakers[id] = spoken{who, why}
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, id := range resources {
			delete(r.speakers, id)
		}
	}
}

// decides notes until done is called that a person decides.
func (r *Recorder) decides(d *reactor.Decision) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decision = d
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.decision = nil
	}
}

// speaker returns who is behind a pause or its end, or nothing where it is time.
// It is called with the lock held.
func (r *Recorder) speaker(resource string) spoken {
	return cmp.Or(r.speakers[resource], r.speakers[""])
}

// tell queues the event that f makes, if it makes one, and wakes who waits for
// news. f is called with the lock held.
func (r *Recorder) tell(f func(now time.Time) *Event) {
	now := r.opt.Now()
	r.mu.Lock()
	if e := f(now); e != nil {
		r.push(item{at: now, outcome: e.Outcome, event: e})
	}
	r.news()
	r.mu.Unlock()
	r.signal()
}

// news wakes who waits. It is called with the lock held.
func (r *Recorder) news() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Changes returns a channel that is closed when the history or the standing has
// become another one.
func (r *Recorder) Changes() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Standing returns how things stand.
// It is a copy.
func (r *Recorder) Standing() Standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// awaitLoaded waits until Graph returns the graph of the last swap.
func (r *Recorder) awaitLoaded(ctx context.Context) error {
	return r.await(ctx, func() bool { return !r.loading })
}

// await waits until f, which is called with the lock held, reports true.
func (r *Recorder) await(ctx context.Context, f func() bool) error {
	for {
		r.mu.Lock()
		done, changed := f(), r.changed
		r.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Graph returns the graph in effect, nil before the first.
func (r *Recorder) Graph() *resgraph.Graph {
	r.mu.Lock()
	graph := r.graph
	r.mu.Unlock()
	if graph == nil {
		return nil
	}
	return graph()
}

// Run encodes events and keeps them in h until ctx ends, and then the rest. The
// event started is the first of the session, stopped the last.
func (r *Recorder) Run(ctx context.Context, h History) {
	for ctx.Err() == nil {
		select {
		case <-r.wake:
			r.flush(h)
		case <-ctx.Done():
		}
	}
	r.tell(func(time.Time) *Event { return &Event{Outcome: Stopped} })
	r.flush(h)
}

// flush keeps the queued events.
// Appending is done without the lock, so the engine is never held up by a disk. Events
// that come meanwhile wait for the next flush.
func (r *Recorder) flush(h History) {
	r.mu.Lock()
	items, dropped, upTo := r.queue, r.dropped, r.pushed
	r.queue, r.text, r.dropped = nil, 0, 0
	r.mu.Unlock()
	if dropped > 0 {
		items = append(items, item{at: r.opt.Now(), outcome: Dropped, event: &Event{Outcome: Dropped, Dropped: dropped}})
	}
	for i := range items {
		h.Append(r.encode(&items[i]))
		items[i] = item{} // its texts may be long
	}
	r.mu.Lock()
	r.flushed = upTo
	r.news()
	r.mu.Unlock()
}

func (r *Recorder) encode(it *item) journal.Entry {
	e := it.event
	if e == nil {
		e = eventOf(it.outcome, &it.run)
	}
	e.Session = r.session
	return journal.Entry{At: it.at, Resource: e.Resource, Outcome: string(it.outcome), Data: marshal(e)}
}

// marshal encodes an event. A value that has no form in JSON becomes text.
func marshal(e *Event) []byte {
	data, err := json.Marshal(e)
	if err == nil {
		return data
	}
	for i := range e.Changes {
		c := &e.Changes[i]
		c.From, c.To = plain(c.From), plain(c.To)
	}
	if data, err = json.Marshal(e); err != nil {
		data, _ = json.Marshal(&Event{Outcome: e.Outcome, Resource: e.Resource, Session: e.Session, Error: "this event has no form in JSON: " + err.Error()})
	}
	return data
}

func plain(x any) any {
	if x == nil {
		return nil
	}
	return fmt.Sprint(x)
}

// Sync waits until all events from before the call are in the history.
// It blocks until Run has flushed, for ever if Run is not called, and ends with ctx.
func (r *Recorder) Sync(ctx context.Context) error {
	r.mu.Lock()
	upTo := r.pushed
	r.mu.Unlock()
	return r.await(ctx, func() bool { return r.flushed >= upTo })
}
