package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
)

// seenEvery is how often a host says that it is there. A host that has died was there a minute later at most.
const seenEvery = time.Minute

// seen is the value of SeenKey.
type seen struct {
	Time time.Time `json:"time"` // by the clock of the host
}

// SeenKey is the key that says when a host was last there. It has no lease: those who miss the host read it.
func SeenKey(host string) string { return tableSeen + join(host) }

// LastSeen returns when each host has last said that it is there, by its own clock. A record that can't be read is left out.
func LastSeen(ctx context.Context, w world.World) (map[string]time.Time, error) {
	s := Store{World: w, Clock: clock.System{}}
	kvs, _, err := s.list(ctx, tableSeen)
	if err != nil {
		return nil, fmt.Errorf("when the hosts were last there: %w", err)
	}
	all := map[string]time.Time{}
	for _, kv := range kvs {
		var r seen
		if parts := split(kv.Key, tableSeen, 1); parts != nil && json.Unmarshal(kv.Value, &r) == nil {
			all[parts[0]] = r.Time
		}
	}
	return all, nil
}

// tellSeen says that this host is there, until ctx ends, and once more then. A store that is away is told of by the keeper of the record.
func (p *Publisher) tellSeen(ctx context.Context) {
	warned := false
	for {
		err := p.writeSeen(ctx)
		if over(ctx, err) {
			break
		}
		wait := seenEvery
		if errors.Is(err, world.ErrRefused) && !warned {
			warned = true
			p.o.Log.Info("the store does not let this host say when it was last there: mgmt hosts allow, or once mgmt api migrate, gives it the right", slog.Any("error", err))
		} else if errors.Is(err, world.ErrUnavailable) {
			wait = mostWait
		}
		if clock.Sleep(ctx, p.o.Clock, wait) != nil {
			if err == nil { // a store that is away would hold the end up
				_ = p.writeSeen(context.WithoutCancel(ctx))
			}
			break
		}
	}
}

func (p *Publisher) writeSeen(ctx context.Context) error {
	text, err := json.Marshal(seen{p.o.Clock.Now().UTC()})
	if err != nil {
		return err
	}
	s := Store{World: p.o.World, Clock: p.o.Clock}
	return s.call(ctx, func(ctx context.Context) error {
		_, _, err := p.o.World.Txn(ctx, nil, []world.Op{{Key: SeenKey(p.o.Host), Value: text}})
		return err
	})
}
