package resources

import (
	"context"
	"sync"
	"time"
	"weak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/pkg"
)

// lockLook is the time between two looks at a lock without events.
const lockLook = 5 * time.Second

// lockWaits wakes resources as soon as their package manager's lock is free. One goroutine waits
// for all of them: it ends with the lock, and with life or close. The zero value wakes none.
type lockWaits struct {
	life context.Context

	mu     sync.Mutex
	who    map[weak.Pointer[engine.Init]]bool // who waits; nil while the goroutine does not run
	stop   context.CancelFunc                 // ends it
	closed bool
	runs   sync.WaitGroup
}

// add has who is looked at when held returns nil. h is what it has returned now.
func (w *lockWaits) add(who *engine.Init, h *pkg.Holder, held func() *pkg.Holder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.life == nil {
		return
	}
	if w.who == nil {
		ctx, stop := context.WithCancel(w.life)
		w.who, w.stop = map[weak.Pointer[engine.Init]]bool{}, stop
		w.runs.Go(func() { w.run(ctx, h, held) })
	}
	w.who[weak.Make(who)] = true
}

// run waits for the lock. It wakes all resources that are added until the last look has found the
// lock free.
func (w *lockWaits) run(ctx context.Context, h *pkg.Holder, held func() *pkg.Holder) {
	for h != nil && h.Await(ctx, lockLook) == nil {
		h = held()
	}
	w.mu.Lock()
	who := w.who
	w.who = nil
	w.stop()
	w.mu.Unlock()
	if h != nil {
		return // it was told to end
	}
	for one := range who {
		if init := one.Value(); init != nil {
			init.Event()
		}
	}
}

// close ends the wait.
func (w *lockWaits) close() {
	w.mu.Lock()
	w.closed = true
	if w.who != nil {
		w.stop()
	}
	w.mu.Unlock()
	w.runs.Wait()
}
