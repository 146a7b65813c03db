package reactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
)

// shared is the value that all vertices of one key have in common.
type shared struct {
	key    string
	val    engine.Shared
	over   func() // ends the context that it was opened with
	refs   int    // vertices; guarded by sharing.mu; with 0 it is being closed
	closed chan struct{}
	due    atomic.Int64 // vertices that are starting, dirty or running

	lock  chan struct{} // of capacity 1; full while Begin or End runs
	begun atomic.Bool   // changed under lock
	runs  atomic.Int64  // how often begin was called; changed under lock
	inEnd atomic.Bool

	news atomic.Int64 // changes by vertices above one of the key; see altered
	seen int64        // of them, those that val has been told of; under lock
}

// sharing are the values that are open. Callable from any goroutine.
type sharing struct {
	r    *Reactor
	mu   sync.Mutex
	open map[string]*shared
	ends atomic.Int64 // calls of End that are going on
}

// value returns what the resource gets as Init.Shared.
func (s *shared) value() engine.Shared {
	if s == nil {
		return nil
	}
	return s.val
}

// begin is called by a run before its CheckApply.
func (s *shared) begin(ctx context.Context) error {
	if s == nil {
		return nil
	}
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.lock }()
	s.runs.Add(1)
	if err := s.forget(); err != nil {
		return err
	}
	if s.begun.Load() {
		return nil
	}
	err := protect("Begin", func() error { s.val.Begin(); return nil })
	s.begun.Store(err == nil)
	return err
}

// forget has a Forgetter forget what was read before the last change above a vertex of
// the key. The lock is held.
func (s *shared) forget() error {
	n := s.news.Load()
	if n == s.seen {
		return nil
	}
	s.seen = n
	return protect("Forget", func() error { s.val.(engine.Forgetter).Forget(); return nil })
}

// forgets reports whether what v shares has to know what was altered above v.
func (v *vertex) forgets() bool {
	if v.shared == nil {
		return false
	}
	_, ok := v.shared.val.(engine.Forgetter)
	return ok
}

// maxReaders is how many Forgetters are told apart. More share the last place.
const maxReaders = 64

// findReaders notes of each vertex which Forgetters have a vertex below it. It takes a step
// for each vertex and edge, where there is a Forgetter at all.
func (s *swap) findReaders() {
	at := map[*shared]int{}
	s.r.loop.readers = nil
	for _, v := range s.all {
		if v.readers = 0; !v.forgets() {
			continue
		}
		if _, ok := at[v.shared]; !ok {
			at[v.shared] = min(len(s.r.loop.readers), maxReaders-1)
			s.r.loop.readers = append(s.r.loop.readers, v.shared)
		}
	}
	if len(at) == 0 {
		return
	}
	for _, i := range slices.Backward(s.order) {
		v := s.all[i]
		for _, j := range s.g.Succ(i) {
			below := s.all[j]
			v.readers |= below.readers
			if n, ok := at[below.shared]; ok && below.forgets() {
				v.readers |= 1 << n
			}
		}
	}
}

// altered tells the Forgetters below v that v has, or may have, altered the machine.
func (l *loop) altered(v *vertex) {
	if v.readers == 0 || !v.run.job.apply || v.run.out.ok && v.run.out.err == nil {
		return
	}
	for i, s := range l.readers {
		if v.readers&(1<<min(i, maxReaders-1)) != 0 {
			s.news.Add(1)
		}
	}
}

// end calls End if something was begun and may agrees.
func (s *shared) end(may func() bool) error {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if !s.begun.Load() || !may() {
		return nil
	}
	s.begun.Store(false)
	s.inEnd.Store(true)
	defer s.inEnd.Store(false)
	return protect("End", func() error { s.val.End(); return nil })
}

// ending reports whether End is being called.
func (s *shared) ending() bool { return s != nil && s.inEnd.Load() }

// setDue counts v among those of its key that have something to do, as long as it
// runs in any case. The last one to be done has End called.
func (l *loop) setDue(v *vertex, due bool) {
	s := v.shared
	if s == nil || v.due == due || v.run.inRun && !due {
		return
	}
	v.due = due
	if due {
		s.due.Add(1)
	} else if s.due.Add(-1) == 0 {
		l.r.shares.endShared(s, func() bool { return s.due.Load() == 0 })
	}
}

// endShared calls End on a goroutine of its own, since it may take long.
func (h *sharing) endShared(s *shared, may func() bool) {
	h.ends.Add(1)
	h.r.enders.Go(func() {
		if err := s.end(may); err != nil {
			h.r.log.Warn("ending what is shared failed", slog.String("key", s.key), slog.Any("error", err))
		}
		h.ends.Add(-1)
		h.r.poke()
	})
}

// endAllShared calls End for what was begun, because the graph is at rest: what
// is still due waits for something that failed. A run that begins before End is
// called makes it void. It reports whether there was something.
func (h *sharing) endAllShared() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	any := false
	for _, s := range h.open {
		if s.due.Load() > 0 && s.begun.Load() {
			any = true
			seen := s.runs.Load()
			h.endShared(s, func() bool { return s.runs.Load() == seen })
		}
	}
	return any
}

// openShared returns the shared value of a new vertex's resource, opened if it is
// the first of its key. It is called by Swap.
func (h *sharing) openShared(ctx context.Context, res engine.Res) (*shared, error) {
	sr, ok := engine.As[engine.SharedRes](res)
	if !ok {
		return nil, nil
	}
	s, err := h.shareOf(ctx, sr)
	if err != nil {
		return nil, fmt.Errorf("opening what it shares: %w", err)
	}
	return s, nil
}

func (h *sharing) shareOf(ctx context.Context, sr engine.SharedRes) (s *shared, err error) {
	defer engine.Caught("Shared", &err)
	key, open := sr.Shared()
	if s, err := h.joinShared(ctx, key); s != nil || err != nil {
		return s, err
	}
	val, over, err := h.openOne(ctx, open)
	if err != nil {
		return nil, err
	}
	s = &shared{key: key, val: val, over: over, refs: 1, closed: make(chan struct{}), lock: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[key] = s
	return s, nil
}

// openOne opens a value with a context that ends with ctx while it is opened, and from then on when
// Run is told to end, or by over.
func (h *sharing) openOne(ctx context.Context, open func(context.Context, engine.Host) (engine.Shared, error)) (val engine.Shared, over func(), err error) {
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer func() {
		if over == nil {
			end(nil)
		}
	}()
	opened := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer opened()
	val, err = open(life, h.r.opt.Host)
	if err == nil && !opened() { // it was opened all the same, with a context that is over
		err = errors.Join(context.Cause(ctx), protect("Close", val.Close))
	}
	if err != nil {
		return nil, nil, err
	}
	told := context.AfterFunc(h.r.ctx, func() { end(context.Cause(h.r.ctx)) })
	return val, func() { told(); end(nil) }, nil
}

// joinShared returns what is open for the key, if it is, and waits while it is
// being closed.
func (h *sharing) joinShared(ctx context.Context, key string) (*shared, error) {
	for {
		h.mu.Lock()
		s := h.open[key]
		if s != nil && s.refs > 0 {
			s.refs++
			h.mu.Unlock()
			return s, nil
		}
		h.mu.Unlock()
		if s == nil {
			return nil, nil
		}
		if err := h.r.await(ctx, s.closed); err != nil {
			return nil, err
		}
	}
}

// leaveShared closes the shared value after the last of its vertices.
func (h *sharing) leaveShared(s *shared) error {
	if s == nil {
		return nil
	}
	h.mu.Lock()
	s.refs--
	last := s.refs == 0
	h.mu.Unlock()
	if !last {
		return nil
	}
	err := errors.Join(s.end(func() bool { return true }), protect("Close", s.val.Close))
	s.over()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, s.key)
	close(s.closed)
	return err
}
