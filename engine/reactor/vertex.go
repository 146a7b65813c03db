package reactor

import (
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// vertex is one resource of the running graph. Unless a field says otherwise, it
// is owned by the loop. There may be millions: what few vertices need stands behind
// a pointer, and small fields stand together.
type vertex struct {
	lifecycle.Life // of its resource

	core  *core
	meta  *engine.MetaParams
	abil  *abilities
	key   *string // of its batch; nil for none
	slot  int32
	index int32 // in the present graph

	// the parts of the components
	hold   hold.Vertex
	watch  *watch.Vertex // nil where it has no Watch: see unwatched
	ledger ledger.Vertex
	values atomic.Pointer[values.Vertex] // nil while it sends and receives nothing

	membership membership
	run        running
	past       past

	asked   *asked // for the next run; nil for nothing but byGraph
	alarm   int32  // place in alarms, from 1; 0 for none
	noop    bool   // nothing may be altered
	once    bool   // it rests after its first success: resgraph.Special.Once
	byGraph bool   // a graph asks for the next run
	due     bool   // counted in shared

	ties   []tie // the declared edges that belong to it
	*links       // noLinks until it has one
}

// membership is how a vertex comes into the graph and leaves it.
type membership struct {
	*succession // noSuccession until it has one

	mail      atomic.Uint32 // news from other goroutines that the loop has not taken
	gone      bool          // it has left the graph
	suspended bool          // a Swap waits for its end, or it could not be brought back: nothing of it starts
	resumed   bool          // the Swap has failed: it goes on when it has ended
	placed    bool          // Declared knows its declaration; read by its runs
}

// succession is what few vertices know of how they come and leave.
type succession struct {
	broken  error              // the panic with which it could not be initialised: it fails, and nothing of it starts, until another graph replaces it
	idle    chan struct{}      // see idleChan
	before  *vertex            // the one of the same name that has to end first
	altered []string           // how its declaration differs from that of the one that it replaces
	after   *vertex            // the one of the same name that waits for this one
	members []*resgraph.Vertex // that it runs besides its own
}

// noSuccession is the one of every vertex without any. It is never written.
var noSuccession = &succession{}

// own returns the succession for writing.
func (m *membership) own() *succession {
	if m.succession == noSuccession {
		m.succession = &succession{}
	}
	return m.succession
}

// links are the edges of a vertex along which it tells others something. Most have none.
type links struct {
	notify  []*vertex // whom a change of it refreshes
	listens []*vertex // whose change refreshes it
	sendsTo []target
	readers uint64 // which Forgetters have a vertex below it: bits of loop.readers
}

// noLinks are the links of every vertex without any. They are never written.
var noLinks = &links{}

// ownLinks returns the links of v for writing.
func (v *vertex) ownLinks() *links {
	if v.links == noLinks {
		v.links = &links{}
	}
	return v.links
}

// addReaders notes Forgetters that have a vertex below v.
func (v *vertex) addReaders(bits uint64) {
	if v.readers|bits != v.readers {
		v.ownLinks().readers |= bits
	}
}

// forgetReaders forgets them.
func (v *vertex) forgetReaders() {
	if v.readers != 0 {
		v.links.readers = 0
	}
}

// onlyWires returns the links of v without those of refreshes.
func (v *vertex) onlyWires() *links {
	if len(v.sendsTo) == 0 && v.readers == 0 {
		return noLinks
	}
	return &links{sendsTo: v.sendsTo, readers: v.readers}
}

// running is the run of a vertex that goes on, or the last one. The loop and the goroutine of the
// run share it.
type running struct {
	job  *job  // written by the loop before the run; nil without one
	said *said // noSaid for nothing; guarded by mu

	waits   atomic.Int32 // waits in Host that are going on
	refresh atomic.Bool  // what Init.Refresh says
	altered atomic.Bool  // the run, which may alter, has reported a change
	mu      sync.Mutex   // guards the reports of the run
	applied bool         // CheckApply was called to alter; guarded by mu
	inRun   bool         // there is a run
	laid    laid         // of the loop, and no run goes on when it changes
	yielded bool         // its slot was given back while it waits in Host
}

// laid says whether the effect of a vertex is in Options.Layer.
type laid uint8

const (
	notLaid laid = iota
	partLaid
	wholeLaid // those who look at paths see all of it
)

// said is what the resource has reported in a run.
type said struct {
	changes []engine.Change
	print   uint64 // of the prints of changes
	sent    values.Sent
	untold  bool           // see planning.Host
	awaits  string         // the vertex that has to run before the outcome can be told; see Looker
	frees   string         // a path; see planning.Host
	leaves  bool           // something to a process that is in the middle of writing it
	newest  *engine.Newest // of its last command that shows its lines; nil for none
	led     *events.Cause  // counts as a cause of this run: see catchUp; nil for none
	later   *events.Cause  // the loop has heard it during the run, which may not have seen it; nil for nothing
}

// noSaid are the reports of every vertex without any. They are never written.
var noSaid = &said{}

// says returns the reports of the resource, for more of them. The caller holds mu, here and in the methods below, unless the run
// has ended.
func (x *running) says() *said {
	if x.said == noSaid {
		x.said = &said{}
	}
	return x.said
}

// asks reports whether the outcome is up to what the vertex asks: the answer of its own command.
func (x *running) asks() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.said.untold && x.said.awaits == ""
}

// newest returns that of its last command that shows its lines; nil for none.
func (x *running) newest() *engine.Newest {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.said.newest
}

// drop forgets what was reported in the run before.
func (x *running) drop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.said, x.applied = noSaid, false
}

// wasToAlter reports whether CheckApply was called to alter.
func (x *running) wasToAlter() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.applied
}

// anew begins another call of the run: it forgets the reports, and not what has led to the run.
func (x *running) anew(apply bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.applied = apply
	if s := x.said; s != noSaid {
		*s = said{led: s.led, later: s.later}
	}
}

// forget forgets the reported changes.
func (x *running) forget() {
	if x.said != noSaid {
		x.said.changes, x.said.print = nil, 0
	}
}

// discard forgets them where mu is not held.
func (x *running) discard() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forget()
}

// past is how the runs of a vertex have ended.
type past struct {
	*trouble                // noTrouble until it has one
	lastRun  uint64         // the ID of the last run
	changed  int32          // runs that changed something
	last     resgraph.State // how the last run ended
	class    Class          // of the last run that has changed something, or was not well
	realized bool           // a run has brought it about
	rested   bool           // it rests after its first success, and that was
}

// trouble is why a vertex did not end well.
type trouble struct {
	lastErr error
	retryAt int64  // by the reactor's clock, 0 for never
	until   string // with StateUnknown: the vertex that has to run first
	fails   bool   // with StateUnknown: the check has failed by what is in its way
}

// noTrouble is the one of every vertex without any. It is never written.
var noTrouble = &trouble{}

// own returns the trouble for writing.
func (p *past) own() *trouble {
	if p.trouble == noTrouble {
		p.trouble = &trouble{}
	}
	return p.trouble
}

// setError notes how the last run ended, nil for well.
func (p *past) setError(err error) {
	if err != nil || p.lastErr != nil {
		p.own().lastErr = err
	}
}

// setRetry notes when the vertex is tried again by itself, 0 for never.
func (p *past) setRetry(at int64) {
	if at != p.retryAt {
		p.own().retryAt = at
	}
}

// abilities are what a vertex's kind can do, in the form that the loop asks for.
type abilities struct {
	engine.Abilities
	recvType *schema.Type // of the resource itself
	watched  bool         // the host may be asked in the place of Watch: see notified
	secret   bool         // there may be a secret in its declaration
	quick    int          // its quick runs since the last long one, up to quickAfter; of the loop
}

// wired returns what v sends and receives, nil for nothing. Callable from any goroutine.
func (v *vertex) wired() *values.Vertex { return v.values.Load() }

// wiring returns what v sends and receives, and makes it where that is nothing yet. It is called by
// the loop, and before v is known to others.
func (v *vertex) wiring() *values.Vertex {
	if v.wired() == nil {
		v.values.Store(values.New(nil, nil))
	}
	return v.wired()
}

// unwatched reports whether the vertex has no Watch: it is ready from the start.
func (v *vertex) unwatched() bool { return v.core.unwatched(v.abil, v.meta) }

func (c *core) unwatched(a *abilities, m *engine.MetaParams) bool {
	return a.Unwatched || m.Poll > 0 || m.Hidden || c.opt.Once
}

// byDefault reports whether the graph says nothing of retry: an event of v ends the wait for its
// next try.
func (v *vertex) byDefault() bool { return v.meta.Retry == engine.RetryDefault }

// undone reports whether v has nothing to undo, or nothing more. It is asked after a run that has not failed.
func (v *vertex) undone() bool {
	u, ok := engine.As[engine.UndoingRes](v.Res)
	if !ok || !v.once && !v.meta.Rests {
		return true
	}
	all := true
	_ = lifecycle.Call("Undone", func() error { all = u.Undone(); return nil }) // a resource that can't say has done all
	return all
}

// isOver reports whether nothing is kept to undo v after a run of it that has not failed: it is a
// reversal that has done all, or is not to be reversed.
func (v *vertex) isOver() bool { return !v.meta.Undoes() && v.undone() }

// altering reports whether a run of v that goes on has said that it changes something,
// or may have been cut off after that.
func (v *vertex) altering() bool { return v.run.inRun && v.run.altered.Load() }

// tie is a declared edge, as the vertex has it to which it belongs. A large graph has many: it takes 8 bytes.
type tie struct {
	peer  int32 // the slot of the other end
	flags uint8
}

const (
	tieOut    uint8 = 1 << iota // it leads to the peer
	tieNotify                   // it carries refresh
	tieFree                     // it belongs to neither end, and stands at one of them
)

func (t tie) is(flag uint8) bool { return t.flags&flag != 0 }

// edge returns the edge of a tie of the vertex in a slot.
func (t tie) edge(slot int32) [2]int32 {
	if t.is(tieOut) {
		return [2]int32{slot, t.peer}
	}
	return [2]int32{t.peer, slot}
}

// target is one wire of a receiver.
type target struct {
	v *vertex
	i int
}

// asked is what has asked for the next run of a vertex.
type asked struct {
	list  []Trigger
	since int64      // when the first of it came, by the reactor's clock
	first [1]Trigger // room for the only one of most runs
}

// onlyLooks reports whether v says itself that it is to alter nothing.
func (v *vertex) onlyLooks() bool {
	return v.meta.Drift == engine.DriftReport || v.meta.Noop != nil && *v.meta.Noop
}
