package stream_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/internal/stream"
)

// kind is a kind of events of these tests.
type kind uint8

// told tells the numbers below n as events of one kind.
func told(s *stream.Stream[int], k kind, n int) {
	for i := range n {
		s.Tell(uint8(k), i)
	}
}

// TestOrder: a reader gets the wanted kinds alone, in order, from its Join on, and ends after the events before End.
func TestOrder(t *testing.T) {
	var s stream.Stream[int]
	told(&s, 1, 3) // before the reader
	r := s.Join(stream.Of[kind](1, 3), 10, 0)
	all := s.Join(stream.All, 10, 0)
	s.Tell(1, 7)
	s.Tell(2, 8)
	s.Tell(3, 9)
	s.End()
	for _, c := range []struct {
		r    *stream.Reader[int]
		want []int
	}{{r, []int{7, 9}}, {all, []int{7, 8, 9}}} {
		if batch, missed, more := c.r.Take(t.Context()); !slices.Equal(batch, c.want) || missed != 0 || more {
			t.Errorf("got %v, %d missed, more %t; want %v", batch, missed, more, c.want)
		}
	}
	if batch, _, more := s.Join(stream.All, 10, 0).Take(t.Context()); len(batch) > 0 || more {
		t.Errorf("a reader after the end has %v, more %t", batch, more)
	}
}

// TestFullQueue: the oldest events leave a full queue, and the reader is told how many.
func TestFullQueue(t *testing.T) {
	var s stream.Stream[int]
	r := s.Join(stream.All, 3, 0)
	for round := range 3 { // the ring turns, and a taken queue is used again
		told(&s, 1, 5)
		if batch, missed, more := r.Take(t.Context()); !slices.Equal(batch, []int{2, 3, 4}) || missed != 2 || !more {
			t.Errorf("round %d: got %v, %d missed, more %t", round, batch, missed, more)
		}
	}
	if r.Behind() != nil {
		t.Error("a reader without slack is late")
	}
}

// TestBehind: a reader is late while more events wait than its slack, and until it has taken them.
func TestBehind(t *testing.T) {
	var s stream.Stream[int]
	r := s.Join(stream.All, 10, 2)
	told(&s, 1, 2)
	if r.Behind() != nil {
		t.Error("it is late within its slack")
	}
	told(&s, 1, 1)
	late := r.Behind()
	if late == nil {
		t.Fatal("it is not late")
	}
	r.Take(t.Context())
	select {
	case <-late:
	default:
		t.Error("it has taken its events, and is still late")
	}
	if r.Behind() != nil {
		t.Error("it is late again without an event")
	}
	told(&s, 1, 5)
	late = r.Behind()
	r.Leave()
	select {
	case <-late:
	default:
		t.Error("a reader that has left is late for ever")
	}
}

// TestAwait: Await returns when the reader is done with the events from before the call, and not when it has taken them.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stream.Stream[int]
		r := s.Join(stream.All, 10, 0)
		if err := r.Await(t.Context()); err != nil {
			t.Error(err)
		}
		told(&s, 1, 2)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("over"))
		defer cancel()
		r.Take(t.Context())
		if err := r.Await(ctx); err == nil || err.Error() != "over" {
			t.Errorf("the reader still has the events, and Await returns %v", err)
		}
		done := make(chan error, 1)
		go func() { done <- r.Await(t.Context()) }()
		synctest.Wait()
		r.Done()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestLeave: a reader that leaves gets nothing more, even while it waits, and its kinds are wanted no longer.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stream.Stream[int]
		r := s.Join(stream.All, 10, 1)
		ended := make(chan bool, 1)
		go func() {
			batch, _, more := r.Take(t.Context())
			ended <- len(batch) == 0 && !more
		}()
		synctest.Wait()
		r.Leave()
		if !<-ended {
			t.Error("a reader that has left got events")
		}
		told(&s, 1, 100)
		if r.Behind() != nil {
			t.Error("a reader that has left is late")
		}
		if n := testing.AllocsPerRun(100, func() { s.Tell(1, 1) }); n > 0 {
			t.Errorf("an event that no reader wants costs %v allocations", n)
		}
	})
}
