package gapi_test

import (
	"errors"
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

// stated refuses a text where its state is absent.
type stated struct {
	plain
	State string `yaml:"state"`
	Text  string `yaml:"text" mgmt:"param"`
}

func (*stated) Default() engine.Res { return &stated{} }
func (s *stated) DropForState() {
	if s.Text == "panic" {
		panic("oh")
	}
	if s.State == "absent" {
		s.Text = ""
	}
}
func (s *stated) Validate() error {
	if s.State == "absent" && s.Text != "" {
		return errors.New("text makes no sense")
	}
	return nil
}

// TestFindingQ19ComputedState: what makes no sense for a computed state is left out, and refused for a written one.
func TestFindingQ19ComputedState(t *testing.T) {
	reg := registry(t, nil)
	if err := reg.Register("stated", func() engine.Res { return &stated{} }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		state, text, want string
		computed          bool
	}{
		{"absent", "x", "", true},
		{"absent", "x", "g:5:30: text makes no sense", false},
		{"exists", "x", "", true},
		{"exists", "panic", "g:5:1: DropForState panicked: oh", true},
		{"exists", "panic", "", false},
	} {
		r := declare(5, "stated", "a")
		r.Value = object(5,
			pair("state", &schema.Node{Kind: schema.NodeString, Pos: at(5, 20), Text: c.state, Computed: c.computed}),
			pair("text", &schema.Node{Kind: schema.NodeString, Pos: at(5, 30), Text: c.text}))
		if _, ds := gapi.Build(reg, &gapi.Declared{Resources: []gapi.Declaration{r}}); ds.Error() != c.want {
			t.Errorf("%+v: %q", c, ds.Error())
		}
	}
}
