package reactor

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
)

// shared is the value that all vertices of one key have in common.
type shared struct {
	key  string
	val  engine.Shared
	refs int // vertices; guarded by Reactor.shareMu
	due  atomic.Int64

	mu    sync.Mutex  // held while Begin and End run
	begun atomic.Bool // changed under mu
}

// value returns what the resource gets as Init.Shared.
func (s *shared) value() engine.Shared {
	if s == nil {
		return nil
	}
	return s.val
}

// begin is called by a run before its CheckApply.
func (s *shared) begin() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun.Load() {
		s.begun.Store(true)
		s.val.Begin()
	}
}

// end calls End if something was begun and, unless forced, nothing is due.
func (s *shared) end(force bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun.Load() && (force || s.due.Load() == 0) {
		s.begun.Store(false)
		s.val.End()
	}
}

// setDue counts v among those of its key that have something to do. The last
// one to be done has End called.
func (r *Reactor) setDue(v *vertex, due bool) {
	if v.shared == nil || v.due == due {
		return
	}
	v.due = due
	if due {
		v.shared.due.Add(1)
	} else if v.shared.due.Add(-1) == 0 {
		r.endShared(v.shared, false)
	}
}

// endShared calls End on a goroutine of its own, since it may take long.
func (r *Reactor) endShared(s *shared, force bool) {
	r.ending.Add(1)
	r.enders.Go(func() {
		s.end(force)
		r.ending.Add(-1)
		r.poke()
	})
}

// endAllShared calls End for what was begun, because the graph is at rest: what
// is still due waits for something that failed. It reports whether there was
// something.
func (r *Reactor) endAllShared() bool {
	r.shareMu.Lock()
	defer r.shareMu.Unlock()
	any := false
	for _, s := range r.sharing {
		if s.due.Load() > 0 && s.begun.Load() {
			any = true
			r.endShared(s, true)
		}
	}
	return any
}

// openShared returns the shared value of a new vertex's resource, opened if it is
// the first of its key. It is called by Swap.
func (r *Reactor) openShared(ctx context.Context, res engine.Res) (*shared, error) {
	sr, ok := res.(engine.SharedRes)
	if !ok {
		return nil, nil
	}
	key, open := sr.Shared()
	if s := r.joinShared(key); s != nil {
		return s, nil
	}
	var val engine.Shared
	err := protect("Shared", func() (err error) {
		val, err = open(ctx, r.opt.Host)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: opening what it shares: %w", res, err)
	}
	s := &shared{key: key, val: val, refs: 1}
	r.shareMu.Lock()
	defer r.shareMu.Unlock()
	r.sharing[key] = s
	return s, nil
}

func (r *Reactor) joinShared(key string) *shared {
	r.shareMu.Lock()
	defer r.shareMu.Unlock()
	s := r.sharing[key]
	if s != nil {
		s.refs++
	}
	return s
}

// leaveShared closes the shared value after the last of its vertices.
func (r *Reactor) leaveShared(s *shared) error {
	if s == nil {
		return nil
	}
	r.shareMu.Lock()
	s.refs--
	last := s.refs == 0
	if last {
		delete(r.sharing, s.key)
	}
	r.shareMu.Unlock()
	if !last {
		return nil
	}
	s.end(true)
	return protect("Close", s.val.Close)
}
