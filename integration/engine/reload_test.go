package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/traits"
)

// part does nothing, is something, and wants what others are.
type part struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Unwatched
	Is    string   `yaml:"is"`
	Wants []string `yaml:"wants"`
	Goes  bool     `yaml:"goes"`  // it is to go
	Wrong bool     `yaml:"wrong"` // Validate refuses it
	Fails bool     `yaml:"fails"` // Init does

	valid bool // Validate was called
	count *partCount
}

type partCount struct{ validated, asked, early atomic.Int32 }

func (p *part) Default() engine.Res                            { return &part{count: p.count} }
func (p *part) Leaving() bool                                  { return p.Goes }
func (p *part) Cmp(o engine.Res) error                         { return engine.CmpFields(p, o) }
func (p *part) Watch(context.Context) error                    { return nil }
func (p *part) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (p *part) Cleanup() error                                 { return nil }

func (p *part) Validate() error {
	p.count.validated.Add(1)
	p.valid = true
	if p.Wrong {
		return errors.New("wrong")
	}
	return nil
}

func (p *part) Init(*engine.Init) error {
	if !p.valid {
		p.count.early.Add(1)
	}
	if p.Fails {
		return errors.New("it fails")
	}
	return nil
}

// mate is a part that may be grouped.
type mate struct {
	part `yaml:",inline"`
	traits.Groupable
}

func (m *mate) Default() engine.Res    { return &mate{part: part{count: m.count}} }
func (m *mate) GroupKey() string       { return "all" }
func (m *mate) Cmp(o engine.Res) error { return errors.Join(engine.CmpFields(m, o), m.CmpGroup(o)) }
func (m *mate) Cleanup() error         { return m.CleanupGroup() }
func (m *mate) Init(i *engine.Init) error {
	return cmp.Or(m.part.Init(i), m.InitGroup(i))
}
func (m *mate) CheckApply(ctx context.Context, apply bool) (bool, error) {
	return m.CheckGroup(ctx, apply, true, nil)
}

type partUID struct {
	autoedge.BaseUID
	is string
}

func (u *partUID) String() string { return u.is }
func (u *partUID) Hash() string   { return u.is }
func (u *partUID) Useful() bool   { return true }
func (u *partUID) IFF(o autoedge.UID) bool {
	p, ok := o.(*partUID)
	return ok && p.is == u.is
}

func (p *part) UIDs() []autoedge.UID { return []autoedge.UID{&partUID{autoedge.UIDOf(p), p.Is}} }

func (p *part) AutoEdges() (autoedge.Needs, error) {
	p.count.asked.Add(1)
	a := &all{}
	for _, w := range p.Wants {
		a.uids = append(a.uids, &partUID{autoedge.UIDOf(p), w})
	}
	return a, nil
}

type all struct{ uids []autoedge.UID }

func (a *all) Next() []autoedge.UID { return a.uids }
func (a *all) Test([]bool) bool     { return false }

// partNames are the names of what may be in a graph; the last ones are those of mates.
var partNames = []string{"a", "b", "c", "d", "e"}

const mates = 2

// drawParts draws a graph: mostly the one before, but for a few.
func drawParts(t *rapid.T, before map[string]part) map[string]part {
	next := map[string]part{}
	for _, name := range partNames {
		p, there := before[name]
		switch rapid.IntRange(0, 4).Draw(t, name) {
		case 0:
			p = part{
				Is:    rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "is"),
				Wants: rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 2).Draw(t, "wants"),
				Goes:  rapid.Bool().Draw(t, "goes"),
				Wrong: rapid.IntRange(0, 9).Draw(t, "wrong") == 0,
				Fails: rapid.IntRange(0, 9).Draw(t, "fails") == 0,
			}
		case 1:
			there = !there
		}
		if there {
			next[name] = p
		}
	}
	return next
}

// declareParts declares new resources of the parts, by their names.
func declareParts(parts map[string]part, count *partCount) *gapi.Declared {
	d := &gapi.Declared{Name: "parts"}
	for i, name := range partNames {
		p, ok := parts[name]
		if !ok {
			continue
		}
		p.count = count
		r := gapi.Declaration{Kind: "part", Name: name, Res: &p}
		if i >= len(partNames)-mates {
			r.Kind, r.Res = "mate", &mate{part: p}
		}
		d.Resources = append(d.Resources, r)
	}
	return d
}

// shape is what a graph runs: its vertices with their members, and its edges.
func shape(g *resgraph.Graph) (list []string) {
	for i, v := range g.All() {
		ids := []string{g.ID(i)}
		for _, m := range v.Special().Group {
			ids = append(ids, m.Res.String())
		}
		list = append(list, strings.Join(ids, " "))
	}
	for e := range g.Edges() {
		list = append(list, fmt.Sprint(g.ID(e.From), " to ", g.ID(e.To), e.Notify))
	}
	slices.Sort(list)
	return list
}

// runParts runs an engine, which is given what declare returns until that is nil; seen gets the
// graph that has taken effect, nil if it was refused.
func runParts(t *testing.T, declare func() *gapi.Declared, seen func(*resgraph.Graph)) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var e *mgmt.Engine
	begin := make(chan struct{})
	o := mgmt.Options{Observer: mgmt.Observer{Loaded: func(graph func() *resgraph.Graph) { seen(graph()) }, Refused: func(error) { seen(nil) }}}
	e, err := mgmt.Open(ctx, o, gated{static.From(func(yield func(*gapi.Declared) bool) {
		defer cancel()
		for d := declare(); d != nil && yield(d); d = declare() {
			if e.Told(ctx) != nil { // seen has the graph before the next one is declared
				return
			}
		}
	}), begin})
	if err != nil {
		return err
	}
	close(begin)
	return e.Wait()
}

// Whatever ran before, and was refused since, a graph that takes effect is the same one as if it were the first; and
// what is initialised was validated.
func TestReloadedAsTheFirst(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var count, other partCount
		graphs := make([]map[string]part, rapid.IntRange(2, 8).Draw(rt, "graphs"))
		var before map[string]part
		for i := range graphs {
			before = drawParts(rt, before)
			graphs[i] = before
		}
		at, good := -1, false
		declare := func() *gapi.Declared {
			if at++; at == len(graphs) {
				return nil
			}
			return declareParts(graphs[at], &count)
		}
		seen := func(got *resgraph.Graph) {
			if got == nil {
				return // what Init says depends on what runs
			}
			good = true
			want, _ := gapi.Build(engine.DefaultRegistry(), declareParts(graphs[at], &other))
			if want == nil {
				rt.Errorf("it has taken effect, although it is wrong")
				return
			}
			want, err := transform.Run(t.Context(), want, transform.Steps(transform.Options{}), nil)
			if err != nil || !slices.Equal(shape(got), shape(want)) {
				rt.Errorf("it is %q\nwant  %q (%v)", shape(got), shape(want), err)
			}
		}
		if err := runParts(t, declare, seen); err != nil && good {
			rt.Error(err)
		}
		if n := count.early.Load(); n > 0 {
			rt.Errorf("%d were initialised that nobody had validated", n)
		}
	})
}

// What is declared as it runs is neither validated nor asked again, also after a graph that was refused.
func TestReloadedIsNotAskedAgain(t *testing.T) {
	var count partCount
	two := map[string]part{"a": {Is: "x"}, "b": {Is: "y", Wants: []string{"x"}}}
	bad := map[string]part{"a": {Is: "x"}, "b": {Is: "y", Wants: []string{"x"}}, "c": {Is: "x", Fails: true}}
	other := map[string]part{"a": {Is: "z"}, "b": {Is: "y", Wants: []string{"x"}}}
	steps := []struct {
		parts            map[string]part
		validated, asked int32
		edges            int
	}{
		{two, 2, 2, 1},
		{two, 0, 0, 1},
		{bad, 1, 2, -1}, // what b wants has come
		{two, 0, 0, 1},
		{other, 1, 2, 0},
		{two, 1, 2, 1},
	}
	at := -1
	declare := func() *gapi.Declared {
		if at++; at == len(steps) {
			return nil
		}
		count = partCount{}
		return declareParts(steps[at].parts, &count)
	}
	seen := func(g *resgraph.Graph) {
		s, edges := steps[at], -1
		if g != nil {
			edges = g.EdgeCount()
		}
		if v, a := count.validated.Load(), count.asked.Load(); v != s.validated || a != s.asked || edges != s.edges {
			t.Errorf("graph %d: %d were validated, %d asked, %d edges; want %d, %d, %d", at, v, a, edges, s.validated, s.asked, s.edges)
		}
	}
	if err := runParts(t, declare, seen); err != nil {
		t.Error(err)
	}
}
