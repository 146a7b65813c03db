package reactor_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// noticed is a fake that the host may watch in the place of its Watch.
type noticed struct {
	fake    `yaml:",inline"`
	watches func() (ok bool)
}

func (n *noticed) Watches() ([]string, events.Options, bool) {
	return []string{"/" + n.Name()}, events.Options{}, n.watches == nil || n.watches()
}

func (n *noticed) Cmp(o engine.Res) error { return n.fake.Cmp(&o.(*noticed).fake) }

// noticeHost is a host that notifies, as a test says.
type noticeHost struct {
	nullHost
	mu    sync.Mutex
	subs  []*noticeSub
	err   error // of Notify
	early error // given to Armed before Notify returns
	hold  bool  // nothing is armed
}

// noticeSub is one of its subscriptions.
type noticeSub struct {
	hosting.Notice
	path   string
	closed bool
	causes int
	from   string // the vertex that has written
	h      *noticeHost
}

func (h *noticeHost) Notify(paths []string, _ events.Options, n hosting.Notice) (events.Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return nil, h.err
	}
	s := &noticeSub{Notice: n, path: paths[0], h: h}
	h.subs = append(h.subs, s)
	if !h.hold {
		n.Armed(h.early)
	}
	return s, nil
}

func (h *noticeHost) set(f func()) { h.mu.Lock(); defer h.mu.Unlock(); f() }

// open returns the subscriptions that are open, and how many there were.
func (h *noticeHost) open() (list []*noticeSub, all int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.subs {
		if !s.closed {
			list = append(list, s)
		}
	}
	return list, len(h.subs)
}

func (s *noticeSub) C() <-chan struct{} { return nil }
func (s *noticeSub) Close()             { s.h.set(func() { s.closed = true }) }
func (s *noticeSub) Cause() (c events.Cause) {
	s.h.set(func() { c, s.causes = events.Cause{Path: s.path, Merged: s.causes, From: s.from}, 0 })
	return c
}

func (s *noticeSub) wake() { s.h.set(func() { s.causes++ }); s.Woken() }

func noWatch(t *testing.T) func(context.Context, *fake) error {
	return func(context.Context, *fake) error { t.Error("Watch was called"); return nil }
}

// TestNotifiedInPlaceOfWatch: the host arms, wakes and is left, and Watch is not called.
func TestNotifiedInPlaceOfWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(), &noticeHost{}
		rg := newRig(t, reactor.Options{Host: h})
		rg.swap(newDecl(t).add("x", &noticed{fake: fake{w: w, watch: noWatch(t)}}).add("y", &noticed{fake: fake{w: w}}))
		rg.rest()
		subs, _ := h.open()
		if len(subs) != 2 || w.count("x") != 1 {
			t.Fatalf("%d subscriptions, %d runs", len(subs), w.count("x"))
		}
		for _, s := range subs {
			if s.path == "/x" {
				s.wake()
			}
		}
		synctest.Wait()
		if w.count("x") != 2 || w.count("y") != 1 {
			t.Errorf("after a wake-up x ran %d times, y %d", w.count("x"), w.count("y"))
		}
		if got := rg.runs("x")[1].Triggers; len(got) != 1 || got[0].Path != "/x" {
			t.Errorf("the second run came from %+v", got)
		}
		rg.swap(newDecl(t).add("y", &noticed{fake: fake{w: w}}))
		synctest.Wait()
		if subs, all := h.open(); len(subs) != 1 || subs[0].path != "/y" || all != 2 {
			t.Errorf("after a swap %d of %d are open", len(subs), all)
		}
		rg.close()
		if subs, _ := h.open(); len(subs) > 0 {
			t.Error("a subscription is left")
		}
	})
}

// TestFindingQ5OwnWriteAndStranger: a run finds right what the run before has written, and the event of that write comes together with
// that of a stranger, who has altered the one path that is watched.
func TestFindingQ5OwnWriteAndStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h, right, look := newWorld(), &noticeHost{}, false, func() {}
		rg := newRig(t, reactor.Options{Host: h})
		defer rg.close()
		rg.swap(newDecl(t).add("x", &noticed{fake: fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
			was := right
			right = right || apply
			look()
			return was, nil
		}}}))
		rg.rest()
		subs, _ := h.open()
		look = func() {
			look = func() {}
			right = false
			h.set(func() { subs[0].from = "fake[x]" })
			subs[0].wake()
			synctest.Wait()
		}
		subs[0].wake()
		rg.rest()
		rg.wantWhy("x", "event :/x: corrective")
	})
}

// TestNotifiedNotYetArmed: nothing runs before the host says that it is armed. A host that says
// nothing is late as a Watch is, and may go on later.
func TestNotifiedNotYetArmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(), &noticeHost{hold: true}
		rg := newRig(t, reactor.Options{Host: h, StartTimeout: time.Minute})
		rg.swap(newDecl(t).add("x", &noticed{fake: fake{w: w, watch: noWatch(t)}}))
		synctest.Wait()
		subs, _ := h.open()
		subs[0].Woken()
		time.Sleep(30 * time.Second)
		if w.count("x") != 0 || rg.state("x").State != resgraph.StateStarting {
			t.Errorf("before it is armed it ran %d times and is %s", w.count("x"), rg.state("x").State)
		}
		h.set(func() { h.hold = false })
		time.Sleep(31 * time.Second)
		if first := rg.runs("x")[0]; first.State != resgraph.StateFailed || !strings.Contains(first.Err.Error(), "said nothing for 1m0s after its start: a file system, a device or a program does not answer; fix that, or end it") {
			t.Errorf("a late one is %s, %v", first.State, first.Err)
		}
		subs[0].Armed(nil) // too late: it was closed
		synctest.Wait()
		if w.count("x") != 0 {
			t.Error("it ran after it was given up")
		}
		time.Sleep(time.Hour)
		if w.count("x") == 0 || rg.state("x").State != resgraph.StateOK {
			t.Errorf("later it ran %d times and is %s", w.count("x"), rg.state("x").State)
		}
		rg.close()
		if subs, all := h.open(); len(subs) > 0 || all != 2 {
			t.Errorf("%d of %d are left", len(subs), all)
		}
	})
}

// TestNotifiedFails: what fails is tried again, and leaves nothing.
func TestNotifiedFails(t *testing.T) {
	bad := errors.New("no watches left")
	for name, c := range map[string]struct {
		fail func(*noticeHost, *noticed)
		heal func(*noticeHost, *noticed)
		want string
	}{
		"Notify":                      {func(h *noticeHost, _ *noticed) { h.err = bad }, func(h *noticeHost, _ *noticed) { h.err = nil }, "no watches left"},
		"armed before Notify returns": {func(h *noticeHost, _ *noticed) { h.early = bad }, func(h *noticeHost, _ *noticed) { h.early = nil }, "no watches left"},
		"Watches":                     {func(_ *noticeHost, n *noticed) { n.watches = func() bool { panic("oops") } }, nil, "oops"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := newWorld(), &noticeHost{}
				rg := newRig(t, reactor.Options{Host: h})
				x := &noticed{fake: fake{w: w, watch: noWatch(t)}}
				c.fail(h, x)
				rg.swap(newDecl(t).add("x", x).add("y", &fake{w: w}))
				synctest.Wait()
				if s := rg.state("x"); s.State != resgraph.StateFailed || s.Err == nil || !strings.Contains(s.Err.Error(), c.want) {
					t.Errorf("it is %s: %v", s.State, s.Err)
				}
				if c.heal != nil {
					h.set(func() { c.heal(h, x) })
					time.Sleep(time.Hour)
				}
				if s := rg.state("x"); (s.State == resgraph.StateOK) != (c.heal != nil) {
					t.Errorf("later it is %s: %v", s.State, s.Err)
				}
				rg.close()
				if subs, _ := h.open(); len(subs) > 0 {
					t.Error("a subscription is left")
				}
			})
		})
	}
}

// TestNotifiedHostEnds: a host that ends what was asked and not yet armed is the end of a Watch.
func TestNotifiedHostEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(), &noticeHost{hold: true}
		rg := newRig(t, reactor.Options{Host: h})
		rg.swap(newDecl(t).add("x", &noticed{fake: fake{w: w, watch: noWatch(t)}}))
		synctest.Wait()
		subs, _ := h.open()
		subs[0].Armed(errors.New("the host is closed"))
		synctest.Wait()
		if s := rg.state("x"); s.State != resgraph.StateFailed || !strings.Contains(s.Err.Error(), "the host is closed") {
			t.Errorf("it is %s: %v", s.State, s.Err)
		}
		rg.close()
	})
}

// TestNotifiedOrWatch: Watch is called where the resource does more in it, and where the host
// can't notify.
func TestNotifiedOrWatch(t *testing.T) {
	for name, h := range map[string]engine.Host{"it does more": &noticeHost{}, "the host can't": nullHost{}} {
		synctest.Test(t, func(t *testing.T) {
			w, called := newWorld(), 0
			x := &noticed{fake: fake{w: w}}
			x.watches = func() bool { return name == "the host can't" }
			x.watch = func(ctx context.Context, f *fake) error {
				called++
				f.init.Running()
				<-ctx.Done()
				return nil
			}
			rg := newRig(t, reactor.Options{Host: h})
			rg.swap(newDecl(t).add("x", x))
			rg.rest()
			rg.close()
			if called != 1 || w.count("x") != 1 {
				t.Errorf("%s: Watch was called %d times, and it ran %d times", name, called, w.count("x"))
			}
		})
	}
}

// TestNotifiedAnewForValues: a received value ends the subscription, and the next one is made
// with it.
func TestNotifiedAnewForValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(), &noticeHost{}
		out := "one"
		s := &sender{fake{w: w}}
		s.check = func(_ context.Context, f *fake, _ bool) (bool, error) { return true, f.init.Send(sends{Out: out}) }
		var seen []string
		x := &noticed{fake: fake{w: w, watch: noWatch(t)}}
		x.watches = func() bool { seen = append(seen, x.Want); return true }
		rg := newRig(t, reactor.Options{Host: h})
		rg.swap(newDecl(t).add("s", s).add("x", x, "want=fake[s].out").edges("s>x"))
		rg.rest()
		out = "two"
		s.init.Event()
		synctest.Wait()
		rg.close()
		if strings.Join(seen, " ") != "one two" || w.count("x") != 2 {
			t.Errorf("it was watched with %q, and ran %d times", seen, w.count("x"))
		}
	})
}
