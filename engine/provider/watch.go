package provider

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
)

// watch is what tells the members of changes, for as long as one of them listens: a
// Watcher of the provider's, or a poll. Its goroutine is ended, and awaited, by the
// subscriber that leaves last.
type watch struct {
	subs   int
	cancel context.CancelFunc
	news   *news
	armed  chan struct{} // closed when no change goes unseen any more
	ended  chan struct{} // closed when it has ended, with err
	err    error
	files  func(Record) []string // of the provider, nil for none; set before armed is closed
}

// subscription is one member's part of a watch.
type subscription struct {
	c     *controller
	w     *watch
	wake  <-chan struct{}
	ended <-chan struct{}
}

func (s *subscription) err() error { return s.w.err }

// subscribe begins to tell the member of changes. The watch is armed when it returns.
func (c *controller) subscribe(ctx context.Context, m *member) (*subscription, error) {
	w := c.watching()
	s := &subscription{c: c, w: w, wake: m.wake, ended: w.ended}
	select {
	case <-w.armed:
		return s, nil
	case <-w.ended:
		s.close()
		return nil, w.err
	case <-ctx.Done():
		s.close()
		return nil, context.Cause(ctx)
	}
}

// locate watches the files that the member is about. A nil channel stands for a thing
// in no file.
func (s *subscription) locate(ctx context.Context, r *res) (<-chan struct{}, func(), error) {
	if s.w.files == nil {
		return nil, func() {}, nil
	}
	w, err := r.looks()
	if err != nil {
		return nil, nil, err
	}
	paths := s.w.files(w.record)
	if len(paths) == 0 {
		return nil, func() {}, nil
	}
	sub, err := r.init.Host.Watch(ctx, paths, events.Options{})
	if err != nil {
		return nil, nil, err
	}
	return sub.C(), sub.Close, nil
}

// touched says that a file of the member has changed. A member that missed something
// looks at once: no record tells of a folder that has come.
func (s *subscription) touched(m *member) {
	s.c.mu.Lock()
	canon := m.canon
	if m.touched = true; m.lost {
		m.wakeUp()
	}
	s.c.mu.Unlock()
	if canon == nil {
		s.w.news.add()
		return
	}
	s.w.news.add(canon.name)
}

// watching returns the watch, with one subscriber more.
func (c *controller) watching() *watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch == nil {
		ctx, cancel := context.WithCancel(context.Background())
		c.watch = &watch{cancel: cancel, news: newNews(), armed: make(chan struct{}), ended: make(chan struct{})}
		go c.runWatch(ctx, c.watch)
	}
	c.watch.subs++
	return c.watch
}

// close takes one subscriber away. The last one ends the watch.
func (s *subscription) close() {
	s.c.mu.Lock()
	s.w.subs--
	last := s.w.subs == 0
	if last && s.c.watch == s.w {
		s.c.watch = nil
	}
	if last {
		s.w.cancel() // before another one can begin
	}
	s.c.mu.Unlock()
	if last {
		<-s.w.ended
	}
}

// runWatch is the goroutine of a watch.
func (c *controller) runWatch(ctx context.Context, w *watch) {
	defer close(w.ended)
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.watch == w {
			c.watch = nil // who subscribes from here on begins another one
		}
	}()
	w.err = c.follow(ctx, w)
	if w.err == nil {
		w.err = errors.New("the watch of its type has ended")
	}
}

// follow watches, or polls, until the context ends or the provider fails.
func (c *controller) follow(ctx context.Context, w *watch) (err error) {
	p, err := c.kind.provider()
	if err != nil {
		return err
	}
	if c.away == nil {
		w.files = filesOf(p)
	}
	news := w.news
	defer func() {
		if closer, ok := p.(Closer); ok {
			err = errors.Join(err, callsafe.Do("Close", closer.Close))
		}
	}()
	g, ctx := errgroup.WithContext(ctx)
	once := sync.OnceFunc(func() { close(w.armed) })
	g.Go(func() error { return c.report(ctx, news) })
	g.Go(func() error {
		if w, ok := p.(Watcher); ok && c.away == nil {
			err := callsafe.Do("Watch", func() error { return w.Watch(ctx, c.runtime(c.host), once, news.add) })
			if err == nil && ctx.Err() == nil {
				err = errors.New("the Watch of the provider has ended by itself")
			}
			return err
		}
		once()
		return c.poll(ctx, p, news)
	})
	return g.Wait()
}

// poll says every now and then that all may have changed.
func (c *controller) poll(ctx context.Context, p Provider, news *news) error {
	every := c.kind.def.Poll
	if every == 0 {
		every = DefaultPoll
	}
	stamper, _ := p.(Stamper)
	last, first := "", true
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-clock.NewTimer(c.clock(), jitter(every)).C:
		}
		if stamper != nil {
			stamp, err := c.stamp(ctx, stamper)
			if err == nil && !first && stamp == last {
				continue
			}
			last, first = stamp, err != nil
		}
		news.add()
	}
}

func (c *controller) stamp(ctx context.Context, p Stamper) (stamp string, err error) {
	defer callsafe.Recover("Stamp", &err)
	if err := c.take(ctx); err != nil {
		return "", err
	}
	defer c.give()
	if err := c.reach(ctx, nil); err != nil {
		return "", err
	}
	stamp, err = p.Stamp(ctx, c.runtime(c.host))
	return stamp, c.lost(ctx, nil, err)
}

// jitter shortens a time by up to a tenth, so that not all machines look at once.
func jitter(d time.Duration) time.Duration { return d - rand.N(d/10+1) }

// news is what may have changed and was not looked at yet. It is bounded by the names
// there are.
type news struct {
	mu    sync.Mutex
	all   bool
	names map[Name]struct{}
	c     chan struct{} // of capacity 1
}

func newNews() *news { return &news{c: make(chan struct{}, 1)} }

const manyNames = 1024 // more than these are all

// add is what a Watcher calls.
func (n *news) add(names ...Name) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil {
		n.names = map[Name]struct{}{}
	}
	for _, name := range names {
		n.names[name] = struct{}{}
	}
	if n.all = n.all || len(names) == 0 || len(n.names) > manyNames; n.all {
		clear(n.names)
	}
	n.nudge()
}

// nudge has the news looked at, even if there are none.
func (n *news) nudge() {
	select {
	case n.c <- struct{}{}:
	default:
	}
}

// take returns the waiting changes, and forgets them.
func (n *news) take() Filter {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := Filter{All: n.all}
	if !n.all {
		f.Names = slices.Collect(maps.Keys(n.names))
	}
	n.all, n.names = false, nil
	return f
}

// report reads the things that may have changed, and wakes their resources. While
// the type is unavailable it tries again when the pause is over.
func (c *controller) report(ctx context.Context, n *news) error {
	for {
		retry, stop := c.retryTimer(ctx)
		select {
		case <-ctx.Done():
			stop()
			return nil
		case <-n.c:
		case <-retry:
			n.add()
		}
		stop()
		if err := c.take(ctx); err != nil {
			return nil
		}
		c.digestAll(ctx, n)
	}
}

// digestAll digests the waiting changes, and gives the turn back.
func (c *controller) digestAll(ctx context.Context, n *news) {
	defer c.give()
	c.digest(ctx, n.take())
}

// retryTimer fires when the type may be asked again.
func (c *controller) retryTimer(ctx context.Context) (<-chan time.Time, func()) {
	if c.take(ctx) != nil {
		return nil, func() {}
	}
	defer c.give()
	if c.down.err == nil {
		return nil, func() {}
	}
	t := clock.NewTimer(c.clock(), c.down.until.Sub(c.clock().Now()))
	return t.C, func() { t.Stop() }
}

// digest reads the things that may have changed, and wakes the members whose record
// has changed. It holds the turn.
func (c *controller) digest(ctx context.Context, f Filter) {
	if c.begun() {
		c.snap.doubt(f)
	}
	names := c.known(f)
	if len(names) == 0 {
		switch {
		case !f.All || !c.down.over(c.clock()) || c.down.err == nil:
		case c.away == nil:
			c.down = outage{} // nothing waits for its end
		case c.reach(ctx, nil) == nil:
			c.down = outage{}
			c.wakeAll(nil) // what they want could not be brought into canonical form before
		}
		return
	}
	f = Filter{All: true}
	if c.kind.byNames() {
		f = Only(names...)
	}
	if !c.begun() {
		defer c.finish(ctx)
	}
	_ = c.load(ctx, c.runtime(c.host), f, nil) // an error is that of all who look
}

// changed wakes the members of a name, unless it is what one of them has made it.
func (c *controller) changed(ctx context.Context, n Name) {
	for _, m := range c.named(n) {
		c.freshen(ctx, n)
		m.wakeUp()
	}
}

// freshen keeps a record for the resource that is woken now, if later changes of it
// are seen.
func (c *controller) freshen(ctx context.Context, n Name) {
	if c.watched() && ctx.Err() == nil {
		c.snap.mark(n, fresh)
	}
}

// watched reports whether a watch runs. Records that another reader kept for the
// resources that it woke are forgotten, since changes after that were not seen.
func (c *controller) watched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.snap.by != c.watch {
		c.snap.by = c.watch
		maps.DeleteFunc(c.snap.read, func(_ Name, r reading) bool { return r == fresh })
	}
	return c.watch != nil
}

// known returns the names that the filter asks for, as far as they have members
// with a record.
func (c *controller) known(f Filter) []Name {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.All {
		return slices.Collect(maps.Keys(c.index))
	}
	return slices.DeleteFunc(f.Names, func(n Name) bool { return len(c.index[n]) == 0 })
}

// equal reports whether nothing has changed from one reading to the next.
func (e *entry) equal(o *entry) bool {
	if e.err != nil || o.err != nil {
		return e.err != nil && o.err != nil && e.err.Error() == o.err.Error()
	}
	return (e.record == nil) == (o.record == nil) && same(e.record, o.record)
}
