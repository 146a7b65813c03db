package reactor

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/undo"
)

// job is what a run has to do.
type job struct {
	apply     bool
	pass      bool           // it may change something whatever the budget says
	resumed   bool           // and whatever the windows say
	approved  *hold.Approved // nil for nothing
	stale     bool           // what is above it was declared otherwise since it was right
	unwanted  atomic.Bool    // set by endRun; the run looks at it after a wait
	spending  uint64         // the number of changes that it has taken from the budget; written by the run
	refill    uint64         // when the budget refused it: how often that was filled again
	broken    error          // it cannot be run
	unread    string         // what has to run, or to be read, before a part of its parameters is there; it is not checked then
	absent    bool           // under noop: it could not be checked, and its thing is surely to be made; written by the run
	placeless bool           // under noop: it could not be checked, and there is no place for its thing; written by the run
	stays     bool           // under noop: what it would undo stays as things are; of the loop
	refreshes ledger.Run     // the refreshes that it acts on, and the targets of its change: law 7

	triggers []Trigger // what asked for it,
	begun    uint64    // the last run that had ended before it,
	last     uint64    // the last declaration that was brought about before it,
	since    int64     // when that began,
	started  int64     // and when the run did
	told     bool      // a warning said that it takes long; of the loop
	class    Class
	stand    *undo.Place     // with the metaparameter reverse; nil elsewhere
	joined   *runContext     // of the run that is going on; nil once the vertex wants no more of it
	during   context.Context // of the CheckApply that goes on; of the run
	readable bool            // it may be read while it tells of its first change; of the run, as the next one
	pictured bool            // the state before its change is kept
	out      outcome         // written by the run, read by the loop after mailRan

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

// retries reports whether the run is made because v had failed.
func (j *job) retries() bool {
	return slices.ContainsFunc(j.triggers, func(t Trigger) bool { return t.Cause == CauseRetry })
}

// fromOutside reports whether the world has asked for the run, and nothing above the
// vertex, which has run just now then.
func (j *job) fromOutside() bool {
	return slices.ContainsFunc(j.triggers, func(t Trigger) bool {
		return t.Cause == CauseEvent || t.Cause == CausePoll || t.Cause == CauseSweep || t.Cause == CauseWatch
	})
}

func failAll(n int, err error) []engine.Outcome {
	outs := make([]engine.Outcome, n)
	for i := range outs {
		outs[i].Err = err
	}
	return outs
}

// runner plays runs, on goroutines of their own. It touches nothing of the loop.
type runner struct {
	*core
	semas      hold.Semaphores
	committing atomic.Int64 // runs that wait for the store
}

// task is one run: of one vertex, or of a batch.
type task struct {
	ctx context.Context
	vs  []*vertex // at least one

	began int64            // by the reactor's clock
	early map[*vertex]bool // that have ended before the others; nil for none
}

// A run that only looks at memory takes less time than the wake-up of a processor. A kind whose runs are like that is quick, as
// noop is. Where Options.Parallel is not given, the loop starts more runs of quick kinds at once. One wake-up is enough for
// all of them, and one worker runs them one after the other.
const (
	// quickRun is how long a run of a quick kind may take. It is less than most runs that ask the kernel.
	quickRun = 3 * time.Microsecond

	// quickAfter is how many runs of a kind have to be quick, one after the other, before the kind counts as quick.
	quickAfter = 64

	// quickAtOnce is how many runs of quick kinds are started at once.
	quickAtOnce = 128
)

// noteQuick counts a run of a vertex of the kind. After one long run the kind is not quick any more. The loop calls it.
func (a *abilities) noteQuick(took time.Duration) {
	if took > quickRun {
		a.quick = 0
	} else if a.quick < quickAfter {
		a.quick++
	}
}
