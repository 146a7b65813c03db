package model

import (
	"slices"
	"strings"
	"testing"
)

// declare makes a graph of what its vertices want, and of edges as a>b, with ! where they carry refresh.
func declare(wants string, edges ...string) (g Graph) {
	for v := range g.Want {
		g.Want[v] = Value(wants[v] - '0')
	}
	for _, e := range edges {
		from, to := int(e[0]-'0'), int(e[2]-'0')
		g.Above[to] |= 1 << from
		if e[1] == '!' {
			g.Notify[from] |= 1 << to
		}
	}
	return g
}

// Names of pairs.
const (
	above  = "a chain that wants something else above"
	below  = "a chain that wants something else below"
	two    = "two vertices, the upper one of which wants something else"
	target = "a target that leaves"
	turn   = "an edge that turns around"
	order  = "an order around a vertex that leaves"
)

// pairs are graphs that follow each other in both directions.
var pairs = map[string][2]Graph{
	two:                                    {declare("110", "0!1"), declare("210", "0!1")},
	above:                                  {declare("111", "0!1", "1!2"), declare("211", "0!1", "1!2")},
	below:                                  {declare("111", "0!1", "1!2"), declare("112", "0!1", "1!2")},
	target:                                 {declare("111", "0!1", "0>2"), declare("101", "0>2")},
	"a source that leaves":                 {declare("111", "0!2", "1!2"), declare("011", "1!2")},
	"a notification that becomes an order": {declare("111", "0!1", "1>2"), declare("111", "0>1", "1!2")},
	turn:                                   {declare("110", "0!1"), declare("110", "1!0")},
	order:                                  {declare("111", "0>1", "1>2"), declare("101", "0>2")},
}

// bounds are how often the world drifts, something fails, another graph takes effect, and the process is killed.
func bounds(drifts, failures, edits, deaths int8) (b Bounds) {
	b[Drift], b[Failure], b[Edit], b[Death] = drifts, failures, edits, deaths
	return b
}

// TestLaws visits all states within bounds, and each of them keeps the laws.
func TestLaws(t *testing.T) {
	for name, graphs := range pairs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := []Bounds{bounds(1, 1, 1, 1)}
			if testing.Short() {
				all = []Bounds{bounds(1, 0, 0, 1), bounds(0, 1, 0, 1), bounds(0, 0, 1, 1)}
			}
			for _, b := range all {
				states, err := New(graphs[:]...).Explore(b)
				if err != nil {
					t.Error(err)
				}
				t.Log(b, states)
			}
		})
	}
}

// action returns an action of a model by its name.
func action(m *Model, name string) *Action {
	for i := range m.Actions {
		if m.Actions[i].Name == name {
			return &m.Actions[i]
		}
	}
	panic(name)
}

// after has something done after the effect of an action.
func after(name string, do func(a *at)) func(m *Model) {
	return func(m *Model) {
		a := action(m, name)
		effect := a.Effect
		a.Effect = func(a *at) {
			effect(a)
			do(a)
		}
	}
}

// before has something done before the effect of an action.
func before(name string, do func(a *at)) func(m *Model) {
	return func(m *Model) {
		a := action(m, name)
		effect := a.Effect
		a.Effect = func(a *at) {
			do(a)
			effect(a)
		}
	}
}

// instead has an action happen where the guard says so.
func instead(name string, guard func(a *at) bool) func(m *Model) {
	return func(m *Model) { action(m, name).Guard = guard }
}

// mistakes are places in which a model is wrong, and the laws that tell.
var mistakes = []struct {
	mistake, pair, law string
	make               func(m *Model)
}{
	{"a vertex is looked at before its Watch has said Running", two, "Ready", after("swap", func(a *at) {
		for v := range N {
			a.V[v].Dirty = a.V[v].Dirty || !a.V[v].Heard && a.V[v].Run.Phase == Idle
		}
	})},
	{"only the nearest ancestors have to be settled", above, "Order", instead("start", func(a *at) bool {
		for u := range N {
			x := &a.V[u]
			if a.g.Above[a.v].Has(u) && (!x.Heard || x.Dirty || x.Failed || x.Run.Phase != Idle) {
				return false
			}
		}
		return a.x.Dirty && a.x.Run.Phase == Idle
	})},
	{"an event during a run is forgotten", two, "No lost event", after("deliver", func(a *at) { a.x.Again = false })},
	{"an event that came before the end of a run is taken for its own", two, "No lost event", after("end", func(a *at) { a.x.News = false })},
	{"a vertex that gets dirty during its run starts at once", two, "Serial", instead("start", func(a *at) bool {
		return mayStart(a) || a.x.Again && in(Applied)(a)
	})},
	{"the intent is noted, and not waited for", two, "Refresh", func(m *Model) {
		for _, name := range []string{"intend", "intend with a flight"} {
			action(m, name).Effect = func(a *at) {
				a.note(Writes{Put: intent(a.v)})
				a.x.Intent, a.x.Run.Phase = true, Intended
			}
		}
	}},
	{"the intent ends, and the refreshes are written later", two, "Refresh", after("finish", func(a *at) { a.Notes.Put = 0 })},
	{"a failure ends the intent", two, "Refresh", after("fail", func(a *at) {
		a.x.Intent = false
		a.commit(Writes{Del: intent(a.v)}, -1)
	})},
	{"a failed run ends the refreshes that it acted on", two, "Refresh", after("fail", func(a *at) { a.Due &^= ofTarget(a.v) })},
	{"a run clears a refresh that came while it ran", two, "Refresh", before("finish", func(a *at) {
		if a.x.Run.Acts != 0 {
			a.x.Run.Acts = (a.Due | a.Journal | a.Notes.Put) & ofTarget(a.v)
		}
	})},
	{"a vertex does not take over the refreshes of the one that it replaces", below, "Refresh", after("swap", func(a *at) {
		for v := range N {
			if a.V[v].Run.Old {
				a.Due &^= ofTarget(v)
			}
		}
	})},
	{"the intents of the process before do not count as changes", two, "Refresh", after("swap", func(a *at) {
		for v := range N {
			if !a.V[v].Heard && a.V[v].Run.Phase == Idle {
				a.V[v].Intent = false
			}
		}
	})},
	{"an edge counts from the next run of its source", turn, "Refresh", after("swap", func(a *at) {
		for v := range N {
			a.note(Writes{Del: a.V[v].Run.Promised})
			a.V[v].Run.Promised = 0
		}
	})},
	{"a failure ends what was promised during the run", turn, "Refresh", before("fail", func(a *at) { a.x.Run.May = false })},
	{"a new graph has all vertices looked at", two, "Swap", after("swap", func(a *at) {
		for v := range N {
			a.V[v].ask()
		}
	})},
	{"a vertex that has failed is not tried again", order, "Converged", instead("retry", func(*at) bool { return false })},
	{"a name that leaves keeps its records", target, "Leave nothing behind", after("leave", func(a *at) { a.Notes.Del = 0 })},
	{"a name that only the journal knows keeps its records", target, "Leave nothing behind", after("swap", func(a *at) { a.Notes.Del = 0 })},
	{"a run that was asked for once more never has that behind it", order, "it never comes to rest", after("end", func(a *at) { a.x.Dirty = true })},
}

// TestMistakes: each law tells of a model that is wrong.
func TestMistakes(t *testing.T) {
	told := map[string]bool{}
	for _, c := range mistakes {
		told[c.law] = true
		t.Run(c.mistake, func(t *testing.T) {
			t.Parallel()
			graphs, ok := pairs[c.pair]
			if !ok {
				t.Fatal("there is no such pair")
			}
			m := New(graphs[:]...)
			c.make(m)
			states, err := m.Explore(bounds(1, 1, 1, 1))
			if err == nil || !strings.HasPrefix(err.Error(), c.law+": ") {
				t.Errorf("%d states, %v", states, err)
			}
		})
	}
	for _, l := range slices.Concat(laws, []law{{name: "it never comes to rest"}}) {
		if !told[l.name] {
			t.Errorf("no mistake breaks %s", l.name)
		}
	}
}
