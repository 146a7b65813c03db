package pkg

import (
	"context"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
	"github.com/reactivegraph/mgmt/resources/pkg/backends"
)

// seen is how the database was when CheckApply has looked last. While that runs Watch waits, and
// compares then. So changes of CheckApply make no event, not even if it fails, and a package that
// cannot be installed is not tried again and again.
type seen struct {
	watches.Turns           // CheckApply, or Watch
	stamp         string    // of pkg.Stamp; empty if it is not known
	since         time.Time // Watch waits for another program; zero if it does not
}

func newPkgSeen() *seen { return &seen{Turns: watches.NewTurns()} }

// differs reports whether the database is another one than CheckApply has seen. The lock is held.
func (s *seen) differs(backend string) bool {
	return s.stamp == "" || s.stamp != backends.Stamp(backend)
}

// Watch tells of changes of the database that another program has made. Backends
// whose database is a file have it watched, others are polled.
func (r *Res) Watch(ctx context.Context) error { return r.WatchBy(ctx, "pkg", r, r.seen.Turns) }

// Follow subscribes for WatchBy. It is called again when another backend is chosen.
func (r *Res) Follow(ctx context.Context, c *virtualkind.Chosen) error {
	sub, err := c.Watch(ctx, []string{r.Name()})
	if err == nil {
		c.Subscribed(sub, nil)
	}
	return err
}

// Woken says Event when no other program uses the package manager any more: its
// half-done work is not a drift. A long use is looked into now and then. It holds
// the lock of seen, so it never runs while a CheckApply does.
func (r *Res) Woken(_ context.Context, c *virtualkind.Chosen) error {
	if c.Lost() {
		r.seen.stamp = ""
	}
	if c.Sub != nil && !r.seen.differs(c.Backend.Name) {
		r.seen.rest(c)
		return nil
	}
	if h := holder(c.Backend.Name); h != nil && !h.Own {
		clk := engine.ClockOf(r.Handle().Host)
		if r.seen.since.IsZero() {
			r.seen.since = clk.Now()
			c.Every(othersPoll)
		}
		if clock.Since(clk, r.seen.since) < othersWait {
			return nil
		}
		r.seen.since = clk.Now()
		r.Handle().Event()
		return nil
	}
	r.seen.rest(c)
	r.Handle().Event()
	return nil
}

// rest ends the wait for another program.
func (s *seen) rest(c *virtualkind.Chosen) {
	if s.since.IsZero() {
		return
	}
	s.since = time.Time{}
	if c.Every(0); c.Sub == nil {
		c.Every(virtualkind.Poll)
	}
}

// listsAge is how old the lists of packages may be for packages that should be the newest.
const listsAge = 24 * time.Hour

// lists is what all packages of one package manager have in common: when the lists
// were fetched last, by us and by that one. It is safe for concurrent use, and lives
// as long as a vertex of the key does.
type lists struct {
	clock clock.Clock

	mu      sync.Mutex
	by      string
	fetched time.Time
	db      database

	locks pkglock.Waits // of the package manager
}

// Shared is what packages of one package manager have in common. ctx is the life of
// the shared state; waits for a lock end with it.
func (r *Res) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return r.GroupKey(), func(ctx context.Context, h engine.Host) (engine.Shared, error) {
		clock := engine.ClockOf(h)
		return &lists{clock: clock, locks: pkglock.Waits{Life: ctx, Clock: clock}}, nil
	}
}

// due reports whether those of a package manager are too old, and takes it that they
// are fetched now. So a fetch that fails is not repeated for each package. The next
// fetch is due after listsAge.
func (l *lists) due(by string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == by && clock.Since(l.clock, l.fetched) < listsAge {
		return false
	}
	l.by, l.fetched = by, l.clock.Now()
	return true
}

// Begin does nothing.
func (*lists) Begin() {}

// End keeps everything: the age of the lists counts over many runs.
func (*lists) End() {}

var _ engine.Forgetter = (*lists)(nil)

// Forget has the lists be fetched again for packages that should be the newest, and a failed repair
// be tried again: a vertex above a package may have brought a repository, a version, or what the
// repair needs. All else is read each time.
func (l *lists) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by, l.fetched, l.db = "", time.Time{}, database{}
}

// Close ends the wait for a lock.
func (l *lists) Close() error {
	l.locks.Close()
	return nil
}
