package model

// law is a promise. Step is asked for each action, and rest in each state in which nothing is left to do.
type law struct {
	name string
	step func(action string, from, to *at) bool
	rest func(a *at) bool
}

// laws are those of docs/ARCHITECTURE.md, as far as the model knows what they are about.
var laws = []law{
	{name: "Ready", step: func(action string, from, _ *at) bool { return action != "start" || from.x.Heard }},
	{name: "Order", step: func(action string, from, _ *at) bool {
		for u := range N {
			settled := Vertex{Heard: true, News: from.V[u].News, Intent: from.V[u].Intent}
			if action == "start" && from.g.above(from.v).Has(u) && from.V[u] != settled {
				return false
			}
		}
		return true
	}},
	// A vertex that nothing will look at is right.
	{name: "No lost event", step: func(_ string, _, to *at) bool {
		for v := range N {
			idle := to.V[v] == Vertex{Heard: true, Intent: to.V[v].Intent}
			if to.g.has(v) && idle && to.World[v] != to.g.Want[v] {
				return false
			}
		}
		return true
	}},
	{name: "Serial", step: func(action string, from, _ *at) bool { return action != "start" || from.x.Run.Phase == Idle }},
	// What is owed is in the journal, so that no crash loses it, or on its way there since the edge came during the run.
	{name: "Refresh", step: func(_ string, _, to *at) bool {
		for t := range N {
			for v := range N {
				if to.Owed[t].Has(v) && to.Journal&(intent(v)|refreshes(t, v)) == 0 {
					return false
				}
			}
		}
		return to.Late&^(to.Journal|to.Notes.Put|to.flying()) == 0
	}, rest: func(a *at) bool { return a.Owed == [N]Set{} && a.Late == 0 }},
	// A vertex that stays is left alone; only its run may owe more.
	{name: "Swap", step: func(action string, from, to *at) bool {
		for v := range N {
			before := from.V[v]
			before.Run.Promised = to.V[v].Run.Promised
			if action == "swap" && from.g.has(v) && from.g.Want[v] == to.g.Want[v] && before != to.V[v] {
				return false
			}
		}
		return true
	}},
	{name: "Converged", rest: func(a *at) bool {
		for v := range N {
			if a.g.has(v) && a.World[v] != a.g.Want[v] {
				return false
			}
		}
		return true
	}},
	{name: "Leave nothing behind", rest: func(a *at) bool {
		return a.Journal == 0 && a.Notes == Writes{} && a.Due == 0 && a.Flights == [Flights]Writes{}
	}},
}
