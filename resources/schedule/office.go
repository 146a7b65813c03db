package schedule

import (
	"context"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
)

// office has the lease of all schedules of a daemon. It lives as long as one of them is in the graph.
type office struct {
	life context.Context
	end  func()
	run  sync.WaitGroup
	once sync.Once

	mu sync.Mutex
	s  *hosts.Scheduler // nil before the first Init
}

var _ engine.Shared = (*office)(nil)

func newOffice(ctx context.Context) *office {
	o := &office{}
	o.life, o.end = context.WithCancel(ctx)
	return o
}

// scheduler returns that of the store. It touches the store only when it is started.
func (o *office) scheduler(init *engine.Init) *hosts.Scheduler {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.s == nil {
		store := hosts.Store{World: init.World, Clock: engine.ClockOf(init.Host)}
		o.s = hosts.NewScheduler(store, init.Hostname, init.Lease)
	}
	return o.s
}

// start begins to hold the lease, once.
func (o *office) start() {
	o.once.Do(func() { o.run.Go(func() { o.s.Run(o.life) }) })
}

// Begin does nothing: a schedule stands from its own run on.
func (o *office) Begin() {}

// End does nothing: the places stay as long as their resources.
func (o *office) End() {}

// Close withdraws from all schedules.
func (o *office) Close() error {
	o.once.Do(func() {}) // nothing starts any more
	o.end()
	o.run.Wait()
	return nil
}
