package gapi_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/traits"
)

// dataThing is a plain one whose type is data.
type dataThing struct {
	plain
	traits.Recvable
	schema.Data
}

func (d *dataThing) Default() engine.Res { return &dataThing{Data: d.Type.New()} }
func (d *dataThing) Sends() any          { return d.Data }

func newDataThing(t *testing.T, key string) *dataThing {
	t.Helper()
	ty, err := schema.Build(&schema.Type{Kind: schema.KindStruct, Name: "data", Fields: []*schema.Field{
		{Key: key, Type: &schema.Type{Kind: schema.KindString}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return &dataThing{Data: ty.New()}
}

// TestBuildFromData: ready resources of one Go type each have the type that they
// say.
func TestBuildFromData(t *testing.T) {
	a, b := newDataThing(t, "one"), newDataThing(t, "two")
	g := build(t, registry(t, nil), &gapi.Declared{Resources: []gapi.Declaration{
		{Kind: "data", Name: "a", Res: a, Value: object(0, pair("one", text(0, "x")))},
		{Kind: "data", Name: "b", Res: b, Recv: []gapi.RecvDecl{{Field: "Two", From: schema.Ref{Kind: "data", Name: "a", Key: "One"}}}},
	}})
	if v, err := schema.Get(a, "one"); v != "x" || err != nil {
		t.Errorf("a holds %v, %v", v, err)
	}
	if w := g.Value(1).Recv; len(w) != 1 || w[0].Field != "two" || w[0].From.Key != "one" {
		t.Errorf("b receives %v", w)
	}
}
