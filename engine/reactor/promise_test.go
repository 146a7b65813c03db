package reactor_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// lateEdge is a source whose first run has altered something, or not, and goes on until the gate is open; meanwhile a graph
// with an edge to dst takes effect.
type lateEdge struct {
	w     *stage
	first func(apply bool) (bool, error) // how that run ends; the later ones find all right

	mu        sync.Mutex
	gate      chan struct{}
	refreshed int
}

// times returns how often dst was refreshed since the last call.
func (x *lateEdge) times() (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, x.refreshed = x.refreshed, 0
	return n
}

// open opens the gate, and waits until the run has ended.
func (x *lateEdge) open() {
	close(x.gate)
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gate = nil
}

// graph declares src and dst, and the edges.
func (x *lateEdge) graph(t *testing.T, want string, edges ...string) *decl {
	src := &lapping{fake: fake{w: x.w, Want: want, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
		x.mu.Lock()
		gate := x.gate
		x.mu.Unlock()
		if gate == nil {
			return true, nil
		}
		<-gate
		return x.first(apply)
	}}}
	dst := &fake{w: x.w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
		if f.init.Refresh() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.refreshed++
		}
		return !f.init.Refresh(), nil
	}}
	return newDecl(t).add("src", src).add("dst", dst).add("other", &fake{w: x.w}).edges(edges...)
}

// TestLaw7AnEdgeThatComesDuringARun counts for that run: a change refreshes its target, also one of a run that fails then, whose
// retry finds all right. A run that has altered nothing owes nothing.
func TestLaw7AnEdgeThatComesDuringARun(t *testing.T) {
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		before []string // edges
		want   string   // of src in the new graph
		first  func(apply bool) (bool, error)
		owes   int
	}{
		"changed":                       {nil, "", func(bool) (bool, error) { return false, nil }, 1},
		"right":                         {nil, "", func(bool) (bool, error) { return true, nil }, 0},
		"failed":                        {nil, "", func(bool) (bool, error) { return false, failed }, 1},
		"failed, with another in place": {nil, "2", func(bool) (bool, error) { return false, failed }, 1},
		"failed, with another target": {[]string{"src!other"}, "", func(apply bool) (bool, error) {
			if apply {
				return false, failed
			}
			return false, nil
		}, 1},
		"failed before it was to alter": {[]string{"src!other"}, "", func(bool) (bool, error) { return false, failed }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := &lateEdge{w: newWorld(), first: c.first, gate: make(chan struct{})}
				rg := newRig(t, reactor.Options{})
				defer rg.close()
				rg.swap(x.graph(t, "", c.before...))
				synctest.Wait()
				rg.swap(x.graph(t, c.want, append(c.before, "src!dst")...))
				synctest.Wait()
				if n := x.times(); n != 0 {
					t.Errorf("refreshed %d times before the run has ended", n)
				}
				x.open()
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := x.times(); n != c.owes || rg.store.size() != 0 {
					t.Errorf("refreshed %d times, want %d; %d records left", n, c.owes, rg.store.size())
				}
				if s := rg.state("src"); s.State != resgraph.StateOK {
					t.Errorf("src is %s: %v", s.State, s.Err)
				}
			})
		})
	}
}

// TestLaw7AnEdgeThatComesDuringARunAndAKill: what the run has altered before the kill refreshes the target, too. Once the graph has
// been in effect for a moment, the journal knows.
func TestLaw7AnEdgeThatComesDuringARunAndAKill(t *testing.T) {
	for name, want := range map[string]string{"kept": "", "with another in its place": "2"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := &lateEdge{w: newWorld(), first: func(bool) (bool, error) { return false, nil }, gate: make(chan struct{})}
				rg := newRig(t, reactor.Options{})
				rg.swap(x.graph(t, ""))
				synctest.Wait()
				rg.swap(x.graph(t, want, "src!dst"))
				time.Sleep(2 * time.Second)
				killed := &memStore{recs: map[string]map[string][]byte{}}
				rg.store.mu.Lock()
				for table, recs := range rg.store.recs {
					killed.recs[table] = maps.Clone(recs)
				}
				rg.store.mu.Unlock()
				x.open()
				rg.close()

				x.times()
				rg = newRig(t, reactor.Options{Store: killed})
				defer rg.close()
				rg.swap(x.graph(t, want, "src!dst"))
				time.Sleep(time.Hour)
				if n := x.times(); n != 1 || killed.size() != 0 {
					t.Errorf("refreshed %d times after the kill, want once; %d records left", n, killed.size())
				}
			})
		})
	}
}
