package control

import (
	"net/http"
	"time"

	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Detail is all about one resource.
type Detail struct {
	Why
	Source     string     `json:"source,omitempty"` // where it is declared: file:line:column
	Params     []Param    `json:"params"`           // those that it declares, in the order of its kind; empty where it has left the graph
	Needs      []Neighbor `json:"needs"`            // the resources before it, at most 100
	Dependents []Neighbor `json:"dependents"`       // the resources after it, at most 100
	More       int        `json:"more,omitempty"`   // how many more neighbors there are
}

// Param is a parameter of a resource. A long text is not sent, only its length.
type Param struct {
	Name          string   `json:"name"`
	Declared      any      `json:"declared,omitempty"` // absent where it is received, and for a parameter that only the last run has named
	DeclaredBytes int      `json:"declared_bytes,omitempty"`
	From          []string `json:"from,omitempty"`    // whom it is received from: kind[name].key
	Differs       bool     `json:"differs,omitempty"` // as the last look has seen; else the machine is as declared, if the state is ok
	Actual        any      `json:"actual,omitempty"`  // with differs: what the machine has; absent where that is nothing
	ActualBytes   int      `json:"actual_bytes,omitempty"`
}

// Neighbor is a resource that has an edge to or from another one.
type Neighbor struct {
	Resource string `json:"resource"`
	State    string `json:"state,omitempty"` // at this moment
	Notify   bool   `json:"notify,omitempty"`
}

// maxNeighbors bounds each list of a Detail.
const maxNeighbors = 100

// getDetail answers also for a resource that has left the graph, as long as the history knows it.
func (s *Server) getDetail(_ http.ResponseWriter, r *http.Request) (any, error) {
	why, err := s.why(r)
	if err != nil {
		return nil, err
	}
	out := &Detail{Why: *why, Params: []Param{}, Needs: []Neighbor{}, Dependents: []Neighbor{}}
	c, err := s.chooser(r.Context(), true)
	if err != nil || c.g == nil || out.Status == nil {
		return out, err
	}
	params, err := s.opt.Engine.Params(r.Context(), out.Resource)
	if err != nil {
		return nil, s.explained(err)
	}
	for _, p := range params {
		one := Param{Name: p.Name}
		one.Declared, one.DeclaredBytes = side(inWords(p.Value))
		for _, from := range p.From {
			one.From = append(one.From, from.String())
		}
		out.Params = append(out.Params, one)
	}
	out.differ()
	i, ok := c.g.Index(out.Resource)
	if !ok {
		return out, nil // it has left the graph between the questions
	}
	if pos := c.g.Value(i).Pos; pos.File != "" {
		out.Source = pos.String()
	}
	for e := range c.g.InEdges(i) {
		out.Needs = out.with(out.Needs, c, e.From, e.Notify)
	}
	for e := range c.g.OutEdges(i) {
		out.Dependents = out.with(out.Dependents, c, e.To, e.Notify)
	}
	return out, nil
}

// inWords returns a span as a graph has it. The other values that are no plain JSON write themselves.
func inWords(x any) any {
	if d, ok := x.(time.Duration); ok {
		return d.String()
	}
	return x
}

// with adds a neighbor, or counts it.
func (d *Detail) with(list []Neighbor, c *chooser, i int, notify bool) []Neighbor {
	if len(list) == maxNeighbors {
		d.More++
		return list
	}
	n := Neighbor{Resource: c.g.ID(i), Notify: notify}
	if st := c.states[n.Resource]; st != nil {
		n.State = st.State.String()
	}
	return append(list, n)
}

// differ notes what the last look has found otherwise than declared. What was changed since is as declared.
func (d *Detail) differ() {
	var changes []Change
	switch {
	case d.Status.Held != nil && len(d.Status.Held.Changes) > 0:
		changes = d.Status.Held.Changes
	case d.Status.State == resgraph.StateOK.String() || len(d.Runs) == 0 || d.Runs[0].Outcome == Changed:
	default:
		changes = d.Runs[0].Changes
	}
	for i := range changes {
		c := &changes[i]
		at := -1
		for j := range d.Params {
			if d.Params[j].Name == c.Field {
				at = j
			}
		}
		if at < 0 {
			at = len(d.Params)
			d.Params = append(d.Params, Param{Name: c.Field, Declared: c.To, DeclaredBytes: c.ToBytes})
		}
		p := &d.Params[at]
		p.Differs, p.Actual, p.ActualBytes = true, c.From, c.FromBytes
	}
}
