package reactor_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// safeBuffer is written by the loop and read by the test.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}
func (b *safeBuffer) String() string { b.mu.Lock(); defer b.mu.Unlock(); return b.b.String() }

func stormRig(t *testing.T) (*rig, *safeBuffer) {
	log := &safeBuffer{}
	return newRig(t, reactor.Options{Sweep: -1, Quiet: time.Hour, Storm: reactor.DefaultStorm(), Logger: textLogger(log)}), log
}

func warnings(log *safeBuffer) int { return strings.Count(log.String(), "level=WARN") }

// TestFindingC13OwnEvent: a CheckApply that makes its own event, a Watch that floods, and a
// failure every 10 ms are slowed, with one warning; and when it is quiet again, they run
// at once.
func TestFindingC13Storms(t *testing.T) {
	for name, c := range map[string]struct {
		ok          bool
		err         error
		self        bool // its run makes the event
		burst, rate int  // runs at once, and in an hour after that
	}{
		"an own event":           {ok: true, self: true, burst: 1100, rate: 3700},
		"an own event, changing": {ok: false, self: true, burst: 300, rate: 70},
		"a flood":                {ok: true, burst: 1300, rate: 3700},
		"a failing flood":        {err: errNo, burst: 120, rate: 70},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rg, log := stormRig(t)
				defer rg.close()
				var on atomic.Bool
				on.Store(true)
				w := newWorld()
				f, other := &fake{w: w}, &fake{w: w}
				f.check = func(context.Context, *fake, bool) (bool, error) {
					time.Sleep(10 * time.Microsecond)
					if on.Load() && c.self {
						f.init.Event()
					}
					if !on.Load() {
						return true, nil
					}
					return c.ok, c.err
				}
				rg.swap(newDecl(t).add("f", f).add("other", other))
				flood := func(d time.Duration) {
					for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
						if !c.self {
							f.init.Event()
						}
					}
					synctest.Wait()
				}
				flood(20 * time.Second)
				if n := w.count("f"); n > c.burst {
					t.Errorf("%d runs in 20 s", n)
				}
				before, told := w.count("f"), len(rg.runs("f"))
				flood(time.Hour)
				if n := w.count("f") - before; n > c.rate || n < 10 {
					t.Errorf("%d runs in an hour of storm", n)
				}
				if n := len(rg.runs("f")) - told; n > c.rate {
					t.Errorf("%d runs told", n)
				}
				if n := warnings(log); n != 1 || !strings.Contains(log.String(), "resource=fake[f]") {
					t.Errorf("%d warnings:\n%s", n, log)
				}
				start := w.count("other")
				other.init.Event()
				synctest.Wait()
				if n := w.count("other"); n != start+1 {
					t.Error("the other one is slowed too")
				}
				on.Store(false)
				time.Sleep(2 * time.Minute)
				before = w.count("f")
				for range 5 {
					f.init.Event()
					synctest.Wait()
					time.Sleep(time.Millisecond)
				}
				if n := w.count("f") - before; n != 5 {
					t.Errorf("%d runs of 5 when it is quiet again", n)
				}
			})
		})
	}
}

// TestFindingK1ManyWriters: a file that a neighbour writes a thousand times is corrected each time, at once.
func TestFindingK1ManyWriters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, w, h := &safeBuffer{}, newWorld(), &noticeHost{}
		rg := newRig(t, reactor.Options{Sweep: -1, Quiet: time.Hour, Host: h, Storm: reactor.DefaultStorm(), Logger: textLogger(log)})
		defer rg.close()
		drifted := false
		rg.swap(newDecl(t).add("f", &noticed{fake: fake{w: w, check: func(context.Context, *fake, bool) (bool, error) {
			was := drifted
			drifted = false
			return !was, nil
		}}}))
		rg.rest()
		subs, _ := h.open()
		for i := range 1000 {
			drifted = true
			subs[0].wake()
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			if drifted {
				t.Fatalf("write %d is not corrected; %s", i, log)
			}
		}
		if n := warnings(log); n > 0 {
			t.Errorf("%d warnings:\n%s", n, log)
		}
	})
}

// TestFindingK1ManyLooks: a folder in which neighbours write is looked at after each write, and waits only if that takes long.
func TestFindingK1ManyLooks(t *testing.T) {
	for took, warned := range map[time.Duration]bool{100 * time.Microsecond: false, 10 * time.Millisecond: true} {
		t.Run(took.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				log, w, h := &safeBuffer{}, newWorld(), &noticeHost{}
				rg := newRig(t, reactor.Options{Sweep: -1, Quiet: time.Hour, Host: h, Storm: reactor.DefaultStorm(), Logger: textLogger(log)})
				defer rg.close()
				rg.swap(newDecl(t).add("f", &noticed{fake: fake{w: w, check: func(context.Context, *fake, bool) (bool, error) {
					time.Sleep(took)
					return true, nil
				}}}))
				rg.rest()
				subs, _ := h.open()
				for range 5000 {
					subs[0].wake()
					time.Sleep(12 * time.Millisecond)
					synctest.Wait()
				}
				if n := warnings(log); n > 0 != warned {
					t.Errorf("%d warnings:\n%s", n, log)
				}
			})
		})
	}
}

// TestFindingC13Retries: a retry with a delay of 10 ms is slowed, and stays failed between
// the tries.
func TestFindingC13Retries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg, log := stormRig(t)
		defer rg.close()
		f := newFailing(newWorld(), errNo)
		f.MetaParams().Retry, f.MetaParams().Delay = engine.RetryForever, 10*time.Millisecond
		rg.swap(newDecl(t).add("f", &f.fake))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := f.n(); n > 150 {
			t.Errorf("%d runs in ten minutes", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := f.n(); n > 230 || n < 150 {
			t.Errorf("%d runs", n)
		}
		if s := rg.state("f"); s.State != resgraph.StateFailed || s.RetryIn <= 0 {
			t.Errorf("it is %+v", s)
		}
		if n := warnings(log); n != 1 {
			t.Errorf("%d warnings:\n%s", n, log)
		}
		f.set(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s := rg.state("f"); s.State != resgraph.StateOK {
			t.Errorf("it is %s", s.State)
		}
	})
}

// TestFindingC13NoStorm: what many do once, and what one does often but with rests, is
// none; nor is a thousand events at once.
func TestFindingC13NoStorm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg, log := stormRig(t)
		defer rg.close()
		w := newWorld()
		d := newDecl(t)
		fs := make([]*fake, 6000)
		for i := range fs {
			fs[i] = &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) { return false, nil }}
			d.add(string(rune('a'+i%26))+strings.Repeat("x", i/26), fs[i])
		}
		rg.swap(d)
		synctest.Wait()
		for range 5 { // all of them at once, five times
			for _, f := range fs {
				f.init.Event()
			}
			synctest.Wait()
		}
		one := fs[0]
		before := w.count("a")
		for range 1000 {
			one.init.Event()
		}
		synctest.Wait()
		for range 3600 {
			time.Sleep(time.Second)
			one.init.Event()
			synctest.Wait()
		}
		if n := w.count("a") - before; n < 3601 {
			t.Errorf("%d runs", n)
		}
		if n := warnings(log); n != 0 {
			t.Errorf("%d warnings:\n%s", n, log)
		}
	})
}

// TestFindingC13Swap: a storm goes on under another graph, without another warning.
func TestFindingC13Swap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg, log := stormRig(t)
		defer rg.close()
		w := newWorld()
		mk := func(want string) *decl {
			f := &fake{w: w, Want: want}
			f.check = func(context.Context, *fake, bool) (bool, error) {
				time.Sleep(10 * time.Microsecond)
				f.init.Event()
				return true, nil
			}
			return newDecl(t).add("f", f)
		}
		for _, want := range []string{"a", "b", "c", "d"} {
			rg.swap(mk(want))
			time.Sleep(10 * time.Second)
		}
		if n := w.count("f"); n > 1200 {
			t.Errorf("%d runs", n)
		}
		if n := warnings(log); n != 1 {
			t.Errorf("%d warnings:\n%s", n, log)
		}
	})
}
