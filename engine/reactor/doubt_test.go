package reactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// tree is a world in which each thing needs the one before it, as files need folders.
type tree struct {
	mu    sync.Mutex
	there map[string]bool
	fails map[string]error // whatever is there
}

func (tr *tree) thing(w *stage, name, in string) *fake {
	return &fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		switch {
		case tr.fails[name] != nil:
			return true, tr.fails[name]
		case tr.there[name]:
			return true, nil
		case in != "" && !tr.there[in]:
			return true, fmt.Errorf("%s is not there", in)
		case apply:
			tr.there[name] = true
		}
		return false, nil
	}}
}

func (tr *tree) gone(names ...string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, n := range names {
		delete(tr.there, n)
	}
}

func (rg *rig) failures() (list []string) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	for _, r := range rg.ran {
		if r.State == resgraph.StateFailed {
			list = append(list, fmt.Sprint(r.Resource, " ", r.Err))
		}
	}
	return list
}

// TestFindingC11GoneTogether: a folder and all that is in it go, and the news of the
// innermost comes first. Nobody hears of a failure, and all is there again.
func TestFindingC11GoneTogether(t *testing.T) {
	for _, order := range []string{"abcd", "dcba", "bdac", "d"} {
		for _, noop := range []reactor.Noop{reactor.NoopOff, reactor.NoopAll} {
			t.Run(fmt.Sprint(order, noop), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					rg := newRig(t, reactor.Options{Sweep: -1, Noop: noop})
					defer rg.close()
					w, tr := newWorld(), &tree{there: map[string]bool{}}
					if noop == reactor.NoopAll {
						tr.there = map[string]bool{"a": true, "b": true, "c": true, "d": true}
					}
					things := map[rune]*fake{}
					d := newDecl(t)
					for i, n := range "abcd" {
						things[n] = tr.thing(w, string(n), strings.TrimSpace(" abc"[i:i+1]))
						d.add(string(n), things[n])
					}
					rg.swap(d.edges("a>b", "b>c", "c>d"))
					time.Sleep(time.Minute)
					tr.gone("a", "b", "c", "d")
					for _, n := range order {
						things[n].init.Event()
						synctest.Wait()
					}
					if list := rg.failures(); len(list) > 0 {
						t.Errorf("told of %q", list)
					}
					want := map[reactor.Noop]resgraph.State{reactor.NoopOff: resgraph.StateOK, reactor.NoopAll: resgraph.StateUnknown}[noop]
					if s := rg.state("d"); s.State != want {
						t.Errorf("it is %s", s.State)
					}
				})
			})
		}
	}
}

// TestFindingC11RealFailure: a failure that those above can't mend is told once, after one
// look at each of them and at it.
func TestFindingC11RealFailure(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		runs  int // of d in the first second
		above int // of a
		do    func(*rig, map[string]*fake)
	}{
		"an error":  {errNo, 3, 2, nil},
		"permanent": {failure.Permanent(errNo), 2, 1, nil},
		"a verdict": {failure.Verdict(errNo), 2, 1, nil},
		"a cut":     {failure.Interrupted(errNo), 2, 1, nil},
		"paused":    {errNo, 3, 1, func(rg *rig, _ map[string]*fake) { _ = rg.r.Pause(rg.t.Context(), reactor.Pause{Resource: "fake[a]"}) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rg := newRig(t, reactor.Options{Sweep: -1})
				defer rg.close()
				w, tr := newWorld(), &tree{there: map[string]bool{}, fails: map[string]error{}}
				fs := map[string]*fake{"a": tr.thing(w, "a", ""), "b": tr.thing(w, "b", "a"), "d": tr.thing(w, "d", "b")}
				rg.swap(newDecl(t).add("a", fs["a"]).add("b", fs["b"]).add("d", fs["d"]).edges("a>b", "b>d"))
				time.Sleep(time.Minute)
				if c.do != nil {
					c.do(rg, fs)
				}
				tr.mu.Lock()
				tr.fails["d"] = c.err
				tr.mu.Unlock()
				fs["d"].init.Event()
				time.Sleep(500 * time.Millisecond)
				synctest.Wait()
				if d, a := w.count("d"), w.count("a"); d != c.runs || a != c.above {
					t.Errorf("it ran %d times, the one above %d times", d, a)
				}
				if list := rg.failures(); len(list) != 1 || !strings.Contains(list[0], "no") {
					t.Errorf("told of %q", list)
				}
				before := w.count("a")
				time.Sleep(time.Hour) // it is tried again, and those above are not asked each time
				if n := w.count("a"); n != before {
					t.Errorf("the one above ran %d times more", n-before)
				}
			})
		})
	}
}

// TestFindingC11AtTheStart: what fails the first time has just seen those above it.
func TestFindingC11AtTheStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		w := newWorld()
		f := newFailing(w, errNo)
		f.MetaParams().Delay = time.Hour
		rg.swap(newDecl(t).add("a", &fake{w: w}).add("f", &f.fake).edges("a>f"))
		synctest.Wait()
		if a := w.count("a"); a != 1 || f.n() != 1 {
			t.Errorf("%d and %d runs", a, f.n())
		}
	})
}

// TestFindingC11Wide: of many above it the nearest are asked.
func TestFindingC11Wide(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		w := newWorld()
		f := newFailing(w, nil)
		d := newDecl(t).add("f", &f.fake)
		for i := range 500 {
			d.add(fmt.Sprint("up", i), &fake{w: w}).edges(fmt.Sprintf("up%d>f", i))
		}
		rg.swap(d)
		time.Sleep(time.Minute)
		f.set(errNo)
		f.init.Event()
		synctest.Wait()
		asked := 0
		for i := range 500 {
			asked += w.count(fmt.Sprint("up", i)) - 1
		}
		if asked == 0 || asked > 64 {
			t.Errorf("%d were asked", asked)
		}
		for _, r := range rg.runs("up0")[1:] {
			if !slices.ContainsFunc(r.Triggers, func(t reactor.Trigger) bool { return t.Cause == reactor.CauseBelow && t.From == "fake[f]" }) {
				t.Errorf("it ran because of %+v", r.Triggers)
			}
		}
	})
}
