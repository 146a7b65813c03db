package gapi_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// picky needs an OS and a program.
type picky struct {
	plain `yaml:"-"`
	asked int
}

func (*picky) Default() engine.Res { return &picky{} }

func (p *picky) CheckMachine(m engine.Machine) error {
	p.asked++
	var errs []error
	if os := m.Facts["os"]; os == "Broken" {
		panic("oh")
	} else if os != "Debian" {
		errs = append(errs, fmt.Errorf("it is for Debian, and this is %v", os))
	}
	if !m.HasProgram("tool") {
		errs = append(errs, errors.New("there is no program tool"))
	}
	return errors.Join(errs...)
}

// TestCheckMachine: what a machine lacks is said for each resource at its place, with the findings of Build before
// it. The same graph is judged for any machine. Hidden resources, and those that run already, are not asked.
func TestCheckMachine(t *testing.T) {
	reg, err := registry(t, nil).With("picky", func() engine.Res { return &picky{} })
	if err != nil {
		t.Fatal(err)
	}
	hidden := declare(8, "picky", "hidden")
	hidden.Meta = object(9, pair("hidden", &schema.Node{Kind: schema.NodeBool, Pos: at(9, 9), Text: "true"}))
	listens := declare(6, "plain", "c")
	listens.Listen = refs(6, ref("plain", "b")) // plain can't refresh: a warning
	g, ds := gapi.Build(reg, &gapi.Declared{Resources: []gapi.Declaration{
		declare(2, "picky", "a"), declare(4, "plain", "b"), listens, hidden, declare(10, "picky", "runs"),
	}})
	if g == nil {
		t.Fatal(ds)
	}
	runs, _ := g.Index("picky[runs]")
	same := func(i int) bool { return i == runs }
	on := func(os string, programs ...string) engine.Machine {
		return engine.Machine{Facts: map[string]any{"os": os}, Has: func(p string) bool { return slices.Contains(programs, p) }}
	}
	const warning = "g:6:20: warning: "
	for _, c := range []struct {
		name string
		m    engine.Machine
		want []string
	}{
		{"that one", on("Debian", "tool"), nil},
		{"another one", on("Alpine"), []string{"g:2:1: it is for Debian, and this is Alpine", "g:2:1: there is no program tool"}},
		{"one without programs", engine.Machine{Facts: map[string]any{"os": "Debian"}}, []string{"g:2:1: there is no program tool"}},
		{"one that nothing is known of", engine.Machine{Unknown: true}, nil},
		{"one that it can't stand", on("Broken"), []string{"g:2:1: CheckMachine panicked: oh"}},
	} {
		got, found := gapi.CheckMachine(g, ds, func() engine.Machine { return c.m }, same)
		var said []string
		for _, d := range found {
			if !strings.HasPrefix(d.String(), warning) {
				said = append(said, d.String())
			}
		}
		if !slices.Equal(said, c.want) || (got == nil) != (c.want != nil) || len(found) != len(c.want)+1 {
			t.Errorf("%s: %v, want %v and a warning; there is a graph: %v", c.name, found, c.want, got != nil)
		}
	}
	for _, id := range []string{"picky[hidden]", "picky[runs]"} {
		if at, _ := g.Index(id); g.Value(at).Res.(*picky).asked > 0 {
			t.Errorf("%s was asked", id)
		}
	}
	if got, found := gapi.CheckMachine(nil, ds, func() engine.Machine { return on("Alpine") }, nil); got != nil || len(found) != len(ds) {
		t.Error("a graph that is none has findings of its own")
	}
}
