package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// semaStore is a store of semaphores that notes who asks, and says yes where it may.
type semaStore struct {
	mu    sync.Mutex
	asked []string
	lost  map[string]chan struct{} // of the places that are held
	wait  map[string]chan struct{} // closed when a place is free; nil for one that is
}

func newSemaStore() *semaStore {
	return &semaStore{lost: map[string]chan struct{}{}, wait: map[string]chan struct{}{}}
}

func (s *semaStore) place(ctx context.Context, topic, name string, count int) (func(), <-chan struct{}, error) {
	x := fmt.Sprintf("%s/%s:%d", topic, name, count)
	lost := make(chan struct{})
	s.mu.Lock()
	s.asked = append(s.asked, x)
	s.lost[x] = lost
	wait := s.wait[x]
	s.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
	return func() {}, lost, nil
}

// wrong is a resource that one change makes right.
func wrong(w *stage, sema ...string) *fake {
	right := false
	f := &fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
		was := right
		right = right || apply
		return was, nil
	}}
	f.MetaParams().Sema = sema
	f.MetaParams().Retry = 0
	return f
}

// TestPlacesInOneOrder: each semaphore is asked for once, however it is written, and in an order that is the same on all
// hosts. A run that asked twice would wait for itself.
func TestPlacesInOneOrder(t *testing.T) {
	want := []string{"all/a:1", "all/a:3", "all/b:1", "group:web/a:1"}
	for _, texts := range [][]string{
		{"all/b:1", "group:web/a", "all/a:3", "all/a"},
		{"group:web/a:1", "all/a:1", "all/a:01", "all/a", "all/b", "all/a:3"},
	} {
		bubble(t, func(t *testing.T) {
			s := newSemaStore()
			rg := newRig(t, reactor.Options{Place: s.place})
			defer rg.close()
			rg.swap(newDecl(t).add("x", wrong(newWorld(), texts...)))
			rg.rest()
			if !slices.Equal(s.asked, want) {
				t.Errorf("%q asks for %q", texts, s.asked)
			}
		})
	}
}

// TestBatchBySharedSema: a batch has the members of one list of shared semaphores, however it is written. The others do not
// wait for the store.
func TestBatchBySharedSema(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, s := newWorld(), newSemaStore()
		rg := newRig(t, reactor.Options{Place: s.place, Parallel: 1})
		defer rg.close()
		d := newDecl(t).add("gate", slowGate(w))
		for name, sema := range map[string][]string{"a": {"all/up"}, "b": {"all/up:1"}, "c": nil, "d": {"local"}, "e": {"all/up:2"}} {
			b := &batched{fake: fake{w: w}, group: "g", batch: allOK}
			b.MetaParams().Sema = sema
			d.add(name, b).edges("gate>" + name)
		}
		rg.swap(d)
		rg.rest()
		got := only(w.order(), "batch ")
		slices.Sort(got)
		if !slices.Equal(got, []string{"batch [a b] false", "batch [c d] false"}) {
			t.Errorf("batches %q", got)
		}
	})
}

// TestPlaceLostInWait: the loss of a place ends the wait for another one, and nothing is altered.
func TestPlaceLostInWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, altered := newSemaStore(), false
		s.wait["all/b:1"] = make(chan struct{})
		rg := newRig(t, reactor.Options{Place: s.place})
		defer rg.close()
		f := wrong(newWorld(), "all/a", "all/b")
		f.check = func(_ context.Context, _ *fake, apply bool) (bool, error) {
			altered = altered || apply
			return false, nil
		}
		rg.swap(newDecl(t).add("x", f))
		synctest.Wait()
		close(s.lost["all/a:1"])
		synctest.Wait()
		if text := fmt.Sprint(rg.state("x").Err); altered || !strings.Contains(text, "is lost") {
			t.Errorf("altered: %t, error: %s", altered, text)
		}
	})
}

// TestPlaceLostBeforeRun: a place that is lost when the last one is had is noticed before anything is altered.
func TestPlaceLostBeforeRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		altered := false
		lost := make(chan struct{})
		rg := newRig(t, reactor.Options{Place: func(_ context.Context, _, name string, _ int) (func(), <-chan struct{}, error) {
			if name == "b" {
				close(lost)
				return func() {}, make(chan struct{}), nil
			}
			return func() {}, lost, nil
		}})
		defer rg.close()
		f := wrong(newWorld(), "all/a", "all/b")
		f.check = func(_ context.Context, _ *fake, apply bool) (bool, error) {
			altered = altered || apply
			return false, nil
		}
		rg.swap(newDecl(t).add("x", f))
		synctest.Wait()
		if text := fmt.Sprint(rg.state("x").Err); altered || !strings.Contains(text, "is lost") {
			t.Errorf("altered: %t, error: %s", altered, text)
		}
	})
}

// TestPlaceLostInRun: the error of a run whose place is lost tells of that, and not of a canceled context.
func TestPlaceLostInRun(t *testing.T) {
	for _, own := range []error{nil, errors.New("half done")} {
		bubble(t, func(t *testing.T) {
			s := newSemaStore()
			rg := newRig(t, reactor.Options{Place: s.place})
			defer rg.close()
			f := wrong(newWorld(), "all/a")
			f.check = func(ctx context.Context, _ *fake, apply bool) (bool, error) {
				if !apply {
					return false, nil
				}
				<-ctx.Done()
				if own != nil {
					return false, own
				}
				return false, ctx.Err()
			}
			rg.swap(newDecl(t).add("x", f))
			synctest.Wait()
			close(s.lost["all/a:1"])
			synctest.Wait()
			text := fmt.Sprint(rg.state("x").Err)
			if !strings.Contains(text, "is lost") || own != nil && !strings.Contains(text, own.Error()) || strings.Contains(text, "canceled") {
				t.Error(text)
			}
		})
	}
}

// TestRemovedInWait: a resource that leaves the graph while its batch waits for a place is not altered. The other members are.
func TestRemovedInWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, s := newWorld(), newSemaStore()
		free := make(chan struct{})
		s.wait["all/up:1"] = free
		rg := newRig(t, reactor.Options{Place: s.place, Parallel: 1})
		defer rg.close()
		var mu sync.Mutex
		altered := map[string]bool{}
		member := func(name string) *batched {
			b := &batched{fake: fake{w: w}, group: "g"}
			set := func(name string, apply bool) bool {
				mu.Lock()
				defer mu.Unlock()
				was := altered[name]
				altered[name] = was || apply
				return was
			}
			b.check = func(_ context.Context, _ *fake, apply bool) (bool, error) { return set(name, apply), nil }
			b.batch = func(_ context.Context, apply bool, members []engine.Res) []engine.Outcome {
				outs := make([]engine.Outcome, len(members))
				for i, m := range members {
					outs[i].OK = set(m.Name(), apply)
				}
				return outs
			}
			b.MetaParams().Sema = []string{"all/up"}
			return b
		}
		graph := func(names ...string) *decl {
			d := newDecl(t).add("gate", slowGate(w))
			for _, name := range names {
				d.add(name, member(name)).edges("gate>" + name)
			}
			return d
		}
		rg.swap(graph("a", "b", "c"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.asked) != 1 {
			t.Fatalf("asked for %q", s.asked)
		}
		swapped := make(chan error)
		go func() { swapped <- rg.r.Swap(t.Context(), graph("a", "c").g) }()
		synctest.Wait()
		close(free)
		if err := <-swapped; err != nil {
			t.Fatal(err)
		}
		rg.rest()
		mu.Lock()
		defer mu.Unlock()
		if want := map[string]bool{"a": true, "b": false, "c": true}; !maps.Equal(altered, want) {
			t.Errorf("altered: %v, want %v", altered, want)
		}
	})
}
