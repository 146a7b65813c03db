package reactor

import (
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// holds hold vertices, and let them go: pauses, the change budget, flapping, storms, and waits for
// something outside of the graph.
type holds struct {
	pauses hold.Pauses
	storms hold.Storms[*vertex]

	rejected  map[string]*rejection // by resource; nil for none
	approvals map[string]*approvals // the same
}

// correction tells the values that a run of v has corrected from others; 0 where it has corrected none. It is asked while the
// secrets are still there: two of them are shown as the same word.
func (v *vertex) correction(run *Run) uint64 {
	if v.core.opt.Flapping.Times == 0 || !run.Changed || v.run.job.class != Corrective {
		return 0
	}
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	if !hold.Corrects(v.run.said.changes) {
		return 0
	}
	return max(1, hold.Print(v.core.seed, v.run.said.changes)^v.run.said.print)
}

// stormWait returns how long a start of v has to wait because it runs too often, and whether that is to be told. runs counts the runs of
// all vertices.
func (b *holds) stormWait(v *vertex, runs uint64, now int64, limit Storm) (wait time.Duration, tell bool) {
	ask := hold.Ask{Runs: runs, LastRun: v.past.lastRun, Since: now}
	if v.asked != nil {
		ask.Since = v.asked.since
	}
	return b.storms.Wait(v, ask, now, limit)
}

// firstCause returns the first cause of the next run of v, empty for none.
func (v *vertex) firstCause() Cause {
	if v.asked == nil || len(v.asked.list) == 0 {
		return ""
	}
	return v.asked.list[0].Cause
}

// drifted reports whether somebody outside has altered a file. However often he does, each of it is put right: the
// engine is not what makes the storm.
func drifted(triggers []Trigger) bool {
	return slices.ContainsFunc(triggers, func(t Trigger) bool { return t.Cause == CauseEvent && t.Path != "" && t.From == "" })
}

// stormRan counts a run that has ended.
func (b *holds) stormRan(v *vertex, run *Run, now int64, limit Storm) {
	run.RetryIn = b.storms.Ran(v, hold.End{
		Failed: run.State == resgraph.StateFailed, Changed: run.Changed, Drift: drifted(v.run.job.triggers), Took: run.Duration, Retry: run.Retry, RetryIn: run.RetryIn,
	}, now, limit)
}
