package hold

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/internal/semaphore"
)

// Semaphores are the named semaphores of a reactor. Callable from any goroutine.
type Semaphores struct {
	Clock clock.Clock // is told of each wait for another run (clock.Asleep); of the machine when nil

	mu   sync.Mutex
	open map[Semaphore]*places
}

// places are those of one semaphore. The mutex of the Semaphores guards them.
type places struct {
	free  int
	queue []*waiter // oldest first; also those that wait no more
}

// waiter is a run that waits for a place.
type waiter struct {
	has   chan struct{} // closed when it has the place
	awake func()        // nil once it waits no more
}

// wake has the waiter count as awake. It reports whether it has waited until now.
func (w *waiter) wake() bool {
	if w.awake == nil {
		return false
	}
	w.awake()
	w.awake = nil
	return true
}

// A Semaphore names one: those of one name and several counts are several.
type Semaphore struct {
	name  string
	count int
}

// Named returns the semaphores of some texts, each once, in the order in which runs take them.
func Named(texts []string) (list []Semaphore) {
	for _, text := range texts {
		name, count, err := semaphore.Parse(text)
		if err != nil {
			name, count = text, 1 // refused when the graph was built
		}
		s := Semaphore{name, count}
		if at, found := slices.BinarySearchFunc(list, s, Semaphore.compare); !found {
			list = slices.Insert(list, at, s)
		}
	}
	return list
}

func (s Semaphore) compare(other Semaphore) int {
	return cmp.Or(cmp.Compare(s.name, other.name), cmp.Compare(s.count, other.count))
}

// Acquire takes the semaphores of one run, in the order of Named so that two runs never wait for
// each other. It waits where one is not free. The wait ends with the context: then it has taken none, and the error is
// the cause of that end.
func (s *Semaphores) Acquire(ctx context.Context, list []Semaphore) error {
	for i, k := range list {
		if err := s.take(ctx, s.get(k)); err != nil {
			s.Release(list[:i])
			return err
		}
	}
	return nil
}

// Release gives the semaphores of a run back. It does not block.
func (s *Semaphores) Release(list []Semaphore) {
	for _, k := range list {
		s.put(s.get(k))
	}
}

// take takes one place, and waits for it. The error is the cause of a context that ends before.
func (s *Semaphores) take(ctx context.Context, p *places) error {
	s.mu.Lock()
	if p.free > 0 {
		p.free--
		s.mu.Unlock()
		return nil
	}
	w := &waiter{has: make(chan struct{}), awake: clock.Asleep(ctx, s.Clock)}
	p.queue = append(p.queue, w)
	s.mu.Unlock()
	select { // only a wait asks for the channel of the context, which has a price
	case <-w.has:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	waits := w.wake()
	s.mu.Unlock()
	if !waits {
		s.put(p) // it has come meanwhile
	}
	return context.Cause(ctx)
}

// put gives one place back, to the run that has waited longest.
func (s *Semaphores) put(p *places) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(p.queue) > 0 {
		w := p.queue[0]
		p.queue = p.queue[1:]
		if w.wake() {
			close(w.has)
			return
		}
	}
	p.free++
}

func (s *Semaphores) get(k Semaphore) *places {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.open[k]
	if p == nil {
		if s.open == nil {
			s.open = map[Semaphore]*places{}
		}
		p = &places{free: k.count}
		s.open[k] = p
	}
	return p
}
