package control

import (
	"cmp"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// recent holds the newest runs with nothing to tell: looked, and all was well. A
// history of them would push out everything else where a busy file is watched.
type recent struct {
	runs []quietRun
	next int // where the next one goes, once runs is full
}

type quietRun struct {
	at      time.Time
	outcome Outcome
	run     reactor.Run
}

// A full list overwrites its oldest run. The lock of the Recorder is held.
func (q *recent) add(at time.Time, o Outcome, run reactor.Run) {
	if len(q.runs) < maxRecent {
		q.runs = append(q.runs, quietRun{at, o, run})
		return
	}
	q.runs[q.next] = quietRun{at, o, run}
	q.next = (q.next + 1) % maxRecent
}

// Quiet returns the newest runs of a resource that the history does not have, the
// newest first.
func (r *Recorder) Quiet(resource string) []*Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*Event
	for i := range r.recent.runs {
		q := &r.recent.runs[i]
		if q.run.Resource == resource {
			e := eventOf(q.outcome, &q.run)
			e.At, e.Session = q.at, r.session
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *Event) int { return cmp.Compare(b.Run, a.Run) })
	return out
}
