package reactor

import (
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// vertex is one resource of the running graph. Unless a field says otherwise, it
// is owned by the loop. There may be millions: what few vertices need stands behind
// a pointer, and small fields stand together.
type vertex struct {
	lifecycle.Life // of its resource

	r     *Reactor
	meta  *engine.MetaParams
	abil  *abilities
	key   string // of its batch; empty for none
	slot  int32
	index int32 // in the present graph

	// what each component knows of it
	hold   hold.Vertex
	watch  watch.Vertex
	owed   ledger.Vertex
	values atomic.Pointer[values.Vertex] // nil while it sends and receives nothing

	membership membership
	run        running
	past       past

	asked   *asked // for the next run; nil for nothing but byGraph
	retryAt int64  // by the reactor's clock, 0 for never
	alarm   int32  // place in alarms, from 1; 0 for none
	noop    bool   // nothing may be altered
	once    bool   // it rests after its first success: engine.Vertex.Once
	byGraph bool   // a graph asks for the next run
	due     bool   // counted in shared

	readers uint64 // which Forgetters have a vertex below it: bits of Reactor.readers
	*links
}

// membership is how a vertex comes into the graph and leaves it.
type membership struct {
	broken error         // the panic with which it could not be initialised: it fails, and nothing of it starts, until another graph replaces it
	idle   chan struct{} // see idleChan
	before *vertex       // the one of the same name that has to end first
	after  *vertex       // the one of the same name that waits for this one

	mail      atomic.Uint32 // what other goroutines have said of it, and the loop has not taken
	gone      bool          // it has left the graph
	suspended bool          // a Swap waits for its end, or it could not be brought back: nothing of it starts
	stalled   uint8         // how far the log has told that it waits for something outside; 0 if it does not
	resumed   bool          // the Swap has failed: it goes on when it has ended
}

// links are the edges of a vertex, as the loop follows them.
type links struct {
	ties    []tie     // the declared edges that belong to it
	notify  []*vertex // whom a change of it refreshes
	listens []*vertex // whose change refreshes it
	sendsTo []target
}

// running is the run of a vertex that goes on, or the last one. The loop and the goroutine of the
// run share it.
type running struct {
	job     *job            // written by the loop before the run; nil without one
	out     outcome         // written by the run, read by the loop after mailRan
	ctx     *runContext     // of the run that is going on; nil once v wants no more of it
	worker  *worker         // of the run, with the lead of a batch
	changes []engine.Change // guarded by mu
	sent    values.Sent     // guarded by mu

	waits   atomic.Int32 // waits in Host that are going on
	refresh atomic.Bool  // what Init.Refresh says
	altered atomic.Bool  // the run, which may alter, has reported a change
	mu      sync.Mutex   // guards what the run reports
	applied bool         // CheckApply was called to alter; guarded by mu
	inRun   bool         // there is a run
	yielded bool         // its slot was given back while it waits in Host
}

// past is how the runs of a vertex have ended.
type past struct {
	lastErr  error
	until    string       // with StateUnknown: the vertex that has to run first
	lastRun  uint64       // the ID of the last run
	changed  int32        // runs that changed something; for the one that never rests
	last     engine.State // how the last run ended
	class    Class        // of the last run
	realized bool         // a run has brought it about
	rested   bool         // it rests after its first success, and that was
}

// abilities are what a vertex's kind can do, in the form that the loop asks for.
type abilities struct {
	engine.Abilities
	recvType *schema.Type // of the resource itself
	watched  bool         // the host may be asked in the place of Watch: see notified
	secret   bool         // there may be a secret in its declaration
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

// complete makes the handle of the vertex's resource lead to the loop.
func (v *vertex) complete(h *engine.Init) {
	h.Noop = v.noop
	h.Running, h.Event, h.Busy = v.sayRunning, v.sayEvent, v.r.sayBusy
	h.Refresh, h.Change = v.run.refresh.Load, v.change
	h.Send, h.Receives, h.Recv = v.send, v.receives, v.recvMap
	h.Host = (*vertexHost)(v)
	if v.noop {
		h.VarDir = v.VarPath
	}
}

func (v *vertex) sayRunning() {
	if v.watch.SayRunning() {
		v.r.mail.post(v, mailRunning)
	}
}

func (v *vertex) sayEvent() {
	if v.watch.HasSaid() {
		v.r.mail.post(v, mailEvent)
	}
}

func (v *vertex) change(c engine.Change) {
	c.From, c.To = v.r.env.Shown(c.From), v.r.env.Shown(c.To)
	v.run.mu.Lock()
	v.run.changes = append(v.run.changes, c)
	first := v.run.applied && len(v.run.changes) == 1
	v.run.mu.Unlock()
	if first {
		v.applies()
	}
}

// unwatched reports whether the vertex has no Watch: it is ready from the start.
func (v *vertex) unwatched() bool {
	return v.abil.Unwatched || v.meta.Poll > 0 || v.meta.Hidden || v.r.opt.Once
}
