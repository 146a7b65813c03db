package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
)

// ErrStopped is the error of a call that came after the end of the engine.
var ErrStopped = errors.New("the engine has stopped")

// Share is the engine.Shared of one key, between its opening and its Close. Its methods are
// callable from any goroutine. Where a method says so it is callable on nil, which means nothing shared.
type Share struct {
	key    string
	val    engine.Shared
	over   func()        // ends the context that it was opened with
	refs   int           // users; guarded by shares.mu; with 0 it is being closed
	closed chan struct{} // closed after Close

	lock  chan struct{} // of capacity 1; full while Begin or End runs
	begun atomic.Bool   // changed under lock
	runs  atomic.Int64  // calls of Begin; changed under lock
	inEnd atomic.Bool

	due  atomic.Int64 // see AddDue
	news atomic.Int64 // see Alter
	seen int64        // the part of news that val has been told of; under lock
}

// Key returns the key that all users have in common.
func (s *Share) Key() string { return s.key }

// Value returns the value for Init.Shared. It is callable on nil.
func (s *Share) Value() engine.Shared {
	if s == nil {
		return nil
	}
	return s.val
}

// Begin calls Begin of the value, unless that was done since the last End. Before that, it has a
// Forgetter forget all that Alter has made stale. It is callable on nil, and waits for a running End
// until the context ends.
func (s *Share) Begin(ctx context.Context) error {
	if s == nil {
		return nil
	}
	select {
	case s.lock <- struct{}{}:
	default: // the channel of a run's context is made when it is asked for, and most do not wait here
		select {
		case s.lock <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	defer func() { <-s.lock }()
	s.runs.Add(1)
	if err := s.forget(); err != nil {
		return err
	}
	if s.begun.Load() {
		return nil
	}
	err := Call("Begin", func() error { s.val.Begin(); return nil })
	s.begun.Store(err == nil)
	return err
}

// forget has a Forgetter forget its readings from before the last Alter. The lock is held.
func (s *Share) forget() error {
	n := s.news.Load()
	if n == s.seen {
		return nil
	}
	s.seen = n
	return Call("Forget", func() error { s.val.(engine.Forgetter).Forget(); return nil })
}

// End calls End of the value, if it has begun and may agrees, which is asked after the wait for a
// running Begin.
func (s *Share) End(may func() bool) error {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if !s.begun.Load() || !may() {
		return nil
	}
	s.begun.Store(false)
	s.inEnd.Store(true)
	defer s.inEnd.Store(false)
	return Call("End", func() error { s.val.End(); return nil })
}

func always() bool { return true }

// Begun reports whether Begin was called since the last End.
func (s *Share) Begun() bool { return s.begun.Load() }

// Ending reports whether End is being called. It is callable on nil.
func (s *Share) Ending() bool { return s != nil && s.inEnd.Load() }

// Runs returns how often Begin of this Share was called.
func (s *Share) Runs() int64 { return s.runs.Load() }

// AddDue counts users that have something to do, and returns how many there are now.
func (s *Share) AddDue(n int64) int64 { return s.due.Add(n) }

// Due returns how many users have something to do.
func (s *Share) Due() int64 { return s.due.Load() }

// Forgets reports whether the value wants to know of Alter. It is callable on nil.
func (s *Share) Forgets() bool {
	if s == nil {
		return false
	}
	_, ok := s.val.(engine.Forgetter)
	return ok
}

// Alter says that the machine was altered: readings from before it are stale. Call it only where
// Forgets is true.
func (s *Share) Alter() { s.news.Add(1) }

// Reread reports whether the value has read everything since its own last change. It is callable on nil. After a
// panic of the value, everything is to be read again.
func (s *Share) Reread() (all bool) {
	if s == nil {
		return false
	}
	if v, ok := s.val.(engine.Rereader); ok {
		_ = Call("Reread", func() error { all = v.Reread(); return nil })
	}
	return all
}

// shares are the Shares of an Env.
type shares struct {
	host  engine.Host
	keep  bool            // see Options.KeepShared
	none  bool            // see Options.NoShared
	until context.Context // see Env.Start

	mu   sync.Mutex
	keys map[string]*Share
}

func (h *shares) init(o *Options) {
	h.host, h.keep, h.none, h.until, h.keys = o.Host, o.KeepShared, o.NoShared, context.Background(), map[string]*Share{}
}

// Shares returns the open Shares.
func (e *Env) Shares() []*Share { return e.shares.all() }

// SharedOf returns the value that is open for a key, nil for none.
func (e *Env) SharedOf(key string) engine.Shared {
	e.shares.mu.Lock()
	defer e.shares.mu.Unlock()
	if s := e.shares.keys[key]; s != nil && s.refs > 0 {
		return s.val
	}
	return nil
}

// open returns the Share of a resource, opened if it is the first of its key.
func (h *shares) open(ctx context.Context, res engine.Res) (s *Share, err error) {
	sr, ok := engine.As[engine.SharedRes](res)
	if !ok || h.none {
		return nil, nil
	}
	err = Call("Shared", func() (err error) {
		s, err = h.join(ctx, sr)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening what it shares: %w", err)
	}
	return s, nil
}

// join returns the Share of a key, and opens it if it is the first user.
func (h *shares) join(ctx context.Context, sr engine.SharedRes) (*Share, error) {
	key, open := sr.Shared()
	if s, err := h.wait(ctx, key); s != nil || err != nil {
		return s, err
	}
	val, over, err := h.openOne(ctx, open)
	if err != nil {
		return nil, err
	}
	s := &Share{key: key, val: val, over: over, refs: 1, closed: make(chan struct{}), lock: make(chan struct{}, 1)}
	if h.keep {
		s.refs++ // one use is the Env's
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys[key] = s
	return s, nil
}

// wait returns one more use of the open Share of a key, nil where there is none. It waits while that is
// being closed.
func (h *shares) wait(ctx context.Context, key string) (*Share, error) {
	for {
		h.mu.Lock()
		s := h.keys[key]
		if s != nil && s.refs > 0 {
			s.refs++
			h.mu.Unlock()
			return s, nil
		}
		h.mu.Unlock()
		if s == nil {
			return nil, nil
		}
		select {
		case <-s.closed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-h.until.Done():
			return nil, ErrStopped
		}
	}
}

// openOne opens a value with a context that ends with ctx while it is opened, and from then on
// with that of Env.Start, or by over.
func (h *shares) openOne(ctx context.Context, open func(context.Context, engine.Host) (engine.Shared, error)) (val engine.Shared, over func(), err error) {
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer func() {
		if over == nil {
			end(nil)
		}
	}()
	opened := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer opened()
	val, err = open(life, h.host)
	if err == nil && !opened() { // it was opened all the same, with a context that is over
		err = errors.Join(context.Cause(ctx), Call("Close", val.Close))
	}
	if err != nil {
		return nil, nil, err
	}
	told := context.AfterFunc(h.until, func() { end(context.Cause(h.until)) })
	return val, func() { told(); end(nil) }, nil
}

// leave gives up one use of s, which may be nil. The last one closes it.
func (h *shares) leave(s *Share) error {
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
	return h.end(s)
}

// end ends and closes s, and forgets it.
func (h *shares) end(s *Share) error {
	err := errors.Join(s.End(always), Call("Close", s.val.Close))
	s.over()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.keys, s.key)
	close(s.closed)
	return err
}

// close ends and closes all open Shares.
func (h *shares) close() error {
	var errs []error
	for _, s := range h.all() {
		errs = append(errs, h.end(s))
	}
	return errors.Join(errs...)
}

// all returns the open Shares.
func (h *shares) all() []*Share {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.keys))
}
