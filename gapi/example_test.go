package gapi_test

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// page is a kind of an example.
type page struct {
	plain `yaml:"-"`
	Text  string `yaml:"text"`
}

func (*page) Default() engine.Res { return &page{} }

// A frontend declares resources by kind, name and value, each with its place. Build finds all that is
// wrong at once.
func ExampleBuild() {
	values, err := schema.NodeOf(map[string]any{"tex": "x"})
	if err != nil {
		panic(err)
	}
	at := func(line int32) schema.Pos { return schema.Pos{File: "web.txt", Line: line} }
	d := &gapi.Declared{Name: "web", Resources: []gapi.Declaration{
		{Kind: "page", Name: "a", Pos: at(1), Value: values},
		{Kind: "page", Name: "b", Pos: at(2), Before: []gapi.RefDecl{{Ref: schema.Ref{Kind: "page", Name: "c"}, Pos: at(3)}}},
	}}
	kinds := engine.NewRegistry()
	if err := kinds.Register("page", func() engine.Res { return &page{} }); err != nil {
		panic(err)
	}
	g, diags := gapi.Build(kinds, d)
	fmt.Println(g != nil)
	for _, diag := range diags {
		fmt.Println(diag)
	}

	d.Resources[0].Value, d.Resources[1].Before = nil, nil
	g, diags = gapi.Build(kinds, d)
	fmt.Println(g.Len(), g.ID(0), g.ID(1), len(diags))
	// Output:
	// false
	// page[a]: unknown key "tex" (did you mean "text"?)
	// web.txt:3: page[b]: before: page[c] is not in the graph (did you mean "page[a]"?)
	// 2 page[a] page[b] 0
}
