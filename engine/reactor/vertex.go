package reactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// vertex is one resource of the running graph. Unless a field says otherwise, it
// is owned by the loop. There may be millions: what few vertices need stands behind
// a pointer, and small fields stand together.
type vertex struct {
	r     *Reactor
	res   engine.Res
	meta  *engine.MetaParams
	abil  *abilities
	id    string
	key   string // of its batch; empty for none
	slot  int32
	index int32 // in the present graph

	// what each component knows of it
	hold   hold.Vertex
	watch  watch.Vertex
	owed   ledger.Vertex
	values atomic.Pointer[values.Vertex] // nil while it sends and receives nothing

	life life
	run  running
	past past

	asked   *asked // for the next run; nil for nothing but byGraph
	retryAt int64  // by the reactor's clock, 0 for never
	alarm   int32  // place in alarms, from 1; 0 for none
	noop    bool   // nothing may be altered
	once    bool   // it rests after its first success: engine.Vertex.Once
	byGraph bool   // a graph asks for the next run
	due     bool   // counted in shared

	shared  *shared   // nil when it shares nothing
	readers uint64    // which Forgetters have a vertex below it: bits of Reactor.readers
	notify  []*vertex // whom a change of it refreshes
	sendsTo []target

	redact atomic.Pointer[secrets.Texts] // the secrets that it knows
	mail   atomic.Uint32
}

// life is how a vertex comes into the graph and leaves it.
type life struct {
	broken error         // the panic with which it could not be initialised: it fails, and nothing of it starts, until another graph replaces it
	idle   chan struct{} // see idleChan
	before *vertex       // the one of the same name that has to end first
	after  *vertex       // the one of the same name that waits for this one

	inited    bool // written by Swap, and by who cleans up
	gone      bool // it has left the graph
	suspended bool // a Swap waits for its end, or it could not be brought back: nothing of it starts
	resumed   bool // the Swap has failed: it goes on when it has ended
}

// running is the run of a vertex that goes on, or the last one. The loop and the goroutine of the
// run share it.
type running struct {
	job     *job                    // written by the loop before the run; nil without one
	out     outcome                 // written by the run, read by the loop after mailRan
	cutRun  context.CancelCauseFunc // of the run that is going on; nil when it was called
	worker  *worker                 // of the run, with the lead of a batch
	changes []engine.Change         // guarded by mu
	sent    values.Sent             // guarded by mu

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
	stalled  uint8        // how far the log has told that it waits for something outside; 0 if it does not
}

// abilities are what a vertex's kind can do, in the form that the loop asks for.
type abilities struct {
	engine.Abilities
	recvType *schema.Type // of the resource itself
	watched  bool         // the host may be asked in the place of Watch: see notified
	secret   bool         // there may be a secret in what a graph declares of it
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

var errNoState = errors.New("there is no state folder")

// newInit makes the handle for the vertex's resource.
func (v *vertex) newInit() *engine.Init {
	o := &v.r.opt
	return &engine.Init{
		Program:  o.Program,
		Version:  o.Version,
		Hostname: o.Hostname,
		Noop:     v.noop,
		Running:  v.sayRunning,
		Event:    v.sayEvent,
		Busy:     v.r.sayBusy,
		Refresh:  v.run.refresh.Load,
		Send:     v.send,
		Receives: v.receives,
		Recv:     v.recvMap,
		Change:   v.change,
		World:    o.World,
		Host:     (*vertexHost)(v),
		Shared:   v.shared.value(),
		VarDir:   v.varDir,
		Debug:    o.Debug,
		Logf:     v.logf,
		Log:      slog.New((*vertexLog)(v)),
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
	c.From, c.To = v.r.shownOf(c.From), v.r.shownOf(c.To)
	v.run.mu.Lock()
	v.run.changes = append(v.run.changes, c)
	first := v.run.applied && len(v.run.changes) == 1
	v.run.mu.Unlock()
	if first {
		v.applies()
	}
}

// varDir implements Init.VarDir.
func (v *vertex) varDir(rel string) (string, error) {
	base, err := v.r.varBase(v.id, v.res.Kind(), v.res.Name())
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, filepath.Join("/", rel))
	if v.r.opt.ReadOnly || v.noop {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("%s: its state folder: %w", v.id, err)
	}
	return dir, nil
}

func (r *Reactor) varBase(id, kind, name string) (string, error) {
	if r.opt.StateDir == "" {
		return "", fmt.Errorf("%s: %w", id, errNoState)
	}
	return filepath.Join(r.opt.StateDir, "vars", engine.FileName(kind), engine.FileName(name)), nil
}

// unwatched reports whether the vertex has no Watch: it is ready from the start.
func (v *vertex) unwatched() bool {
	return v.abil.Unwatched || v.meta.Poll > 0 || v.meta.Hidden || v.r.opt.Once
}

// protect calls f and turns a panic in it into an error. What it returns can be read
// anywhere: see engine.Freeze.
func protect(method string, f func() error) (err error) {
	err = guarded(method, f)
	if err != nil {
		err = engine.Freeze(method, err)
	}
	return err
}

// guarded calls f and turns a panic in it into an error.
func guarded(method string, f func() error) (err error) {
	defer engine.Caught(method, &err)
	return f()
}
