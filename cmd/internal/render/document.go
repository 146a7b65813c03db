package render

import (
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// PlanDoc is a plan in JSON.
type PlanDoc struct {
	Graph   string  `json:"graph"`
	Summary summary `json:"summary"`
	// These are not shown, since --select has not chosen them.
	Others *summary `json:"others,omitempty"`
	// In the order of the plan; never null, so that a program can count them.
	Resources []stepJSON `json:"resources"`
	// These are in effect and not in the graph; their work stays as it is.
	Leaving []string `json:"leaving,omitempty"`
	// Those of Leaving for which a daemon holds the graph until mgmt resume.
	Asking []string `json:"asking,omitempty"`
}

// stepJSON is what would be done with one resource.
type stepJSON struct {
	Resource  string           `json:"resource"`
	State     resgraph.State   `json:"state"`
	Changes   []changeJSON     `json:"changes,omitempty"`
	Because   []string         `json:"because,omitempty"`    // these would refresh it
	Until     string           `json:"until,omitempty"`      // with unknown
	BlockedBy string           `json:"blocked_by,omitempty"` // with blocked
	Error     string           `json:"error,omitempty"`      // with failed
	Policy    []reactor.Ruling `json:"policy,omitempty"`     // the rules that match what would be changed
	Left      bool             `json:"left,omitempty"`       // it has left the graph, and would be undone
}

// PlanJSON is a plan as JSON. Its keys are a promise: scripts read them.
// others may be nil.
func PlanJSON(p, others *mgmt.Preview) PlanDoc {
	doc := PlanDoc{Graph: p.Graph, Summary: SummaryOf(p), Resources: make([]stepJSON, len(p.Steps)), Leaving: p.Leaving, Asking: p.Asking}
	if others != nil {
		doc.Others = new(SummaryOf(others))
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		j := stepJSON{Resource: s.Resource, State: s.State, Changes: changesJSON(s.Changes), Because: s.Because, Until: s.Until, BlockedBy: s.BlockedBy, Policy: s.Policy, Left: s.Left}
		if s.Err != nil {
			j.Error = s.Err.Error()
		}
		doc.Resources[i] = j
	}
	return doc
}

// changeJSON is a change in JSON. From and To have the types that the field has
// in a graph; absent means none. Unknown is there in place of To.
type changeJSON struct {
	Field   string      `json:"field,omitempty"` // path of the parameter; absent for the thing as a whole
	Verb    engine.Verb `json:"verb,omitempty"`  // created, deleted, refreshed or ran; absent where the values say it
	From    any         `json:"from,omitempty"`
	To      any         `json:"to,omitempty"`
	Unknown bool        `json:"unknown,omitempty"`
}

// changesJSON describes changes; a value that is not known yet has a mark of its own,
// since null is a value.
func changesJSON(cs []engine.Change) []changeJSON {
	list := make([]changeJSON, len(cs))
	for i, c := range cs {
		list[i] = changeJSON{Field: c.Field, Verb: c.Verb, From: c.From, To: c.To}
		// engine.Unknown is the value of a field that is known only after a run, see law 11.
		if c.To == any(engine.Unknown) {
			list[i].To, list[i].Unknown = nil, true
		}
	}
	return list
}

// sortedKeys returns the keys in order, so that the output is the same on every run.
func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
