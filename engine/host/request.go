package host

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// A request asks the hub's goroutine for a subscription. Before that goroutine gets it, the
// file systems of its paths have to answer: a mount that hangs holds up those who watch
// something on it, and not the one goroutine that looks for all. A goroutine that asks ends
// when the file system has answered.
type request struct {
	sub     *sub
	paths   []string // clean, once it was asked for
	o       events.Options
	settled chan struct{} // closed when it is armed, or will never be; nil where a notice is told
	next    *request      // under hub.mu
	room    [1]string     // for paths: most are of one
}

// watch subscribes to the paths. Many wait here for as long as their file system takes, and
// then for all the time that the subscription lasts, so this goes no deeper than it must: a
// stack that has grown stays so.
func (h *hub) watch(ctx context.Context, paths []string, o events.Options) (events.Subscription, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r, err := h.request(newSub(h.closes), paths, o)
	if err != nil {
		return nil, err
	}
	r.sub.bind(ctx)
	<-r.settled
	switch {
	case !r.sub.isClosed():
		return r.sub, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, ErrClosed
}

// notify subscribes to the paths and does not wait until that is armed.
func (h *hub) notify(paths []string, o events.Options, n hosting.Notice) (events.Subscription, error) {
	r, err := h.request(newNoticeSub(h.closes, n), paths, o)
	if err != nil {
		return nil, err
	}
	return r.sub, nil
}

// request leaves a request to the hub's goroutine. It is settled when it is armed, or its
// subscription is closed, or the hub has ended.
func (h *hub) request(s *sub, paths []string, o events.Options) (*request, error) {
	if err := checkPaths(paths); err != nil {
		return nil, err
	}
	r := &request{sub: s, o: o}
	r.paths = append(r.room[:0], paths...)
	if s.notice == nil {
		r.settled = make(chan struct{})
	}
	s.own, s.resource, s.request = o.Own, o.Resource, r
	if !h.start(r) {
		return nil, ErrClosed
	}
	h.wakeUp()
	return r, nil
}

// settle ends the wait for a request.
func (h *hub) settle(r *request) {
	h.in.mu.Lock()
	defer h.in.mu.Unlock()
	h.settleLocked(r)
}

func (h *hub) settleLocked(r *request) {
	if _, ok := h.in.pending[r]; ok {
		delete(h.in.pending, r)
		r.sub.request = nil
		r.tell()
	}
}

// tell tells who waits for the request.
func (r *request) tell() {
	switch n := r.sub.notice; {
	case n == nil:
		close(r.settled)
	case r.sub.isClosed():
		n.Armed(ErrClosed)
	default:
		n.Armed(nil)
	}
}

// settleAll closes what still waits when the hub ends.
func (h *hub) settleAll() {
	h.in.mu.Lock()
	left := slices.Collect(maps.Keys(h.in.pending))
	h.in.mu.Unlock()
	for _, r := range left {
		r.sub.Close()
	}
}

// ask has the file systems of a request asked. The requests for names of one folder are asked
// one after the other.
func (h *hub) ask(r *request) {
	for i, p := range r.paths {
		r.paths[i] = filepath.Clean(p)
	}
	if len(r.paths) > 1 {
		go h.askAll(r)
		return
	}
	folder, _ := split(r.paths[0])
	h.in.mu.Lock()
	defer h.in.mu.Unlock()
	waiting, asked := h.in.querying[folder]
	h.in.querying[folder] = append(waiting, r)
	if !asked {
		go h.askFolder(folder)
	}
}

// askFolder asks for the requests of one folder until there are no more. A link in it may lead to a
// file system that does not answer: a goroutine of its own asks about that link.
func (h *hub) askFolder(folder string) {
	for rs := h.nextAsked(folder); len(rs) > 0; rs = h.nextAsked(folder) {
		l, listed := list(folder, len(rs))
		answered := rs[:0]
		for _, r := range rs {
			if _, special := l[base(r.paths[0])]; (special || !listed) && leads(r.paths[0]) {
				go h.askAll(r)
				continue
			}
			answered = append(answered, r)
		}
		h.answered(answered...)
	}
}

// leads reports whether there is a symbolic link.
func leads(path string) bool {
	st, err := lstat(path)
	return err == nil && isLink(&st)
}

// nextAsked takes the requests that wait for a folder. Where there are none, the goroutine
// that asks has to end.
func (h *hub) nextAsked(folder string) []*request {
	h.in.mu.Lock()
	defer h.in.mu.Unlock()
	rs := h.in.querying[folder]
	if len(rs) == 0 {
		delete(h.in.querying, folder)
		return nil
	}
	h.in.querying[folder] = nil
	return rs
}

// askAll asks the file systems of all paths of a request, whatever they say.
func (h *hub) askAll(r *request) {
	var st unix.Stat_t
	for _, p := range r.paths {
		_ = unix.Stat(p, &st)
	}
	h.answered(r)
}

// answered gives requests to the hub's goroutine.
func (h *hub) answered(rs ...*request) {
	if len(rs) == 0 {
		return
	}
	h.in.mu.Lock()
	h.in.asked = append(h.in.asked, rs...)
	h.in.mu.Unlock()
	h.wakeUp()
}
