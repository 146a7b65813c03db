package engine_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/provider"
)

// hand is the provider of a type of which a Set does something to another type.
type hand struct {
	done bool
	do   func()
}

func (h *hand) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		if h.done {
			yield(provider.Record{"ensure": "present", "name": "it"}, nil)
		}
	}
}

func (h *hand) Set(context.Context, *provider.Runtime, []provider.Change) error {
	h.done = true
	h.do()
	return nil
}

// afterHand runs a graph in which rec[x] is behind hand[it], and rec[y] is not.
func afterHand(t *testing.T, s *shelf, do func(), graph string) (mgmt.Report, error) {
	t.Helper()
	reg := withRec(t, rec(0), func() provider.Provider { return clerk{s} })
	h := &hand{do: do}
	d := rec(0)
	d.Name = "hand"
	k, err := provider.New(d, func() provider.Provider { return h })
	if err == nil {
		reg, err = reg.With(k.Name(), k.New)
	}
	if err != nil {
		t.Fatal(err)
	}
	return converge(t, graph, mgmt.Options{Registry: reg})
}

// TestFindingC9ReadAfterChange: what is behind a change is judged by a read after it, also
// where others of its type were read before.
func TestFindingC9ReadAfterChange(t *testing.T) {
	s := newShelf("x", "y")
	rep, err := afterHand(t, s, func() { time.Sleep(50 * time.Millisecond); s.put("x", "9") },
		"resources: {hand: [{name: it, before: ['rec[x]']}], rec: [{name: x, a: '1'}, {name: y}]}")
	if err != nil || rep.ExitCode() != 0 || s.get("x")["a"] != "1" {
		t.Errorf("%v, code %d, %v, asked %v", err, rep.ExitCode(), s.get("x"), s.log())
	}
}

// TestFindingC9SetGetsTheState: Set is given the state that the change has left; what is
// right already is not set.
func TestFindingC9SetGetsTheState(t *testing.T) {
	s := newShelf("x", "y")
	rep, err := afterHand(t, s, func() { time.Sleep(50 * time.Millisecond); s.put("x", "2") },
		"resources: {hand: [{name: it, before: ['rec[x]']}], rec: [{name: x, a: '2'}, {name: y}]}")
	if err != nil || rep.ExitCode() != 0 || slices.Contains(s.log(), "set [x] noop=false") {
		t.Errorf("%v, code %d, asked %v", err, rep.ExitCode(), s.log())
	}
}

// TestFindingC9CachedError: a read that failed before the change is repeated behind it, and
// not first after the pause of the type.
func TestFindingC9CachedError(t *testing.T) {
	s := newShelf("x", "y")
	ready := false
	s.fail = func(call string) error { // s.mu is held
		if !ready {
			return errors.New("the user is not there")
		}
		return nil
	}
	start := time.Now()
	_, err := afterHand(t, s, func() {
		time.Sleep(50 * time.Millisecond)
		s.mu.Lock()
		defer s.mu.Unlock()
		ready = true
	}, "resources: {hand: [{name: it, before: ['rec[x]']}], rec: [{name: x, a: '2'}, {name: y}]}")
	if err != nil || s.get("x")["a"] != "2" {
		t.Errorf("%v after %s: %v, asked %v", err, time.Since(start), s.get("x"), s.log())
	}
}

// TestFindingC9NoMoreReads: what is behind nothing that changed is read once with all
// others of its type.
func TestFindingC9NoMoreReads(t *testing.T) {
	s := newShelf("x", "y")
	rep, err := afterHand(t, s, func() { time.Sleep(50 * time.Millisecond) },
		"resources: {hand: [{name: it}], rec: [{name: x, a: '1'}, {name: y, depend: ['rec[x]']}]}")
	if err != nil || rep.ExitCode() != 0 {
		t.Errorf("%v, code %d", err, rep.ExitCode())
	}
	wantCalls(t, s, "get all")
}

// TestFindingC9Chain: a read of everything after the Set of one resource is the read that the next
// one behind it needs. A read of one name is not.
func TestFindingC9Chain(t *testing.T) {
	for name, c := range map[string]struct {
		features provider.Features
		calls    []string
	}{
		"list": {0, []string{"get all", "set [x] noop=false", "get all", "set [y] noop=false", "get all", "set [z] noop=false", "get all"}},
		"find": {provider.SimpleGetFilter, []string{"get [x y z]", "set [x] noop=false", "get [x]", "get [y]", "set [y] noop=false", "get [y]", "get [z]", "set [z] noop=false", "get [z]"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf("x", "y", "z")
			reg := withRec(t, rec(c.features), func() provider.Provider { return clerk{s} })
			rep, err := converge(t, "resources: {rec: [{name: x, a: '2'}, {name: y, a: '2', depend: ['rec[x]']}, {name: z, a: '2', depend: ['rec[y]']}]}", mgmt.Options{Registry: reg})
			if err != nil || rep.ExitCode() != 0 {
				t.Errorf("%v, code %d", err, rep.ExitCode())
			}
			wantCalls(t, s, c.calls...)
		})
	}
}
