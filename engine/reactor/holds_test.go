package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// drifting is a fake that differs by each tick, and says from what.
func drifting(w *stage, from func() any) (*fake, chan<- struct{}) {
	f, tick := ticker(w)
	differs := true
	watch := f.watch
	f.watch = func(ctx context.Context, f *fake) error { return watch(ctx, f) }
	c := make(chan struct{})
	go func() {
		for range c {
			w.mu.Lock()
			differs = true
			w.mu.Unlock()
			tick <- struct{}{}
		}
	}()
	f.check = func(_ context.Context, f *fake, apply bool) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !differs {
			return true, nil
		}
		f.init.Change(engine.Change{Field: "want", From: from(), To: "right"})
		differs = !apply
		return false, nil
	}
	return f, c
}

func same(x any) func() any { return func() any { return x } }

// TestBudget: exactly as many changes are made as are allowed; what wants more is
// held and says what it would change; what wants nothing goes on; Resume lets all
// go on.
func TestBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{MaxChanges: reactor.Budget{Most: 3, Within: time.Minute}, Parallel: 4})
		defer rg.close()
		w := newWorld()
		d := newDecl(t)
		for i := range 10 {
			f, tick := drifting(w, same("wrong"))
			defer close(tick)
			d.add(fmt.Sprint("bad", i), f)
			d.add(fmt.Sprint("good", i), &fake{w: w})
		}
		d.add("below", &fake{w: w})
		for i := range 10 {
			d.edges(fmt.Sprintf("bad%d>below", i))
		}
		rg.swap(d)
		c := rg.rest()
		if c[resgraph.StateHeld] != 7 || c[resgraph.StateOK] != 13 || c[resgraph.StateBlocked] != 1 {
			t.Fatalf("counts %v", c)
		}
		held := ""
		for i := range 10 {
			if s := rg.state(fmt.Sprint("bad", i)); s.State == resgraph.StateHeld {
				held = fmt.Sprint("bad", i)
				if s.Held == nil || s.Held.Limit != reactor.LimitBudget || s.Held.For != 0 {
					t.Errorf("%s is held by %+v", held, s.Held)
				}
			}
		}
		runs := rg.runs(held)
		if last := runs[len(runs)-1]; last.State != resgraph.StateHeld || len(last.Changes) != 1 || last.Changed {
			t.Errorf("the run of %s: %+v", held, last)
		}
		time.Sleep(time.Hour) // it goes on only when told
		if c, _ := rg.r.Counts(t.Context()); c[resgraph.StateHeld] != 7 {
			t.Fatalf("counts %v", c)
		}
		if err := rg.r.Resume(t.Context(), "fake["+held+"]"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c, _ := rg.r.Counts(t.Context()); c[resgraph.StateHeld] != 6 {
			t.Errorf("counts %v after one was resumed", c)
		}
		for _, want := range []int{3, 0} {
			if err := rg.r.Resume(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if c, _ := rg.r.Counts(t.Context()); c[resgraph.StateHeld] != want {
				t.Errorf("counts %v, want %d held", c, want)
			}
		}
		if s := rg.state("below"); s.State != resgraph.StateOK {
			t.Errorf("what is below is %s", s.State)
		}
	})
}

// TestBudgetWithin: changes that are long ago count no more.
func TestBudgetWithin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{MaxChanges: reactor.Budget{Most: 2, Within: time.Minute}})
		defer rg.close()
		f, tick := drifting(newWorld(), same("wrong"))
		defer close(tick)
		rg.swap(newDecl(t).add("a", f))
		for range 10 {
			time.Sleep(31 * time.Second)
			tick <- struct{}{}
		}
		synctest.Wait()
		if s := rg.state("a"); s.State != resgraph.StateOK || s.Changed != 11 {
			t.Errorf("it is %s and has changed %d times", s.State, s.Changed)
		}
		tick <- struct{}{}
		synctest.Wait()
		tick <- struct{}{}
		synctest.Wait()
		if s := rg.state("a"); s.State != resgraph.StateHeld {
			t.Errorf("it is %s", s.State)
		}
	})
}

// TestBudgetShare: a share is of the graph that runs, and one change at least.
func TestBudgetShare(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b, err := reactor.ParseBudget("20%/1h")
		if err != nil {
			t.Fatal(err)
		}
		rg := newRig(t, reactor.Options{MaxChanges: b})
		defer rg.close()
		w := newWorld()
		d := newDecl(t)
		for i := range 10 {
			f, tick := drifting(w, same("wrong"))
			defer close(tick)
			d.add(fmt.Sprint(i), f)
		}
		rg.swap(d)
		if c := rg.rest(); c[resgraph.StateOK] != 2 || c[resgraph.StateHeld] != 8 {
			t.Errorf("counts %v", c)
		}
	})
}

// TestBudgetIsNotSpentOnNothing: what is right, and what an apply finds right,
// costs nothing; a failure does.
func TestBudgetIsNotSpentOnNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{MaxChanges: reactor.Budget{Most: 1, Within: time.Hour}})
		defer rg.close()
		w := newWorld()
		lies := &fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) { return apply, nil }}
		fails := &fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
			if apply {
				return false, errors.New("half done")
			}
			return false, nil
		}}
		last := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) { return false, nil }}
		last.watch = func(ctx context.Context, f *fake) error { // comes last
			time.Sleep(10 * time.Second)
			f.init.Running()
			<-ctx.Done()
			return nil
		}
		rg.swap(newDecl(t).add("a", lies).add("b", lies2(lies)).add("c", fails).add("d", last).edges("a>b", "b>c"))
		rg.rest()
		for id, want := range map[string]resgraph.State{
			"a": resgraph.StateOK, "b": resgraph.StateOK, "c": resgraph.StateFailed, "d": resgraph.StateHeld,
		} {
			if s := rg.state(id); s.State != want {
				t.Errorf("%s is %s, want %s", id, s.State, want)
			}
		}
	})
}

func lies2(f *fake) *fake { return &fake{w: f.w, check: f.check} }

func TestParseBudget(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "20/5m": "20/5m", "10%/1h": "10%/1h", "0.5%/1s": "0.5%/1s", "100%/1h": "100%/1h",
		"0/5m": "!", "20": "!", "20/": "!", "/5m": "!", "-1/5m": "!", "101%/1h": "!", "0%/1h": "!", "x%/1h": "!",
		"20/0s": "!", "20/-5m": "!", "NaN%/1h": "!", "20/5": "!",
	} {
		b, err := reactor.ParseBudget(in)
		switch {
		case want == "!" && err == nil:
			t.Errorf("%q is read as %s", in, b)
		case want == "!" && !strings.Contains(err.Error(), "budget"):
			t.Errorf("%q: %v", in, err)
		case want != "!" && (err != nil || b.String() != want):
			t.Errorf("%q is read as %s, %v", in, b, err)
		}
	}
}

func testFlapping() reactor.Flapping {
	return reactor.Flapping{Times: 3, Within: time.Minute, Pause: 10 * time.Second, PauseMax: 30 * time.Second}
}

// TestFlapping: who is corrected against the same value again and again is left
// alone, for longer and longer.
func TestFlapping(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Flapping: testFlapping()})
		defer rg.close()
		w := newWorld()
		f, tick := drifting(w, same("theirs"))
		defer close(tick)
		rg.swap(newDecl(t).add("a", f).add("b", &fake{w: w}).edges("a>b"))
		rg.rest()
		round := func() reactor.Status {
			tick <- struct{}{}
			synctest.Wait()
			return rg.state("a")
		}
		for i := range 2 {
			if s := round(); s.State != resgraph.StateOK {
				t.Fatalf("after %d corrections it is %s", i+1, s.State)
			}
		}
		s := round()
		if s.State != resgraph.StateHeld || s.Held.Limit != reactor.LimitFlapping || s.Held.For != 10*time.Second ||
			!strings.Contains(s.Held.Reason, "theirs") {
			t.Fatalf("after 3 corrections it is %s, %+v", s.State, s.Held)
		}
		for _, pause := range []time.Duration{10, 20, 30, 30} {
			runs := w.count("a")
			round() // seen, and not repaired
			if s := rg.state("a"); s.Held.For > pause*time.Second || s.Held.For < pause*time.Second-time.Second {
				t.Errorf("the pause is %s, want %d s", s.Held.For, pause)
			}
			time.Sleep(rg.state("a").Held.For - time.Millisecond)
			synctest.Wait()
			if w.count("a") != runs {
				t.Errorf("it was run within the pause of %d s", pause)
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if s := rg.state("a"); w.count("a") == runs || s.State != resgraph.StateHeld {
				t.Errorf("after the pause of %d s it is %s", pause, s.State)
			}
		}
		if err := rg.r.Resume(t.Context(), "fake[a]"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := rg.state("a"); s.State != resgraph.StateOK {
			t.Errorf("resumed it is %s", s.State)
		}
	})
}

// TestFindingK3LeftAloneBlocksNothing: what is below a resource that is left alone goes on, but for what
// receives a value of it. That is held until the resource has been looked at, and says so.
func TestFindingK3LeftAloneBlocksNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Flapping: testFlapping()})
		defer rg.close()
		w := newWorld()
		a, drift := drifting(w, same("theirs"))
		below, tickBelow := ticker(w)
		reads, tickReads := ticker(w)
		last, tickLast := ticker(w)
		defer close(drift)
		src := &sender{fake{w: w, watch: a.watch, check: func(ctx context.Context, f *fake, apply bool) (bool, error) {
			if err := f.init.Send(&sends{Secret: schema.NewSecret("s")}); err != nil {
				return false, err
			}
			return a.check(ctx, f, apply)
		}}}
		rg.swap(newDecl(t).add("a", src).add("below", below).add("reads", reads, "want=fake[a].secret").add("last", last).
			edges("a>below", "a>reads", "reads>last"))
		rg.rest()
		for rg.state("a").State != resgraph.StateHeld {
			drift <- struct{}{}
			synctest.Wait()
		}
		drift <- struct{}{} // seen, and not repaired
		synctest.Wait()
		before := map[string]int{}
		for _, id := range []string{"a", "below", "reads", "last"} {
			before[id] = w.count(id)
		}
		for _, c := range []chan<- struct{}{tickBelow, tickReads, tickLast} {
			c <- struct{}{}
			synctest.Wait()
		}
		for id, want := range map[string]int{"a": 0, "below": 1, "reads": 0, "last": 0} {
			if got := w.count(id) - before[id]; got != want {
				t.Errorf("%s was run %d times meanwhile, want %d", id, got, want)
			}
		}
		if s := rg.state("reads"); s.State != resgraph.StateHeld || s.Held == nil || !strings.Contains(s.Held.Reason, "a value of fake[a]") {
			t.Errorf("what receives a value is %s: %+v", s.State, s.Held)
		}
		if s := rg.state("last"); s.State != resgraph.StateBlocked || s.BlockedBy != "fake[reads]" {
			t.Errorf("what is below that is %s by %s", s.State, s.BlockedBy)
		}
		if err := rg.r.Resume(t.Context(), "fake[a]"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, id := range []string{"a", "reads", "last"} {
			if s := rg.state(id); s.State != resgraph.StateOK || w.count(id) == before[id] {
				t.Errorf("%s is %s after that", id, s.State)
			}
		}
	})
}

// TestFlappingEnds: when the other side has given up, the pause is the last one.
func TestFlappingEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Flapping: testFlapping()})
		defer rg.close()
		f, tick := drifting(newWorld(), same("theirs"))
		defer close(tick)
		rg.swap(newDecl(t).add("a", f))
		for range 4 {
			tick <- struct{}{}
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		if s := rg.state("a"); s.State != resgraph.StateOK {
			t.Fatalf("it is %s", s.State)
		}
		tick <- struct{}{}
		synctest.Wait()
		if s := rg.state("a"); s.State != resgraph.StateOK {
			t.Errorf("one correction later it is %s", s.State)
		}
	})
}

// TestFlappingInSteps: who writes what he wants in two steps is seen half way now and
// then, which is no flapping. Seen failing with every other value ending the count.
func TestFlappingInSteps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Flapping: testFlapping()})
		defer rg.close()
		n := 0
		f, tick := drifting(newWorld(), func() any { n++; return []any{"", "theirs"}[n%2] })
		defer close(tick)
		rg.swap(newDecl(t).add("a", f))
		for range 12 {
			tick <- struct{}{}
			synctest.Wait()
		}
		if s := rg.state("a"); s.State != resgraph.StateHeld || s.Changed > 6 {
			t.Errorf("it is %s, and was corrected %d times", s.State, s.Changed)
		}
	})
}

// TestNoFlapping: other values, slow corrections, and what only runs are none.
func TestNoFlapping(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Flapping: testFlapping()})
		defer rg.close()
		w := newWorld()
		n := 0
		other, tick1 := drifting(w, func() any { n++; return n / 2 }) // each value twice
		slow, tick2 := drifting(w, same("theirs"))
		runs, tick3 := ticker(w)
		runs.check = func(_ context.Context, f *fake, _ bool) (bool, error) {
			f.init.Change(engine.Change{Verb: engine.Ran})
			return false, nil
		}
		removes, tick4 := ticker(w) // another thing of the same name each time
		removed := 0
		removes.check = func(_ context.Context, f *fake, _ bool) (bool, error) {
			removed++
			f.init.Change(engine.Change{Verb: engine.Deleted, Print: fmt.Sprint(removed)})
			return false, nil
		}
		defer close(tick1)
		defer close(tick2)
		rg.swap(newDecl(t).add("other", other).add("slow", slow).add("runs", runs).add("removes", removes))
		for range 20 {
			tick1 <- struct{}{}
			tick2 <- struct{}{}
			for range 5 {
				tick3 <- struct{}{}
				tick4 <- struct{}{}
				synctest.Wait()
			}
			time.Sleep(31 * time.Second)
		}
		for _, id := range []string{"other", "slow", "runs", "removes"} {
			if s := rg.state(id); s.State != resgraph.StateOK || s.Changed < 20 {
				t.Errorf("%s is %s and has changed %d times", id, s.State, s.Changed)
			}
		}
	})
}

func TestParseFlapping(t *testing.T) {
	for in, want := range map[string]string{
		"off": "off", "25/1m": "25/1m", "2/1s": "2/1s",
		"": "!", "1/1m": "!", "x": "!", "5": "!", "5/": "!", "5/0s": "!", "5/-1s": "!", "5/10": "!",
	} {
		f, err := reactor.ParseFlapping(in)
		if want == "!" && err == nil || want != "!" && (err != nil || f.String() != want) {
			t.Errorf("%q is read as %s, %v", in, f, err)
		}
	}
}

// TestPause: one or all are left alone, for a time, and what they have missed is
// made up for.
func TestPause(t *testing.T) {
	for _, id := range []string{"", "fake[a]"} {
		bubble(t, func(t *testing.T) {
			rg := newRig(t, reactor.Options{})
			defer rg.close()
			w := newWorld()
			a, tick := drifting(w, same("wrong"))
			defer close(tick)
			rg.swap(newDecl(t).add("a", a).add("b", &fake{w: w}).edges("a>b"))
			rg.rest()
			p := reactor.Pause{Resource: id, Until: time.Now().Add(time.Hour), Reason: "by hand"}
			if err := rg.r.Pause(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			runs := w.count("a")
			tick <- struct{}{}
			time.Sleep(30 * time.Minute)
			s := rg.state("a")
			if s.State != resgraph.StatePaused || s.Pause == nil || s.Pause.Reason != "by hand" || w.count("a") != runs {
				t.Errorf("it is %s, %+v, after %d runs", s.State, s.Pause, w.count("a")-runs)
			}
			time.Sleep(31 * time.Minute)
			if s := rg.state("a"); s.State != resgraph.StateOK || w.count("a") == runs {
				t.Errorf("afterwards it is %s", s.State)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			rg.store.mu.Lock()
			defer rg.store.mu.Unlock()
			if n := len(rg.store.recs["pause"]); n != 0 {
				t.Errorf("%d records are left", n)
			}
		})
	}
}

// TestPauseHoldsBack: what is dirty and paused blocks what is dirty below it; a
// paused graph counts as at rest.
func TestPauseHoldsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		w := newWorld()
		if err := rg.r.Pause(t.Context(), reactor.Pause{Reason: "early"}); err != nil {
			t.Fatal(err)
		}
		rg.swap(newDecl(t).add("a", &fake{w: w}).add("b", &fake{w: w}).edges("a>b"))
		if c := rg.rest(); c[resgraph.StatePaused] != 2 || w.count("a")+w.count("b") != 0 {
			t.Fatalf("counts %v", c)
		}
		if err := rg.r.Resume(t.Context(), "fake[a]"); err == nil || !strings.Contains(err.Error(), "everything is paused") {
			t.Errorf("resuming one: %v", err)
		}
		if err := rg.r.Resume(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[a]"}); err != nil {
			t.Fatal(err)
		}
		if s := rg.state("a"); s.State != resgraph.StatePaused || !s.Pause.Until.IsZero() {
			t.Errorf("it is %s", s.State)
		}
		if err := rg.r.Resume(t.Context(), "fake[a]"); err != nil {
			t.Fatal(err)
		}
		if w.count("a") != 1 || w.count("b") != 1 {
			t.Errorf("%v", w.runs)
		}
	})
}

// TestPauseSurvives: a restart ends no pause, and a clock that was set back does
// not make it longer.
func TestPauseSurvives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := &memStore{}
		wall := time.Now
		start := func() *rig {
			return newRig(t, reactor.Options{Store: store, Wall: func() time.Time { return wall() }})
		}
		w := newWorld()
		graph := func() *decl { return newDecl(t).add("a", &fake{w: w}).add("b", &fake{w: w}) }
		rg := start()
		rg.swap(graph())
		rg.rest()
		if err := rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[a]", Until: wall().Add(2 * time.Hour), Reason: "r"}); err != nil {
			t.Fatal(err)
		}
		rg.close()
		time.Sleep(time.Hour)
		rg = start()
		rg.swap(graph())
		if c := rg.rest(); c[resgraph.StatePaused] != 1 || w.count("a") != 1 || w.count("b") != 2 {
			t.Fatalf("counts %v, runs %v", c, w.runs)
		}
		rg.close()
		wall = func() time.Time { return time.Now().Add(-10 * time.Hour) }
		rg = start()
		rg.swap(graph())
		time.Sleep(2*time.Hour + time.Minute)
		if s := rg.state("a"); s.State != resgraph.StateOK {
			t.Errorf("after the clock was set back it is %s", s.State)
		}
		rg.close()
		rg = start()
		defer rg.close()
		rg.swap(graph())
		if c := rg.rest(); c[resgraph.StatePaused] != 0 {
			t.Errorf("counts %v", c)
		}
	})
}

// TestPauseRefused: what cannot be.
func TestPauseRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		rg.swap(newDecl(t).add("a", &fake{w: newWorld()}))
		for _, p := range []reactor.Pause{
			{Resource: "fake[b]"}, {Resource: "fake[a]", Until: time.Now().Add(-time.Second)},
		} {
			if err := rg.r.Pause(t.Context(), p); err == nil {
				t.Errorf("%+v is taken", p)
			}
		}
		var unknown *reactor.UnknownResourceError
		if err := rg.r.Resume(t.Context(), "fake[b]"); !errors.As(err, &unknown) {
			t.Errorf("resume: %v", err)
		}
		rg.store.fail = errors.New("disk full")
		if err := rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[a]"}); err == nil {
			t.Error("a pause that cannot be recorded is taken")
		}
		if s := rg.state("a"); s.State == resgraph.StatePaused {
			t.Error("and in effect")
		}
	})
}

// TestBudgetSurvives: who restarts the process has not said that more may change.
func TestBudgetSurvives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, w := &memStore{}, newWorld()
		for i := range 3 {
			rg := newRig(t, reactor.Options{Store: store, Wall: time.Now, MaxChanges: reactor.Budget{Most: 3, Within: time.Hour}})
			d := newDecl(t)
			for i := range 10 {
				f, tick := drifting(w, same("wrong"))
				defer close(tick)
				d.add(fmt.Sprint("bad", i), f)
			}
			rg.swap(d)
			if c, want := rg.rest(), 7; i > 0 && c[resgraph.StateHeld] != 10 || i == 0 && c[resgraph.StateHeld] != want {
				t.Errorf("process %d: counts %v", i, c)
			}
			rg.close()
			time.Sleep(time.Minute)
		}
	})
}

// TestBudgetCountsOverARestart: what an earlier process has changed counts as long as
// it would have counted, and not longer.
func TestBudgetCountsOverARestart(t *testing.T) {
	for _, c := range []struct {
		later time.Duration
		held  int
	}{{time.Minute, 2}, {2 * time.Hour, 0}} {
		bubble(t, func(t *testing.T) {
			store, w := &memStore{}, newWorld()
			o := reactor.Options{Store: store, MaxChanges: reactor.Budget{Most: 3, Within: time.Hour}}
			run := func(n int) reactor.Counts {
				rg := newRig(t, o)
				defer rg.close()
				d := newDecl(t)
				for i := range n {
					f, tick := drifting(w, same("wrong"))
					defer close(tick)
					d.add(fmt.Sprint(i), f)
				}
				rg.swap(d)
				return rg.rest()
			}
			if c := run(2); c[resgraph.StateHeld] != 0 {
				t.Fatalf("counts %v", c)
			}
			time.Sleep(c.later)
			if got := run(3); got[resgraph.StateHeld] != c.held {
				t.Errorf("%s later: counts %v, want %d held", c.later, got, c.held)
			}
		})
	}
}

// TestBudgetUsedUpOverARestart: only a word of the operator ends that, not time.
func TestBudgetUsedUpOverARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store, w := &memStore{}, newWorld()
		for _, resume := range []bool{false, true} {
			rg := newRig(t, reactor.Options{Store: store, MaxChanges: reactor.Budget{Most: 1, Within: time.Minute}})
			d := newDecl(t)
			for i := range 2 {
				f, tick := drifting(w, same("wrong"))
				defer close(tick)
				d.add(fmt.Sprint(i), f)
			}
			rg.swap(d)
			want := 1
			if resume {
				want = 2
			}
			if c := rg.rest(); c[resgraph.StateHeld] != want {
				t.Errorf("resume %t: counts %v, want %d held", resume, c, want)
			}
			rg.close()
			time.Sleep(time.Hour)
		}
	})
}
