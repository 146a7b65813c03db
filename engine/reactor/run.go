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
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/undo"
)

// runner plays runs, on goroutines of their own. It touches nothing of the loop.
type runner struct {
	*core
	semas      hold.Semaphores
	committing atomic.Int64 // runs that wait for the store
}

// job is what a run has to do.
type job struct {
	apply     bool
	pass      bool        // it may change something whatever the budget says
	stale     bool        // what is above it was declared otherwise since it was right
	unwanted  atomic.Bool // set by endRun; the run looks at it after a wait
	spending  uint64      // the number of changes that it has taken from the budget; written by the run
	refill    uint64      // when the budget refused it: how often that was filled again
	broken    error       // it cannot be run
	unread    string      // what has to run, or to be read, before a part of its parameters is there; it is not checked then
	absent    bool        // under noop: it could not be checked, and its thing is surely to be made; written by the run
	placeless bool        // under noop: it could not be checked, and there is no place for its thing; written by the run
	stays     bool        // under noop: what it would undo stays as things are; of the loop
	refreshes ledger.Run  // the refreshes that it acts on, and the targets of its change: law 7

	triggers []Trigger // what asked for it,
	begun    uint64    // the last run that had ended before it,
	last     uint64    // the last declaration that was brought about before it,
	since    int64     // when that began,
	started  int64     // and when the run did
	told     bool      // a warning said that it takes long; of the loop
	class    Class
	stand    *undo.Place // with the metaparameter reverse; nil elsewhere
	joined   *runContext // of the run that is going on; nil once the vertex wants no more of it
	out      outcome     // written by the run, read by the loop after mailRan

	// what most runs need, so that they need no other memory
	alone   [1]*vertex // all that is run, if v leads it; a batch has a list of its own
	checked [1]engine.Outcome
	applied [1]engine.Outcome
}

// paid reports whether a change of the run was taken from the budget, or needs not be.
func (j *job) paid() bool { return j.spending > 0 || j.pass }

// jobs are those of runs that go on. The job of a run that has ended serves a later run: in a wave of many runs only few are going on
// at once. The context of a run does not come back, since a resource may keep it.
type jobs struct{ idle []*job }

// maxIdleJobs is how many are kept.
const maxIdleJobs = quickAtOnce

// take returns an empty job.
func (s *jobs) take() *job {
	last := len(s.idle) - 1
	if last < 0 {
		return &job{}
	}
	j := s.idle[last]
	s.idle = s.idle[:last]
	return j
}

// end takes the job of v back, where it has one. The run has been mailed to the loop, so its goroutine is done with the job.
func (s *jobs) end(v *vertex) {
	j := v.run.job
	v.run.job = nil
	if j != nil && len(s.idle) < maxIdleJobs {
		*j = job{}
		s.idle = append(s.idle, j)
	}
}

// checkedOf returns room for the outcomes of a run of vertices.
func checkedOf(vs []*vertex) []engine.Outcome {
	if len(vs) == 1 {
		return vs[0].run.job.checked[:]
	}
	return make([]engine.Outcome, len(vs))
}

// appliedOf returns room for the outcomes of the altered vertices.
func appliedOf(vs []*vertex) []engine.Outcome {
	if len(vs) == 1 {
		return vs[0].run.job.applied[:]
	}
	return make([]engine.Outcome, len(vs))
}

// outcome is how a run ended.
type outcome struct {
	ok    bool // what CheckApply returned
	err   error
	took  time.Duration
	print Print   // of the declaration, until the loop has placed it; see Declared
	was   *Placed // what was remembered before; nil for nothing
}

// settled ends a run that was not necessary: it tells the machine and says so.
func (l *loop) settled(v *vertex, s engine.State) bool {
	l.pool.jobs.end(v)
	l.m.Done(v.slot, sched.Outcome{State: s})
	l.setDue(v, false)
	return true
}

// skip handles a start decision for a vertex that must not or need not run, and
// reports whether it did. Of another vertex it returns what a part of its parameters waits for, if that is
// all that a run can tell.
func (l *loop) skip(v *vertex) (unread string, skipped bool) {
	if v.meta.Hidden || v.past.rested {
		v.past.last = engine.StateOK
		return "", l.settled(v, engine.StateOK)
	}
	w := v.wired().Missing()
	if w == nil && v.meta.Unread == "" {
		return "", false
	}
	until := v.meta.Unread
	if until == "" {
		if from := l.named(w.From.ID()); from != nil && undecided(from.past.last) {
			until = from.ID
		}
	}
	if until != "" && v.mayBeAbsent() {
		return until, false
	}
	v.run.job = l.pool.jobs.take()
	l.takeAsked(v)
	if until != "" {
		l.unknown(v, until)
		return "", l.settled(v, engine.StateUnknown)
	}
	err := fmt.Errorf("%s ended without sending %q, which %s needs", w.From.ID(), w.From.Key, w.Field)
	l.report(v, Run{State: engine.StateFailed, Err: err})
	return "", l.settled(v, engine.StateFailed)
}

// begin starts the runs that the machine decided on.
func (l *loop) begin(slots []int32) {
	var lead *runContext
	var vs []*vertex
	for _, s := range slots {
		v := l.bySlot[s]
		unread, skipped := l.skip(v)
		if skipped || l.putOff(v) {
			continue
		}
		j := l.enter(v)
		j.unread = unread
		if lead == nil {
			lead, vs = &runContext{lead: v}, j.alone[:0]
		}
		j.joined = lead.join()
		vs = append(vs, v)
	}
	if lead != nil {
		l.pool.assignWork(task{ctx: lead, vs: vs})
	}
}

// enter prepares a vertex for a run. Its alarm is off: this run is the
// retry, or the look of the poll.
func (l *loop) enter(v *vertex) *job {
	l.active++
	l.disarm(v)
	v.past.setRetry(0)
	v.run.inRun = true
	v.run.altered.Store(false)
	if l.opt.Layer != nil {
		l.moved.Delete(v)
	}
	j := l.pool.jobs.take()
	j.apply, j.pass, j.refreshes, j.stand = !v.noop, v.hold.Begin(), v.beginRefreshes(), l.standing(v)
	v.run.job = j
	l.takeAsked(v)
	v.run.refresh.Store(v.abil.Refreshable && (v.ledger.IsRefreshed() || v.noop && l.wouldRefresh(v)))
	j.broken = v.tell()
	return j
}

// tell gives the traits of the resource their part of the run.
func (v *vertex) tell() (err error) {
	if !v.abil.Refreshable && !v.abil.Recvable {
		return nil
	}
	defer engine.Caught("SetRefresh or SetRecv", &err)
	if res, ok := engine.As[engine.RefreshableRes](v.Res); ok {
		res.SetRefresh(v.run.refresh.Load())
	}
	if res, ok := engine.As[engine.RecvableRes](v.Res); ok {
		res.SetRecv(v.recvMap())
	}
	return nil
}

// errUnwanted is the cause of the end of a run that is not wanted any more.
var errUnwanted = fmt.Errorf("another graph without it, or with another one in its place, has taken effect: %w", context.Canceled)

// endRun says, once for each run, that v wants no more of it.
func (v *vertex) endRun() {
	if j := v.run.job; j != nil && j.joined != nil {
		j.joined.leave(errUnwanted)
		j.joined = nil
		j.unwanted.Store(true)
	}
}

// wouldRefresh reports whether a source of v that may not be altered would
// change, and so would refresh it. One whose drift is reported never does.
func (l *loop) wouldRefresh(v *vertex) bool {
	for _, from := range v.listens {
		if from.past.last == engine.StateWouldChange && from.meta.Drift != engine.DriftReport && !l.idleFor(from, v) {
			return true
		}
	}
	return false
}

// mayRefresh returns a source of v that may or may not change, and so refresh v, or "".
func (l *loop) mayRefresh(v *vertex) string {
	if !v.abil.Refreshable {
		return ""
	}
	for _, from := range v.listens {
		if from.past.last == engine.StateUnknown && from.meta.Drift != engine.DriftReport && !l.idleFor(from, v) {
			return from.ID
		}
	}
	return ""
}

// run runs one vertex, or several of one key in one call, and posts the end of each. A method that ends the goroutine has failed.
func (x *runner) run(t task) {
	t.began = x.now()
	var outs []engine.Outcome
	defer func() {
		if outs == nil {
			outs = failAll(len(t.vs), engine.Exited("CheckApply"))
		}
		for i, v := range t.vs {
			if !t.early[v] {
				x.endOne(&t, v, outs[i])
			}
		}
	}()
	outs = x.attend(&t)
}

// endOne posts the end of the run of v. From then on the run must not touch v any more.
func (x *runner) endOne(t *task, v *vertex, o engine.Outcome) {
	v.run.job.out = outcome{ok: o.OK, err: o.Err, took: time.Duration(x.now() - t.began)}
	if d := x.opt.Declared; d != nil {
		d.ends(v)
	}
	x.mail.post(v, mailRan)
}

// attend checks vertices and makes them right, once their semaphores are free. Vertices that can't
// be run fail without the others.
func (x *runner) attend(t *task) []engine.Outcome {
	ctx, vs := t.ctx, t.vs
	semas := hold.Named(semasOf(vs, false))
	if err := x.acquire(ctx, vs[0], semas); err != nil {
		return failAll(len(vs), err)
	}
	defer x.semas.Release(semas)
	broken := 0
	for _, v := range vs {
		if v.run.job.broken = cmp.Or(v.run.job.broken, v.Share().Begin(ctx), v.run.job.unchecked()); v.run.job.broken != nil {
			broken++
		}
	}
	if broken == 0 {
		return x.attendSound(t, vs)
	}
	outs := checkedOf(vs)
	defer lookAtFailed(ctx, vs, outs)
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

// acquire takes semaphores for a run that a vertex leads. The run gives its slot back meanwhile.
func (x *runner) acquire(ctx context.Context, lead *vertex, semas []hold.Semaphore) error {
	if len(semas) == 0 {
		return nil
	}
	defer lead.wait(ctx)()
	return x.semas.Acquire(ctx, semas)
}

// attendSound attends to at least one vertex. They are asked first if anything has to be done
// before one is altered: see prepare; and if they are several: right ones do not wait until the
// others are right. A pending refresh is over only by CheckApply(true), whatever the check says.
func (x *runner) attendSound(t *task, vs []*vertex) []engine.Outcome {
	ctx, cancel := x.withTimeout(t.ctx, vs[0].meta.Timeout)
	defer cancel()
	outs, todo := checkedOf(vs), vs
	if !vs[0].run.job.apply {
		x.check(ctx, false, vs, outs)
		lookAtFailed(ctx, vs, outs)
		return outs
	}
	if len(vs) > 1 || slices.ContainsFunc(vs, x.asksFirst) {
		x.check(ctx, false, vs, outs)
		placed, release := x.place(t.ctx, ctx, vs, outs)
		defer release()
		ctx = placed
		todo = x.prepareSome(ctx, vs, outs)
		if len(todo) > 0 && len(todo) < len(vs) {
			ctx = x.endEarly(ctx, t, vs, outs, todo)
		}
	}
	applied := appliedOf(todo)
	x.check(ctx, true, todo, applied)
	x.finishSome(ctx, t, vs, outs, todo, applied)
	return outs
}

// asksFirst reports whether v is asked by CheckApply(false) before it is altered.
func (x *runner) asksFirst(v *vertex) bool {
	return v.run.job.refreshes.Notifies() || x.account.On() || x.remembers(v) || len(semasOf([]*vertex{v}, true)) > 0
}

// prepare is done when vertices are about to be altered: the change budget must allow it, the old
// state is kept for reverse, and the intents are durable, all of them together. It returns the
// error of each.
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

func (x *runner) withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return engine.WithTimeout(ctx, x.opt.Clock, d, fmt.Errorf("%w after %s", errTimeout, d))
}

// check calls CheckApply of one vertex, or CheckApplyBatch of the first of several, and stores the
// outcomes. Reports of an earlier call of the same run are dropped.
func (x *runner) check(ctx context.Context, apply bool, vs []*vertex, outs []engine.Outcome) {
	if x.unproved(vs, outs) {
		x.checkProved(ctx, apply, vs, outs)
		return
	}
	for _, v := range vs {
		v.run.anew(apply)
		if x.opt.Debug {
			defer v.unaltered("CheckApply")()
		}
	}
	switch len(vs) {
	case 0:
	case 1:
		outs[0].Err = lifecycle.Call("CheckApply", func() (err error) {
			outs[0].OK, err = vs[0].Res.CheckApply(ctx, apply)
			return err
		})
	default:
		copy(outs, checkBatch(ctx, apply, vs))
	}
	for i := range outs {
		if outs[i].Err == nil && i < len(vs) {
			outs[i].Err = engine.CheckMembers(vs[i].Res)
		}
		outs[i].Err = explain(ctx, engine.Freeze("CheckApply", outs[i].Err))
		outs[i].OK = outs[i].OK && outs[i].Err == nil
	}
}

// explain says in an error that the time was over, or that a place was lost, where that was so.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(err, errTimeout), errors.Is(err, errPlaceLost):
		return err
	case errors.Is(cause, errPlaceLost) && errors.Is(err, context.Canceled):
		return cause
	case !errors.Is(cause, errTimeout) && !errors.Is(cause, errPlaceLost):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}
