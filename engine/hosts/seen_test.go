package hosts_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// TestFindingQ13Seen: a host says every minute that it is there, and once more at its end. After a loss of the store it says so again soon, and a
// store that gives it no right for that costs one line of the log.
func TestFindingQ13Seen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &faulty{World: memory.New()}
		log := &strings.Builder{}
		begin := time.Now()
		seen := func(want time.Duration) {
			t.Helper()
			synctest.Wait()
			all, err := hosts.LastSeen(t.Context(), w.World)
			if err != nil || len(all) != 1 || all["me"].Sub(begin) != want {
				t.Errorf("after %v the host was seen at %v: %v", time.Since(begin), all["me"].Sub(begin), err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		p := hosts.NewPublisher(hosts.PublisherOptions{
			World: w, Clock: clock.System{}, Lease: 15 * time.Second, Host: "me", Facts: func() engine.Facts { return engine.Facts{} },
			Used: hosts.Used(w), Log: slog.New(slog.NewTextHandler(log, nil)),
		})
		over := make(chan struct{})
		go func() { defer close(over); p.Run(ctx) }()
		seen(0)
		time.Sleep(59 * time.Second)
		seen(0)
		time.Sleep(62 * time.Second)
		seen(2 * time.Minute)
		w.set(fmt.Errorf("%w: the cable is out", world.ErrUnavailable), false)
		time.Sleep(10 * time.Minute)
		seen(2 * time.Minute)
		w.set(nil, false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if all, _ := hosts.LastSeen(t.Context(), w.World); all["me"].Sub(begin) < 12*time.Minute {
			t.Errorf("the host is not seen after the loss: %v", all["me"].Sub(begin))
		}
		w.alter(func() { w.deny = hosts.SeenKey("me") })
		time.Sleep(5 * time.Minute)
		synctest.Wait() // a refused write may be under way
		if log := log.String(); strings.Count(log, "mgmt hosts allow") != 1 {
			t.Errorf("the log says\n%s", log)
		}
		w.alter(func() { w.deny = "" })
		time.Sleep(61500 * time.Millisecond)
		cancel()
		<-over
		seen(time.Since(begin))
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}
