package gapi_test

import (
	"errors"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// deaf receives nothing, and can't be without its text.
type deaf struct {
	plain
	Text string `yaml:"text"`
}

func (*deaf) Default() engine.Res { return &deaf{} }

func (r *deaf) Validate() error {
	err := errors.New("it is never right")
	if r.Text == "" {
		return errors.Join(errors.New("text must be given"), err)
	}
	return err
}

// What can't be received is said once, and not to be missing too; what else is wrong is said.
func TestBuildCantReceive(t *testing.T) {
	reg, err := registry(t, func(r *thing) error {
		if r.Name() == "to" && r.Text == "" {
			return errors.New("text must be given")
		}
		return nil
	}).With("deaf", func() engine.Res { return &deaf{} })
	if err != nil {
		t.Fatal(err)
	}
	recv := func(kind, from string) gapi.Declaration {
		r := declare(4, kind, "to")
		r.Value = nil
		r.Recv = []gapi.RecvDecl{{Field: "text", From: schema.Ref{Kind: "thing", Name: from, Key: "text"}, Pos: at(5, 5)}}
		if kind == "thing" {
			r.Value = object(4, pair("size", &schema.Node{Kind: schema.NodeInt, Pos: at(4, 9), Text: "1"}))
		}
		return r
	}
	for kind, test := range map[string]struct {
		from string
		want []string
	}{
		"deaf":  {"from", []string{"g:4:1: it is never right", "g:5:5: deaf[to] can't receive: its kind takes no values"}},
		"thing": {"none", []string{"g:5:5: recv: thing[none] is not in the graph (did you mean \"thing[to]\"?)"}},
	} {
		findings(t, reg, &gapi.Declared{Resources: []gapi.Declaration{declare(2, "thing", "from"), recv(kind, test.from)}}, test.want...)
	}
}
