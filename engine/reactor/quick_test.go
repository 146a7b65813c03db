package reactor_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// quickRig has runs of one kind, which take no time until they are told to take a second.
type quickRig struct {
	*rig
	w    *stage
	list []*fake
	long atomic.Bool
}

func newQuickRig(t *testing.T, o reactor.Options) *quickRig {
	q := &quickRig{rig: newRig(t, o), w: newWorld()}
	d := newDecl(t)
	for i := range 100 + 2*max(128, 8*runtime.NumCPU()) { // a hundred more, so that the first wave counts as quick whatever the machine
		f := &fake{w: q.w, check: func(context.Context, *fake, bool) (bool, error) {
			if q.long.Load() {
				time.Sleep(time.Second)
			}
			return true, nil
		}}
		q.list = append(q.list, f)
		d.add(fmt.Sprint(i), f)
	}
	q.swap(d)
	q.rest()
	return q
}

// wave has all of them run, and returns how many run at once.
func (q *quickRig) wave() int {
	q.w.mu.Lock()
	q.w.most = 0
	q.w.mu.Unlock()
	for _, f := range q.list {
		f.init.Event()
	}
	time.Sleep(time.Hour) // of the bubble: all have ended
	q.w.mu.Lock()
	defer q.w.mu.Unlock()
	return q.w.most
}

// TestQuickKindsRunTogether: more runs of a kind are started at once after many of its runs have been quick. One long run ends that.
func TestQuickKindsRunTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := newQuickRig(t, reactor.Options{Sweep: -1})
		defer q.close()
		q.long.Store(true)
		if got, want := q.wave(), max(128, 8*runtime.NumCPU()); got != want {
			t.Errorf("%d runs of a quick kind at once, want %d", got, want)
		}
		if got, want := q.wave(), 8*runtime.NumCPU(); got != want {
			t.Errorf("%d runs at once after long runs, want %d", got, want)
		}
	})
}

// TestQuickKindsKeepABound: a bound that was given holds for runs of every kind.
func TestQuickKindsKeepABound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q := newQuickRig(t, reactor.Options{Parallel: 3, Sweep: -1})
		defer q.close()
		q.long.Store(true)
		if got := q.wave(); got != 3 {
			t.Errorf("%d runs at once, want 3", got)
		}
	})
}
