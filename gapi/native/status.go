package native

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Status is the record that a host writes about an object.
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
	changed chan struct{} // of capacity 1

	mu    sync.Mutex
	now   *set // nil before the first graph
	aside map[string]schema.Diagnostics

	made    int64 // counts the graphs
	waiting news  // changes up to the graph of that number, which are not in effect yet
	news    news  // changes in effect that the Writer has not looked at
}

// news are objects to be looked at.
type news struct {
	ids map[ident]bool
	all bool // everything may have changed
}

// add adds other ones.
func (n *news) add(m news) {
	n.all = n.all || m.all
	if n.ids == nil {
		n.ids = map[ident]bool{}
	}
	maps.Copy(n.ids, m.ids)
}

// await notes the changes of a graph that is made now, and returns its number.
func (e *effect) await(changed []moved, all bool) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.made++
	n := news{all: all}
	if !all {
		n.ids = make(map[ident]bool, len(changed))
		for _, m := range changed {
			n.ids[m.ident] = true
		}
	}
	e.waiting.add(n)
	return e.made
}

// set takes over the objects of a graph that is in effect. The session calls it by Declared.Done.
func (e *effect) set(number int64, now *set, aside map[string]schema.Diagnostics) {
	e.mu.Lock()
	if number == e.made { // else a later graph is on its way, and brings these changes too
		e.news.add(e.waiting)
		e.waiting = news{}
	}
	e.turned(aside)
	e.now, e.aside = now, aside
	e.mu.Unlock()
	wake(e.changed)
}

// turned notes the objects that were put aside, or come back, or have another reason.
func (e *effect) turned(aside map[string]schema.Diagnostics) {
	ids := map[ident]bool{}
	for _, list := range []map[string]schema.Diagnostics{aside, e.aside} {
		for id := range list {
			if ref, err := schema.ParseRef(id); err == nil && reason(aside[id]) != reason(e.aside[id]) {
				ids[ident{ref.Kind, ref.Name}] = true
			}
		}
	}
	e.news.add(news{ids: ids})
}

// reason returns findings as the text of a status, "" for none.
func reason(why schema.Diagnostics) string {
	if len(why) == 0 {
		return ""
	}
	return why.Error()
}

// look is the graph in effect, with the objects for the Writer to look at.
type look struct {
	news
	now   *set // nil before the first graph
	aside map[string]schema.Diagnostics
}

// take returns the objects of the graph in effect, with the changed ones since the last call. They are the caller's.
func (e *effect) take() look {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := look{news: e.news, now: e.now, aside: e.aside}
	e.news = news{}
	return l
}

// again has changes looked at again.
func (e *effect) again(n news) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.news.add(n)
}

// at returns an object of the graph in effect, nil for none, and why it is not in the graph; "" if it is.
func (l *look) at(id ident) (*entry, string) {
	e := l.now.at(id)
	switch {
	case e == nil:
		return nil, ""
	case e.fault != nil:
		return e, e.fault.Error()
	}
	return e, reason(l.aside[id.String()])
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
	clock clock.Clock
	log   *slog.Logger

	stirred chan struct{} // of capacity 1

	mu    sync.Mutex
	dirty map[string]bool // resources whose state may have changed
	all   bool            // every resource's may
	ill   bool            // that of every one in unwell may

	known bool                     // last is the state of the store
	last  map[ident]model.StatusOf // as it was written last; of Run's goroutine

	unwell map[ident]bool // not well when they were looked at last; true has failed; of Run's goroutine
}

// NewWriter returns a Writer of the statuses of f's objects. A nil clock is that of the machine, a nil log is silent.
func NewWriter(f *Frontend, host string, e Engine, c clock.Clock, log *slog.Logger) *Writer {
	return &Writer{f: f, host: host, e: e, clock: clock.Or(c), log: cmp.Or(log, slog.New(slog.DiscardHandler)),
		stirred: make(chan struct{}, 1), dirty: map[string]bool{}, last: map[ident]model.StatusOf{}, unwell: map[ident]bool{}}
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

// Rested says that the graph has come to rest. The objects that were not well are looked at again, and no others: a
// change of one among very many costs no look at all of them. It does not block.
func (w *Writer) Rested() {
	w.mu.Lock()
	w.ill = true
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
		wait := writeEvery // all changes in that time are written together
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
		woken, stop := clock.After(w.clock, wait)
		select {
		case <-woken:
		case <-ctx.Done():
		}
		stop()
	}
}

// write brings the store up to date. It looks at all objects of the graph in effect where any state may
// have changed, else at the changed objects and resources. Statuses of other objects are removed.
func (w *Writer) write(ctx context.Context) error {
	if err := w.read(ctx); err != nil {
		return err
	}
	l := w.f.effect.take()
	if l.now == nil { // no graph was in effect yet: the statuses of the daemon before still tell the most
		return nil
	}
	changed, err := w.changes(ctx, &l)
	if err != nil { // the engine ends, or has not begun: the store has no fault
		w.f.effect.again(l.news)
		w.Touch("")
		return nil
	}
	sorted.Func(changed, func(a, b model.StatusOf) int {
		return cmp.Or(strings.Compare(a.Model.Table(), b.Model.Table()), strings.Compare(a.ID, b.ID))
	})
	if err := w.f.nb.PutStatus(ctx, w.host, changed...); err != nil {
		w.f.effect.again(l.news)
		return err
	}
	w.wrote(changed)
	return nil
}

// changes returns the statuses that are others than those in the store.
func (w *Writer) changes(ctx context.Context, l *look) (changed []model.StatusOf, err error) {
	dirty, all := w.touched()
	if !all && !l.all {
		look := maps.Clone(l.ids)
		if look == nil {
			look = map[ident]bool{}
		}
		for id := range dirty {
			look[l.now.objectOf(id)] = true
		}
		for id := range look {
			changed = w.compareOne(ctx, changed, l, id)
		}
		return changed, nil
	}
	states, err := w.states(ctx)
	if err != nil {
		return nil, err
	}
	l.now.Scan(func(e *entry) bool {
		_, why := l.at(e.ident)
		s, asked := states[e.runs]
		if !asked && why == "" && e.declared != nil { // the member of a group
			s, _ = w.e.State(ctx, e.runs.String())
		}
		changed = w.compare(changed, e, why, s)
		return true
	})
	for id, s := range w.last {
		if l.now.at(id) == nil {
			delete(w.unwell, id)
			changed = append(changed, model.StatusOf{Model: s.Model, ID: s.ID})
		}
	}
	return changed, nil
}

// compareOne is compare of one object by its name, which may have left.
func (w *Writer) compareOne(ctx context.Context, changed []model.StatusOf, l *look, id ident) []model.StatusOf {
	e, why := l.at(id)
	if e == nil {
		delete(w.unwell, id)
		if s, ok := w.last[id]; ok {
			changed = append(changed, model.StatusOf{Model: s.Model, ID: s.ID})
		}
		return changed
	}
	var s State
	if why == "" && e.declared != nil {
		s, _ = w.e.State(ctx, e.runs.String())
	}
	if s.Error != "" && !w.unwell[id] {
		w.Touch("") // others may be blocked by it from now on
	}
	return w.compare(changed, e, why, s)
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

// touched returns the resources whose state may have changed; all says that any may. The caller leaves other
// resources out.
func (w *Writer) touched() (ids map[ident]bool, all bool) {
	w.mu.Lock()
	dirty := w.dirty
	all, ill := w.all, w.ill
	w.dirty, w.all, w.ill = map[string]bool{}, false, false
	w.mu.Unlock()
	ids = make(map[ident]bool, len(dirty))
	if ill {
		maps.Copy(ids, w.unwell)
	}
	for id := range dirty {
		if ref, err := schema.ParseRef(id); err == nil {
			ids[ident{ref.Kind, ref.Name}] = true
		}
	}
	return ids, all
}

// states asks for all states.
func (w *Writer) states(ctx context.Context) (map[ident]State, error) {
	list, err := w.e.States(ctx)
	states := make(map[ident]State, len(list))
	for _, s := range list {
		if ref, err := schema.ParseRef(s.Resource); err == nil {
			states[ident{ref.Kind, ref.Name}] = s
		}
	}
	return states, err
}

// compare adds the status of an object if it is another than the one in the store. why says why the object is not in the graph.
func (w *Writer) compare(changed []model.StatusOf, e *entry, why string, s State) []model.StatusOf {
	if e.declared == nil && why == "" {
		return changed
	}
	w.note(e.ident, s)
	status := Status{Version: e.version, Revision: e.revision, State: s.State, Error: s.Error, BlockedBy: s.BlockedBy, Changed: s.Changed}
	if why != "" {
		status.State, status.Error = Refused, why
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

// note keeps whether the object is well. The state of a well one changes with a run of it, and with nothing else.
func (w *Writer) note(id ident, s State) {
	if s.State == resgraph.StateOK.String() {
		delete(w.unwell, id)
	} else {
		w.unwell[id] = s.Error != ""
	}
}

// wrote notes the statuses in the store. It is called after the write, so that a failed one is repeated.
func (w *Writer) wrote(changed []model.StatusOf) {
	for _, s := range changed {
		id := ident{s.Model.Table(), s.ID}
		if s.JSON == nil {
			delete(w.last, id)
			continue
		}
		w.last[id] = s
	}
}
