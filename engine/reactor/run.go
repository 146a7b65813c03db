package reactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/undo"
)

// runner plays runs, on goroutines of their own. It touches nothing of the loop.
type runner struct {
	r          *Reactor
	semas      hold.Semaphores
	committing atomic.Int64 // runs that wait for the store
}

// job is what a run has to do.
type job struct {
	apply    bool
	pass     bool       // it may change something whatever the budget says
	spending uint64     // the number of what it has taken from the budget; written by the run
	refill   uint64     // when the budget refused it: how often that was filled again
	broken   error      // it cannot be run
	owed     ledger.Run // what it acts on, and whom its change refreshes: law 7

	triggers []Trigger // what asked for it,
	since    int64     // when that began,
	started  int64     // and when the run did
	class    Class
	stand    undo.Place // with the metaparameter reverse
}

// outcome is how a run ended.
type outcome struct {
	ok   bool // what CheckApply returned
	err  error
	took time.Duration
	heir *vertex // who goes on with the task of v; nil for none
}

// settled ends a run that was not necessary: it tells the machine and says so.
func (l *loop) settled(v *vertex, s engine.State) bool {
	v.run.job = nil
	l.m.Done(v.slot, sched.Outcome{State: s})
	l.setDue(v, false)
	return true
}

// skip handles a start decision for a vertex that must not or need not run, and
// reports whether it did.
func (l *loop) skip(v *vertex) bool {
	if v.meta.Hidden || v.past.rested {
		v.past.last = engine.StateOK
		return l.settled(v, engine.StateOK)
	}
	w := v.wired().Missing()
	if w == nil {
		return false
	}
	from := l.named(w.From.ID())
	if from != nil && (from.past.last == engine.StateWouldChange || from.past.last == engine.StateUnknown) {
		v.run.job = &job{}
		l.takeAsked(v)
		l.unknown(v, from.id)
		return l.settled(v, engine.StateUnknown)
	}
	v.run.job = &job{}
	l.takeAsked(v)
	err := fmt.Errorf("%s ended without sending %q, which %s needs", w.From.ID(), w.From.Key, w.Field)
	l.report(v, Run{State: engine.StateFailed, Err: err})
	return l.settled(v, engine.StateFailed)
}

// begin starts what the machine decided.
func (l *loop) begin(slots []int32) {
	members := make([]*vertex, 0, len(slots))
	for _, s := range slots {
		if v := l.bySlot[s]; !l.skip(v) && !l.brakes.putOff(v) {
			members = append(members, v)
		}
	}
	if len(members) == 0 {
		return
	}
	l.pool.assignWork(task{ctx: l.enter(members...), vs: members})
}

// enter prepares the vertices for one run and returns its context. What was to be done
// for them later is off: this run is the retry, or the look of the poll.
func (l *loop) enter(vs ...*vertex) context.Context {
	ctx, cut := context.WithCancelCause(runContext{l.r.ctx, vs[0]})
	cutOne := afterAll(len(vs), cut)
	for _, v := range vs {
		l.active++
		l.disarm(v)
		v.retryAt = 0
		v.run.inRun, v.run.cutRun = true, cutOne
		v.run.altered.Store(false)
		v.run.job = &job{apply: !v.noop, pass: v.hold.Pass || v.hold.Charged, owed: v.beginOwed(), stand: l.standing(v)}
		v.hold.Pass = false
		l.takeAsked(v)
		v.run.refresh.Store(v.abil.Refreshable && (v.owed.IsRefreshed() || v.noop && l.wouldRefresh(v)))
		v.run.job.broken = v.tell()
	}
	return ctx
}

// tell gives the resource what its traits hold of the run.
func (v *vertex) tell() (err error) {
	defer engine.Caught("SetRefresh or SetRecv", &err)
	if res, ok := engine.As[engine.RefreshableRes](v.res); ok {
		res.SetRefresh(v.run.refresh.Load())
	}
	if res, ok := engine.As[engine.RecvableRes](v.res); ok {
		res.SetRecv(v.recvMap())
	}
	return nil
}

// afterAll returns what calls cut when it is called for the nth time: a batch goes
// on as long as one of its members wants it.
func afterAll(n int, cut context.CancelCauseFunc) context.CancelCauseFunc {
	if n == 1 {
		return cut
	}
	return func(why error) {
		if n--; n == 0 {
			cut(why)
		}
	}
}

// errUnwanted is the cause of the end of a run that nobody wants any more.
var errUnwanted = fmt.Errorf("another graph without it, or with another one in its place, has taken effect: %w", context.Canceled)

// endRun says, once for each run, that v wants no more of it.
func (v *vertex) endRun() {
	if v.run.cutRun != nil {
		v.run.cutRun(errUnwanted)
		v.run.cutRun = nil
	}
}

// wouldRefresh reports whether a source of v that may not be altered would
// change, and so would refresh it. One whose drift is reported never does.
func (l *loop) wouldRefresh(v *vertex) bool {
	for e := range l.graph.InEdges(int(v.index)) {
		from := l.byIndex[e.From]
		if e.Notify && from.past.last == engine.StateWouldChange && from.meta.Drift != engine.DriftReport {
			return true
		}
	}
	return false
}

// mayRefresh returns a source of v of which nobody knows whether it would change,
// and so refresh v, or "".
func (l *loop) mayRefresh(v *vertex) string {
	if !v.abil.Refreshable {
		return ""
	}
	for e := range l.graph.InEdges(int(v.index)) {
		if from := l.byIndex[e.From]; e.Notify && from.past.last == engine.StateUnknown && from.meta.Drift != engine.DriftReport {
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

// run runs one vertex, or several of one key in one call, and posts the end of each.
func (x *runner) run(t task) {
	t.began = x.r.now()
	outs := x.attend(&t)
	for i, v := range t.vs {
		if !t.early[v] {
			x.endOne(&t, v, outs[i], nil)
		}
	}
}

// endOne posts the end of the run of v. From then on the run must not touch v any more. heir goes on with the task,
// if v is its lead and ends before the others.
func (x *runner) endOne(t *task, v *vertex, o engine.Outcome, heir *vertex) {
	v.run.out = outcome{ok: o.OK, err: o.Err, took: time.Duration(x.r.now() - t.began), heir: heir}
	x.r.mail.post(v, mailRan)
}

// semasOf returns the semaphores that vertices ask for.
func semasOf(vs []*vertex) (texts []string) {
	for _, v := range vs {
		texts = append(texts, v.meta.Sema...)
	}
	return texts
}

// attend checks vertices and makes them right, once their semaphores are free. Those
// that can't be run fail without the others.
func (x *runner) attend(t *task) []engine.Outcome {
	ctx, vs := t.ctx, t.vs
	release, err := x.semas.Acquire(ctx, semasOf(vs), func() func() { return vs[0].wait(ctx) })
	if err != nil {
		return failAll(len(vs), err)
	}
	defer release()
	broken := 0
	for _, v := range vs {
		if v.run.job.broken = cmp.Or(v.run.job.broken, v.shared.begin(ctx)); v.run.job.broken != nil {
			broken++
		}
	}
	if broken == 0 {
		return x.attendSound(t, vs)
	}
	outs := make([]engine.Outcome, len(vs))
	var sound []*vertex
	var at []int
	for i, v := range vs {
		if outs[i].Err = v.run.job.broken; outs[i].Err == nil {
			sound, at = append(sound, v), append(at, i)
		}
	}
	if len(sound) > 0 {
		for n, o := range x.attendSound(t, sound) {
			outs[at[n]] = o
		}
	}
	return outs
}

// attendSound attends to at least one vertex. They are asked first if anything has to be
// done before one is altered: see prepare; and if they are several: those that are right do not
// wait until the others are. A pending refresh is over only by
// CheckApply(true), whatever the check says.
func (x *runner) attendSound(t *task, vs []*vertex) []engine.Outcome {
	ctx, cancel := withTimeout(t.ctx, vs[0].meta.Timeout)
	defer cancel()
	if !vs[0].run.job.apply {
		return check(ctx, false, vs)
	}
	outs, todo := make([]engine.Outcome, len(vs)), vs
	if len(vs) > 1 || slices.ContainsFunc(vs, x.asksFirst) {
		outs = check(ctx, false, vs)
		todo = x.prepareSome(ctx, vs, outs)
		if len(todo) > 0 && len(todo) < len(vs) {
			ctx = x.endEarly(ctx, t, vs, outs, todo)
		}
	}
	applied := check(ctx, true, todo)
	x.finishSome(ctx, t, vs, outs, todo, applied)
	return outs
}

// asksFirst reports whether v is asked by CheckApply(false) before it is altered.
func (x *runner) asksFirst(v *vertex) bool {
	return v.run.job.owed.Notifies() || x.r.account.On() || x.remembers(v)
}

// prepare is done when vertices are about to be altered: the change budget must
// allow it, what was there before is kept for reverse, and the intents are durable,
// all of them together. It returns the error of each.
func (x *runner) prepare(ctx context.Context, vs ...*vertex) []error {
	errs := make([]error, len(vs))
	var good []*vertex
	for i, v := range vs {
		if errs[i] = x.take(v); errs[i] == nil {
			errs[i] = x.remember(ctx, v)
		}
		if errs[i] == nil {
			good = append(good, v)
		}
	}
	if len(good) > 0 {
		if err := x.intend(ctx, good...); err != nil {
			for i := range errs {
				errs[i] = cmp.Or(errs[i], err)
			}
		}
	}
	for i, v := range vs {
		if errs[i] != nil {
			x.untake(v)
		}
	}
	return errs
}

// errTimeout is the cause of a context that ended by the metaparameter timeout.
var errTimeout = errors.New("timed out")

func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("%w after %s", errTimeout, d))
}

// check calls CheckApply of one vertex, or CheckApplyBatch of the first of several. What an
// earlier call of the same run reported is dropped.
func check(ctx context.Context, apply bool, vs []*vertex) []engine.Outcome {
	for _, v := range vs {
		v.run.mu.Lock()
		v.run.changes, v.run.sent, v.run.applied = nil, nil, apply
		v.run.mu.Unlock()
	}
	var outs []engine.Outcome
	switch len(vs) {
	case 0:
		return nil
	case 1:
		outs = make([]engine.Outcome, 1)
		outs[0].Err = protect("CheckApply", func() (err error) {
			outs[0].OK, err = vs[0].res.CheckApply(ctx, apply)
			return err
		})
	default:
		outs = checkBatch(ctx, apply, vs)
	}
	for i := range outs {
		outs[i].Err = explain(ctx, engine.Freeze("CheckApply", outs[i].Err))
		outs[i].OK = outs[i].OK && outs[i].Err == nil
	}
	return outs
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
