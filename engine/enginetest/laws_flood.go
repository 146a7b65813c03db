package enginetest

import (
	"fmt"
	"time"
)

// The bounds of a flood: so many events without a change of the world, none of them later than
// quietTime after the one before.
const floodEvents = 100

// lawFlood: where nothing changes, Watch comes to rest: after Running, and after each
// drift that was repaired. A Watch that tells of events all the time has CheckApply run
// all the time. The suite gives up after floodEvents, so a flood fails the law in a few
// seconds at most.
func lawFlood(e *env) error {
	r, err := e.rig()
	if err != nil || r.unwatched {
		return err
	}
	if err := r.apply(); err != nil {
		return err
	}
	if err := r.watch(); err != nil {
		return err
	}
	if err := r.rests("after Running"); err != nil {
		return err
	}
	if err := r.close(); err != nil {
		return err
	}
	return e.eachDrift(func(r *rig, name string) error {
		if err := r.watch(); err != nil {
			return err
		}
		r.drift(name)
		if err := r.event(); err != nil {
			return err
		}
		if err := r.apply(); err != nil {
			return err
		}
		return r.rests("after the repair")
	})
}

// rests waits until no event comes. Events of the change before may still be on their
// way; they are taken, and the wait begins anew.
func (r *rig) rests(when string) error {
	for range floodEvents {
		timer := time.NewTimer(quietTime)
		select {
		case <-r.fake.Events():
			timer.Stop()
		case <-timer.C:
			return nil
		}
	}
	return fmt.Errorf("%s: Watch floods: %d events came while nothing has changed", when, floodEvents)
}
