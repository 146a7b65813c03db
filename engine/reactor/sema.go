package reactor

import (
	"context"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
)

// semaphores are the named semaphores of a reactor.
type semaphores struct {
	mu     sync.Mutex
	byName map[string]chan struct{} // by name:count
}

// acquire takes the semaphores of the vertices of one run, in sorted order so
// that two runs never wait for each other. The wait ends with the context, and
// gives the run's slot back.
func (s *semaphores) acquire(ctx context.Context, vs ...*vertex) (release func(), err error) {
	names := semaNames(vs)
	if len(names) == 0 {
		return func() {}, nil
	}
	defer vs[0].wait(ctx)()
	var held []chan struct{}
	release = func() {
		for _, c := range held {
			<-c
		}
	}
	for _, name := range names {
		c := s.get(name)
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

func semaNames(vs []*vertex) []string {
	var names []string
	for _, v := range vs {
		names = append(names, v.meta.Sema...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *semaphores) get(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byName[name]
	if c == nil {
		_, count, err := engine.ParseSema(name)
		if err != nil {
			count = 1 // refused when the graph was built
		}
		if s.byName == nil {
			s.byName = map[string]chan struct{}{}
		}
		c = make(chan struct{}, count)
		s.byName[name] = c
	}
	return c
}
