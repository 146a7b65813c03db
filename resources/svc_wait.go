package resources

import (
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/pkg"
	"github.com/reactivegraph/mgmt/resources/svc"
)

// svcAgain is how often a service is looked at again that waits, as nobody tells when a lock is free.
const svcAgain = 2 * time.Second

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
	if by := pkg.Held(locks); by != nil {
		return &engine.WaitError{For: by.String(), Again: svcAgain}
	}
	return nil
}
