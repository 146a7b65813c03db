package reactor

import "sync"

// errandsAtOnce is how many errands are run at the same time. Most are questions to
// Host, which answers one after the other anyway.
const errandsAtOnce = 64

// errands are what Watches have done on another goroutine than their own, because
// they then wait for as long as the graph lasts, and a stack that has grown does not
// shrink. They are done by few goroutines, however many Watches start at once: what
// the runtime keeps of an ended goroutine is never given back either. When there is
// nothing left to do there is no goroutine.
type errands struct {
	mu      sync.Mutex
	waiting []func()
	running int
}

// run has f done and returns when it is. f must not panic.
func (e *errands) run(f func()) {
	done := make(chan struct{})
	e.add(func() { defer close(done); f() })
	<-done
}

func (e *errands) add(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, f)
	if e.running < errandsAtOnce {
		e.running++
		go e.work()
	}
}

func (e *errands) work() {
	for f := e.next(); f != nil; f = e.next() {
		f()
	}
}

// next takes the errand that waits longest. It returns nil where there is none, and
// then counts its caller as ended.
func (e *errands) next() func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.waiting) == 0 {
		e.running--
		e.waiting = nil
		return nil
	}
	f := e.waiting[0]
	e.waiting[0] = nil
	e.waiting = e.waiting[1:]
	return f
}
