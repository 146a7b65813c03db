package resources

import (
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/pkg"
	"github.com/reactivegraph/mgmt/resources/svc"
)

// svcAgain is how often a service is looked at again that waits, beside what its manager and the locks tell.
const svcAgain = 2 * time.Second

// svcFree is the same for one that is looked at as soon as the lock is free.
const svcFree = 10 * time.Second

// awaited returns an *engine.WaitError that names what must end before anything is done with the service: what its
// manager is doing with it just now, whoever has asked for that, or a package manager, which stops and starts services
// itself and fails when they do not stay as it left them. It returns nil where nothing stands in the way. A service of a
// session belongs to no package manager.
func (r *SvcRes) awaited(info *svc.Info) error {
	if info != nil && info.Job != nil {
		return &engine.WaitError{For: *info.Job, Again: svcAgain}
	}
	if r.Session {
		return nil
	}
	locks := r.locks
	if locks == nil {
		locks = pkg.Locks()
	}
	held := func() *pkg.Holder { return pkg.Held(locks) }
	if by := held(); by != nil {
		if shared, ok := r.init.Shared.(*svcShared); ok {
			shared.locks.add(r.init, by, held)
			return &engine.WaitError{For: by.String(), Again: svcFree}
		}
		return &engine.WaitError{For: by.String(), Again: svcAgain}
	}
	return nil
}
