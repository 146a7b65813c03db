package watches

import (
	"context"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
)

// Paths is the Watch of a kind whose sources are paths.
func Paths(ctx context.Context, init *engine.Init, paths []string, o events.Options) error {
	sub, err := init.Host.Watch(ctx, paths, o)
	if err != nil {
		return err
	}
	defer sub.Close()
	init.Running()
	for {
		select {
		case <-sub.C():
			init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

// Idle is the Watch of a resource that by its parameters has nothing to watch. A
// kind that never has is traits.Unwatched.
func Idle(ctx context.Context, init *engine.Init) error {
	init.Running()
	<-ctx.Done()
	return nil
}

// Pause waits for d by the clock, and returns the cause if the context ends first.
func Pause(ctx context.Context, c clock.Clock, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return clock.Sleep(ctx, c, d)
}
