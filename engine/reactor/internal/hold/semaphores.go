package hold

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
)

// Semaphores are the named semaphores of a reactor. Callable from any goroutine.
type Semaphores struct {
	mu   sync.Mutex
	open map[Semaphore]chan struct{}
}

// A Semaphore names one: those of one name and several counts are several.
type Semaphore struct {
	name  string
	count int
}

// Named returns the semaphores of some texts, each once, in the order in which runs take them.
func Named(texts []string) (list []Semaphore) {
	for _, text := range texts {
		name, count, err := engine.ParseSema(text)
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
		place := s.get(k)
		select {
		case place <- struct{}{}:
			continue
		default: // only a wait asks for the channel of the context, which has a price
		}
		select {
		case place <- struct{}{}:
		case <-ctx.Done():
			s.Release(list[:i])
			return context.Cause(ctx)
		}
	}
	return nil
}

// Release gives the semaphores of a run back. It does not block.
func (s *Semaphores) Release(list []Semaphore) {
	for _, k := range list {
		<-s.get(k)
	}
}

func (s *Semaphores) get(k Semaphore) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open[k]
	if c == nil {
		if s.open == nil {
			s.open = map[Semaphore]chan struct{}{}
		}
		c = make(chan struct{}, k.count)
		s.open[k] = c
	}
	return c
}
