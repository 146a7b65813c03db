package reactor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// Ongoing is a run that is going on.
type Ongoing struct {
	Resource string        // kind[name]
	Others   int           // resources that run with it, in one call
	For      time.Duration // since it began
	Line     string        // the newest line of its command, where that has an engine.Newest; else empty

	v      *vertex
	newest *engine.Newest
}

// Ongoing returns the runs that have been going on for a while, at least for that long, the oldest first.
func (r *Reactor) Ongoing(ctx context.Context, least time.Duration) (list []Ongoing, err error) {
	err = r.ask(ctx, func() { list = r.loop.ongoing(least) })
	for i := range list { // not on the loop: a Line may wait for the command's host
		run := &list[i]
		run.Line = run.v.Text(run.newest.Line())
		run.v, run.newest = nil, nil
	}
	return list, err
}

func (l *loop) ongoing(least time.Duration) (list []Ongoing) {
	now, batches := l.now(), map[*runContext]int{}
	for _, v := range l.bySlot {
		if v == nil || !v.run.inRun || v.run.job == nil || time.Duration(now-v.run.job.started) < least {
			continue
		}
		with := v.run.job.joined // nil once nobody wants the run any more
		if at, ok := batches[with]; ok && with != nil {
			list[at].Others++
			list[at].newest = cmp.Or(list[at].newest, v.run.newest())
			continue
		}
		batches[with] = len(list)
		list = append(list, Ongoing{Resource: v.ID, For: time.Duration(now - v.run.job.started), v: v, newest: v.run.newest()})
	}
	slices.SortStableFunc(list, func(a, b Ongoing) int { return cmp.Compare(b.For, a.For) })
	return list
}
