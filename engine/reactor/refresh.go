package reactor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// intend makes it durable that v is about to be altered.
func (r *Reactor) intend(ctx context.Context, v *vertex) error {
	if v.intent {
		return nil
	}
	v.intent = true
	err := r.opt.Store.Commit(ctx, []engine.Write{{Table: tableIntent, Key: v.id, Value: []byte{1}}})
	if err != nil {
		v.intent = false
		return fmt.Errorf("cannot record that %s is about to change, so nothing was changed: %w", v.id, err)
	}
	return nil
}

// finish makes durable how a run that may alter ended: the refreshes that it
// acted on are cleared, and its intent becomes pending refreshes. A failure
// keeps the intent, so that the next success counts as a change. It runs in the
// run's goroutine; the loop does not touch the vertex's intent and job
// meanwhile.
func (r *Reactor) finish(ctx context.Context, v *vertex, ok bool, err error) error {
	if err != nil {
		return err
	}
	var writes []engine.Write
	for _, p := range v.job.pending {
		writes = append(writes, engine.Write{Table: tableRefresh, Key: p.key(v.id)})
	}
	if v.intent {
		writes = append(writes, engine.Write{Table: tableIntent, Key: v.id})
		for i := range v.job.refreshes {
			f := &v.job.refreshes[i]
			f.pending = pending{source: v.id, num: r.numbers.Add(1)}
			writes = append(writes, engine.Write{Table: tableRefresh, Key: f.pending.key(f.target), Value: []byte{1}})
			for _, p := range f.stale {
				writes = append(writes, engine.Write{Table: tableRefresh, Key: p.key(f.target)})
			}
		}
	}
	if len(writes) == 0 {
		return nil
	}
	if err := r.opt.Store.Commit(context.WithoutCancel(ctx), writes); err != nil {
		return fmt.Errorf("cannot record the change: %w", err)
	}
	return nil
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
		for _, p := range t.pending {
			if p.source == v.id {
				list[i].stale = append(list[i].stale, p)
			}
		}
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
		t := r.byID[f.target]
		if t == nil || f.pending.num == 0 {
			continue
		}
		t.acted(f.stale)
		t.pending = append(slices.Clip(t.pending), f.pending)
		r.event(t)
	}
}

// acted forgets refreshes: a successful run has acted on them, or others have
// replaced them.
func (v *vertex) acted(done []pending) {
	if len(done) == 0 {
		return
	}
	v.pending = slices.DeleteFunc(slices.Clone(v.pending), func(p pending) bool { return slices.Contains(done, p) })
}

// recall reads what an earlier process has left to do.
func (r *Reactor) recall(ctx context.Context) error {
	for rec, err := range r.opt.Store.Records(ctx, tableRefresh) {
		if err != nil {
			return fmt.Errorf("the pending refreshes: %w", err)
		}
		parts := strings.Split(rec.Key, keySep)
		if len(parts) != 3 {
			continue
		}
		num, err := strconv.ParseUint(parts[2], 10, 64)
		if err != nil {
			continue
		}
		r.left.pending[parts[0]] = append(r.left.pending[parts[0]], pending{parts[1], num})
		r.numbers.Store(max(r.numbers.Load(), num))
	}
	for rec, err := range r.opt.Store.Records(ctx, tableIntent) {
		if err != nil {
			return fmt.Errorf("the intents: %w", err)
		}
		r.left.intent[rec.Key] = true
	}
	return nil
}

// leftovers are what an earlier process has left to do, by vertex.
type leftovers struct {
	pending map[string][]pending
	intent  map[string]bool
}

// forget deletes what the store keeps for a vertex that has left.
func (r *Reactor) forget(v *vertex) error {
	var writes []engine.Write
	for _, p := range v.pending {
		writes = append(writes, engine.Write{Table: tableRefresh, Key: p.key(v.id)})
	}
	if v.intent {
		writes = append(writes, engine.Write{Table: tableIntent, Key: v.id})
	}
	if len(writes) == 0 {
		return nil
	}
	return r.opt.Store.Commit(context.WithoutCancel(r.ctx), writes)
}
