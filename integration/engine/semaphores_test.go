package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/traits"
)

// turnRes is altered once: it tells in, and waits for out or for the end of its run.
type turnRes struct {
	traits.Base
	init  *engine.Init
	right bool // from the beginning
	in    chan string
	out   chan struct{}
	ended chan error
}

func (r *turnRes) Default() engine.Res {
	return &turnRes{right: r.right, in: r.in, out: r.out, ended: r.ended}
}
func (r *turnRes) Validate() error              { return nil }
func (r *turnRes) Init(init *engine.Init) error { r.init = init; return nil }
func (r *turnRes) Cleanup() error               { return nil }
func (r *turnRes) Cmp(engine.Res) error         { return nil }

func (r *turnRes) Watch(ctx context.Context) error {
	r.init.Running()
	<-ctx.Done()
	return nil
}

func (r *turnRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if r.right || !apply {
		return r.right, nil
	}
	r.in <- r.init.Hostname
	select {
	case <-r.out:
		r.right = true
		return false, nil
	case <-ctx.Done():
		r.ended <- context.Cause(ctx)
		return false, context.Cause(ctx)
	}
}

// turns starts hosts that each have one resource which is altered under a semaphore of all hosts.
func turns(f *fleet, n int, res *turnRes) (list []*member) {
	f.t.Helper()
	reg := engine.NewRegistry()
	if err := reg.Register("turn", res.Default); err != nil {
		f.t.Fatal(err)
	}
	for i := range n {
		m := f.host(fmt.Sprint("h", i), func(o *mgmt.Options) { o.Registry = reg })
		m.apply(func(g *static.Graph) {
			g.Add("turn", "t", res.Default()).Meta(map[string]any{"sema": []any{"all/up:2"}, "retry": 0})
		})
		list = append(list, m)
	}
	return list
}

func newTurn() *turnRes {
	return &turnRes{in: make(chan string, 10), out: make(chan struct{}), ended: make(chan error, 10)}
}

// queue waits until so many hold the semaphore, and so many wait.
func queue(m *member, holders, waiting int) {
	m.t.Helper()
	s := hosts.Store{World: m.world, Clock: clock.System{}}
	m.until(fmt.Sprintf("%d holders and %d that wait", holders, waiting), func() bool {
		h, w, err := s.Holders(m.t.Context(), hosts.Semaphore{Topic: "all", Name: "up", Count: 2})
		return err == nil && len(h) == holders && len(w) == waiting
	})
}

// TestSharedSemaphore: of five hosts two alter at once, and each has its turn.
func TestSharedSemaphore(t *testing.T) {
	f, res := newFleet(t), newTurn()
	list := turns(f, 5, res)
	queue(list[0], 2, 3)
	seen := map[string]bool{}
	seen[<-res.in], seen[<-res.in] = true, true
	for waiting := 2; waiting >= 0; waiting-- {
		if n := len(res.in); n != 0 {
			t.Errorf("%d more alter", n)
		}
		res.out <- struct{}{}
		queue(list[0], 2, waiting)
		seen[<-res.in] = true
	}
	res.out <- struct{}{}
	res.out <- struct{}{}
	queue(list[0], 0, 0)
	if len(seen) != 5 {
		t.Errorf("altered were %v", seen)
	}
}

// TestSharedSemaphoreNotNeeded: a host that finds all right takes no place.
func TestSharedSemaphoreNotNeeded(t *testing.T) {
	f, res := newFleet(t), newTurn()
	res.right = true
	list := turns(f, 1, res)
	list[0].until("rest", func() bool {
		members, err := hosts.Members(t.Context(), f.store)
		return err == nil && len(members) == 1 && members[0].State.Converged
	})
	p, err := f.store.List(t.Context(), "", world.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range p.KVs {
		if strings.HasPrefix(kv.Key, "semaphores/") {
			t.Errorf("there is %s", kv.Key)
		}
	}
}

// TestSharedSemaphoreLost: the run of a host that loses its place ends, and another host has the place.
func TestSharedSemaphoreLost(t *testing.T) {
	f, res := newFleet(t), newTurn()
	list := turns(f, 3, res)
	queue(list[0], 2, 1)
	lost := <-res.in
	<-res.in
	for _, m := range list {
		if m.name == lost {
			if err := m.world.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-res.ended; !strings.Contains(fmt.Sprint(err), "the place of a semaphore that hosts share is lost") {
		t.Errorf("the run ended with %v", err)
	}
	<-res.in
	res.out <- struct{}{}
	res.out <- struct{}{}
}
