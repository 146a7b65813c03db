package reactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
)

// job is what a run has to do.
type job struct {
	apply     bool
	pending   []pending    // what it acts on, if it is refreshable
	refreshes []refreshing // whom its change refreshes: law 7
}

func (j job) notifies() bool { return len(j.refreshes) > 0 }

// outcome is how a run ended.
type outcome struct {
	ok   bool // what CheckApply returned
	err  error
	took time.Duration
}

// settled ends a run that was not necessary: it tells the machine and says so.
func (r *Reactor) settled(v *vertex, s engine.State) bool {
	r.m.Done(v.slot, sched.Outcome{State: s})
	r.setDue(v, false)
	return true
}

// skip handles a start decision for a vertex that must not or need not run, and
// reports whether it did.
func (r *Reactor) skip(v *vertex) bool {
	if v.meta.Hidden {
		v.last = engine.StateOK
		return r.settled(v, engine.StateOK)
	}
	w := v.missing()
	if w == nil {
		return false
	}
	from := r.byID[w.From.ID()]
	if from != nil && (from.last == engine.StateWouldChange || from.last == engine.StateUnknown) {
		r.unknown(v, from.id)
		return r.settled(v, engine.StateUnknown)
	}
	err := fmt.Errorf("%s ended without sending %q, which %s needs", w.From.ID(), w.From.Key, w.Field)
	r.report(v, Run{State: engine.StateFailed, Err: err})
	return r.settled(v, engine.StateFailed)
}

// begin starts what the machine decided.
func (r *Reactor) begin(slots []int32) {
	if len(slots) == 1 {
		if v := r.bySlot[slots[0]]; !r.skip(v) {
			r.assignWork(task{ctx: r.enter(v), v: v})
		}
		return
	}
	members := make([]*vertex, 0, len(slots))
	for _, s := range slots {
		if v := r.bySlot[s]; !r.skip(v) {
			members = append(members, v)
		}
	}
	if len(members) == 0 {
		return
	}
	r.assignWork(task{ctx: r.enter(members...), batch: members})
}

// enter prepares the vertices for one run and returns its context.
func (r *Reactor) enter(vs ...*vertex) context.Context {
	ctx, cut := context.WithCancel(runContext{r.ctx, vs[0]})
	cutOne := afterAll(len(vs), cut)
	for _, v := range vs {
		r.active++
		v.inRun, v.cutRun = true, cutOne
		v.job = job{apply: !v.noop, pending: v.pending, refreshes: v.refreshes()}
		v.refresh.Store(v.abil.Refreshable && (len(v.pending) > 0 || v.noop && r.wouldRefresh(v)))
		if res, ok := v.res.(engine.RefreshableRes); ok {
			res.SetRefresh(v.refresh.Load())
		}
		if res, ok := v.res.(engine.RecvableRes); ok {
			res.SetRecv(v.recvMap())
		}
	}
	return ctx
}

// afterAll returns what calls cut when it is called for the nth time: a batch goes
// on as long as one of its members wants it.
func afterAll(n int, cut func()) func() {
	if n == 1 {
		return cut
	}
	return func() {
		if n--; n == 0 {
			cut()
		}
	}
}

// endRun says, once for each run, that v wants no more of it.
func (v *vertex) endRun() {
	if v.cutRun != nil {
		v.cutRun()
		v.cutRun = nil
	}
}

// wouldRefresh reports whether a source of v that may not be altered would
// change, and so would refresh it.
func (r *Reactor) wouldRefresh(v *vertex) bool {
	for e := range r.graph.InEdges(int(v.index)) {
		if e.Notify && r.byIndex[e.From].last == engine.StateWouldChange {
			return true
		}
	}
	return false
}

// mayRefresh returns a source of v of which nobody knows whether it would change,
// and so refresh v, or "".
func (r *Reactor) mayRefresh(v *vertex) string {
	if !v.abil.Refreshable {
		return ""
	}
	for e := range r.graph.InEdges(int(v.index)) {
		if from := r.byIndex[e.From]; e.Notify && from.last == engine.StateUnknown {
			return from.id
		}
	}
	return ""
}

// runContext lets Host tell a wait of the run from one of the Watch.
type runContext struct {
	context.Context
	v *vertex
}

type runKey struct{}

// Value implements context.Context.
func (c runContext) Value(key any) any {
	if key == (runKey{}) {
		return c.v
	}
	return c.Context.Value(key)
}

func (r *Reactor) runOne(ctx context.Context, v *vertex) {
	defer r.mail.post(v, mailRan)
	start := r.now()
	release, err := r.semas.acquire(ctx, v)
	if err != nil {
		v.out = outcome{err: err}
		return
	}
	defer release()
	ok := false
	if err = v.shared.begin(ctx); err == nil {
		ok, err = r.attend(ctx, v)
	}
	v.out = outcome{ok: ok, err: err, took: time.Duration(r.now() - start)}
}

// attend checks v and makes it right, keeping law 7: a source of notifications is
// asked first, and its intent is durable before it alters anything. A pending
// refresh is over only by CheckApply(true), whatever the check says.
func (r *Reactor) attend(ctx context.Context, v *vertex) (ok bool, err error) {
	ctx, cancel := withTimeout(ctx, v.meta.Timeout)
	defer cancel()
	if !v.job.apply {
		return v.checkApply(ctx, false)
	}
	if v.job.notifies() {
		if ok, err = v.checkApply(ctx, false); err != nil || ok && !v.refresh.Load() {
			return ok, r.finish(ctx, v, ok, err)
		}
		if err := r.intend(ctx, v); err != nil {
			return false, err
		}
	}
	ok, err = v.checkApply(ctx, true)
	return ok, r.finish(ctx, v, ok, err)
}

// errTimeout is the cause of a context that ended by the metaparameter timeout.
var errTimeout = errors.New("timed out")

func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("%w after %s", errTimeout, d))
}

// checkApply calls the resource's method. What an earlier call of the same run
// reported is dropped.
func (v *vertex) checkApply(ctx context.Context, apply bool) (ok bool, err error) {
	v.mu.Lock()
	v.changes, v.sent = nil, nil
	v.mu.Unlock()
	err = protect("CheckApply", func() (err error) {
		ok, err = v.res.CheckApply(ctx, apply)
		return err
	})
	return ok && err == nil, explain(ctx, err)
}

// explain says in an error that the time was over, where it was.
func explain(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || !errors.Is(cause, errTimeout) || errors.Is(err, errTimeout) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// runBatch runs many vertices of one key in one call.
func (r *Reactor) runBatch(ctx context.Context, vs []*vertex) {
	start := r.now()
	outs := r.attendBatch(ctx, vs)
	took := time.Duration(r.now() - start)
	for i, v := range vs {
		v.out = outcome{ok: outs[i].OK, err: outs[i].Err, took: took}
		r.mail.post(v, mailRan)
	}
}

func (r *Reactor) attendBatch(ctx context.Context, vs []*vertex) []engine.Outcome {
	release, err := r.semas.acquire(ctx, vs...)
	if err != nil {
		return failAll(len(vs), err)
	}
	defer release()
	for _, v := range vs {
		if err := v.shared.begin(ctx); err != nil {
			return failAll(len(vs), err)
		}
	}
	ctx, cancel := withTimeout(ctx, vs[0].meta.Timeout)
	defer cancel()
	apply := vs[0].job.apply
	outs, todo := make([]engine.Outcome, len(vs)), vs
	if !apply || anyNotifies(vs) {
		outs = checkBatch(ctx, false, vs)
		if !apply {
			return outs
		}
		todo = r.intendBatch(ctx, vs, outs)
	}
	applied := checkBatch(ctx, true, todo)
	return r.finishBatch(ctx, vs, outs, todo, applied)
}

func anyNotifies(vs []*vertex) bool {
	for _, v := range vs {
		if v.job.notifies() {
			return true
		}
	}
	return false
}

// intendBatch returns those that have to be altered, their intents being
// durable.
func (r *Reactor) intendBatch(ctx context.Context, vs []*vertex, outs []engine.Outcome) []*vertex {
	var todo []*vertex
	for i, v := range vs {
		if outs[i].Err != nil || outs[i].OK && !v.refresh.Load() {
			continue
		}
		if v.job.notifies() {
			if outs[i].Err = r.intend(ctx, v); outs[i].Err != nil {
				continue
			}
		}
		todo = append(todo, v)
	}
	return todo
}

// finishBatch merges what was applied into the outcomes of the check.
func (r *Reactor) finishBatch(ctx context.Context, vs []*vertex, outs []engine.Outcome, todo []*vertex, applied []engine.Outcome) []engine.Outcome {
	next := 0
	for i, v := range vs {
		if next < len(todo) && todo[next] == v {
			outs[i] = applied[next]
			next++
		}
		outs[i].Err = r.finish(ctx, v, outs[i].OK, outs[i].Err)
	}
	return outs
}

func failAll(n int, err error) []engine.Outcome {
	outs := make([]engine.Outcome, n)
	for i := range outs {
		outs[i].Err = err
	}
	return outs
}

// checkBatch calls CheckApplyBatch on the first of the members.
func checkBatch(ctx context.Context, apply bool, vs []*vertex) []engine.Outcome {
	if len(vs) == 0 {
		return nil
	}
	members := make([]engine.Res, len(vs))
	for i, v := range vs {
		members[i] = v.res
		v.mu.Lock()
		v.changes, v.sent = nil, nil
		v.mu.Unlock()
	}
	var outs []engine.Outcome
	err := protect("CheckApplyBatch", func() error {
		outs = vs[0].res.(engine.Batcher).CheckApplyBatch(ctx, apply, members)
		return nil
	})
	if err == nil && len(outs) != len(vs) {
		err = fmt.Errorf("CheckApplyBatch of %d resources returned %d outcomes", len(vs), len(outs))
	}
	if err != nil {
		return failAll(len(vs), err)
	}
	for i := range outs {
		outs[i].Err = explain(ctx, outs[i].Err)
		outs[i].OK = outs[i].OK && outs[i].Err == nil
	}
	return outs
}
