package top

import (
	"context"
	"errors"
	"net/http"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sync/errgroup"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control"
)

// The pace of a feed.
const (
	gather  = time.Second / frames // events come to the model together
	soonest = time.Second          // between two questions for the states
	latest  = 5 * time.Second      // also where no event tells of a change
	share   = 20                   // of the time, the asking takes one part in so many
	backlog = 500                  // events of the past
)

// The messages of a feed.
type (
	statusMsg struct {
		status *control.Status
		err    error
	}
	eventsMsg []*control.Event
)

// feed tells a model what its daemon does, by messages.
type feed struct {
	ask     asker
	selects string
	clock   clock.Clock
	send    func(tea.Msg)
	news    chan struct{}       // has a value after an event
	events  chan *control.Event // a full one lets the daemon wait
}

func newFeed(m *model, send func(tea.Msg)) *feed {
	return &feed{ask: m.ask, selects: m.selects, clock: m.clock, send: send, news: m.news, events: make(chan *control.Event, 1024)}
}

// start starts the goroutines of the feed. They end with the context, or with a panic, which is an error like another one: the terminal has to be
// given back first. The returned function waits for them.
func (f *feed) start(ctx context.Context) (wait func() error) {
	var g errgroup.Group
	for _, do := range []func(context.Context){f.states, f.stream, f.gather} {
		g.Go(func() error {
			err := callsafe.Do("top", func() error {
				do(ctx)
				return nil
			})
			if panicked, ok := errors.AsType[*callsafe.PanicError](err); ok {
				err = panicked.Traced()
				f.send(tea.Quit())
			}
			return err
		})
	}
	return g.Wait
}

// states asks for the states: soon after an event, and from time to time.
func (f *feed) states(ctx context.Context) {
	for ctx.Err() == nil {
		begin := f.clock.Now()
		st, err := f.ask.Status(ctx, control.StatusQuery{All: f.selects == "", Select: f.selects, Empty: true})
		took := f.clock.Now().Sub(begin)
		f.send(statusMsg{st, err})
		pause := max(soonest, share*took)
		if clock.Sleep(ctx, f.clock, pause) != nil || err != nil || !st.Converged {
			continue
		}
		late, stop := clock.After(f.clock, latest-min(pause, latest))
		select {
		case <-f.news:
		case <-late:
		case <-ctx.Done():
		}
		stop()
	}
}

// stream reads the past events, and then each new one, over every end of the daemon.
func (f *feed) stream(ctx context.Context) {
	var last *uint64
	for ctx.Err() == nil {
		if last == nil {
			if log, err := f.ask.Log(ctx, control.Query{Resource: f.selects, Limit: backlog}); err == nil {
				for _, e := range log.Events {
					last = f.take(ctx, e, last)
				}
			}
		}
		for e, err := range f.ask.Events(ctx, control.Query{Resource: f.selects}, last) {
			if e, ok := errors.AsType[*control.Error](err); ok && e.Status == http.StatusBadRequest {
				last = nil // another state folder, which counts from 1
			}
			if err == nil {
				last = f.take(ctx, e, last)
			}
		}
		f.nudge()                              // the daemon may have gone
		_ = clock.Sleep(ctx, f.clock, soonest) // ends with the context
	}
}

// take takes an event, and returns the number of the last one.
func (f *feed) take(ctx context.Context, e *control.Event, last *uint64) *uint64 {
	select {
	case f.events <- e:
	case <-ctx.Done():
	}
	if e.ID == 0 { // only memory knows it
		return last
	}
	return &e.ID
}

// gather sends events to the model, those of a tenth of a second together.
func (f *feed) gather(ctx context.Context) {
	for {
		var list eventsMsg
		select {
		case e := <-f.events:
			list = append(list, e)
		case <-ctx.Done():
			return
		}
		if clock.Sleep(ctx, f.clock, gather) != nil {
			return
		}
		for more := true; more; {
			select {
			case e := <-f.events:
				list = append(list, e)
			default:
				more = false
			}
		}
		f.send(list)
		f.nudge()
	}
}

// nudge has the states asked for soon.
func (f *feed) nudge() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}
