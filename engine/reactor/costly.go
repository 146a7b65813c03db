package reactor

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
)

// costly are the commands that are not cut by the end of their context (engine.Command.Cost). A vertex that leaves,
// stops or is out of time runs until its command has ended.
type costly struct {
	mu      sync.Mutex
	running map[*costlyRun]struct{}
	cut     []string // by Abandon
}

type costlyRun struct {
	v *vertex
	c *engine.Command
}

// finishing notes a command with a cost until the returned function is called with its error. The log says so when
// the context ends meanwhile.
func (v *vertex) finishing(ctx context.Context, c *engine.Command) (ended func(error)) {
	x, all := &costlyRun{v, c}, &v.core.costly
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.running == nil {
		all.running = map[*costlyRun]struct{}{}
	}
	all.running[x] = struct{}{}
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		v.core.log.Warn("a command that has begun is let finish, because to cut it has a cost; a second signal to stop cuts it",
			slog.String("resource", v.ID), slog.String("command", path.Base(c.Argv[0])), slog.String("cost", c.Cost), slog.String("because", context.Cause(ctx).Error()))
	})
	return func(err error) {
		if !stop() {
			<-told
		}
		all.end(x, err)
	}
}

// end takes the end of a command. One that failed to run after Abandon was cut.
func (all *costly) end(x *costlyRun, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.running, x)
	if err != nil && x.v.core.quitting() {
		all.cut = append(all.cut, x.String())
	}
}

// losses names the runs that Abandon has cut, or is about to cut, and their costs.
func (all *costly) losses() []string {
	all.mu.Lock()
	defer all.mu.Unlock()
	list := slices.Clone(all.cut)
	for x := range all.running {
		list = append(list, x.String())
	}
	slices.Sort(list)
	return list
}

func (x *costlyRun) String() string {
	return fmt.Sprintf("%s of %s: %s", path.Base(x.c.Argv[0]), x.v.ID, x.c.Cost)
}
