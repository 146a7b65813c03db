package docker

import (
	"context"
	"errors"
	"strings"
	"time"

	moby "github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
)

// The times between two tries to reach a daemon that is not there. The time doubles from the
// first to the last; a socket that appears starts it over.
const (
	firstTry = 200 * time.Millisecond
	lastTry  = 10 * time.Second
)

// watcher is what a resource does with events. Only the goroutine of watch calls tell.
type watcher struct {
	init  *engine.Init
	types []moby.Type
	tell  func(*moby.Message) // of each event, and with nil of each token in over
	over  <-chan struct{}     // nil for none
}

// watch tells of the daemon's events, until the context ends; then it returns nil. It waits for
// an absent daemon. The first try to reach it comes before Running, so that nothing is lost
// behind the first CheckApply (law 1). Each loss of the stream is a resync: events are told
// when it breaks and when it is back (law 5).
func (d *daemon) watch(ctx context.Context, w watcher) error {
	init := w.init
	appears, stop, err := d.appears(ctx, init.Host)
	if err != nil {
		return err
	}
	defer stop()
	running, pause := false, firstTry
	for ctx.Err() == nil {
		s, err := d.stream(ctx, w.types)
		if !running {
			init.Running()
		} else if err == nil {
			// The daemon is back. The events of the meantime are lost.
			init.Event()
		}
		running = true
		if err == nil {
			pause = firstTry
			err = s.follow(ctx, w)
			s.close()
			// The daemon is gone. CheckApply fails now, and so the loss shows in the state of
			// the resource.
			init.Event()
		}
		if ctx.Err() != nil {
			break
		}
		init.Log.Debug("waiting for the docker daemon", "error", err)
		pause = wait(ctx, appears, pause)
	}
	return nil
}

// wait waits for the next try, and returns how long to wait the next time. It ends early when
// the socket appears, or with ctx.
func wait(ctx context.Context, appears <-chan struct{}, pause time.Duration) time.Duration {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-appears:
		return firstTry
	case <-timer.C:
		return min(2*pause, lastTry)
	case <-ctx.Done():
		return pause
	}
}

// appears wakes when the socket of the daemon comes or goes. It never does for a daemon that
// has none here: the nil channel blocks for ever. The caller calls the returned function at the
// end.
func (d *daemon) appears(ctx context.Context, h engine.Host) (<-chan struct{}, func(), error) {
	path := d.socket()
	if path == "" {
		return nil, func() {}, nil
	}
	sub, err := h.Watch(ctx, []string{path}, events.Options{})
	if err != nil {
		return nil, nil, err
	}
	return sub.C(), sub.Close, nil
}

// stream is an open stream of events. Its owner calls close, which ends the reader of the
// client.
type stream struct {
	client.EventsResult
	// It cancels the request.
	end context.CancelFunc
}

// stream opens a stream, from now on, by the daemon's own clock: it may answer before it
// listens, so events in between are told later. The clocks of two machines may differ, so the
// time is asked for. The daemon filters by the types of things.
func (d *daemon) stream(ctx context.Context, types []moby.Type) (*stream, error) {
	info, err := get(ctx, d, func(ctx context.Context) (client.SystemInfoResult, error) {
		return d.Info(ctx, client.InfoOptions{})
	})
	if err != nil {
		return nil, err
	}
	if info == nil {
		return nil, errors.New("what answers is no docker daemon")
	}
	filters := client.Filters{}
	for _, t := range types {
		filters.Add("type", string(t))
	}
	ctx, cancel := context.WithCancel(ctx)
	// The stream has no end of its own, so ctx can't bound it. The timer bounds the time until
	// the daemon has answered, and is stopped then.
	late := time.AfterFunc(d.patience, cancel)
	s := &stream{d.Events(ctx, client.EventsListOptions{Since: info.Info.SystemTime, Filters: filters}), cancel}
	if !late.Stop() {
		s.close()
		return nil, errors.New("no stream of events has come")
	}
	return s, nil
}

// close ends a stream and waits until nothing of it runs any more. The client's reader closes
// Err when it ends.
func (s *stream) close() {
	s.end()
	for range s.Err {
	}
}

// follow tells of events until the stream ends, and returns the reason. It takes no event while
// tell runs; the daemon and the connection hold those.
func (s *stream) follow(ctx context.Context, w watcher) error {
	for {
		select {
		case m := <-s.Messages:
			w.tell(&m)
		case <-w.over:
			w.tell(nil)
		case err := <-s.Err:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// idle are the beginnings of the events of a container after which it is as it was. A container
// with a health check makes several of them each minute.
var idle = []string{"exec_", "health_status", "attach", "detach", "top", "resize", "export", "copy", "archive-path", "extract-to-dir"}

// concerns reports whether an event may be about the container of a name. Events of an image or
// of a network always may: they name no container, or not by its name. A renamed container
// concerns both names.
func concerns(name string, m *moby.Message) bool {
	if m.Type != moby.ContainerEventType {
		return true
	}
	for _, p := range idle {
		if strings.HasPrefix(string(m.Action), p) {
			return false
		}
	}
	at := m.Actor.Attributes
	return at["name"] == name || strings.TrimPrefix(at["oldName"], "/") == name
}
