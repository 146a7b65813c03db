package svc

import (
	"context"
	"fmt"
	"sync"
	"time"
	"weak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
	"github.com/reactivegraph/mgmt/resources/svc/backends"
)

var _ engine.SharedRes = (*Res)(nil)

// A manager may take so long to read all its files, and so long when mgmt ends: it finds untold
// changes at the next boot, or when another client has it read them.
const (
	rereadTime = 2 * time.Minute
	closeTime  = 5 * time.Second
)

// shared is shared by the services of one manager: the manager has to be told of changes for the
// next boot. It is told once for many services, when none of them has anything to do any more.
// Changes before a start are told at once, by the start.
type shared struct {
	life   context.Context // of open: it ends when mgmt does
	reread func(context.Context) error
	// turn makes one call of several at the same time; see host.
	turn  systemd1.Turn
	locks pkglock.Waits // of package managers

	mu sync.Mutex
	// due says that something was altered of which the manager does not know.
	due bool
	// by is weak, since a resource may have left the graph, and must not be kept for a log line.
	by weak.Pointer[engine.Init] // of who altered something last
}

// host is the host of a service that shares something: calls at the same time that have the
// manager read its files again become one.
type host struct {
	engine.Host
	turn *systemd1.Turn
}

var (
	_ systemd1.Sharing = host{}
	_ hosting.Waiter   = host{}
)

// Turn implements systemd1.Sharing.
func (h host) Turn() *systemd1.Turn { return h.turn }

// Clock is asked for by engine.ClockOf.
func (h host) Clock() clock.Clock { return engine.ClockOf(h.Host) }

// Waits implements hosting.Waiter.
func (h host) Waits(ctx context.Context) (done func()) { return hosting.Waits(ctx, h.Host) }

// Shared is what services of one manager have in common.
func (r *Res) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	// A resource of its own asks for all of them, since each other one may leave the graph.
	like := &Res{Session: r.Session, Backed: virtualkind.Of(r.VirtualKind())}
	provider := r.Backend()
	// Each manager has one value, and so has each session.
	return fmt.Sprintf("svc:%s:%t", provider, r.Session), func(ctx context.Context, h engine.Host) (engine.Shared, error) {
		s := &shared{life: ctx, locks: pkglock.Waits{Life: ctx, Clock: engine.ClockOf(h)}}
		like.Keep(&engine.Init{Host: host{h, &s.turn}})
		s.reread = func(ctx context.Context) error { return like.rereads(ctx, provider) }
		return s, nil
	}
}

// rereads has the manager read its files.
func (r *Res) rereads(ctx context.Context, provider string) error {
	m, err := r.Open(ctx, "svc", provider)
	if err != nil {
		return err
	}
	defer m.Close()
	_, _, err = backends.Reread.Call(ctx, m, backends.AllArgs{Session: r.Session})
	return err
}

// later notes that something was altered.
func (s *shared) later(by *engine.Init) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due, s.by = true, weak.Make(by)
}

// Begin has nothing to do.
func (s *shared) Begin() {}

// End tells the manager. If that fails, the next End does, or Close.
func (s *shared) End() {
	if err := s.tell(s.life, rereadTime); err != nil && s.life.Err() == nil {
		s.mu.Lock()
		by := s.by.Value()
		s.mu.Unlock()
		if by != nil {
			by.Logf("what was altered for the next boot: %v", err)
		}
	}
}

// Close tells the manager what it has not been told.
func (s *shared) Close() error {
	s.locks.Close()
	// The life has ended by now, and the manager still has to be told.
	return s.tell(context.WithoutCancel(s.life), closeTime)
}

// tell tells the manager, if there is something to tell and ctx has not ended.
func (s *shared) tell(ctx context.Context, most time.Duration) error {
	if ctx.Err() != nil {
		return nil
	}
	s.mu.Lock()
	due := s.due
	// What is altered during the call sets it again.
	s.due = false
	s.mu.Unlock()
	if !due {
		return nil
	}
	ctx, cancel := clock.WithTimeout(ctx, clock.Or(s.locks.Clock), most, nil)
	defer cancel()
	err := s.reread(ctx)
	if err != nil {
		s.mu.Lock()
		s.due = true
		s.mu.Unlock()
	}
	return err
}
