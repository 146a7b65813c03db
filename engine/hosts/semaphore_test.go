package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

var reboot = hosts.Semaphore{Topic: "all", Name: "reboot", Count: 2}

// TestSemaphore: many hosts take their turns, never more at once than there are places, and in the order of asking.
func TestSemaphore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		var now, most atomic.Int64
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		for i := range 30 {
			s := hosts.Store{World: w.Join(), Clock: clock.System{}}
			all.Go(func() {
				h, err := s.Acquire(t.Context(), 15*time.Second, reboot, fmt.Sprint("h", i))
				if err != nil {
					t.Error(err)
					return
				}
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				now.Add(-1)
				h.Release()
			})
			synctest.Wait()
		}
		s := hosts.Store{World: w, Clock: clock.System{}}
		holders, waiting, err := s.Holders(t.Context(), reboot)
		if err != nil || fmt.Sprint(holders) != "[h0 h1]" || len(waiting) != 28 {
			t.Errorf("held by %v, waited for by %v, %v", holders, waiting, err)
		}
		all.Wait()
		if most.Load() != 2 {
			t.Errorf("%d held at once", most.Load())
		}
		for i, n := range order {
			if n/2 != i/2 { // two at once, in either order
				t.Fatalf("out of turn: %v", order)
			}
		}
		if got := keys(t, w); len(got) != 0 {
			t.Errorf("left behind: %v", got)
		}
	})
}

// TestSemaphoreLost: a holder that loses the store knows so, and the place goes to the next only then. A host that waits
// and loses its lease stands behind the others.
func TestSemaphoreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		one := hosts.Semaphore{Topic: "all", Name: "x", Count: 1}
		first := &dying{faulty: faulty{World: w.Join()}}
		a, err := hosts.Store{World: first, Clock: clock.System{}}.Acquire(t.Context(), 15*time.Second, one, "a")
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var got []string
		waits := func(name string, w world.World) {
			go func() {
				h, err := hosts.Store{World: w, Clock: clock.System{}}.Acquire(t.Context(), 15*time.Second, one, name)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				got = append(got, name)
				mu.Unlock()
				h.Release()
			}()
			synctest.Wait()
		}
		second := &dying{faulty: faulty{World: w.Join()}}
		waits("b", second)
		waits("c", w.Join())
		if err := second.last.Revoke(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // b asks again
		select {
		case <-a.Done():
			t.Error("the first has lost its place")
		default:
		}
		if err := first.last.Revoke(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-a.Done()
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		want(t, "in turn", got, []string{"c", "b"})
		a.Release()
	})
}

// late is a store in which the first lease ends just before its request is written.
type late struct {
	dying
	did bool
}

func (l *late) Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (int64, bool, error) {
	if !l.did {
		l.did = true
		if err := l.last.Revoke(ctx); err != nil {
			return 0, false, err
		}
	}
	return l.dying.Txn(ctx, compares, ops)
}

// TestSemaphoreLeaseEnds: a request whose own lease has ended is refused by the store, and asked again. Which of
// the two is noticed first is up to the scheduler, so there are many.
func TestSemaphoreLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		for range 2000 {
			w := &late{dying: dying{faulty: faulty{World: store}}}
			one := hosts.Semaphore{Topic: "all", Name: "x", Count: 1}
			h, err := hosts.Store{World: w, Clock: clock.System{}}.Acquire(t.Context(), time.Minute, one, "a")
			if err != nil {
				t.Fatal(err)
			}
			h.Release()
		}
	})
}

// TestSemaphoreEnds: a wait ends with its context, and leaves nothing behind; a refusal is an error, a loss is waited out.
func TestSemaphoreEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		s := hosts.Store{World: w, Clock: clock.System{}}
		one := hosts.Semaphore{Topic: "all", Name: "x", Count: 1}
		h, err := s.Acquire(t.Context(), time.Minute, one, "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Acquire(ctx, time.Minute, one, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at the end of the context: %v", err)
		}
		if n := len(keys(t, w)); n != 1 {
			t.Errorf("%d requests", n)
		}
		h.Release()
		f := &faulty{World: w}
		f.set(fmt.Errorf("%w: down", world.ErrUnavailable), false)
		time.AfterFunc(time.Minute, func() { f.set(nil, false) })
		h, err = hosts.Store{World: f, Clock: clock.System{}}.Acquire(t.Context(), time.Minute, one, "c")
		if err != nil {
			t.Fatal(err)
		}
		h.Release()
		f.set(fmt.Errorf("%w: no right", world.ErrRefused), false)
		if _, err := (hosts.Store{World: f, Clock: clock.System{}}).Acquire(t.Context(), time.Minute, one, "d"); !errors.Is(err, world.ErrRefused) {
			t.Errorf("refused: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Acquire(t.Context(), time.Minute, one, "e"); !errors.Is(err, world.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}
