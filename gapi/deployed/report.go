package deployed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Stand is how the graph of the engine stands.
type Stand struct {
	Rests  bool              // it has converged: nothing is due
	Failed map[string]string // by the id of a resource that has failed or is blocked: the reason
}

// Reporter writes the standings of this host's deploys to the store. It writes changes and no more. Its key has no lease: the
// operator of a later deploy needs to know which hosts are off, too.
type Reporter struct {
	World  world.World
	Host   string
	Fronts []*Frontend
	Sealed func() string // returns the recipient that secrets for this host are encrypted to, empty while that is not known; nil for none
	Stand  func(context.Context) (Stand, error)
	Clock  clock.Clock
	Log    *slog.Logger

	touched chan struct{}
	last    []byte
}

// Touch says that the state of the engine may have changed. It never blocks. It is callable from any goroutine, once Init was
// called. Many calls between two reports lead to one report.
func (r *Reporter) Touch() {
	select {
	case r.touched <- struct{}{}:
	default:
	}
}

// Init makes the Reporter ready. It is called before Touch and Run.
func (r *Reporter) Init() { r.touched = make(chan struct{}, 1) }

// The shortest time between two reports, and the longest between two tries.
const (
	reportWait = 100 * time.Millisecond
	lastWait   = 10 * time.Second
)

// Run writes until the context ends. It waits between two reports, so a host that changes all the time
// costs the store ten writes a second at most.
func (r *Reporter) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, f := range r.Fronts {
		wg.Go(func() {
			for {
				select {
				case <-f.changed:
					r.Touch()
				case <-ctx.Done():
					return
				}
			}
		})
	}
	wait, warned := reportWait, false
	for ctx.Err() == nil {
		err := r.write(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, world.ErrClosed):
			return
		case err != nil:
			if !warned {
				r.Log.Warn("the store does not learn how the deploys stand on this host", slog.Any("error", err))
			}
			warned, wait = true, min(2*wait, lastWait)
			r.Touch()
		default:
			warned, wait = false, reportWait
		}
		if clock.Sleep(ctx, r.Clock, wait) != nil {
			return
		}
		select {
		case <-r.touched:
		case <-ctx.Done():
		}
	}
}

// write writes a report that differs from the last one. It blocks as the store and the engine do.
func (r *Reporter) write(ctx context.Context) error {
	// The standings come first: the engine then tells of a graph that is at least as new.
	before := make([]deploy.Standing, len(r.Fronts))
	for i, f := range r.Fronts {
		f.mu.Lock()
		before[i] = f.standing
		f.mu.Unlock()
	}
	stand, err := r.Stand(ctx)
	if err != nil {
		stand = Stand{} // the engine begins or ends
	}
	report := deploy.Report{Host: r.Host, Deploys: map[string]deploy.Standing{}}
	if r.Sealed != nil {
		report.Sealed = r.Sealed()
	}
	for i, f := range r.Fronts {
		report.Topics = append(report.Topics, f.o.Topic)
		report.Deploys[f.o.Topic] = f.stands(before[i], stand)
	}
	if len(r.Fronts) > 0 {
		report.Store = r.Fronts[0].o.Pin.Store()
		for _, k := range r.Fronts[0].o.Trusted() {
			report.Keys = append(report.Keys, k.ID)
		}
	}
	text, err := json.Marshal(report)
	if err != nil || bytes.Equal(text, r.last) {
		return err
	}
	if _, _, err := r.World.Txn(ctx, nil, []world.Op{{Key: deploy.ReportKey(r.Host), Value: text}}); err != nil {
		return err
	}
	r.last = text
	return nil
}

// stands returns the standing of a topic in a state of the engine. Only failures of the deploy's own resources count: a host may have
// other graphs, whose faults do not stop a rollout.
func (f *Frontend) stands(s deploy.Standing, now Stand) deploy.Standing {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Number == 0 || !now.Rests {
		return s
	}
	s.State = deploy.StateConverged
	for _, id := range sorted(now.Failed) {
		if f.ids[id] {
			s.State = deploy.StateFailed
			if s.Refused == 0 {
				s.Error = shortened(id + ": " + now.Failed[id])
			}
			break
		}
	}
	return s
}

func sorted(m map[string]string) []string {
	return slices.Sorted(maps.Keys(m))
}
