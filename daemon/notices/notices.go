package notices

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/internal/backoff"
)

// Options are what Notices need of a daemon.
type Options struct {
	Sending
	Store   records.Store
	History *journal.History
	// Look returns the module and the labels of a resource in the graph in effect.
	Look func(resource string) (module string, labels map[string]string)
	// Hurry ends the last try to send at the end; nil for never.
	Hurry <-chan struct{}
}

// patience is the wait after a try that has failed. lastTry is how long the messages of the end are tried to be sent. markEvery is how often
// the cursor of a receiver without messages is kept.
var patience = backoff.Span{First: 2 * time.Second, Most: 5 * time.Minute}

const (
	lastTry   = 5 * time.Second
	markEvery = time.Minute
)

// Notices tells receivers of the events of a daemon. Make it with New, and call Run once. The other methods may be called from any goroutine.
type Notices struct {
	opt  Options
	wake chan struct{} // capacity 1: want has changed

	mu    sync.Mutex
	want  []*Ready
	first uint64             // the first event for those of want that are new
	now   map[string]*worker // those of Run
}

// New returns Notices for receivers.
func New(list []*Ready) *Notices {
	return &Notices{want: list, wake: make(chan struct{}, 1), now: map[string]*worker{}}
}

// Set replaces the receivers. One that is as before goes on, and one of the same name keeps its queue. The queue of one that is gone is dropped.
// A new one is told of the events from now on. It comes after Begin.
func (n *Notices) Set(list []*Ready) {
	_, end := n.opt.History.Bounds()
	n.mu.Lock()
	n.want, n.first = list, end
	n.mu.Unlock()
	nudge(n.wake)
}

// Begin takes the options. Receivers that are new are told of the events from now on: where they begin is in the store when Begin returns,
// so that a kill before their first message loses nothing. What the store refuses Run tries again.
func (n *Notices) Begin(ctx context.Context, o Options) {
	o.complete()
	n.opt = o
	_, n.first = o.History.Bounds()
	for _, r := range n.want {
		_ = newWorker(n, r).q.begin(ctx, n.first)
	}
}

// Run works until ctx ends. Then it queues what has happened until then, and tries once to send what is queued.
func (n *Notices) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for tried := int32(0); ; tried++ {
		if err := n.apply(ctx, &all); err != nil && ctx.Err() == nil {
			n.opt.Log.Error("notices cannot be read from the state folder", "error", err)
			defer n.opt.Clock.AfterFunc(patience.Wait(tried, rand.Int64N), func() { nudge(n.wake) })()
		}
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
	}
}

// apply ends the workers that are not wanted, and starts those that are.
func (n *Notices) apply(ctx context.Context, all *sync.WaitGroup) error {
	n.mu.Lock()
	want, now, first := n.want, n.now, n.first
	n.mu.Unlock()
	next := map[string]*worker{}
	for _, r := range want {
		if w := now[r.Name]; w != nil && w.r.same(r) {
			next[r.Name] = w
		}
	}
	for name, w := range now {
		if next[name] == nil {
			w.end()
		}
	}
	var errs []error
	for _, r := range want {
		if next[r.Name] != nil {
			continue
		}
		w := newWorker(n, r)
		whole := context.WithoutCancel(ctx) // at the end, too: what has happened is queued
		err := w.q.begin(whole, first)
		if err == nil {
			err = w.q.load(whole)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		next[r.Name] = w
		w.start(ctx, all)
	}
	n.mu.Lock()
	n.now = next
	n.mu.Unlock()
	return errors.Join(append(errs, n.forget(ctx, want))...)
}

// forget drops the queues of receivers that are not configured any more.
func (n *Notices) forget(ctx context.Context, want []*Ready) error {
	var writes []records.Write
	for rec, err := range n.opt.Store.Records(ctx, cursors) {
		if err != nil {
			return err
		}
		if slices.ContainsFunc(want, func(r *Ready) bool { return r.Name == rec.Key }) {
			continue
		}
		dropped := 0
		for m, err := range n.opt.Store.Records(ctx, messages+rec.Key) {
			if err != nil {
				return err
			}
			dropped++
			writes = append(writes, records.Write{Table: messages + rec.Key, Key: m.Key})
		}
		writes = append(writes, records.Write{Table: cursors, Key: rec.Key})
		if dropped > 0 {
			n.opt.Log.Warn("notices were dropped: their receiver is not configured any more", "receiver", rec.Key, "messages", dropped)
		}
	}
	if len(writes) == 0 {
		return nil
	}
	return n.opt.Store.Commit(ctx, writes)
}

// same reports whether two receivers differ in nothing.
func (r *Ready) same(o *Ready) bool {
	return reflect.DeepEqual(r.Receiver, o.Receiver) && reflect.DeepEqual(r.url, o.url) && bytes.Equal(r.key, o.key) && r.roots.Equal(o.roots)
}

// worker is the two goroutines of a receiver.
type worker struct {
	r   *Ready
	n   *Notices
	q   *queue
	to  sender
	log *slog.Logger

	cancel   context.CancelFunc
	gathered chan struct{} // closed when the last event is queued
	done     sync.WaitGroup

	mu    sync.Mutex
	err   error // of the last try; nil where that went well
	since time.Time
}

func newWorker(n *Notices, r *Ready) *worker {
	log := n.opt.Log.With("receiver", r.Name)
	w := &worker{r: r, n: n, log: log, to: r.sender(&n.opt.Sending), gathered: make(chan struct{})}
	w.q = &queue{r: &r.Receiver, host: n.opt.Host, store: n.opt.Store, now: n.opt.Clock.Now, wake: make(chan struct{}, 1), tell: func(dropped int, why string) {
		log.Warn("events were dropped before they were told", "dropped", dropped, "reason", why)
	}}
	return w
}

func (w *worker) start(ctx context.Context, all *sync.WaitGroup) {
	own, cancel := context.WithCancel(ctx)
	w.cancel = cancel
	w.done.Add(2)
	all.Go(func() {
		defer w.done.Done()
		defer close(w.gathered)
		w.gather(own)
	})
	all.Go(func() {
		defer w.done.Done()
		defer w.to.close()
		w.deliver(own)
		if ctx.Err() != nil { // it is the end, and not another configuration
			w.last()
		}
	})
}

// end ends the worker, which queues what it has gathered.
func (w *worker) end() {
	w.cancel()
	w.done.Wait()
}

// gather makes messages of events until ctx ends, and then of the rest.
func (w *worker) gather(ctx context.Context) {
	c, h := w.n.opt.Clock, w.n.opt.History
	f := h.Follow()
	defer f.Close()
	timer := clock.NewTimer(c, markEvery)
	defer timer.Stop()
	g, tried := w.newGroup(), int32(0)
	for end := false; ; {
		w.read(g)
		now := c.Now()
		wait := markEvery
		if g.m.Total > 0 {
			wait = w.r.Group - now.Sub(g.since)
		} else if g.read != w.q.cursor() {
			wait = markEvery - now.Sub(g.kept)
		}
		if wait <= 0 || end {
			err := w.q.put(context.WithoutCancel(ctx), g.m, g.read, g.lost)
			if err == nil {
				g, tried, wait = w.newGroup(), 0, markEvery
			} else {
				w.log.Warn("events wait to be queued", "error", err)
				wait = patience.Wait(tried, rand.Int64N)
				tried++
			}
		}
		if end {
			return
		}
		timer.Reset(wait)
		select {
		case <-f.C():
		case <-timer.C:
		case <-ctx.Done():
			end = true
		}
	}
}

func (w *worker) newGroup() *group {
	return &group{read: w.q.cursor(), kept: w.n.opt.Clock.Now()}
}

// read takes the events of the history that a group does not have yet.
func (w *worker) read(g *group) {
	h := w.n.opt.History
	if oldest, _ := h.Bounds(); oldest > g.read+1 && g.read > 0 {
		g.lost, g.read = g.lost+1, oldest-1 // at least one: the numbers may have gaps
	}
	for entry, err := range h.Query(context.Background(), journal.Query{After: g.read}) {
		if err != nil {
			w.fails(err)
			return
		}
		g.read = entry.ID
		e := eventOf(&entry, w.n.opt.Look)
		yes, err := w.r.accepts(&e, w.n.opt.Host)
		if err != nil {
			w.fails(err)
		}
		if g.lost += e.dropped; yes {
			g.add(&e, w.n.opt.Clock.Now())
		}
	}
}

// deliver sends messages until ctx ends.
func (w *worker) deliver(ctx context.Context) {
	c := w.n.opt.Clock
	timer := clock.NewTimer(c, markEvery)
	defer timer.Stop()
	for tried := int32(0); ctx.Err() == nil; {
		if err := w.q.expire(ctx); err != nil && ctx.Err() == nil {
			w.log.Warn("events wait to be dropped", "error", err)
		}
		m, ok := w.q.head()
		wait := markEvery
		if ok {
			off, after := w.try(ctx, m)
			if off {
				tried = 0
				continue
			}
			wait = max(patience.Wait(tried, rand.Int64N), min(after, patience.Most))
			tried++
		}
		timer.Reset(wait)
		wake := w.q.wake
		if ok {
			wake = nil // another message does not shorten the wait
		}
		select {
		case <-wake:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// last sends what is queued at the end, until a try fails.
func (w *worker) last() {
	<-w.gathered
	ctx, cancel := clock.WithTimeout(context.Background(), w.n.opt.Clock, lastTry, nil)
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-w.n.opt.Hurry:
			cancel()
		case <-over:
		}
	}()
	for {
		m, ok := w.q.head()
		if !ok {
			return
		}
		if off, _ := w.try(ctx, m); !off {
			return
		}
	}
}

// try sends a message once, and reports whether it is off the queue. If not, the receiver wants no other try before after.
func (w *worker) try(ctx context.Context, m queued) (off bool, after time.Duration) {
	once, cancel := clock.WithTimeout(ctx, w.n.opt.Clock, w.r.Timeout, nil)
	defer cancel()
	err := w.to.send(once, m.message, m.body)
	_, refused := errors.AsType[*refusedError](err)
	if err != nil && !refused {
		w.q.back()
		if ctx.Err() == nil {
			w.fails(err)
		}
		if busy, ok := errors.AsType[*busyError](err); ok {
			after = busy.after
		}
		return false, after
	}
	if refused {
		w.fails(err)
	} else {
		w.well()
	}
	if err := w.q.done(context.WithoutCancel(ctx), refused); err != nil {
		w.log.Warn("a notice that was sent stays in the state folder, and is sent again after a restart", "id", m.message.ID, "error", err)
	}
	return true, 0
}

// fails notes an error, and logs the first of a series.
func (w *worker) fails(err error) {
	w.mu.Lock()
	first := w.err == nil
	if w.err = err; first {
		w.since = w.n.opt.Clock.Now()
	}
	w.mu.Unlock()
	if first {
		w.log.Warn("a notice is not delivered", "error", err)
	}
}

func (w *worker) well() {
	w.mu.Lock()
	was := w.err
	w.err, w.since = nil, time.Time{}
	w.mu.Unlock()
	if was != nil {
		w.log.Info("notices are delivered again")
	}
}

// Status is how a receiver stands.
type Status struct {
	Name, Sort            string
	Messages, Bytes       int       // that are queued
	Oldest                time.Time // of these; zero for none
	Sent, Failed, Dropped int       // messages, tries and events since the start
	Err                   error     // of the last try; nil where that went well
	Since                 time.Time // of Err
}

// Status returns the configured receivers in the order of their names.
func (n *Notices) Status() (list []Status) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.want {
		s := Status{Name: r.Name, Sort: r.Sort()}
		w := n.now[r.Name]
		if w == nil { // Run has not begun with it
			list = append(list, s)
			continue
		}
		w.q.mu.Lock()
		s.Messages, s.Bytes, s.Sent, s.Failed, s.Dropped = len(w.q.list), w.q.size, w.q.counts.Sent, w.q.counts.Failed, w.q.counts.Dropped
		if s.Messages > 0 {
			s.Oldest = w.q.list[0].at
		}
		w.q.mu.Unlock()
		w.mu.Lock()
		s.Err, s.Since = w.err, w.since
		w.mu.Unlock()
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// nudge leaves a token, unless there is one.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
