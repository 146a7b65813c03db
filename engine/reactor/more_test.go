package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// batched is a fake that runs in batches.
type batched struct {
	fake
	group string
	batch func(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome
}

func (b *batched) GroupKey() string     { return b.group }
func (b *batched) Cmp(engine.Res) error { return nil }
func (b *batched) CheckApplyBatch(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
	var names []string
	for _, m := range members {
		defer b.w.enter(m.Name())()
		names = append(names, m.Name())
	}
	slices.Sort(names)
	b.w.note(fmt.Sprintf("batch %v %t", names, apply))
	return b.batch(ctx, apply, members)
}

func allOK(_ context.Context, _ bool, members []engine.Res) []engine.Outcome {
	outs := make([]engine.Outcome, len(members))
	for i := range outs {
		outs[i].OK = true
	}
	return outs
}

// slowGate lets what is below it become ready at one moment.
func slowGate(w *stage) *fake {
	return &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) {
		time.Sleep(time.Second)
		return true, nil
	}}
}

func TestBatchRunsReadyMembersInOneCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Parallel: 1})
		defer rg.close()
		d := newDecl(t).add("gate", slowGate(w))
		for _, n := range []string{"a", "b", "c", "late"} {
			d.add(n, &batched{fake: fake{w: w}, group: "g", batch: allOK})
		}
		d.add("alone", &batched{fake: fake{w: w}, group: "", batch: allOK})
		rg.swap(d.edges("gate>a", "gate>b", "gate>c", "c>late"))
		rg.rest()
		got := only(w.order(), "batch ")
		if !slices.Equal(got, []string{"batch [a b c] false"}) {
			t.Errorf("batches %q", got)
		}
		if w.count("late") != 1 || w.count("alone") != 1 {
			t.Error("single members run by CheckApply")
		}
	})
}

// TestBatchWaitsForStartingMembers: twenty packages of a new graph are one
// transaction, however long each Watch takes to start; one that never does fails,
// and keeps the others no longer.
func TestBatchWaitsForStartingMembers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{StartTimeout: 10 * time.Second})
		defer rg.close()
		d := func(starts map[string]time.Duration) *decl {
			d := newDecl(t)
			for _, n := range slices.Sorted(maps.Keys(starts)) {
				d.add(n, &batched{group: "g", batch: allOK, fake: fake{w: w, watch: func(ctx context.Context, f *fake) error {
					select {
					case <-time.After(starts[n]):
						f.init.Running()
						<-ctx.Done()
					case <-ctx.Done():
					}
					return nil
				}}})
			}
			return d
		}
		rg.swap(d(map[string]time.Duration{"a": 0, "b": time.Second, "c": 2 * time.Second}))
		rg.rest()
		if got := only(w.order(), "batch "); !slices.Equal(got, []string{"batch [a b c] false"}) {
			t.Errorf("batches %q", got)
		}
		start := time.Now()
		rg.swap(d(map[string]time.Duration{"a": 0, "b": 0, "c": 0, "d": 0, "mute": time.Hour}))
		rg.rest()
		if w.count("d") != 1 || w.count("mute") != 0 {
			t.Errorf("d ran %d times, mute %d times", w.count("d"), w.count("mute"))
		}
		if took := time.Since(start); took < 10*time.Second || took > 20*time.Second {
			t.Errorf("it took %s beside a Watch that says nothing", took)
		}
	})
}

func TestBatchOutcomesAreEachMembersOwn(t *testing.T) {
	for name, c := range map[string]struct {
		batch  func(context.Context, bool, []engine.Res) []engine.Outcome
		failed int
		want   string
	}{
		"one fails": {func(_ context.Context, _ bool, ms []engine.Res) []engine.Outcome {
			outs := make([]engine.Outcome, len(ms))
			for i, m := range ms {
				if m.Name() == "b" {
					outs[i].Err = errors.New("b is bad")
				} else {
					outs[i].OK = true
				}
			}
			return outs
		}, 1, "b is bad"},
		"panic":     {func(context.Context, bool, []engine.Res) []engine.Outcome { panic("boom") }, 3, "boom"},
		"too short": {func(context.Context, bool, []engine.Res) []engine.Outcome { return nil }, 3, "returned 0 outcomes"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{})
				defer rg.close()
				d := newDecl(t).add("gate", slowGate(w))
				for _, n := range []string{"a", "b", "c"} {
					d.add(n, &batched{fake: fake{w: w}, group: "g", batch: c.batch})
				}
				rg.swap(d.edges("gate>a", "gate>b", "gate>c"))
				if n := rg.rest()[resgraph.StateFailed]; n != c.failed {
					t.Errorf("%d failed, want %d", n, c.failed)
				}
				if err := rg.state("b").Err; err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func TestBatchKeepsLaw7(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		done := map[string]bool{"b": true}
		batch := func(_ context.Context, apply bool, ms []engine.Res) []engine.Outcome {
			outs := make([]engine.Outcome, len(ms))
			for i, m := range ms {
				outs[i].OK = done[m.Name()]
				done[m.Name()] = done[m.Name()] || apply
			}
			return outs
		}
		d := newDecl(t).add("gate", slowGate(w))
		for _, n := range []string{"a", "b"} {
			d.add(n, &batched{fake: fake{w: w}, group: "g", batch: batch})
		}
		var got []string
		for _, n := range []string{"ra", "rb"} {
			d.add(n, &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				if f.init.Refresh() {
					got = append(got, f.Name())
				}
				return true, nil
			}})
		}
		rg.swap(d.edges("gate>a", "gate>b", "a!ra", "b!rb"))
		rg.rest()
		if !slices.Equal(got, []string{"ra"}) {
			t.Errorf("refreshed %v: only what changed notifies", got)
		}
		if log := only(w.order(), "batch "); !slices.Equal(log, []string{"batch [a b] false", "batch [a] true"}) && !slices.Equal(log, []string{"batch [a b] false"}) {
			t.Errorf("calls %q", log)
		}
		if n := rg.store.size(); n != 0 {
			t.Errorf("%d records left", n)
		}
	})
}

// sleepyHost runs commands that take a second.
type sleepyHost struct{ nullHost }

func (sleepyHost) Command(ctx context.Context, _ engine.Command) (*engine.Result, error) {
	select {
	case <-time.After(time.Second):
		return &engine.Result{}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func TestWaitingInHostGivesTheSlotBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Parallel: 2, Host: sleepyHost{}})
		defer rg.close()
		d := newDecl(t)
		for i := range 50 {
			d.add(fmt.Sprint(i), &fake{w: w, check: func(ctx context.Context, f *fake, _ bool) (bool, error) {
				_, err := f.init.Host.Command(ctx, engine.Command{})
				return true, err
			}})
		}
		start := time.Now()
		rg.swap(d)
		if c := rg.rest(); c[resgraph.StateOK] != 50 {
			t.Errorf("counts %v", c)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("fifty commands of a second took %s", took)
		}
	})
}

func TestCommandOfAWatchTakesNoSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Parallel: 1, Host: sleepyHost{}})
		defer rg.close()
		f := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
			f.init.Running()
			for ctx.Err() == nil {
				_, _ = f.init.Host.Command(ctx, engine.Command{})
			}
			return nil
		}, check: func(context.Context, *fake, bool) (bool, error) {
			time.Sleep(10 * time.Second)
			return true, nil
		}}
		other := &fake{w: w, check: f.check}
		rg.swap(newDecl(t).add("f", f).add("other", other))
		rg.rest()
		if w.most != 1 {
			t.Errorf("%d runs at once, want 1: a command of Watch gave a slot back", w.most)
		}
	})
}

// sharing is a fake that shares.
type sharing struct {
	fake
	key   string
	value *commons
	err   error
}

func (s *sharing) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return s.key, func(context.Context, engine.Host) (engine.Shared, error) {
		s.w.note("open " + s.key)
		return s.value, s.err
	}
}

// commons notes what is called; the functions may be nil.
type commons struct {
	w                 *stage
	begin, end, close func()
}

func (c *commons) note(what string, then func()) {
	if then != nil {
		then()
	}
	c.w.note(what)
}

func (c *commons) Begin()       { c.note("begin", c.begin) }
func (c *commons) End()         { c.note("end", c.end) }
func (c *commons) Close() error { c.note("close", c.close); return nil }

func TestSharedLivesOncePerKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		com := &commons{w: w}
		ev := make(chan struct{})
		mk := func() *sharing {
			s := &sharing{fake: fake{w: w}, key: "k", value: com}
			s.check = func(_ context.Context, f *fake, _ bool) (bool, error) {
				if f.init.Shared != engine.Shared(com) {
					t.Error("Init.Shared is another one")
				}
				time.Sleep(time.Second)
				return true, nil
			}
			return s
		}
		a := mk()
		a.watch = eventer(ev)
		rg.swap(newDecl(t).add("a", a).add("b", mk()).add("c", mk()).edges("a>b", "b>c"))
		rg.rest()
		ev <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		rg.close()
		var got []string
		for _, l := range w.order() {
			if l == "begin" || l == "end" || l == "close" || l == "open k" {
				got = append(got, l)
			}
		}
		if want := []string{"open k", "begin", "end", "begin", "end", "close"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestSharedWaitsForWhatStarts: End is not called between one vertex and another that
// was not heard of yet.
func TestSharedWaitsForWhatStarts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		com := &commons{w: w}
		a, b := &sharing{fake: fake{w: w}, key: "k", value: com}, &sharing{fake: fake{w: w}, key: "k", value: com}
		b.watch = func(ctx context.Context, f *fake) error {
			time.Sleep(time.Second)
			f.init.Running()
			<-ctx.Done()
			return nil
		}
		rg.swap(newDecl(t).add("a", a).add("b", b))
		rg.rest()
		synctest.Wait()
		rg.close()
		log := slices.DeleteFunc(w.order(), func(s string) bool { return s != "begin" && s != "end" })
		if want := []string{"begin", "end"}; !slices.Equal(log, want) {
			t.Errorf("%v, want %v", log, want)
		}
	})
}

func TestSharedThatCannotBeOpened(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		d := newDecl(t).add("a", &sharing{fake: fake{w: w}, key: "k", err: errors.New("no database")})
		if err := rg.r.Swap(t.Context(), d.g); err == nil || err.Error() != "fake[a]: opening what it shares: no database" {
			t.Errorf("Swap returned %v", err)
		}
	})
}

// TestSharedEndsAlthoughSomethingIsBlocked: what waits behind a failure does not
// keep End from coming.
func TestSharedEndsAlthoughSomethingIsBlocked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		com := &commons{w: w}
		bad := &fake{w: w, check: always(false, errors.New("no"))}
		rg.swap(newDecl(t).add("bad", bad).
			add("blocked", &sharing{fake: fake{w: w}, key: "k", value: com}).
			add("fine", &sharing{fake: fake{w: w}, key: "k", value: com}).edges("bad>blocked"))
		rg.rest()
		if !slices.Contains(w.order(), "end") {
			t.Errorf("End was not called: %v", w.order())
		}
	})
}

func TestHiddenIsNeverTouched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		h := &fake{w: w, watch: func(context.Context, *fake) error { panic("Watch") }}
		h.MetaParams().Hidden = true
		rg.swap(newDecl(t).add("h", h).add("below", &fake{w: w}).edges("h>below"))
		if c := rg.rest(); c[resgraph.StateOK] != 2 {
			t.Errorf("counts %v", c)
		}
		rg.close()
		if got := w.order(); !slices.Equal(got, []string{"init below", "run below", "cleanup below"}) {
			t.Errorf("did %v", got)
		}
	})
}

func TestSweepFindsWhatNoEventTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Sweep: time.Hour})
		defer rg.close()
		d := newDecl(t)
		for i := range 100 {
			d.add(fmt.Sprint(i), &fake{w: w})
		}
		rg.swap(d)
		rg.rest()
		time.Sleep(70 * time.Minute)
		synctest.Wait()
		for i := range 100 {
			if n := w.count(fmt.Sprint(i)); n < 2 || n > 3 {
				t.Errorf("%d ran %d times", i, n)
			}
		}
	})
}

func TestOnceStartsNoWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		dir := t.TempDir()
		rg := newRig(t, reactor.Options{Once: true, ReadOnly: true, Noop: reactor.NoopAll, StateDir: dir + "/none"})
		defer rg.close()
		f := &fake{w: w, watch: func(context.Context, *fake) error { panic("Watch") }, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			_, err := f.init.VarDir("")
			return false, err
		}}
		f.MetaParams().Poll = time.Second
		rg.swap(newDecl(t).add("f", f))
		if c := rg.rest(); c[resgraph.StateWouldChange] != 1 {
			t.Errorf("counts %v", c)
		}
		time.Sleep(time.Hour)
		if w.count("f") != 1 {
			t.Errorf("%d runs", w.count("f"))
		}
	})
}

func TestRunChecksItsOptions(t *testing.T) {
	if _, err := reactor.New(reactor.Options{}); err == nil {
		t.Error("New without a host was taken")
	}
}

func TestCallsAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		rg.swap(newDecl(t).add("a", &fake{w: w}))
		rg.rest()
		rg.close()
		if err := rg.r.Swap(t.Context(), newDecl(t).g); !errors.Is(err, reactor.ErrStopped) {
			t.Errorf("Swap returned %v", err)
		}
		if _, err := rg.r.Counts(t.Context()); !errors.Is(err, reactor.ErrStopped) {
			t.Errorf("Counts returned %v", err)
		}
		if rest, _ := rg.r.Final(); rest.Counts[resgraph.StateOK] != 1 || !rest.Converged {
			t.Errorf("Final %+v", rest)
		}
	})
}

// TestEventsAreNeverLost: whatever interleaving of events, swaps and failures
// there is, in the end every vertex has looked at the newest state of its world.
func TestEventsAreNeverLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Parallel: 4})
		defer rg.close()
		const n = 30
		var mu sync.Mutex
		version, seen := [n]int{}, [n]int{}
		evs := [n]chan struct{}{}
		mk := func(gen int) *decl {
			d := newDecl(t)
			for i := range n {
				f := &lapping{fake: fake{w: w, watch: eventer(evs[i])}}
				if i%5 == gen%5 {
					f.Want = fmt.Sprint(gen)
				}
				f.MetaParams().Retry, f.MetaParams().Delay = -1, time.Second
				f.check = func(context.Context, *fake, bool) (bool, error) {
					mu.Lock()
					v := version[i]
					mu.Unlock()
					time.Sleep(time.Duration(i%7) * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					seen[i] = v
					if (v+i)%11 == 3 && w.count(fmt.Sprint(i))%3 == 0 {
						return false, errors.New("now and then")
					}
					return true, nil
				}
				d.add(fmt.Sprint(i), f)
				for j := range i {
					if (i*7+j*3)%10 == 0 {
						d.edges(fmt.Sprintf("%d>%d", j, i))
					}
				}
			}
			return d
		}
		for i := range evs {
			evs[i] = make(chan struct{})
		}
		rg.swap(mk(0))
		for round := range 300 {
			i := (round * 13) % n
			mu.Lock()
			version[i]++
			mu.Unlock()
			evs[i] <- struct{}{}
			if round%10 == 0 {
				rg.swap(mk(round / 10))
			}
			time.Sleep(time.Duration(round%3) * time.Millisecond)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for i := range n {
			if seen[i] != version[i] {
				t.Errorf("vertex %d saw version %d of %d", i, seen[i], version[i])
			}
		}
		if len(w.overlap) > 0 {
			t.Errorf("overlaps %v", w.overlap)
		}
	})
}

// TestFinalWhileLookedAtAgain: what would change, or has failed, is not forgotten because an
// event has it looked at again at the very end.
func TestFinalWhileLookedAtAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		var slow atomic.Bool
		f := &fake{w: w, check: func(ctx context.Context, _ *fake, _ bool) (bool, error) {
			if slow.Load() {
				<-ctx.Done()
			}
			return false, errors.New("broken")
		}}
		rg.swap(newDecl(t).add("a", f))
		if c := rg.rest(); c[resgraph.StateFailed] != 1 {
			t.Fatalf("at rest %v", c)
		}
		slow.Store(true)
		f.init.Event()
		synctest.Wait()
		rg.close()
		if rest, _ := rg.r.Final(); rest.Counts[resgraph.StateFailed] != 1 || !rest.Converged {
			t.Errorf("in the end %+v", rest)
		}
	})
}

// TestFindingQ3WaitTakesNoSlot: a run that waits for time to pass, as a service has to stay up, keeps no other one waiting.
func TestFindingQ3WaitTakesNoSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Parallel: 1})
		defer rg.close()
		d := newDecl(t)
		for i := range 50 {
			d.add(fmt.Sprintf("%d", i), &fake{w: newWorld(), check: func(ctx context.Context, f *fake, _ bool) (bool, error) {
				defer hosting.Waits(ctx, f.init.Host)()
				return true, clock.Sleep(ctx, engine.ClockOf(f.init.Host), time.Second)
			}})
		}
		start := time.Now()
		rg.swap(d)
		if c := rg.rest(); c[resgraph.StateOK] != 50 {
			t.Errorf("counts %v", c)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("fifty waits of a second took %s", took)
		}
	})
}
