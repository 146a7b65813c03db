package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/apart"
)

// ErrClosed is returned by a Host after Close.
var ErrClosed = errors.New("the host is closed")

// A sub is one subscription to files or signals.
type sub struct {
	c       chan struct{}
	release func(*sub) // what Close does besides

	mu     sync.Mutex
	cause  events.Cause
	closed bool
	stop   func() bool    // unties it from its context
	own    events.Owner   // events.Options.Own; nil for never
	notice hosting.Notice // is told instead of c; nil for c

	resource string // events.Options.Resource

	entries     []entry  // the hub's
	alone       [1]entry // room for them: most are of one path
	nextClosing *sub     // under hub.mu
	request     *request // under hub.mu; until it is settled
}

var _ events.Subscription = (*sub)(nil)

func newSub(release func(*sub)) *sub {
	return &sub{c: make(chan struct{}, 1), release: release}
}

// newNoticeSub returns a subscription without a channel.
func newNoticeSub(release func(*sub), n hosting.Notice) *sub {
	return &sub{notice: n, release: release}
}

func (s *sub) C() <-chan struct{} { return s.c }

func (s *sub) Cause() events.Cause {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cause
	s.cause = events.Cause{}
	return c
}

// leaves reports whether a change is the subscriber's own: the thing is as he has left it. Where he
// is woken already he is not asked.
func (s *sub) leaves() bool { return s.own != nil && !s.isWoken() && s.isOwn() }

// wake leaves a wake-up, unless the change is the subscriber's own. It never blocks. A closed
// subscription gets none.
func (s *sub) wake(c change) {
	if !c.foreign && s.leaves() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if c.from == s.resource {
		c.from = "" // it would have left it: a stranger has altered it since the hub has asked
	}
	switch {
	case s.cause.Merged == 0, s.cause.From != "" && c.from == "":
		s.cause.Source, s.cause.Path, s.cause.From, s.cause.By = c.source, c.where(), c.from, c.by
	case c.by != nil && s.cause.From == c.from && s.cause.Path == c.where():
		s.cause.By = c.by
	}
	s.cause.Merged += 1 + c.merged
	s.cause.Resync = s.cause.Resync || c.lost
	if s.notice != nil {
		s.notice.Woken()
		return
	}
	select {
	case s.c <- struct{}{}:
	default:
	}
}

// isWoken reports whether there is a wake-up that was not taken yet.
func (s *sub) isWoken() bool {
	if s.notice == nil {
		return len(s.c) > 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause.Merged > 0
}

// isOwn asks the subscriber. Where it panics or ends its goroutine, that counts as no answer: the hub serves the others too.
// A look that the engine takes for it can't do that, and needs no goroutine of its own: there is one for each file that is written.
func (s *sub) isOwn() (own bool) {
	if left, ok := s.own.(*safepath.Left); ok {
		return left.AsLeft()
	}
	_ = apart.Call("Own", func() (err error) {
		defer callsafe.Recover("Own", &err)
		own = s.own.AsLeft()
		return nil
	})
	return own
}

// isClosed reports whether Close was called.
func (s *sub) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// bind closes the subscription when the context ends.
func (s *sub) bind(ctx context.Context) {
	stop := afterFunc(ctx, s.Close)
	s.mu.Lock()
	s.stop = stop
	s.mu.Unlock()
}

// afterFunc is context.AfterFunc, at less cost where the context can do it itself:
// there is one subscription for each watched file.
func afterFunc(ctx context.Context, f func()) (stop func() bool) {
	if c, ok := ctx.(interface{ AfterFunc(func()) func() bool }); ok {
		return c.AfterFunc(f)
	}
	return context.AfterFunc(ctx, f)
}

func (s *sub) Close() {
	s.mu.Lock()
	was, stop := s.closed, s.stop
	s.closed, s.stop = true, nil
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	if !was {
		s.release(s)
	}
}

func checkPaths(paths []string) error {
	if len(paths) == 0 {
		return errors.New("watch: no path")
	}
	for _, p := range paths {
		if !filepath.IsAbs(p) || strings.IndexByte(p, 0) >= 0 {
			return fmt.Errorf("watch: %q is not an absolute path", p)
		}
	}
	return nil
}

// admit hangs a new subscription into the tree. It is answered when all work is done, which is at
// once if all its directories are watched already.
func (h *hub) admit(r *request) {
	s := r.sub
	if s.isClosed() { // drop has passed already
		return
	}
	n := len(r.paths)
	if r.o.Recurse || r.o.Contents {
		n *= 2
	}
	s.entries = s.alone[:0] // never grown: the entries are pointed to
	if n > len(s.alone) {
		s.entries = make([]entry, 0, n)
	}
	h.stats.subs.Add(1)
	for _, p := range r.paths {
		h.subscribe(s, p, r.o)
	}
	h.waiting = append(h.waiting, r)
}

// subscribe hangs a subscription at the folder of a path, for its name, and where it wants the contents, at the path itself, too. A
// folder that is watched already has its present state noted, so that a change before the answer is seen.
func (h *hub) subscribe(s *sub, path string, o events.Options) {
	at, name := split(path)
	n := h.node(at, true)
	h.hang(s, entry{node: n, name: name, scope: scopeName})
	if n.mark&markFresh == 0 {
		h.baseline(n, name)
		h.fresh = append(h.fresh, &s.entries[len(s.entries)-1])
	}
	if !o.Recurse && !o.Contents {
		return
	}
	in := h.node(path, true)
	if o.Recurse {
		h.hang(s, entry{node: in, scope: scopeTree})
		h.push(in, markList)
	} else {
		h.hang(s, entry{node: in, scope: scopeNames})
	}
	h.baseline(in, "")
}

func (h *hub) hang(s *sub, e entry) {
	e.sub = s
	s.entries = append(s.entries, e)
	s.entries[len(s.entries)-1].hang()
}

// close hands a closed subscription to the hub's goroutine. It does not wait.
func (h *hub) close(s *sub) {
	h.in.mu.Lock()
	s.nextClosing = h.in.closing
	h.in.closing = s
	if s.request != nil {
		h.settleLocked(s.request)
	}
	h.in.mu.Unlock()
	h.wakeUp()
}

// drop takes a closed subscription out of the tree, with all that only it
// needed.
func (h *hub) drop(s *sub) {
	if s.entries == nil {
		return
	}
	h.stats.subs.Add(-1)
	for i := range s.entries {
		e := &s.entries[i]
		n := e.node
		e.unhang()
		switch {
		case e.scope == scopeTree && !n.recursive():
			h.retreat(n)
		case e.scope == scopeName && n.names[e.name] == nil:
			h.forget(n, e.name)
		}
		h.prune(n)
	}
	s.entries = nil
}

// forget lets go of the target of a name without subscriptions.
func (h *hub) forget(n *node, name string) {
	if k := n.kids[name]; k != nil && k.leaf {
		k.leaf = false
		h.prune(k)
	}
}

// retreat lets go of the directories below n without subscriptions.
func (h *hub) retreat(n *node) {
	for _, k := range n.kids {
		if k.auto {
			k.auto = false
			if !k.recursive() {
				h.retreat(k)
			}
			h.prune(k)
		}
	}
}
