package reactor

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
)

// semaphores are the named semaphores of a reactor.
type semaphores struct {
	mu   sync.Mutex
	open map[semaphore]chan struct{}
}

// semaphore names one: those of one name and several counts are several.
type semaphore struct {
	name  string
	count int
}

// acquire takes the semaphores of the vertices of one run, in sorted order so
// that two runs never wait for each other. The wait ends with the context, and
// gives the run's slot back.
func (s *semaphores) acquire(ctx context.Context, vs ...*vertex) (release func(), err error) {
	wanted := semasOf(vs)
	if len(wanted) == 0 {
		return func() {}, nil
	}
	defer vs[0].wait(ctx)()
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

// semasOf returns the semaphores of some vertices, each once, in order.
func semasOf(vs []*vertex) []semaphore {
	var list []semaphore
	for _, v := range vs {
		for _, text := range v.meta.Sema {
			name, count, err := engine.ParseSema(text)
			if err != nil {
				name, count = text, 1 // refused when the graph was built
			}
			list = append(list, semaphore{name, count})
		}
	}
	slices.SortFunc(list, func(a, b semaphore) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.count, b.count))
	})
	return slices.Compact(list)
}

func (s *semaphores) get(k semaphore) chan struct{} {
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
