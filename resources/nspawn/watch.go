package nspawn

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
)

// lastSeen is the state of the machine that CheckApply has seen last, as svc.seen is of a service:
// its own changes make no event.
type lastSeen struct {
	watches.Turns        // CheckApply, or Watch
	any           bool   // CheckApply has looked
	run           string // of the machine
}

func newSeen() *lastSeen { return &lastSeen{Turns: watches.NewTurns()} }

// known notes what was seen. The lock is held.
func (s *lastSeen) known(m *container) { s.any, s.run = true, m.run() }

// Watch waits for signals of the unit's manager and of machined, and for changes of the settings
// and of the image. It has the Watch of the service do its part.
func (r *Res) Watch(ctx context.Context) error {
	unit, handle, err := r.watched(ctx)
	if err != nil {
		return err
	}
	armed := make(chan struct{})
	handle.Running, handle.Event = sync.OnceFunc(func() { close(armed) }), r.init.Event
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		defer callsafe.Recover("Watch", &err)
		return unit.Watch(ctx)
	})
	g.Go(func() (err error) {
		defer callsafe.Recover("Watch", &err)
		return r.watchRest(ctx, armed)
	})
	return g.Wait()
}

// watched returns the service, which CheckApply uses too.
func (r *Res) watched(ctx context.Context) (engine.Res, *engine.Init, error) {
	if err := r.seen.Lock(ctx); err != nil {
		return nil, nil, err
	}
	defer r.seen.Unlock()
	if err := r.follow(); err != nil {
		return nil, nil, err
	}
	last := len(r.held) - 1
	return r.held[last], r.kids.Handle(last), nil
}

// watchRest watches all but the unit.
func (r *Res) watchRest(ctx context.Context, armed <-chan struct{}) error {
	m, err := openMachined(ctx, r.init.Host)
	if err != nil {
		return err
	}
	machines, err := m.changes(ctx, r.Name())
	if err != nil {
		return err
	}
	defer machines.Close()
	files, err := r.init.Host.Watch(ctx, []string{r.settingsPath(), r.imagePath(), r.imagePath() + ".raw"}, events.Options{})
	if err != nil {
		return err
	}
	defer files.Close()
	select {
	case <-armed:
		r.init.Running()
	case <-ctx.Done():
		return nil
	}
	for {
		select {
		case <-files.C():
			r.init.Event()
		case <-machines.C():
			if r.differs(ctx, m) { // also after a loss of the bus
				r.init.Event()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// differs reports whether the machine has changed since CheckApply has seen it, or can't be looked
// at.
func (r *Res) differs(ctx context.Context, m *machined) bool {
	if r.seen.Lock(ctx) != nil {
		return false
	}
	defer r.seen.Unlock()
	now, err := m.machine(ctx, r.Name())
	return err != nil || !r.seen.any || now.run() != r.seen.run
}
