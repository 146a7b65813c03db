package pkg

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
	"github.com/reactivegraph/mgmt/resources/pkg/backends"
)

// database is what all packages of one package manager know of its database. It is guarded by lists.mu.
type database struct {
	sound string // the stamp with which it was not interrupted; empty for none

	// the last repair, if that has failed: it is not tried again at once, and one package fails with it
	failed error
	what   string    // was interrupted
	by     string    // the package that fails
	until  time.Time // it is not tried again
	tries  int
}

// The pause after a repair that has failed, and its upper bound.
const (
	repairPause    = 15 * time.Second
	repairPauseMax = 10 * time.Minute
)

// holder returns the other process that uses a package manager now, nil for none. It
// looks at lock files and at /proc, and takes no lock.
func holder(backend string) *pkglock.Holder {
	return pkglock.Held(slices.DeleteFunc(pkglock.Locks(), func(l pkglock.Lock) bool { return l.Backend != backend }))
}

// othersPoll is how often Watch looks whether another user of the package manager has ended.
// othersLook is how often it is looked in addition to events of the lock, and othersWait is how
// long it is waited for.
const (
	othersPoll = 250 * time.Millisecond
	othersLook = 2 * time.Second
	othersWait = 2 * time.Minute
)

// yield waits until no other program uses the package manager, and looks again then:
// half-done work is done. A package that must still be altered fails if it takes too
// long. It returns at once if nothing is to be altered. ctx ends the wait with its
// cause. Packages that are right are not held up by the wait's result.
func (b *batch) yield(ctx context.Context) error {
	if !slices.ContainsFunc(b.members, (*member).todo) {
		return nil
	}
	holder := b.holder(b.m.Backend.Name)
	if holder == nil {
		return nil
	}
	c := engine.ClockOf(b.members[0].Handle().Host)
	for since := c.Now(); holder != nil; holder = b.holder(b.m.Backend.Name) {
		if clock.Since(c, since) >= othersWait {
			for _, p := range b.members {
				if p.todo() {
					p.held = &backends.LockedError{Tool: b.m.Backend.Name, Holder: holder.String()}
					b.whenFree(p, holder)
				}
			}
			return nil
		}
		if err := holder.Await(ctx, c, othersLook); err != nil {
			return err
		}
	}
	return b.see(ctx)
}

// whenFree has a package that has failed for a lock looked at when the lock is free,
// however long that takes. The wait runs in a goroutine of lists, which ends with
// the shared state.
func (b *batch) whenFree(p *member, holder *pkglock.Holder) {
	if lists := b.lists(); lists != nil {
		name, held := b.m.Backend.Name, b.holder
		lists.locks.Add(p.Handle(), holder, func() *pkglock.Holder { return held(name) })
	}
}

// restore repairs the database if a transaction was cut off, before anything else is
// done. One member tells of it, and fails if it fails. Without apply it only tells.
// A known failure is not tried again before its pause is over: then the same package
// fails with the same error.
func (b *batch) restore(ctx context.Context, apply bool) error {
	what, err := b.interrupted(ctx)
	if err != nil || len(what) == 0 {
		return err
	}
	p, lists := b.speaker(), b.lists()
	text := strings.Join(what, ", ")
	if by, known := lists.refused(text); known != nil {
		for _, p := range b.members {
			if p.Name() == by {
				p.sayInterrupted(text)
				p.broken = known
			}
		}
		return nil
	}
	p.sayInterrupted(text)
	if !apply {
		return nil
	}
	p.Handle().Log.Warn("the package database is interrupted, and is repaired first", "event", "repair", "interrupted", text)
	_, _, err = backends.Repair.Call(ctx, b.m, virtual.Nothing{})
	after, cancel := backends.Afterwards(ctx, engine.ClockOf(p.Host()))
	defer cancel()
	left, lookErr := b.interrupted(after)
	if ctx.Err() == nil && (err != nil || lookErr != nil || len(left) > 0) {
		if len(left) == 0 {
			left = what
		}
		p.broken = &backends.RepairError{Tool: b.m.Backend.Name, What: left, Err: errors.Join(err, lookErr), Then: backends.Advice(b.m.Backend.Name)}
		lists.refuse(strings.Join(left, ", "), p.Name(), p.broken)
	}
	return b.see(after)
}

// interrupted returns the half-done packages of a transaction. It is asked when the
// database has changed since all was well, and not while a program uses it. An equal
// stamp means that nothing was written since the last good look, so most runs ask
// nothing.
func (b *batch) interrupted(ctx context.Context) ([]string, error) {
	name, lists := b.m.Backend.Name, b.lists()
	stamp := backends.Stamp(name)
	if b.m.Needs(backends.Interrupted.Name(), backends.Repair.Name()) != nil || lists.isSound(stamp) || b.holder(name) != nil {
		return nil, nil
	}
	what, _, err := backends.Interrupted.Call(ctx, b.m, virtual.Nothing{})
	if err == nil && len(what) == 0 {
		lists.setSound(stamp)
	}
	return what, err
}

// speaker is the member that tells of the database: the first member with something to do, or else the first of all. One is enough, or each package would report the same
// repair.
func (b *batch) speaker() *member {
	if i := slices.IndexFunc(b.members, (*member).todo); i >= 0 {
		return b.members[i]
	}
	return b.members[0]
}

// sayInterrupted reports the repair as a change of the package that speaks for the
// database.
func (p *member) sayInterrupted(what string) {
	p.changed = true
	p.Handle().Change(engine.Change{Field: "database", From: "interrupted: " + what, To: "repaired"})
}

// lists is what the members share; nil where they share nothing.
func (b *batch) lists() *lists {
	lists, _ := b.members[0].Handle().Shared.(*lists)
	return lists
}

// isSound reports whether the database had this stamp when nothing was interrupted.
// Without a shared state it is always asked.
func (l *lists) isSound(stamp string) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return stamp != "" && l.db.sound == stamp
}

// setSound notes a good look, which also ends the pauses after failed repairs.
func (l *lists) setSound(stamp string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.db = database{sound: stamp}
}

// refused returns which package fails because the same could not be repaired a short
// while ago, and how; nil if it is to be tried. Another set of half-done packages is
// tried at once, for it is a new case.
func (l *lists) refused(what string) (by string, err error) {
	if l == nil {
		return "", nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.db.failed == nil || l.db.what != what || !l.clock.Now().Before(l.db.until) {
		return "", nil
	}
	return l.db.by, l.db.failed
}

// refuse notes a failed repair. The pause doubles with each failure, up to
// repairPauseMax.
func (l *lists) refuse(what, by string, err error) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	tries := l.db.tries
	l.db = database{failed: err, what: what, by: by, tries: tries + 1, until: l.clock.Now().Add(min(repairPause<<min(tries, 8), repairPauseMax))}
}
