package mgmt

import (
	"context"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
)

// place takes a place of a semaphore that hosts share, for a run of the reactor.
func (s *session) place(ctx context.Context, topic, name string, count int) (release func(), lost <-chan struct{}, err error) {
	log := s.opt.Logger.With(slog.String("semaphore", topic+"/"+name))
	store := hosts.Store{World: s.world, Clock: engine.ClockOf(s.host), Tell: func(err error) {
		if err == nil {
			log.Info("the store is back: this host waits for its place again")
		} else {
			log.Warn("the store is out of reach: nothing that needs a place of this semaphore is altered", slog.Any("error", err))
		}
	}}
	h, err := store.Acquire(ctx, s.opt.Lease, hosts.Semaphore{Topic: topic, Name: name, Count: count}, s.hostname())
	if err != nil {
		return nil, nil, err
	}
	return h.Release, h.Done(), nil
}
