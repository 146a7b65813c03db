package sched_test

import (
	"math/rand/v2"
	"testing"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// A machine without vertices is at rest and answers.
func TestEmpty(t *testing.T) {
	t.Parallel()
	m := sched.New(sched.Options{})
	for range 2 {
		if _, ok := m.Next(); ok || !m.AtRest() || m.Pending() != 0 {
			t.Error("an empty machine has something to do")
		}
		for v := range m.Unsettled() {
			t.Errorf("%d is unsettled", v)
		}
		if m.Counts() != [resgraph.NumStates]int{} || m.State(0) != resgraph.NumStates {
			t.Error("an empty machine has states")
		}
		if err := m.Swap(sched.Topology{}); err != nil {
			t.Error(err)
		}
	}
}

// Calls for slots without a vertex do nothing.
func TestHoles(t *testing.T) {
	t.Parallel()
	m := sched.New(sched.Options{})
	if err := m.Swap(sched.Topology{N: 3, Added: []sched.Vertex{1}}); err != nil {
		t.Fatal(err)
	}
	for _, v := range []sched.Vertex{-1, 0, 2, 3, 1 << 30} {
		m.Ready(v)
		m.Event(v)
		m.Fail(v, true)
		m.Wake(v)
		m.Hold(v, resgraph.StatePaused)
		m.Release(v)
		m.Done(v, ok)
		m.Defer(v)
		m.Unready(v)
		m.Forgotten(v)
		_, witness := m.Witness(v)
		_, blocked := m.BlockedBy(v)
		_, outcome := m.Outcome(v)
		if witness || blocked || outcome || m.Heard(v) || m.State(v) != resgraph.NumStates {
			t.Errorf("slot %d answers", v)
		}
	}
	if m.Pending() != 1 {
		t.Errorf("%d pending", m.Pending())
	}
}

// The outcome of the last run stays known through failures and new runs.
func TestOutcome(t *testing.T) {
	t.Parallel()
	m := machine(t, topology(1, nil))
	want := func(s resgraph.State, known bool) {
		t.Helper()
		if got, ok := m.Outcome(0); got != s || ok != known {
			t.Errorf("outcome %v, %v", got, ok)
		}
	}
	want(resgraph.StateStarting, false)
	m.Ready(0)
	m.Next()
	want(resgraph.StateStarting, false)
	m.Done(0, sched.Outcome{State: resgraph.StateRunning}) // no outcome: counts as failed
	want(resgraph.StateFailed, true)
	m.Event(0)
	m.Next()
	want(resgraph.StateFailed, true)
	m.Done(0, sched.Outcome{State: resgraph.StateWouldChange})
	want(resgraph.StateWouldChange, true)
	if !m.Heard(0) {
		t.Error("not heard")
	}
	m.Unready(0)
	if m.Heard(0) {
		t.Error("heard")
	}
}

// Changed names each vertex once, and nothing twice.
func TestChanged(t *testing.T) {
	t.Parallel()
	m := sched.New(sched.Options{Changes: true})
	if err := m.Swap(star(10)); err != nil {
		t.Fatal(err)
	}
	for v := range sched.Vertex(10) {
		m.Ready(v)
	}
	drain(m)
	if n := len(m.Changed()); n != 10 {
		t.Errorf("%d changed at first", n)
	}
	event := func() { m.Event(0); m.Next(); m.Done(0, ok) }
	event()
	event()
	if vs := m.Changed(); len(vs) != 1 || vs[0] != 0 {
		t.Errorf("changed: %v", vs)
	}
	if vs := m.Changed(); len(vs) != 0 {
		t.Errorf("changed again: %v", vs)
	}
}

// Unsettled can be left in the middle.
func TestUnsettledStops(t *testing.T) {
	t.Parallel()
	m := machine(t, star(10))
	n := 0
	for range m.Unsettled() {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d", n)
	}
}

// Two machines that are told the same decide the same.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	games := [2]string{}
	for i := range games {
		log, err := play(rand.New(rand.NewPCG(77, 1)).IntN, 20, 500)
		if err != nil {
			t.Fatal(err)
		}
		games[i] = log
	}
	if games[0] != games[1] {
		t.Error("two games with the same dice differ")
	}
}
