package gapi_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// several is done by one of two backends.
type several struct{ plain }

func (*several) Default() engine.Res { return &several{} }
func (*several) Backends() []string  { return []string{"apk", "apt"} }

// Validate says of an unknown one what was said already.
func (s *several) Validate() error {
	if b := s.MetaParams().Backend; b != "" && !slices.Contains(s.Backends(), b) {
		return errors.New("it is said twice")
	}
	return nil
}

// The metaparameter backend names one that there is, of a kind that has some; else the
// finding has the place of the name, and those that there are.
func TestBuildBackend(t *testing.T) {
	reg := registry(t, nil)
	if err := reg.Register("several", func() engine.Res { return &several{} }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kind, name, want string }{
		{"several", "apt", ""},
		{"several", "", ""},
		{"several", "atp", `g:5:20: backend: several has no backend "atp", only apk, apt (did you mean "apt"?)`},
		{"several", "yum", `g:5:20: backend: several has no backend "yum", only apk, apt`},
		{"plain", "apt", `g:5:20: backend: nothing is to be chosen, the kind plain is always done in one way`},
	} {
		r := declare(5, c.kind, "a")
		r.Meta = object(5, pair("backend", &schema.Node{Kind: schema.NodeString, Pos: at(5, 20), Text: c.name}))
		g, ds := gapi.Build(reg, &gapi.Declared{Resources: []gapi.Declaration{r}})
		switch {
		case c.want == "" && (g == nil || len(ds) > 0):
			t.Errorf("%s, %q: %v", c.kind, c.name, ds)
		case c.want != "" && (g != nil || len(ds) != 1 || ds.Error() != c.want || ds[0].Path != "meta.backend"):
			t.Errorf("%s, %q: %v", c.kind, c.name, ds)
		}
	}
}
