package gapi_test

import (
	"maps"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/traits"
)

// pointer is a kind that may refer to others by its parameters.
type pointer struct {
	engine.Res
	traits.Base
	To []schema.Ref `yaml:"to" doc:"Others."`
}

func (p *pointer) String() string                     { return p.Base.String() }
func (p *pointer) Kind() string                       { return p.Base.Kind() }
func (p *pointer) SetKind(s string)                   { p.Base.SetKind(s) }
func (p *pointer) Name() string                       { return p.Base.Name() }
func (p *pointer) SetName(s string)                   { p.Base.SetName(s) }
func (p *pointer) MetaParams() *engine.MetaParams     { return p.Base.MetaParams() }
func (p *pointer) SetMetaParams(m *engine.MetaParams) { p.Base.SetMetaParams(m) }

// pointing makes one that refers to some names.
func pointing(names ...string) *pointer {
	p := &pointer{}
	for _, name := range names {
		p.To = append(p.To, schema.Ref{Kind: "p", Name: name})
	}
	return p
}

// TestReferrers: the references of the graph that runs are known, and stay so over changes of its parts.
func TestReferrers(t *testing.T) {
	g := graph.New[*resgraph.Vertex]("g")
	for name, res := range map[string]*pointer{"a": pointing("b", "c"), "b": pointing(), "c": pointing("c")} {
		if _, err := g.Add("p["+name+"]", &resgraph.Vertex{Res: res}); err != nil {
			t.Fatal(err)
		}
	}
	r := gapi.NewReferrers(g)
	never := func(string) bool { return false }
	check := func(wantGone, wantBy string, anew func(string) bool, ids ...string) {
		t.Helper()
		var gone, by string
		for gone, by = range r.To(ids, anew) {
			break
		}
		if gone != wantGone || by != wantBy {
			t.Errorf("without %v, %q refers to %q; want %q to %q", ids, by, gone, wantBy, wantGone)
		}
	}
	if all := maps.Collect(r.To([]string{"p[b]", "p[c]"}, never)); len(all) != 2 {
		t.Errorf("not all are found: %q", all)
	}
	check("p[b]", "p[a]", never, "p[b]")
	check("", "", never, "p[a]")         // no resource refers to it
	check("", "", never, "p[a]", "p[b]") // both go
	check("p[c]", "p[a]", never, "p[b]x", "p[c]")
	check("", "", func(id string) bool { return id == "p[a]" }, "p[b]") // it is declared anew
	r.Set("p[a]", pointing("c"))
	check("", "", never, "p[b]")
	r.Set("p[d]", pointing("b"))
	check("p[b]", "p[d]", never, "p[b]")
	r.Set("p[d]", nil)
	check("", "", never, "p[b]")
	var none *gapi.Referrers
	none.Set("p[a]", pointing("b")) // no question was asked yet
}
