package pkglock

import (
	"context"
	"sync"
	"time"
	"weak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
)

// lockLook is the time between two looks at a lock without events.
const lockLook = 5 * time.Second

// Waits wakes resources as soon as their package manager's lock is free. One goroutine waits
// for all of them: it ends with the lock, with Life, and with Close. The zero value wakes none.
type Waits struct {
	Life  context.Context // while it lasts, resources may be woken
	Clock clock.Clock     // that of the machine when nil

	mu     sync.Mutex
	who    map[weak.Pointer[engine.Init]]bool // who waits; nil while the goroutine does not run
	stop   context.CancelFunc                 // ends it
	closed bool
	runs   sync.WaitGroup
}

// Add has who is looked at when held returns nil. h is what it has returned now.
func (w *Waits) Add(who *engine.Init, h *Holder, held func() *Holder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.Life == nil {
		return
	}
	if w.who == nil {
		ctx, stop := context.WithCancel(w.Life)
		w.who, w.stop = map[weak.Pointer[engine.Init]]bool{}, stop
		w.runs.Go(func() { w.run(ctx, h, held) })
	}
	w.who[weak.Make(who)] = true
}

// run waits for the lock. It wakes all resources that are added until the last look has found the
// lock free.
func (w *Waits) run(ctx context.Context, h *Holder, held func() *Holder) {
	for h != nil && h.Await(ctx, clock.Or(w.Clock), lockLook) == nil {
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

// Close ends the wait.
func (w *Waits) Close() {
	w.mu.Lock()
	w.closed = true
	if w.who != nil {
		w.stop()
	}
	w.mu.Unlock()
	w.runs.Wait()
}
