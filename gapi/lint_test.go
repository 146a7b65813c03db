package gapi_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// linted warns of its parameter text, or panics.
type linted struct {
	plain
	Text string `yaml:"text" mgmt:"param"`
}

func (*linted) Default() engine.Res { return &linted{} }
func (l *linted) Lint() schema.Diagnostics {
	switch l.Text {
	case "panic":
		panic("oh")
	case "odd":
		return schema.Diagnostics{{Path: "text", Message: "text is odd"}}
	}
	return nil
}

// TestBuildLint: the warnings of a resource stand at their parameters, and refuse nothing. A panic is an error.
func TestBuildLint(t *testing.T) {
	reg := registry(t, nil)
	if err := reg.Register("linted", func() engine.Res { return &linted{} }); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"odd": "g:5:20: warning: text is odd", "even": "",
		"panic": "g:5:1: Lint panicked: oh",
	} {
		r := declare(5, "linted", "a")
		r.Value = object(5, pair("text", &schema.Node{Kind: schema.NodeString, Pos: at(5, 20), Text: text}))
		g, ds := gapi.Build(reg, &gapi.Declared{Resources: []gapi.Declaration{r}})
		if ds.Error() != want || (g == nil) != (text == "panic") {
			t.Errorf("%s: %v, %q", text, g, ds.Error())
		}
	}
}
