package account

import (
	"context"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/resources/account/backends"
)

// accountsSeen has the last seen users, or groups, of one system, for as long as their databases
// stay as they were. So resources that become ready one after the other need no reading of their
// own. It is safe for concurrent use.
type accountsSeen[T any] struct {
	mu    sync.Mutex
	print backends.Print // taken before the databases were read
	named map[string]*T
}

// withAccounts opens the shared state of all users, or groups, of a key. Users and
// groups have different keys, as their backends and records differ.
func withAccounts[T any](key string) (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return key, func(context.Context, engine.Host) (engine.Shared, error) { return &accountsSeen[T]{}, nil }
}

// Begin has nothing to do: the first look reads.
func (*accountsSeen[T]) Begin() {}

// Forget has the databases be read again.
func (s *accountsSeen[T]) Forget() { s.End() }

// End forgets the accounts, for which no vertex asks until something happens. The engine calls it when no vertex of the key is dirty or runs any more, so the memory is given back.
func (s *accountsSeen[T]) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print, s.named = backends.Print{}, nil
}

// Close has nothing to release.
func (*accountsSeen[T]) Close() error { return nil }

// look returns the accounts, read if they are not known any more. No caller alters
// them. Without a receiver it is always read. It holds the lock during the reading,
// so that several callers wait for one reading rather than read each by itself.
func (s *accountsSeen[T]) look(root string, clock clock.Clock, read func() (map[string]*T, error)) (map[string]*T, error) {
	if s == nil {
		return read()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := backends.PrintOf(root, clock.Now())
	if s.print.Same(now) {
		return s.named, nil
	}
	named, err := read()
	if s.print, s.named = now, named; err != nil {
		s.print = backends.Print{}
	}
	return named, err
}
