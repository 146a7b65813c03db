package reactor

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// alarm is something that the loop has to do at a time.
type alarm struct {
	at int64
	v  *vertex // nil for an alarm without a vertex
	do func()
}

// alarms is a heap of the alarms to come, at most one for each vertex, and the one
// timer that waits for the first of them.
type alarms struct {
	list  []alarm
	timer *clock.Timer
	armed int64 // the time that the timer waits for; 0 for none
}

func (a *alarms) Len() int           { return len(a.list) }
func (a *alarms) Less(i, j int) bool { return a.list[i].at < a.list[j].at }

func (a *alarms) Swap(i, j int) {
	a.list[i], a.list[j] = a.list[j], a.list[i]
	a.placed(i)
	a.placed(j)
}

func (a *alarms) placed(i int) {
	if v := a.list[i].v; v != nil {
		v.alarm = int32(i) + 1
	}
}

// Push implements heap.Interface.
func (a *alarms) Push(x any) {
	a.list = append(a.list, x.(alarm))
	a.placed(len(a.list) - 1)
}

// Pop implements heap.Interface.
func (a *alarms) Pop() any {
	last := len(a.list) - 1
	x := a.list[last]
	a.list[last] = alarm{}
	a.list = a.list[:last]
	if x.v != nil {
		x.v.alarm = 0
	}
	return x
}

// take takes the first alarm whose time has come, and reports whether there is one.
func (a *alarms) take(now int64) (due alarm, ok bool) {
	if len(a.list) == 0 || a.list[0].at > now {
		return alarm{}, false
	}
	return heap.Pop(a).(alarm), true
}

// jitter spreads a period by a tenth, so that not all fall together.
func jitter(r *rand.Rand, d time.Duration) time.Duration {
	return d - d/20 + time.Duration(r.Int64N(int64(d/10)+1))
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }
