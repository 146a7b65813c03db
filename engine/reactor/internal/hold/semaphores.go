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
	open map[semaphore]chan struct{}
}

// semaphore names one: those of one name and several counts are several.
type semaphore struct {
	name  string
	count int
}

// Acquire takes the semaphores of one run, in sorted order so that two runs never wait for
// each other. The wait ends with the context. Where there is one, wait is called before it,
// and the function that wait returns is called after it.
func (s *Semaphores) Acquire(ctx context.Context, texts []string, wait func() func()) (release func(), err error) {
	wanted := named(texts)
	if len(wanted) == 0 {
		return func() {}, nil
	}
	defer wait()()
	var held []chan struct{}
	release = func() {
		for _, c := range held {
			<-c
		}
	}
	for _, k := range wanted {
		c := s.get(k)
		select {
		case c <- struct{}{}:
			held = append(held, c)
		case <-ctx.Done():
			release()
			return nil, context.Cause(ctx)
		}
	}
	return release, nil
}

// named returns the semaphores of some texts, each once, in order.
func named(texts []string) []semaphore {
	var list []semaphore
	for _, text := range texts {
		name, count, err := engine.ParseSema(text)
		if err != nil {
			name, count = text, 1 // refused when the graph was built
		}
		s := semaphore{name, count}
		if at, found := slices.BinarySearchFunc(list, s, semaphore.compare); !found {
			list = slices.Insert(list, at, s)
		}
	}
	return list
}

func (s semaphore) compare(other semaphore) int {
	return cmp.Or(cmp.Compare(s.name, other.name), cmp.Compare(s.count, other.count))
}

func (s *Semaphores) get(k semaphore) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open[k]
	if c == nil {
		if s.open == nil {
			s.open = map[semaphore]chan struct{}{}
		}
		c = make(chan struct{}, k.count)
		s.open[k] = c
	}
	return c
}
