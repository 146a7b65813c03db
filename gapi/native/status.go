package native

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
)

// Status is the record that a host writes beside an object.
type Status struct {
	Version   int64  `json:"version,omitempty"`    // of the object that is in effect
	Revision  int64  `json:"revision"`             // of the same
	State     string `json:"state"`                // of the resource; refused where it was put aside
	Error     string `json:"error,omitempty"`      // why it failed, or was refused
	BlockedBy string `json:"blocked_by,omitempty"` // kind[name] of the resource that blocks it, or that it waits for
	Changed   int    `json:"changed,omitempty"`    // how many runs of the daemon's life have changed something
}

// Refused is the State of an object that is not in the graph.
const Refused = "refused"

// State is the state of a running resource, without secrets.
type State struct {
	Resource, State, Error, BlockedBy string
	Changed                           int
}

// Engine tells states. Its methods may block, and are called by the goroutine of Writer.Run.
type Engine interface {
	// State returns the state of a resource, false where the graph has none.
	State(ctx context.Context, resource string) (State, bool)
	// States returns the states of all resources; members of groups may be absent.
	States(ctx context.Context) ([]State, error)
}

// effect is what the graph in effect was made of.
type effect struct {
	mu      sync.Mutex
	all     map[string]inEffect // by kind[name]
	changed chan struct{}       // of capacity 1
}

// inEffect is an object as the graph has it.
type inEffect struct {
	ident
	version
	why error // why it is not in the graph; nil if it is
}

// set takes over the objects of a graph that is in effect. The session calls it by Declared.Done.
func (e *effect) set(all map[string]inEffect) {
	e.mu.Lock()
	e.all = all
	e.mu.Unlock()
	wake(e.changed)
}

// get returns the objects of the graph in effect. The caller must not alter the map.
func (e *effect) get() map[string]inEffect {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all
}

// wake leaves a token, unless there is one.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Writer writes the statuses of one host. Make it with NewWriter, call Run once, and Touch from any goroutine.
type Writer struct {
	f     *Frontend
	host  string
	e     Engine
	clock engine.Clock
	log   *slog.Logger

	stirred chan struct{} // of capacity 1

	mu    sync.Mutex
	dirty map[string]bool // resources whose state may have changed
	all   bool            // every resource's may

	known bool                     // last has what the store has
	last  map[ident]model.StatusOf // as it was written last; of Run's goroutine
	of    map[string]inEffect      // the graph that last was written for
}

// NewWriter returns a Writer of the statuses of f's objects. A nil clock is that of the machine, a nil log is silent.
func NewWriter(f *Frontend, host string, e Engine, clock engine.Clock, log *slog.Logger) *Writer {
	return &Writer{f: f, host: host, e: e, clock: engine.ClockOr(clock), log: cmp.Or(log, slog.New(slog.DiscardHandler)),
		stirred: make(chan struct{}, 1), dirty: map[string]bool{}, last: map[ident]model.StatusOf{}}
}

// Touch says that the state of a resource may have changed; "" is every resource. It does not block.
func (w *Writer) Touch(resource string) {
	w.mu.Lock()
	if resource == "" || len(w.dirty) >= maxDirty {
		w.all = true
		clear(w.dirty)
	} else if !w.all {
		w.dirty[resource] = true
	}
	w.mu.Unlock()
	wake(w.stirred)
}

const (
	writeEvery = 100 * time.Millisecond // the least time between two writes
	retryEvery = time.Second            // after a write that failed
	maxError   = 4 << 10                // bytes of an error; so 128 statuses fit into one transaction
	maxDirty   = 1000                   // more changed resources are looked at all together
)

// Run writes statuses until the context ends. It writes nothing before the store is in use.
func (w *Writer) Run(ctx context.Context) {
	for warned := false; ctx.Err() == nil; {
		select {
		case <-w.stirred:
		case <-w.f.effect.changed:
		case <-ctx.Done():
			return
		}
		if !w.f.used() {
			continue
		}
		wait := writeEvery // what changes meanwhile is written together
		err := w.write(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = retryEvery
			w.Touch("") // the states that were asked for are lost with the error
			if !warned {
				w.log.Warn("statuses of objects cannot be written: it is tried again every second", "error", err)
			}
		}
		warned = err != nil
		woken, stop := engine.Wake(w.clock, wait)
		select {
		case <-woken:
		case <-ctx.Done():
		}
		stop()
	}
}

// write brings the store up to date. It looks at the objects of the graph in effect: at all of them where any state may
// have changed, else at those that changed themselves, or whose resource did. Statuses of other objects are removed.
func (w *Writer) write(ctx context.Context) error {
	if err := w.read(ctx); err != nil {
		return err
	}
	now := w.f.effect.get()
	if now == nil { // no graph was in effect yet: the statuses of the daemon before still tell the most
		return nil
	}
	states, all, err := w.states(ctx, now)
	if err != nil { // the engine ends, or has not begun: that is no fault of the store
		w.Touch("")
		return nil
	}
	var changed []model.StatusOf
	for id, e := range now {
		s, asked := states[id]
		if !asked && !all && e.why == nil && w.of[id] == e {
			continue
		}
		if !asked && e.why == nil && e.model.Kind() != "" {
			s, _ = w.e.State(ctx, id)
		}
		changed = w.compare(changed, e, s)
	}
	for id, s := range w.last {
		if _, ok := now[id.String()]; !ok {
			changed = append(changed, model.StatusOf{Model: s.Model, ID: s.ID})
		}
	}
	slices.SortFunc(changed, func(a, b model.StatusOf) int {
		return cmp.Or(strings.Compare(a.Model.Table(), b.Model.Table()), strings.Compare(a.ID, b.ID))
	})
	if err := w.f.nb.PutStatus(ctx, w.host, changed...); err != nil {
		return err
	}
	w.wrote(now, changed)
	return nil
}

// read learns what an earlier daemon of this host has written.
func (w *Writer) read(ctx context.Context) error {
	if w.known {
		return nil
	}
	all, err := w.f.nb.StatusesOf(ctx, w.host)
	if err != nil {
		return err
	}
	for _, s := range all {
		w.last[ident{s.Model.Table(), s.ID}] = s
	}
	w.known = true
	return nil
}

// states asks for the states that may have changed. all says that these are all.
func (w *Writer) states(ctx context.Context, now map[string]inEffect) (states map[string]State, all bool, err error) {
	w.mu.Lock()
	dirty := w.dirty
	all = w.all
	w.dirty, w.all = map[string]bool{}, false
	w.mu.Unlock()
	states = map[string]State{}
	if all {
		list, err := w.e.States(ctx)
		for _, s := range list {
			if _, ours := now[s.Resource]; ours {
				states[s.Resource] = s
			}
		}
		return states, true, err
	}
	for id := range dirty {
		if e, ours := now[id]; ours && e.why == nil {
			if s, ok := w.e.State(ctx, id); ok {
				states[id] = s
			}
		}
	}
	return states, false, nil
}

// compare adds the status of an object if it is another than the one in the store.
func (w *Writer) compare(changed []model.StatusOf, e inEffect, s State) []model.StatusOf {
	if e.model.Kind() == "" && e.why == nil {
		return changed
	}
	status := Status{Version: e.version.version, Revision: e.revision, State: s.State, Error: s.Error, BlockedBy: s.BlockedBy, Changed: s.Changed}
	if e.why != nil {
		status.State, status.Error = Refused, e.why.Error()
	}
	if len(status.Error) > maxError {
		status.Error = strings.ToValidUTF8(status.Error[:maxError], "") + " ..."
	}
	text, err := json.Marshal(status)
	if err != nil || bytes.Equal(text, w.last[e.ident].JSON) {
		return changed
	}
	return append(changed, model.StatusOf{Model: e.model, ID: e.id, JSON: text})
}

// wrote notes what the store has now. It is called after the write, so that a failed one is repeated.
func (w *Writer) wrote(now map[string]inEffect, changed []model.StatusOf) {
	w.of = now
	for _, s := range changed {
		id := ident{s.Model.Table(), s.ID}
		if s.JSON == nil {
			delete(w.last, id)
			continue
		}
		w.last[id] = s
	}
}
