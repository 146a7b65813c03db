package reactor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestRewatchWaitsForALateWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{StartTimeout: time.Second})
		var now, most atomic.Int32
		mk := func() *decl {
			f := &fake{w: newWorld()}
			f.watch = func(ctx context.Context, f *fake) error {
				n := now.Add(1)
				if n > most.Load() {
					most.Store(n)
				}
				defer now.Add(-1)
				time.Sleep(10 * time.Second) // ignores the end of its context for a while
				return errors.New("x")
			}
			f.MetaParams().Rewatch = true
			return newDecl(t).add("a", f)
		}
		rg.swap(mk())
		time.Sleep(2 * time.Second)
		rg.swap(mk())
		time.Sleep(time.Second)
		if most.Load() > 1 {
			t.Errorf("LAW 4: two Watches at once")
		}
		rg.stop()
		select {
		case err := <-rg.done:
			t.Log("ended", err)
		case <-time.After(time.Hour):
			t.Error("Run does not end")
			rg.r.Abandon()
			<-rg.done
		}
	})
}

func TestRewatchForgetsRetries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := &memStore{}
		rg := newRig(t, reactor.Options{Store: store})
		bad := atomic.Bool{}
		bad.Store(true)
		mk := func() *decl {
			f := &fake{w: newWorld()}
			f.check = func(context.Context, *fake, bool) (bool, error) {
				if bad.Load() {
					return false, errors.New("x")
				}
				return true, nil
			}
			f.MetaParams().Rewatch = true
			f.MetaParams().RetryReset = true
			f.MetaParams().Retry = 3
			f.MetaParams().Delay = time.Second
			return newDecl(t).add("a", f)
		}
		rg.swap(mk())
		time.Sleep(time.Minute)
		bad.Store(false)
		rg.swap(mk())
		time.Sleep(time.Minute)
		store.mu.Lock()
		if got := string(store.recs["retry"]["fake[a]"]); got != "" {
			t.Errorf("it is ok, and the store still has %q retries", got)
		}
		store.mu.Unlock()
		rg.close()
	})
}

func TestPauseAgainAtItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := &memStore{}
		rg := newRig(t, reactor.Options{Store: store})
		defer rg.close()
		rg.swap(newDecl(t).add("a", &fake{w: newWorld()}))
		ctx := t.Context()
		_ = rg.r.Pause(ctx, reactor.Pause{Resource: "fake[a]", Until: time.Now().Add(time.Second)})
		time.Sleep(1500 * time.Millisecond)
		if err := rg.r.Pause(ctx, reactor.Pause{Resource: "fake[a]", Until: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if store.keys("pause") == "" {
			t.Errorf("the second pause (in effect: %v) has no record any more", rg.state("a").Pause != nil)
		}
	})
}

func TestIntentOfANameThatWasGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := &memStore{recs: map[string]map[string][]byte{"intent": {"fake[a]": {1}}}}
		rg := newRig(t, reactor.Options{Store: store})
		defer rg.close()
		w := newWorld()
		rg.swap(newDecl(t).add("other", &fake{w: w}))
		a := &fake{w: w, check: func(ctx context.Context, _ *fake, apply bool) (bool, error) {
			if apply {
				time.Sleep(10 * time.Second) // the machine may die here
			}
			return false, nil
		}}
		rg.swap(newDecl(t).add("other", &fake{w: w}).add("a", a).add("b", &fake{w: w}).edges("a!b"))
		time.Sleep(100 * time.Millisecond)
		time.Sleep(5 * time.Second)
		if store.keys("intent") == "" {
			t.Error("it is being altered and has no intent in the store")
		}
		time.Sleep(10 * time.Second)
	})
}

func TestTriggersOfAToldRunStay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{MaxChanges: reactor.Budget{Most: 1, Within: time.Hour}})
		defer rg.close()
		f, tick := drifting(newWorld(), same("wrong"))
		defer close(tick)
		rg.swap(newDecl(t).add("a", f))
		rg.rest()
		tick <- struct{}{}
		synctest.Wait()
		runs := rg.runs("a")
		last := runs[len(runs)-1]
		before := fmt.Sprint(last.Triggers)
		for range 5 {
			tick <- struct{}{}
		}
		if got := fmt.Sprint(last.Triggers); got != before { // reads without a lock: -race
			t.Logf("early %s", got)
		}
		synctest.Wait()
		if got := fmt.Sprint(last.Triggers); got != before {
			t.Errorf("the triggers of a told run went from %s to %s", before, got)
		}
	})
}

func TestResumeMeetsARefusal(t *testing.T) {
	stuck := 0
	for range 40 {
		bubble(t, func(t *testing.T) {
			var block atomic.Bool
			release := make(chan struct{})
			rg := newRig(t, reactor.Options{MaxChanges: reactor.Budget{Most: 1, Within: time.Hour}, Parallel: 8, Heartbeat: func() {
				if block.Load() {
					<-release
				}
			}})
			defer rg.close()
			f, tick := drifting(newWorld(), same("wrong"))
			defer close(tick)
			g, tock := drifting(newWorld(), same("wrong"))
			defer close(tock)
			check := g.check
			slow := atomic.Bool{}
			g.check = func(ctx context.Context, f *fake, apply bool) (bool, error) {
				if slow.Load() {
					time.Sleep(1500 * time.Millisecond)
				}
				return check(ctx, f, apply)
			}
			rg.swap(newDecl(t).add("a", f).add("b", g))
			rg.rest()
			for range 2 {
				_ = rg.r.Resume(t.Context(), "")
				synctest.Wait()
			}
			tick <- struct{}{} // uses the budget up
			synctest.Wait()
			slow.Store(true)
			tock <- struct{}{}
			synctest.Wait()
			block.Store(true)
			time.Sleep(3 * time.Second) // b has met the empty budget; the loop has not heard of it
			go rg.r.Resume(t.Context(), "")
			synctest.Wait()
			block.Store(false)
			close(release)
			time.Sleep(time.Minute)
			if rg.state("b").State == resgraph.StateHeld {
				stuck++
			}
		})
	}
	if stuck > 0 {
		t.Errorf("%d of 40 times it is held though everything was resumed", stuck)
	}
}

func TestPauseForAges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		rg.swap(newDecl(t).add("a", &fake{w: newWorld()}))
		time.Sleep(time.Second)
		if err := rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[a]", Until: time.Now().AddDate(400, 0, 0)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if rg.state("a").Pause == nil {
			t.Errorf("a pause of 400 years is over at once")
		}
	})
}

func TestRealizeOfWhatIsPaused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		f := &fake{w: newWorld(), check: always(false, errors.New("x"))}
		f.MetaParams().Realize = true
		f.MetaParams().Retry = -1
		f.MetaParams().Delay = time.Second
		rg.swap(newDecl(t).add("a", f))
		done := make(chan error, 1)
		go func() { done <- rg.r.Swap(t.Context(), newDecl(t).add("b", &fake{w: newWorld()}).g) }()
		time.Sleep(time.Hour)
		_ = rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[a]"})
		time.Sleep(time.Hour)
		select {
		case err := <-done:
			t.Log(err)
		default:
			t.Errorf("no graph is taken, it is %s although paused", rg.state("a").State)
		}
	})
}

func TestRetriesOfWhatHasLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := &memStore{}
		rg := newRig(t, reactor.Options{Store: store})
		f := &fake{w: newWorld(), check: always(false, errors.New("x"))}
		f.MetaParams().Retry = 5
		f.MetaParams().Delay = time.Hour
		rg.swap(newDecl(t).add("a", f))
		synctest.Wait()
		rg.swap(newDecl(t).add("b", &fake{w: newWorld()}))
		time.Sleep(time.Minute)
		if got := store.keys("retry"); got != "" {
			t.Errorf("it has left, and the store keeps its retries: %s", got)
		}
		rg.close()
	})
}

type sub struct{ c chan struct{} }

func (s sub) C() <-chan struct{} { return s.c }
func (s sub) Cause() events.Cause {
	return events.Cause{Source: "inotify", Path: "/run/hunter2-secret/x", Merged: 1}
}
func (s sub) Close() {}

type subHost struct {
	nullHost
	s sub
}

func (h subHost) Watch(context.Context, []string, events.Options) (events.Subscription, error) {
	return h.s, nil
}

func TestSecretPathOfAnEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := subHost{s: sub{make(chan struct{}, 1)}}
		rg := newRig(t, reactor.Options{Host: h})
		defer rg.close()
		from := &sender{fake{w: newWorld(), check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			return true, f.init.Send(sends{Secret: schema.NewSecret("/run/hunter2-secret")})
		}}}
		to := &fake{w: newWorld(), watch: func(ctx context.Context, f *fake) error {
			s, err := f.init.Host.Watch(ctx, []string{f.Want}, events.Options{})
			if err != nil {
				return err
			}
			defer s.Close()
			f.init.Running()
			for {
				select {
				case <-s.C():
					f.init.Event()
				case <-ctx.Done():
					return nil
				}
			}
		}}
		rg.swap(newDecl(t).add("from", from).add("to", to, "want=fake[from].secret").edges("from>to"))
		rg.rest()
		h.s.c <- struct{}{}
		synctest.Wait()
		if text := fmt.Sprint(rg.runs("to")); strings.Contains(text, "hunter2") {
			t.Errorf("shown: %s", text)
		}
	})
}

type opener struct {
	fake
	Pass schema.Secret `yaml:"pass"`
}

func (o *opener) Cmp(engine.Res) error { return nil }
func (o *opener) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return "db", func(context.Context, engine.Host) (engine.Shared, error) {
		return nil, errors.New("dial postgres://user:" + o.Pass.Reveal() + "@db: refused")
	}
}

func TestSecretInWhatIsShared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		o := &opener{fake: fake{w: newWorld()}, Pass: schema.NewSecret("hunter2")}
		err := rg.r.Swap(t.Context(), newDecl(t).add("a", o).g)
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("shown: %v", err)
		}
	})
}

func TestTriggersDuringAHeldRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{MaxChanges: reactor.Budget{Most: 1, Within: time.Hour}})
		defer rg.close()
		f, tick := drifting(newWorld(), same("wrong"))
		defer close(tick)
		check := f.check
		slow := atomic.Bool{}
		f.check = func(ctx context.Context, f *fake, apply bool) (bool, error) {
			if slow.Load() {
				time.Sleep(time.Second)
			}
			return check(ctx, f, apply)
		}
		rg.swap(newDecl(t).add("a", f))
		rg.rest()
		slow.Store(true)
		tick <- struct{}{}
		time.Sleep(500 * time.Millisecond)
		for range 3 {
			tick <- struct{}{}
			synctest.Wait()
		}
		time.Sleep(10 * time.Second)
		_ = rg.r.Resume(t.Context(), "")
		time.Sleep(10 * time.Second)
		runs := rg.runs("a")
		n := 0
		for _, tr := range runs[len(runs)-1].Triggers {
			if tr.Cause == reactor.CauseEvent {
				n = tr.Merged
			}
		}
		if n != 4 {
			t.Errorf("%d events of 4 are told", n)
		}
	})
}

type batcher struct {
	fake
}

func (b *batcher) GroupKey() string     { return "k" }
func (b *batcher) Cmp(engine.Res) error { return nil }
func (b *batcher) CheckApplyBatch(ctx context.Context, apply bool, ms []engine.Res) []engine.Outcome {
	outs := make([]engine.Outcome, len(ms))
	for i, m := range ms {
		mm := m.(*batcher)
		outs[i].OK, outs[i].Err = mm.check(ctx, &mm.fake, apply)
	}
	return outs
}

func TestBatchGivesTheBudgetBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := &memStore{}
		rg := newRig(t, reactor.Options{Store: store, MaxChanges: reactor.Budget{Most: 4, Within: time.Hour}})
		defer rg.close()
		w := newWorld()
		d := newDecl(t)
		store.mu.Lock()
		store.fail = errors.New("no disk")
		store.mu.Unlock()
		for i := range 3 {
			right := false
			b := &batcher{fake: fake{w: w, check: func(_ context.Context, f *fake, apply bool) (bool, error) {
				if right {
					return true, nil
				}
				f.init.Change(engine.Change{Field: "want", From: "a", To: "b"})
				right = apply
				return false, nil
			}}}
			b.MetaParams().Retry = -1
			b.MetaParams().Delay = time.Second
			d.add(fmt.Sprint("b", i), b)
		}
		d.add("t", &fake{w: w}).edges("b0!t", "b1!t", "b2!t")
		rg.swap(d)
		time.Sleep(10 * time.Second)
		store.mu.Lock()
		store.fail = nil
		store.mu.Unlock()
		time.Sleep(10 * time.Second)
		c, _ := rg.r.Counts(t.Context())
		if c[resgraph.StateHeld] > 0 {
			t.Errorf("nothing was altered while the disk was away, and now %d are held", c[resgraph.StateHeld])
		}
	})
}

func TestSecretOfManyLines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		rg := newRig(t, reactor.Options{Logger: textLogger(&log)})
		defer rg.close()
		var big strings.Builder
		for i := range 70000 {
			fmt.Fprintf(&big, "user%06d:hash%06d\n", i, i)
		}
		a := &keeper{fake: fake{w: newWorld()}, Pass: schema.NewSecret("hunter2-of-a")}
		b := &keeper{fake: fake{w: newWorld()}, Pass: schema.NewSecret(big.String())}
		c := &fake{w: newWorld(), check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			return false, errors.New("a command printed hunter2-of-a")
		}}
		rg.swap(newDecl(t).add("a", a).add("b", b).add("c", c))
		synctest.Wait()
		if got := fmt.Sprint(rg.state("c").Err); strings.Contains(got, "hunter2") {
			t.Errorf("shown: %s", got)
		}
	})
}

type keeper struct {
	fake
	Pass schema.Secret `yaml:"pass"`
}

func (o *keeper) Cmp(engine.Res) error { return nil }

type grouped struct {
	fake
	P *int `yaml:"p"`
}

func (g *grouped) Cmp(engine.Res) error { return errors.New("differs") }
func (g *grouped) GroupKey() string     { return fmt.Sprint(*g.P) }
func (g *grouped) CheckApplyBatch(ctx context.Context, apply bool, ms []engine.Res) []engine.Outcome {
	return make([]engine.Outcome, len(ms))
}

func TestGroupKeyPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		rg.swap(newDecl(t).add("a", &grouped{fake: fake{w: newWorld()}, P: new(1)}))
		err := rg.r.Swap(t.Context(), newDecl(t).add("a", &grouped{fake: fake{w: newWorld()}}).g)
		if _, ok := errors.AsType[*callsafe.PanicError](err); !ok {
			t.Errorf("the swap: %v", err)
		}
	})
}

// TestChangeOfACutRunIsTold: what a run has altered before a Swap cut it is in the
// history, whether the Swap succeeds or not.
func TestChangeOfACutRunIsTold(t *testing.T) {
	for _, fails := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			rg := newRig(t, reactor.Options{})
			defer rg.close()
			w := newWorld()
			right := false
			f := &fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
				if right {
					return true, nil
				}
				right = apply
				time.Sleep(time.Second) // whatever its context says
				return false, nil
			}}
			rg.swap(newDecl(t).add("a", f))
			synctest.Wait()
			next := &fake{w: w, Want: "other", check: f.check}
			if fails {
				next.initErr = func() error { return errors.New("no") }
			}
			if err := rg.r.Swap(t.Context(), newDecl(t).add("a", next).g); (err != nil) != fails {
				t.Fatalf("the swap: %v", err)
			}
			rg.rest()
			changed := 0
			for _, r := range rg.runs("a") {
				if r.Changed {
					changed++
				}
			}
			if changed != 1 {
				t.Errorf("swap fails %t: %d changes are told of 1", fails, changed)
			}
		})
	}
}

// TestEdgeThatComesWhileItsSourceRuns: the change that ends after the edge took
// effect refreshes, once.
func TestEdgeThatComesWhileItsSourceRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		w := newWorld()
		refreshed, right := 0, false
		graph := func(edges ...string) *decl {
			src := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) {
				time.Sleep(time.Second)
				defer func() { right = true }()
				return right, nil
			}}
			dst := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				if f.init.Refresh() {
					refreshed++
					return false, nil
				}
				return true, nil
			}}
			return newDecl(t).add("src", src).add("dst", dst).edges(edges...)
		}
		rg.swap(graph("src>dst"))
		time.Sleep(time.Millisecond)
		rg.swap(graph("src!dst"))
		rg.rest()
		time.Sleep(time.Minute)
		synctest.Wait()
		if refreshed != 1 || rg.store.size() != 0 {
			t.Errorf("refreshed %d times, %d records are left", refreshed, rg.store.size())
		}
	})
}

// TestBudgetOfWhatFailsAgainAndAgain: it is charged once, until it succeeds.
func TestBudgetOfWhatFailsAgainAndAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{MaxChanges: reactor.Budget{Most: 2, Within: 24 * time.Hour}})
		defer rg.close()
		w := newWorld()
		bad := &fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
			if apply {
				return false, errors.New("no")
			}
			return false, nil
		}}
		bad.MetaParams().Retry, bad.MetaParams().Delay = -1, time.Second
		f, tick := drifting(w, same("wrong"))
		defer close(tick)
		rg.swap(newDecl(t).add("bad", bad).add("good", f))
		time.Sleep(time.Hour)
		if s := rg.state("good"); s.State != resgraph.StateOK {
			t.Errorf("the good one is %s", s.State)
		}
		tick <- struct{}{}
		synctest.Wait()
		if s := rg.state("good"); s.State != resgraph.StateHeld {
			t.Errorf("after a change more than allowed it is %s", s.State)
		}
	})
}

// panicky panics when it is told of a refresh.
type panicky struct{ fake }

func (*panicky) SetRefresh(bool) { panic("no") }

// TestSetRefreshPanics: that is the failure of one vertex.
func TestSetRefreshPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		w := newWorld()
		rg.swap(newDecl(t).add("a", &panicky{fake{w: w}}).add("b", &fake{w: w}))
		if c := rg.rest(); c[resgraph.StateFailed] != 1 || c[resgraph.StateOK] != 1 {
			t.Errorf("counts %v", c)
		}
	})
}

// stuck is a store that answers no Commit before its context ends.
type stuck struct{ memStore }

func (*stuck) Commit(ctx context.Context, _ []records.Write) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestStoreThatHangs: after Abandon, Run does not wait for it.
func TestStoreThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Store: &stuck{}})
		f := &fake{w: newWorld(), check: always(false, errors.New("no"))}
		f.MetaParams().Retry, f.MetaParams().Delay = -1, time.Hour
		rg.swap(newDecl(t).add("a", f))
		rg.rest()
		rg.stop()
		time.Sleep(time.Minute)
		rg.r.Abandon()
		start := time.Now()
		if err := <-rg.done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("it took %s", d)
		}
	})
}
