package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

var errNo = errors.New("no")

// failing is a fake that fails with what it is told, and says when it was asked.
type failing struct {
	fake
	err atomic.Pointer[error]

	mu    sync.Mutex
	times []time.Time // of its runs
}

// n returns how often it ran.
func (f *failing) n() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.times)
}

func newFailing(w *stage, err error) *failing {
	f := &failing{fake: fake{w: w}}
	f.set(err)
	f.check = func(context.Context, *fake, bool) (bool, error) {
		f.mu.Lock()
		f.times = append(f.times, time.Now())
		f.mu.Unlock()
		return true, *f.err.Load()
	}
	return f
}

func (f *failing) set(err error) { f.err.Store(&err) }

// waits returns the times between its runs.
func (f *failing) waits() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []time.Duration
	for i := 1; i < len(f.times); i++ {
		list = append(list, f.times[i].Sub(f.times[i-1]))
	}
	return list
}

// TestFindingC1ForEver: where the graph says nothing of retry, what has failed is tried
// again for ever, with a growing time left partly to chance, from a second to ten minutes.
func TestFindingC1ForEver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Sweep: -1, Quiet: time.Second})
		defer rg.close()
		f := newFailing(newWorld(), errNo)
		rg.swap(newDecl(t).add("f", &f.fake))
		if c := rg.rest(); c[resgraph.StateFailed] != 1 {
			t.Errorf("it rests with %v", c)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		waits := f.waits()
		if n := len(waits); n < 24*6 || n > 24*13 {
			t.Errorf("%d tries in a day", n)
		}
		for i, d := range waits {
			if d < time.Second || d > 10*time.Minute {
				t.Errorf("wait %d is %s", i, d)
			}
		}
		if waits[0] > 2*time.Second || slices.Max(waits[:3]) > 8*time.Second || waits[12] < 5*time.Minute {
			t.Errorf("the waits are %v", waits[:13])
		}
		if last := waits[len(waits)-20:]; len(slices.Compact(slices.Clone(last))) < 10 {
			t.Errorf("nothing is left to chance: %v", last)
		}
		if len(rg.converged) > 0 {
			t.Error("the tries have ended the rest")
		}
		if s := rg.state("f"); s.State != resgraph.StateFailed || s.RetryIn <= 0 {
			t.Errorf("it is %+v", s)
		}
		if n := len(rg.store.recs); n > 0 {
			t.Errorf("%d tables were written", n)
		}
	})
}

// TestFindingC1GraphSaysOtherwise: a number of retries means what it says, never too, and
// an answer of the resource's own command is not asked for again unless retry is given.
func TestFindingC1GraphSaysOtherwise(t *testing.T) {
	for _, c := range []struct {
		retry int
		err   error
		want  int // runs in a day; 0 for many
	}{
		{engine.RetryNever, errNo, 1},
		{3, errNo, 4},
		{engine.RetryDefault, errNo, 0},
		{engine.RetryDefault, failure.Verdict(errNo), 1},
		{engine.RetryDefault, fmt.Errorf("cmd: %w", failure.Verdict(errNo)), 1},
		{engine.RetryDefault, failure.Permanent(errNo), 1},
		{3, failure.Verdict(errNo), 4},
		{3, failure.Permanent(errNo), 1},
	} {
		t.Run(fmt.Sprintf("%d %T", c.retry, c.err), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rg := newRig(t, reactor.Options{Sweep: -1})
				defer rg.close()
				f := newFailing(newWorld(), c.err)
				f.MetaParams().Retry, f.MetaParams().Delay = c.retry, time.Second
				rg.swap(newDecl(t).add("f", &f.fake))
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				if n := f.n(); c.want > 0 && n != c.want || c.want == 0 && n < 100 {
					t.Errorf("%d runs, want %d", n, c.want)
				}
			})
		})
	}
}

// TestFindingC1Scarcity: what the machine was short of is tried again soon, and stays so;
// what the graph says of delay and poll goes first.
func TestFindingA11Scarcity(t *testing.T) {
	for _, c := range []struct {
		err         error
		first, most time.Duration
		meta        engine.MetaParams
	}{
		{err: syscall.EMFILE, first: 200 * time.Millisecond, most: 15 * time.Second},
		{err: &fs.PathError{Op: "open", Path: "/x", Err: syscall.ENFILE}, first: 200 * time.Millisecond, most: 15 * time.Second},
		{err: fmt.Errorf("reading: %w", syscall.ENOMEM), first: 200 * time.Millisecond, most: 15 * time.Second},
		{err: syscall.ENOSPC, first: 2 * time.Second, most: time.Minute},
		{err: syscall.ENETUNREACH, first: 2 * time.Second, most: time.Minute},
		{err: syscall.ENOENT, first: 2 * time.Second, most: 10 * time.Minute},
		{err: errNo, first: time.Minute, most: 10 * time.Minute, meta: engine.MetaParams{Delay: time.Minute}},
		{err: errNo, first: time.Hour, most: time.Hour, meta: engine.MetaParams{Delay: time.Hour}},
		{err: errNo, first: time.Second, most: 4 * time.Second, meta: engine.MetaParams{Delay: time.Second, DelayMax: 4 * time.Second}},
		{err: errNo, first: 2 * time.Second, most: 30 * time.Second, meta: engine.MetaParams{Poll: 30 * time.Second}},
	} {
		t.Run(fmt.Sprint(c.err, c.meta.Delay, c.meta.Poll), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rg := newRig(t, reactor.Options{Sweep: -1})
				defer rg.close()
				f := newFailing(newWorld(), c.err)
				f.SetMetaParams(&c.meta)
				rg.swap(newDecl(t).add("f", &f.fake))
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				waits := f.waits()
				if w := waits[0]; w < c.first/2 || w > c.first {
					t.Errorf("the first wait is %s", w)
				}
				if m := slices.Max(waits); m > c.most || m < c.most/2 {
					t.Errorf("the longest wait is %s", m)
				}
				f.set(nil)
				time.Sleep(c.most)
				synctest.Wait()
				if s := rg.state("f"); s.State != resgraph.StateOK {
					t.Errorf("it is %s", s.State)
				}
			})
		})
	}
}

// TestFindingC1Above: what has failed is tried at once when something above it has
// changed, also an answer of its own command; near or far, and only below that.
func TestFindingC1Above(t *testing.T) {
	for name, err := range map[string]error{"an error": errNo, "a verdict": failure.Verdict(errNo)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{Sweep: -1})
				defer rg.close()
				top, mid, beside := &fake{w: w}, &fake{w: w}, &fake{w: w}
				f, g, other := newFailing(w, err), newFailing(w, err), newFailing(w, err)
				for _, x := range []*failing{f, g, other} {
					x.MetaParams().Delay = time.Hour
				}
				drifted := false
				top.check = func(context.Context, *fake, bool) (bool, error) {
					was := drifted
					drifted = false
					return !was, nil
				}
				rg.swap(newDecl(t).add("top", top).add("mid", mid).add("beside", beside).
					add("f", &f.fake).add("g", &g.fake).add("other", &other.fake).
					edges("top>mid", "mid>f", "top>g", "beside>other"))
				time.Sleep(time.Minute)
				synctest.Wait()
				for round := range 3 {
					f.set(errNo)
					drifted = true
					if round == 2 {
						f.set(nil)
					}
					top.init.Event()
					synctest.Wait()
				}
				if nf, ng, no := f.n(), g.n(), other.n(); nf != 4 || ng != 4 || no != 1 {
					t.Errorf("they ran %d, %d and %d times", nf, ng, no)
				}
				if s := rg.state("f"); s.State != resgraph.StateOK {
					t.Errorf("it is %s", s.State)
				}
				last := rg.runs("f")[3]
				if !slices.ContainsFunc(last.Triggers, func(t reactor.Trigger) bool { return t.Cause == reactor.CauseAbove && t.From == "fake[top]" }) {
					t.Errorf("it ran because of %+v", last.Triggers)
				}
				beside.init.Event() // which changes nothing
				synctest.Wait()
				if n := other.n(); n != 1 {
					t.Errorf("the other one ran %d times", n)
				}
			})
		})
	}
}

// TestFindingC1OwnEvent: an event of its own ends the wait at once, and a refresh too;
// the waits do not grow by what others ask for.
func TestFindingC1OwnEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		f := newFailing(newWorld(), errNo)
		rg.swap(newDecl(t).add("f", &f.fake))
		synctest.Wait()
		for range 20 {
			time.Sleep(time.Millisecond)
			synctest.Wait()
			f.init.Event()
			synctest.Wait()
		}
		if n := f.n(); n != 21 {
			t.Errorf("%d runs after 20 events", n)
		}
		if in := rg.state("f").RetryIn; in > 2*time.Second {
			t.Errorf("it waits for %s", in)
		}
		f.set(nil)
		f.init.Event()
		synctest.Wait()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := f.n(); n != 22 {
			t.Errorf("%d runs: it was tried again though it was well", n)
		}
		f.set(errNo)
		f.init.Event()
		synctest.Wait()
		if in := rg.state("f").RetryIn; in > 2*time.Second || in <= 0 {
			t.Errorf("after a success it waits for %s", in)
		}
	})
}

// TestFindingC1Watch: a Watch that fails is started again in the same way.
func TestFindingC1Watch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		var well atomic.Bool
		var tries atomic.Int32
		f := &fake{w: newWorld(), watch: func(ctx context.Context, f *fake) error {
			tries.Add(1)
			f.init.Running()
			if well.Load() {
				<-ctx.Done()
				return nil
			}
			return errNo
		}}
		rg.swap(newDecl(t).add("f", f))
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := tries.Load(); n < 10 || n > 30 {
			t.Errorf("%d tries in an hour", n)
		}
		well.Store(true)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if s := rg.state("f"); s.State != resgraph.StateOK {
			t.Errorf("it is %s: %v", s.State, s.Err)
		}
	})
}

// TestFindingC1WatchWellForAMoment: a Watch that is well for a moment between its failures waits longer each time; after a long
// time in which it was well it begins anew.
func TestFindingC1WatchWellForAMoment(t *testing.T) {
	for _, c := range []struct {
		well, span  time.Duration
		least, most int
	}{
		{time.Second, time.Hour, 10, 40},
		{11 * time.Minute, 11 * time.Hour, 58, 60}, // a wait of two seconds at most after each
	} {
		t.Run(c.well.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rg := newRig(t, reactor.Options{Sweep: -1})
				defer rg.close()
				var tries atomic.Int32
				f := &fake{w: newWorld(), watch: func(ctx context.Context, f *fake) error {
					tries.Add(1)
					f.init.Running()
					select {
					case <-ctx.Done():
						return nil
					case <-time.After(c.well):
						return errNo
					}
				}}
				rg.swap(newDecl(t).add("f", f))
				time.Sleep(c.span)
				synctest.Wait()
				if n := int(tries.Load()); n < c.least || n > c.most {
					t.Errorf("%d tries in %s, want %d to %d", n, c.span, c.least, c.most)
				}
			})
		})
	}
}

// factsHost tells of new facts.
type factsHost struct {
	nullHost
	c      chan struct{}
	closed atomic.Int32
}

func (h *factsHost) WatchFacts(context.Context) (events.Subscription, error) {
	return &factsSub{h}, nil
}

type factsSub struct{ h *factsHost }

func (s *factsSub) C() <-chan struct{}  { return s.h.c }
func (s *factsSub) Cause() events.Cause { return events.Cause{} }
func (s *factsSub) Close()              { s.h.closed.Add(1) }

// TestFindingC1Network: when the machine has another address, what waits for its next try
// is tried at once, and soon again, but not the answer of a command.
func TestFindingC1Network(t *testing.T) {
	bubble(t, func(t *testing.T) {
		host := &factsHost{c: make(chan struct{}, 1)}
		rg := newRig(t, reactor.Options{Sweep: -1, Host: host})
		w := newWorld()
		f, said := newFailing(w, errNo), newFailing(w, failure.Verdict(errNo))
		rg.swap(newDecl(t).add("f", &f.fake).add("said", &said.fake))
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		before := f.n()
		if in := rg.state("f").RetryIn; in < time.Millisecond {
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		host.c <- struct{}{}
		synctest.Wait()
		if n := f.n(); n != before+1 {
			t.Errorf("%d runs at once", n-before)
		}
		if in := rg.state("f").RetryIn; in > 2*time.Second {
			t.Errorf("it waits for %s", in)
		}
		if n := said.n(); n != 1 {
			t.Errorf("the command was asked %d times", n)
		}
		rg.close()
		if n := host.closed.Load(); n != 1 {
			t.Errorf("%d subscriptions were closed", n)
		}
	})
}

// TestFindingC1Swap: a swap keeps the wait of what stays, and begins anew with what has
// changed; what has failed below an edge that is new hears of changes over it.
func TestFindingC1Swap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		w := newWorld()
		drifted := false
		mk := func(want string, edges ...string) (*decl, *failing, *fake) {
			f, top := newFailing(w, errNo), &fake{w: w}
			f.Want = want
			top.check = func(context.Context, *fake, bool) (bool, error) {
				was := drifted
				drifted = false
				return !was, nil
			}
			return newDecl(t).add("top", top).add("f", &f.fake).edges(edges...), f, top
		}
		d, f, top := mk("a")
		rg.swap(d)
		time.Sleep(time.Hour)
		synctest.Wait()
		in := rg.state("f").RetryIn
		d, _, _ = mk("a", "top>f")
		rg.swap(d)
		if got := rg.state("f").RetryIn; got != in {
			t.Errorf("it waits for %s, and before for %s", got, in)
		}
		before := f.n()
		drifted = true
		top.init.Event()
		synctest.Wait()
		if n := f.n(); n != before+1 {
			t.Errorf("%d runs after a change over the new edge", n-before)
		}
		d, f, _ = mk("b", "top>f")
		rg.swap(d)
		synctest.Wait()
		if n, in := f.n(), rg.state("f").RetryIn; n != 1 || in > 2*time.Second {
			t.Errorf("the changed one ran %d times and waits for %s", n, in)
		}
	})
}

// TestFindingC1RetryNow: somebody may ask for another try of one, or of all.
func TestFindingC1RetryNow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		w := newWorld()
		a, b, c, well := newFailing(w, errNo), newFailing(w, failure.Verdict(errNo)), newFailing(w, errNo), &fake{w: w}
		below := &fake{w: w}
		a.MetaParams().Delay = time.Hour
		c.MetaParams().Retry = engine.RetryNever
		deaf := &fake{w: w, watch: func(context.Context, *fake) error { return failure.Permanent(errNo) }}
		rg.swap(newDecl(t).add("a", &a.fake).add("b", &b.fake).add("c", &c.fake).add("well", well).add("deaf", deaf).add("below", below).edges("a>below"))
		time.Sleep(time.Minute)
		synctest.Wait()
		got, err := rg.r.Retry(t.Context())
		if want := []string{"fake[a]", "fake[b]", "fake[c]", "fake[deaf]"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("tried %v, %v", got, err)
		}
		synctest.Wait()
		for _, f := range []*failing{a, b, c} {
			if n := f.n(); n != 2 {
				t.Errorf("%s ran %d times", f.Name(), n)
			}
		}
		c.set(nil)
		if _, err := rg.r.Retry(t.Context(), "fake[c]"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if s := rg.state("c"); s.State != resgraph.StateOK {
			t.Errorf("it is %s", s.State)
		}
		for id, want := range map[string]string{
			"fake[well]":  "fake[well] has not failed: it is ok",
			"fake[below]": "fake[below] has not failed: it waits for fake[a], retry that",
			"fake[none]":  "fake[none] is not in the graph",
		} {
			if _, err := rg.r.Retry(t.Context(), "fake[a]", id); err == nil || err.Error() != want {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}

// TestFindingC1RetryCountsAnew: after another try that was asked for, the graph's number of retries counts anew, also that of a
// Watch, and the waits begin with the first one.
func TestFindingC1RetryCountsAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		w := newWorld()
		counted, waits := newFailing(w, errNo), newFailing(w, errNo)
		counted.MetaParams().Retry, counted.MetaParams().Delay = 3, time.Second
		var watched atomic.Int32
		deaf := &fake{w: w, watch: func(context.Context, *fake) error {
			watched.Add(1)
			return errNo
		}}
		deaf.MetaParams().Retry, deaf.MetaParams().Delay = 2, time.Second
		rg.swap(newDecl(t).add("counted", &counted.fake).add("waits", &waits.fake).add("deaf", deaf))
		for round := 1; round <= 3; round++ {
			time.Sleep(5 * time.Hour)
			synctest.Wait()
			if n, d := counted.n(), int(watched.Load()); n != 4*round || d != 3*round {
				t.Errorf("round %d: %d runs, and its Watch was tried %d times", round, n, d)
			}
			if _, err := rg.r.Retry(t.Context()); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if in := rg.state("waits").RetryIn; in <= 0 || in > 2*time.Second {
				t.Errorf("round %d: it waits for %s", round, in)
			}
		}
	})
}
