package control

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/selection"
)

var (
	errUnnamed = bad("name one as kind[name]", "no resource is given")
	errNoGraph = &Error{http.StatusNotFound, "there is no graph yet", "look at GET /v1/status"}
)

// find returns the vertex that a name means: that of a member of a group is its
// owner.
// A vertex of a group runs for its members, so its history is theirs too.
func (s *Server) find(name string) (id string, err error) {
	g := s.opt.Recorder.Graph()
	if g == nil {
		return "", errNoGraph
	}
	if i, ok := resgraph.Find(g, name); ok {
		return g.ID(i), nil
	}
	return "", unknown(g, name)
}

// unknown is the error of a name that means no vertex.
func unknown(g *resgraph.Graph, name string) *Error {
	var ids, alike []string
	for _, id := range g.IDs() {
		ids = append(ids, id)
		if _, rest, ok := strings.Cut(id, "["); ok && strings.TrimSuffix(rest, "]") == name {
			alike = append(alike, id)
		}
	}
	hint := httpd.DidYouMean(name, ids)
	if len(alike) > 0 {
		hint = fmt.Sprintf("did you mean %q?", alike[0]) // the kind was left out
	}
	return &Error{http.StatusNotFound, fmt.Sprintf("%s is not in the graph", name), hint}
}

// Names are the resources of the graph in effect.
type Names struct {
	Resources []string `json:"resources"`       // sorted; those of a selection in the order of the graph
	One       bool     `json:"one,omitempty"`   // with a selection: it names one resource, and is no pattern
	Terms     []string `json:"terms,omitempty"` // kinds, modules and labels of the graph, as a selection has them; sorted
	All       int      `json:"all,omitempty"`   // with a selection: how many there are without a limit
}

const manyNames = 1000

// It is for completion in a shell: names only, in order, at most 1,000 without a limit.
func (s *Server) getResources(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := params{Values: r.URL.Query()}
	prefix, terms := p.Get("prefix"), p.yes("terms")
	limit := p.number("limit", manyNames, 1, 1<<20)
	if p.err != nil {
		return nil, p.err
	}
	out := Names{Resources: []string{}}
	if text := p.Get("select"); text != "" {
		list, err := s.chooseNow(r.Context(), text)
		if err != nil {
			return nil, err
		}
		c := list[0]
		for _, id := range c.ids {
			if strings.HasPrefix(id, prefix) {
				out.Resources = append(out.Resources, id)
			}
		}
		out.One, out.All = c.one, len(out.Resources)
		out.Resources = out.Resources[:min(len(out.Resources), int(limit))]
		return out, nil
	}
	if g := s.opt.Recorder.Graph(); g != nil {
		for _, id := range g.IDs() {
			if strings.HasPrefix(id, prefix) {
				out.Resources = append(out.Resources, id)
			}
		}
	}
	if terms {
		out.Terms = s.terms(prefix)
	}
	slices.Sort(out.Resources)
	out.Resources = out.Resources[:min(len(out.Resources), int(limit))]
	return out, nil
}

// terms returns the kinds, modules and labels of the graph that begin so, as a selection has them.
func (s *Server) terms(prefix string) []string {
	all := map[string]bool{}
	if g := s.opt.Recorder.Graph(); g != nil {
		for i, v := range g.All() {
			for _, item := range selection.Items(g.ID(i), v) {
				for _, term := range item.Terms() {
					all[term] = true
				}
			}
		}
	}
	maps.DeleteFunc(all, func(term string, _ bool) bool { return !strings.HasPrefix(term, prefix) })
	return slices.Sorted(maps.Keys(all))
}
