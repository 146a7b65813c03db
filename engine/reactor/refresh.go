package reactor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"

	"github.com/reactivegraph/mgmt/engine"
)

// The tables of the store.
const (
	tableIntent  = "intent"  // key: the source
	tableRefresh = "refresh" // key: the target, the source and a number
)

const keySep = "\x00"

// pending is one refresh that waits for its target to succeed. The number tells
// a refresh from a later one of the same source.
type pending struct {
	source string
	num    uint64
}

func (p pending) key(target string) string {
	return target + keySep + p.source + keySep + strconv.FormatUint(p.num, 10)
}

// pendings are the refreshes of one target, by source: nearly always one of each.
type pendings map[string][]uint64

// add notes a refresh.
func (p *pendings) add(r pending) {
	if *p == nil {
		*p = pendings{}
	}
	(*p)[r.source] = append((*p)[r.source], r.num)
}

// remove forgets a refresh.
func (p pendings) remove(r pending) {
	nums := slices.DeleteFunc(p[r.source], func(n uint64) bool { return n == r.num })
	if len(nums) == 0 {
		delete(p, r.source)
		return
	}
	p[r.source] = nums
}

// from returns those of one source.
func (p pendings) from(source string) []pending {
	var list []pending
	for _, n := range p[source] {
		list = append(list, pending{source, n})
	}
	return list
}

// all returns all of them, sorted.
func (p pendings) all() []pending {
	if len(p) == 0 {
		return nil
	}
	list := make([]pending, 0, len(p))
	for _, source := range slices.Sorted(maps.Keys(p)) {
		list = append(list, p.from(source)...)
	}
	return list
}

// intend makes it durable that vertices are about to be altered. The wait gives
// the run's slot back, so that many are written down together.
func (r *Reactor) intend(ctx context.Context, vs ...*vertex) error {
	var writes []engine.Write
	for _, v := range vs {
		if v.job.notifies() && !v.intent {
			writes = append(writes, engine.Write{Table: tableIntent, Key: v.id, Value: []byte{1}})
		}
		writes = r.spent(v, writes)
	}
	if len(writes) == 0 {
		return nil
	}
	if err := r.commit(ctx, vs[0], writes); err != nil {
		return fmt.Errorf("what is about to change cannot be recorded, so nothing was changed: %w", err)
	}
	for _, v := range vs {
		v.intent = v.intent || v.job.notifies()
	}
	return nil
}

// maxCommitting is how many runs may have given back their slots because they wait
// for the store. They are written down together; more of them at once would cost
// more in stacks than it saves in commits.
const maxCommitting = 64

// commit writes to the store, within a run of v.
func (r *Reactor) commit(ctx context.Context, v *vertex, writes []engine.Write) error {
	defer r.committing.Add(-1)
	if r.committing.Add(1) <= maxCommitting {
		defer v.wait(ctx)()
	}
	return r.scribe.commit(ctx, writes)
}

// finish writes down how runs ended that may alter and did not fail: the refreshes
// that they acted on are cleared, and their intents become pending refreshes. A
// failure keeps the intent, so that the next success counts as a change. It runs in
// the run's goroutine; the loop does not touch the vertex's intent and job meanwhile.
//
// What is only an intent that becomes refreshes nobody waits for: after a crash the
// intent says the same. The end of a refresh has the key of that refresh, so it comes
// after this, or together with it.
func (r *Reactor) finish(ctx context.Context, vs ...*vertex) error {
	var over, owed []engine.Write
	for _, v := range vs {
		over = r.cleared(v, over)
		owed = r.owes(v, owed)
	}
	switch {
	case len(over) > 0:
		if err := r.commit(context.WithoutCancel(ctx), vs[0], append(over, owed...)); err != nil {
			return fmt.Errorf("cannot record the change: %w", err)
		}
	case len(owed) > 0:
		r.scribe.noteAll(owed...)
	default:
		return nil
	}
	for _, v := range vs {
		r.undoing.settled(v)
	}
	return nil
}

// cleared adds what is over with a run of v that did not fail.
func (r *Reactor) cleared(v *vertex, writes []engine.Write) []engine.Write {
	writes = append(writes, r.undoing.over(v)...)
	for _, p := range v.job.pending {
		writes = append(writes, engine.Write{Table: tableRefresh, Key: p.key(v.id)})
	}
	return writes
}

// owes adds what the intent of v becomes when its run did not fail.
func (r *Reactor) owes(v *vertex, writes []engine.Write) []engine.Write {
	if !v.intent {
		return writes
	}
	writes = append(writes, engine.Write{Table: tableIntent, Key: v.id})
	for i := range v.job.refreshes {
		f := &v.job.refreshes[i]
		f.pending = pending{source: v.id, num: r.numbers.Add(1)}
		writes = append(writes, engine.Write{Table: tableRefresh, Key: f.pending.key(f.target), Value: []byte{1}})
		for _, p := range f.stale {
			writes = append(writes, engine.Write{Table: tableRefresh, Key: p.key(f.target)})
		}
	}
	return writes
}

// refreshing is a refresh that a run has made durable for a target. It replaces
// those of the same source that wait, so that they do not pile up before a target
// that cannot act.
type refreshing struct {
	target  string
	pending pending
	stale   []pending
}

// refreshes returns whom a change of v will refresh.
func (v *vertex) refreshes() []refreshing {
	if len(v.notify) == 0 {
		return nil
	}
	list := make([]refreshing, len(v.notify))
	for i, t := range v.notify {
		list[i].target = t.id
		list[i].stale = t.pending.from(v.id)
	}
	return list
}

// refreshed does what a run of v that ended without an error asks for: the
// refreshes that it acted on are over, and its change refreshes others.
func (r *Reactor) refreshed(v *vertex, changed bool) {
	if !v.job.apply {
		return
	}
	v.acted(v.job.pending)
	if changed || v.intent {
		r.notifyAll(v)
	}
	v.intent = false
}

// notifyAll marks the targets of v dirty, with the refreshes that its run has
// recorded.
func (r *Reactor) notifyAll(v *vertex) {
	for _, f := range v.job.refreshes {
		t := r.named(f.target)
		switch {
		case f.pending.num == 0:
			continue
		case t == nil: // it has left meanwhile
			r.scribe.note(tableRefresh, f.pending.key(f.target), nil)
			continue
		}
		t.acted(f.stale)
		t.pending.add(f.pending)
		r.from(t, CauseRefresh, v, "")
		r.event(t)
	}
	r.notifyNew(v)
}

// notifyNew refreshes those that the run of v did not know of, because a graph
// with their edges took effect while it ran, maybe with another vertex in the place
// of v. That is written down only now.
func (r *Reactor) notifyNew(v *vertex) {
	now := r.named(v.id)
	if now == nil {
		return
	}
	for _, t := range now.notify {
		if slices.ContainsFunc(v.job.refreshes, func(f refreshing) bool { return f.target == t.id }) {
			continue
		}
		p := pending{source: v.id, num: r.numbers.Add(1)}
		r.scribe.note(tableRefresh, p.key(t.id), []byte{1})
		t.pending.add(p)
		r.from(t, CauseRefresh, v, "")
		r.event(t)
	}
}

// acted forgets refreshes: a successful run has acted on them, or others have
// replaced them.
func (v *vertex) acted(done []pending) {
	for _, p := range done {
		v.pending.remove(p)
	}
}

// tellDropped says that a resource has left the graph before it was refreshed.
func (r *Reactor) tellDropped(id string, ps []pending) {
	if len(ps) > 0 {
		r.log.Warn("left the graph before it was refreshed: the refresh is dropped, also if the resource comes back",
			slog.String("resource", id), slog.String("from", ps[0].source), slog.Int("refreshes", len(ps)))
	}
}

// forget has what the store keeps for a vertex deleted, whose name has left.
func (r *Reactor) forget(v *vertex) {
	r.tellDropped(v.id, v.pending.all())
	for _, p := range v.pending.all() {
		r.scribe.note(tableRefresh, p.key(v.id), nil)
	}
	if v.intent {
		r.scribe.note(tableIntent, v.id, nil)
	}
	if v.retries > 0 {
		r.scribe.note(tableRetry, v.id, nil)
	}
	for i := range v.recv {
		r.scribe.note(tableSeen, seenKey(v.id, v.recv[i].Field), nil)
	}
	v.pending, v.intent = nil, false
}
