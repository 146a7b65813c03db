package svc

import (
	"time"

	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
	"github.com/reactivegraph/mgmt/resources/svc/backends"
)

// again is how often a waiting service is looked at again, in addition to events of its manager
// and of the locks.
const again = 2 * time.Second

// free is the same for a service that is looked at as soon as the lock is free.
const free = 10 * time.Second

// awaited returns an *failure.WaitError that names the work that must end before anything is done
// with the service: a present job of its manager, by whatever request, or a package manager,
// which stops and starts services itself and fails when they do not stay as it left them. It
// returns nil where nothing stands in the way. A service of a session belongs to no package
// manager.
func (r *Res) awaited(info *backends.Info) error {
	// The job is named in the text, so a user can see it in the list of the manager's jobs.
	if info != nil && info.Job != nil {
		return &failure.WaitError{For: *info.Job, Again: again}
	}
	if is(info, ending) {
		return &failure.WaitError{For: "the end of " + r.Name(), Again: again}
	}
	if r.Session {
		return nil
	}
	locks := r.locks
	if locks == nil {
		locks = pkglock.Locks()
	}
	// Who holds a lock is asked of the kernel, and no lock is taken for that.
	held := func() *pkglock.Holder { return pkglock.Held(locks) }
	if by := held(); by != nil {
		if shared, ok := r.Handle().Shared.(*shared); ok {
			shared.locks.Add(r.Handle(), by, held)
			return &failure.WaitError{For: by.String(), Again: free}
		}
		return &failure.WaitError{For: by.String(), Again: again}
	}
	return nil
}
