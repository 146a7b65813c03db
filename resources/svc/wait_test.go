package svc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/host/systemdtest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
)

// waits checks that CheckApply does nothing but wait, and for what.
func (r *rig) waits(t *testing.T, what ...string) {
	t.Helper()
	r.Forget()
	_, err := r.res.CheckApply(t.Context(), true)
	w, ok := errors.AsType[*failure.WaitError](err)
	if !ok {
		t.Fatalf("it does not wait: %v", err)
	}
	for _, text := range what {
		if !strings.Contains(w.For, text) {
			t.Errorf("it waits for %q, which does not say %q", w.For, text)
		}
	}
	if calls := r.Calls(); len(calls) > 0 {
		t.Errorf("it has called %v", calls)
	}
	r.fake.Changes()
}

// drain forgets events.
func (r *rig) drain() {
	for {
		select {
		case <-r.fake.Events():
		default:
			return
		}
	}
}

// TestFindingB3RestartByHandIsNoDrift: while somebody else restarts a service nothing is done with it, and after the
// restart there is nothing to do.
func TestFindingB3RestartByHandIsNoDrift(t *testing.T) {
	r := newSvcRig(t, Res{State: "running"})
	r.Add("web.service", systemdtest.Unit{Active: "active"})
	kindtest.Want(t, r.fake, r.res, "")
	kindtest.Watching(t, r.fake, r.res)
	end := r.Begin("web.service", "restart")
	r.fake.WaitEvent(t)
	r.waits(t, "the job restart of web.service", "systemctl cancel ")
	r.drain()
	end()
	r.fake.WaitEvent(t)
	kindtest.Want(t, r.fake, r.res, "")
	if calls := r.Calls(); len(calls) > 0 {
		t.Errorf("it has called %v", calls)
	}
}

// TestFindingB3StopByHandIsRepairedAfterIt: a service that somebody else stops is started when the stop is over, and
// not before.
func TestFindingB3StopByHandIsRepairedAfterIt(t *testing.T) {
	r := newSvcRig(t, Res{State: "running"})
	r.Add("web.service", systemdtest.Unit{Active: "active"})
	kindtest.Want(t, r.fake, r.res, "")
	kindtest.Watching(t, r.fake, r.res)
	end := r.Begin("web.service", "stop")
	r.fake.WaitEvent(t)
	r.waits(t, "the job stop of web.service")
	r.drain()
	end()
	r.fake.WaitEvent(t)
	if got := kindtest.Verbs(t, r.fake, r.res, true); got != `state: "stopped" -> "running"` {
		t.Error(got)
	}
}

// TestFindingB3JobsOfWhatItNeeds: a stop of what a service needs, or is a part of, is not undone by a start.
func TestFindingB3JobsOfWhatItNeeds(t *testing.T) {
	for name, u := range map[string]systemdtest.Unit{
		"requires": {Requires: []string{"db.service"}},
		"part of":  {PartOf: []string{"db.service"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newSvcRig(t, Res{State: "running"})
			r.Add("web.service", u)
			r.Add("db.service", systemdtest.Unit{Active: "active"})
			end := r.Begin("db.service", "stop")
			r.waits(t, "the job stop of db.service")
			end()
			kindtest.Want(t, r.fake, r.res, `state: "stopped" -> "running"`)
			end = r.Begin("db.service", "start")
			r.Set("web.service", func(u *systemdtest.Unit) { u.Active = "inactive" })
			kindtest.Want(t, r.fake, r.res, `state: "stopped" -> "running"`) // that is in nobody's way
			end()
		})
	}
}

// TestFindingB3JobInTheLastMoment: a job that comes between the look and the start is not replaced.
func TestFindingB3JobInTheLastMoment(t *testing.T) {
	r := newSvcRig(t, Res{State: "running"})
	r.Add("web.service", systemdtest.Unit{Sudden: "stop"})
	_, err := r.res.CheckApply(t.Context(), true)
	if w, ok := errors.AsType[*failure.WaitError](err); !ok || !strings.Contains(w.For, "the job stop of web.service") {
		t.Errorf("it does not wait for that: %v", err)
	}
	if r.Jobs() != 1 {
		t.Error("the job of somebody else was replaced")
	}
}

// TestFindingB3RefreshWaits: a notification waits for a job too, and is acted on after it.
func TestFindingB3RefreshWaits(t *testing.T) {
	r := newSvcRig(t, Res{})
	r.Add("web.service", systemdtest.Unit{Active: "active"})
	end := r.Begin("web.service", "reload")
	r.fake.SetRefresh(true)
	r.waits(t, "the job reload of web.service")
	end()
	kindtest.Want(t, r.fake, r.res, "refreshed: reloaded")
}

// TestFindingB3NothingToDoWaitsForNothing: what is as wanted is ok, whatever goes on.
func TestFindingB3NothingToDoWaitsForNothing(t *testing.T) {
	r := newSvcRig(t, Res{State: "running"})
	r.Add("web.service", systemdtest.Unit{Active: "active"})
	defer r.Begin("web.service", "reload")()
	r.res.locks = locked(t)
	kindtest.Want(t, r.fake, r.res, "")
}

// locked returns a lock that another process holds until the test ends.
func locked(t *testing.T) []pkglock.Lock {
	t.Helper()
	locks, _ := kindtest.LockedUntil(t)
	return locks
}

// TestFindingB3PackageManagerAtWork: while a process holds the lock of a package manager, nothing is done with a
// service of the machine, also if it is not there for the moment. One of a session is no package's.
func TestFindingB3PackageManagerAtWork(t *testing.T) {
	for name, u := range map[string]*systemdtest.Unit{
		"stopped": {}, "disabled": {Active: "active"}, "not there": nil,
	} {
		r := newSvcRig(t, Res{State: "running", Startup: "enabled"})
		r.res.locks = locked(t)
		if u != nil {
			r.Add("web.service", *u)
		}
		t.Run(name, func(t *testing.T) {
			r.waits(t, "process ", "(flock)", r.res.locks[0].Path, "a transaction of mgmt itself")
		})
		r.res.locks = []pkglock.Lock{}
		if u != nil {
			kindtest.Verbs(t, r.fake, r.res, true)
			kindtest.Want(t, r.fake, r.res, "")
		}
	}
	s := newSvcRig(t, Res{State: "running", Session: true})
	s.res.locks = locked(t)
	s.Add("web.service", systemdtest.Unit{})
	kindtest.Want(t, s.fake, s.res, `state: "stopped" -> "running"`)
}

// TestFindingB3LeftLock: a file that a killed pacman has left is no lock.
func TestFindingB3LeftLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db.lck")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newSvcRig(t, Res{State: "running"})
	r.res.locks = []pkglock.Lock{{Backend: "pacman", Path: path, How: pkglock.ByOpen}}
	r.Add("web.service", systemdtest.Unit{})
	kindtest.Want(t, r.fake, r.res, `state: "stopped" -> "running"`)
}

// TestFindingB3LockIsFree: a service that waits for a lock is looked at when the lock is free, and does then what it had to.
func TestFindingB3LockIsFree(t *testing.T) {
	r := newSvcRig(t, Res{State: "running"})
	shared := &shared{life: t.Context(), locks: pkglock.Waits{Life: t.Context()}}
	defer shared.Close()
	r.res.Handle().Shared = shared
	var end func() error
	r.res.locks, end = kindtest.LockedUntil(t)
	r.Add("web.service", systemdtest.Unit{})
	kindtest.Watching(t, r.fake, r.res)
	r.waits(t, "process ")
	r.waits(t, "process ") // it is looked at once all the same
	r.drain()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	r.fake.WaitEvent(t)
	kindtest.Want(t, r.fake, r.res, `state: "stopped" -> "running"`)
}
