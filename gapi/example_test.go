package gapi_test

import (
	"context"
	"fmt"
	"iter"
	"strings"

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

// lines is a frontend: each line of a text declares a page, by its name and its text.
type lines struct{ file, text string }

// Graphs yields the only graph. A frontend whose source changes would wait here for that, and yield the next graph.
func (f lines) Graphs(context.Context, gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		d := &gapi.Declared{Name: "pages"}
		at := schema.Pos{File: f.file}
		for line := range strings.Lines(f.text) {
			at.Line++
			name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			value, err := schema.NodeOf(map[string]any{"text": text})
			if err != nil {
				yield(nil, err)
				return
			}
			d.Resources = append(d.Resources, gapi.Declaration{Kind: "page", Name: name, Pos: at, Value: value})
		}
		yield(d, nil)
	}
}

// A frontend reads a source of its own. Here the loop of the engine stands in the example; a program gives the frontend to
// mgmt.Run.
func ExampleFrontend() {
	kinds := engine.NewRegistry()
	if err := kinds.Register("page", func() engine.Res { return &page{} }); err != nil {
		panic(err)
	}
	var source gapi.Frontend = lines{"pages.txt", "home Welcome\nhelp Ask us\nhome Again\n"}
	for d, err := range source.Graphs(context.Background(), gapi.Env{}) {
		if err != nil {
			panic(err)
		}
		_, diags := gapi.Build(kinds, d)
		fmt.Println(len(d.Resources), diags)
	}
	// Output:
	// 3 pages.txt:3: page[home] is declared twice
	//     pages.txt:1: first declared here
}

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
