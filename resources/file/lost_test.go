package file

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestFileNoDriftIsLost breaks a watched file a thousand times, at any moment of
// the repair before, and waits each time for it to be right again.
func TestFileNoDriftIsLost(t *testing.T) {
	dir := t.TempDir()
	p := dir + "/f"
	const text = "wanted"
	r := &Res{Path: p, Content: new(text)}
	r.SetKind("file")
	init := quietInit(nil)
	init.Host = kindtest.RealHost(t)
	running, events, ran := make(chan struct{}), make(chan struct{}, 1), make(chan struct{}, 1)
	wake := func(c chan struct{}) {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	init.Running, init.Event = func() { close(running) }, func() { wake(events) }
	kindtest.Must(t, r.Init(init))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- r.Watch(ctx) }()
	go func() {
		for ctx.Err() == nil {
			select {
			case <-events:
			case <-ctx.Done():
				continue
			}
			// A file that is being replaced may look like anything but must
			// come right.
			if _, err := r.CheckApply(ctx, true); err != nil {
				wake(events)
			}
			wake(ran)
		}
		ended <- nil
	}()
	<-running
	wake(events)
	drifts := []func(){
		func() { kindtest.Put(t, p, "drift!") },
		func() { _ = os.Remove(p) },
		func() { kindtest.Put(t, p+".new", "drift!"); kindtest.Must(t, os.Rename(p+".new", p)) },
		func() { kindtest.Must(t, os.WriteFile(p, nil, 0o644)) },
	}
	deadline := time.After(await.Left())
	for i := range 1000 {
		drifts[i%len(drifts)]()
		for {
			if data, err := os.ReadFile(p); err == nil && string(data) == text {
				break
			}
			select {
			case <-ran:
			case <-deadline:
				t.Fatalf("change %d was lost", i)
			}
		}
	}
	cancel()
	kindtest.Must(t, <-ended)
	kindtest.Must(t, <-ended)
}
