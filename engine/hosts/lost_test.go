package hosts_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// TestWarnLost: the log tells a store that refuses this host from one that cannot be reached. Both say what goes on.
func TestWarnLost(t *testing.T) {
	for class, want := range map[error]string{
		world.ErrUnavailable: `msg="the store is out of reach" of=facts meanwhile="the last state goes on" error="`,
		world.ErrRefused:     `msg="the store refuses this host: mgmt hosts allow gives a host its rights" of=facts meanwhile="the last state goes on" error="`,
	} {
		var b strings.Builder
		hosts.WarnLost(slog.New(slog.NewTextHandler(&b, nil)), fmt.Errorf("%w: why", class), "the last state goes on", "of", "facts")
		if log := b.String(); !strings.Contains(log, want+class.Error()+`: why"`) {
			t.Errorf("%s lacks %s", log, want)
		}
	}
}

// TestLossOfAnotherClass: a store that could not be reached and then refuses this host is told anew, once, and so is the way back. The
// operator who has mended the network has to give rights next.
func TestLossOfAnotherClass(t *testing.T) {
	readers := map[string]func(context.Context, hosts.Store){
		"a reader": func(ctx context.Context, s hosts.Store) {
			for range s.Follow(ctx, "a/") {
			}
		},
		"a writer": func(ctx context.Context, s hosts.Store) {
			k := hosts.NewKeeper(s, 15*time.Second)
			go func() {
				for n := 0; ctx.Err() == nil; n++ {
					k.Set("g", values(fmt.Sprint("a=", n)))
					_ = clock.Sleep(ctx, clock.System{}, 10*time.Second)
				}
			}()
			k.Run(ctx)
		},
	}
	for what, run := range readers {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &faulty{World: memory.New()}
				var x told
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					run(ctx, hosts.Store{World: w, Clock: clock.System{}, Tell: x.tell})
				}()
				synctest.Wait()
				for _, step := range []struct {
					err  error
					want []string
				}{
					{world.ErrUnavailable, []string{"lost"}},
					{world.ErrRefused, []string{"lost, refused"}},
					{world.ErrUnavailable, []string{"lost"}},
					{nil, []string{"back"}},
				} {
					w.set(step.err, false)
					time.Sleep(2 * time.Minute)
					want(t, fmt.Sprint("told of ", step.err), x.take(), step.want)
				}
				cancel()
				<-done
			})
		})
	}
}
