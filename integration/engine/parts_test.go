package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/traits"
)

// piece is a resource that has all that a graph says about two resources: automatic edges, clashes, groups, values and references.
type piece struct {
	traits.Base
	traits.Recvable
	traits.Refreshable
	traits.Groupable
	traits.Overlapping
	traits.Unwatched

	Is    []string      `yaml:"is" mgmt:"param" doc:"What it is."`
	Wants []string      `yaml:"wants" mgmt:"param" doc:"What it wants before itself; after a plus with refresh."`
	Value string        `yaml:"value" mgmt:"param" doc:"Two pieces that are one thing clash where this differs."`
	Key   string        `yaml:"key" mgmt:"param" doc:"Those of one key run as one."`
	In    string        `yaml:"in" mgmt:"param" doc:"A text."`
	Open  string        `yaml:"open" mgmt:"param,nosecret" doc:"A text that others see."`
	Token schema.Secret `yaml:"token" mgmt:"param" doc:"A secret."`
	Other schema.Ref    `yaml:"other" mgmt:"param" doc:"Another one."`
}

// pieceSends is what a piece sends.
type pieceSends struct {
	Out   string        `yaml:"out" doc:"A text."`
	Token schema.Secret `yaml:"token" doc:"A secret."`
}

func (x *piece) Default() engine.Res                { return &piece{} }
func (x *piece) Validate() error                    { return nil }
func (x *piece) Init(init *engine.Init) error       { return x.InitGroup(init) }
func (x *piece) Cleanup() error                     { return x.CleanupGroup() }
func (x *piece) Sends() any                         { return pieceSends{} }
func (x *piece) GroupKey() string                   { return x.Key }
func (x *piece) GroupCmp(engine.GroupableRes) error { return nil }

func (x *piece) CheckApply(ctx context.Context, apply bool) (bool, error) {
	return x.CheckGroup(ctx, apply, true, nil)
}

func (x *piece) Cmp(o engine.Res) error { return errors.Join(engine.CmpFields(x, o), x.CmpGroup(o)) }

func (x *piece) UIDs() (list []autoedge.UID) {
	for _, is := range x.Is {
		list = append(list, traits.FileUID(autoedge.UIDOf(x), is))
	}
	return list
}

func (x *piece) Clashes(o engine.Res) error {
	if other, ok := o.(*piece); ok && other.Value != x.Value {
		return errors.New("the values differ")
	}
	return nil
}

// AutoEdges asks for all wants at once.
func (x *piece) AutoEdges() (autoedge.Needs, error) { return &pieceAsks{x: x}, nil }

type pieceAsks struct {
	x    *piece
	done bool
}

func (a *pieceAsks) Next() (list []autoedge.UID) {
	if a.done {
		return nil
	}
	a.done = true
	for _, want := range a.x.Wants {
		base := autoedge.UIDOf(a.x)
		want, base.Notifying = strings.CutPrefix(want, "+")
		switch {
		case strings.HasPrefix(want, "@"):
			list = append(list, autoedge.NameUID(base, "piece", want[1:]))
		case strings.HasSuffix(want, "/*"):
			list = append(list, traits.BelowUID(base, strings.TrimSuffix(want, "/*")))
		default:
			list = append(list, traits.FileUID(base, want))
		}
	}
	return list
}

func (a *pieceAsks) Test([]bool) bool { return false }

// declaredPieces is a declared graph as data, in the order of declaration.
type declaredPieces struct {
	names []string
	specs map[string]pieceSpec
	edges map[[2]string]bool // declared by themselves: whether they notify
}

type pieceSpec struct {
	is, wants              []string
	value, key             string
	hidden, noop, reverse  bool
	in, open, other, marks string // names of other pieces, with the key that is received
	depend, notify, listen []string
}

func (s pieceSpec) declare(name string) gapi.Declaration {
	x := &piece{Is: s.is, Wants: s.wants, Value: s.value, Key: s.key}
	if s.other != "" {
		x.Other = schema.Ref{Kind: "piece", Name: s.other}
	}
	m := x.MetaParams()
	m.AutoGroup, m.Hidden, m.Reverse = new(s.key != ""), s.hidden, s.reverse
	if s.noop {
		m.Noop = new(true)
	}
	if s.marks != "" {
		m.Secret = []string{s.marks}
	}
	d := static.Declare("piece", name, x)
	for field, from := range map[string]string{"in": s.in, "open": s.open} {
		if sender, key, ok := strings.Cut(from, "."); ok {
			d.Recv = append(d.Recv, gapi.RecvDecl{Field: field, From: schema.Ref{Kind: "piece", Name: sender, Key: key}})
		}
	}
	for _, list := range []struct {
		names []string
		to    *[]gapi.RefDecl
	}{{s.depend, &d.Depend}, {s.notify, &d.Notify}, {s.listen, &d.Listen}} {
		for _, other := range list.names {
			*list.to = append(*list.to, gapi.RefDecl{Ref: schema.Ref{Kind: "piece", Name: other}})
		}
	}
	return d
}

func (m *declaredPieces) clone() *declaredPieces {
	return &declaredPieces{names: slices.Clone(m.names), specs: maps.Clone(m.specs), edges: maps.Clone(m.edges)}
}

// declare declares those that some names, and edges.
func (m *declaredPieces) declare(some []string, edges [][2]string) *gapi.Declared {
	d := &gapi.Declared{Name: "pieces"}
	for _, name := range m.names {
		if slices.Contains(some, name) {
			d.Resources = append(d.Resources, m.specs[name].declare(name))
		}
	}
	for _, ends := range edges {
		d.Edges = append(d.Edges, gapi.EdgeDecl{From: gapi.EdgeEnd{Kind: "piece", Name: ends[0]}, To: gapi.EdgeEnd{Kind: "piece", Name: ends[1]}, Notify: m.edges[ends]})
	}
	return d
}

func (m *declaredPieces) whole() *gapi.Declared {
	return m.declare(m.names, slices.SortedFunc(maps.Keys(m.edges), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }))
}

// drawSpec draws a piece. Most graphs of such pieces have no cycle and no group.
func (m *declaredPieces) drawSpec(t *rapid.T, name string, grouping bool) pieceSpec {
	path := rapid.SampledFrom([]string{"/a", "/b", "/c"})
	one := func(of int, what string) bool { return rapid.IntRange(1, of).Draw(t, what) == 1 }
	other := rapid.SampledFrom(m.names)
	s := pieceSpec{value: "x", hidden: one(12, "hidden"), noop: one(8, "noop")}
	s.is = rapid.SliceOfN(path, 0, 1).Draw(t, "is")
	s.wants = rapid.SliceOfN(rapid.SampledFrom([]string{"/a", "/b", "+/c", "@a", "@b", "+@c"}), 0, 2).Draw(t, "wants")
	if one(12, "below") {
		s.wants = append(s.wants, "/*")
	}
	if one(5, "value") {
		s.value = "y"
	}
	if grouping && one(2, "grouped") {
		s.key = "k"
	}
	if one(10, "mark") {
		s.marks = "in"
	}
	if one(6, "receives") {
		s.in = other.Draw(t, "from") + rapid.SampledFrom([]string{".out", ".token"}).Draw(t, "key")
	}
	if one(10, "receives openly") {
		s.open = other.Draw(t, "from") + ".out"
	}
	if one(8, "refers") {
		s.other = other.Draw(t, "other")
	}
	for _, o := range rapid.SliceOfN(other, 0, 2).Draw(t, "edges") {
		list := rapid.SampledFrom([]*[]string{&s.depend, &s.listen}).Draw(t, "list")
		if o > name || one(8, "backwards") {
			list = &s.notify
		}
		if o != name {
			*list = append(*list, o)
		}
	}
	return s
}

// change draws a part, or what is to be deleted.
func (m *declaredPieces) change(t *rapid.T, grouping bool) (next *declaredPieces, some []string, edges [][2]string, removes bool) {
	next = m.clone()
	removes = rapid.IntRange(0, 3).Draw(t, "removes") == 0
	some = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 1, 3, rapid.ID).Draw(t, "some")
	if removes {
		some = slices.DeleteFunc(some, func(n string) bool { return !slices.Contains(m.names, n) })
	}
	in := func(n string) bool { return slices.Contains(some, n) }
	maps.DeleteFunc(next.edges, func(ends [2]string, _ bool) bool {
		return in(ends[0]) && in(ends[1]) || removes && (in(ends[0]) || in(ends[1]))
	})
	if removes {
		next.names = slices.DeleteFunc(next.names, in)
		maps.DeleteFunc(next.specs, func(n string, _ pieceSpec) bool { return in(n) })
		return next, some, nil, true
	}
	for _, n := range some {
		if !slices.Contains(next.names, n) {
			next.names = append(next.names, n)
		}
	}
	for _, n := range some {
		next.specs[n] = next.drawSpec(t, n, grouping)
	}
	if rapid.IntRange(0, 4).Draw(t, "an edge") == 0 {
		ends := [2]string{rapid.SampledFrom(some).Draw(t, "from"), rapid.SampledFrom(next.names).Draw(t, "to")}
		if _, there := next.edges[ends]; !there && ends[0] < ends[1] {
			next.edges[ends] = rapid.Bool().Draw(t, "loud")
			edges = append(edges, ends)
		}
	}
	return next, some, edges, false
}

// drawn is a graph as text: the vertices with their members, and the edges.
func drawnGraph(g *resgraph.Graph) (list []string) {
	for i, v := range g.All() {
		var text strings.Builder
		text.WriteString(g.ID(i))
		for _, m := range v.Special().Group {
			text.WriteString("+" + m.Res.String())
		}
		list = append(list, text.String())
	}
	for e := range g.Edges() {
		arrow := ">"
		if e.Notify {
			arrow = "!"
		}
		list = append(list, g.ID(e.From)+arrow+g.ID(e.To))
	}
	slices.Sort(list)
	return list
}

// TestPartsActAsTheWhole: whatever sequence of Upsert and Delete an engine gets, it takes and refuses what another engine does that gets
// each graph whole, and runs the same graph.
func TestPartsActAsTheWhole(t *testing.T) {
	reg, err := engine.NewRegistry().With("piece", func() engine.Res { return &piece{} })
	if err != nil {
		t.Fatal(err)
	}
	taken, refused := 0, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		grouping := rapid.Bool().Draw(rt, "grouping")
		engines := [2]*mgmt.Engine{}
		ctx, stop := context.WithCancel(t.Context())
		defer func() {
			stop()
			for _, e := range engines {
				if err := e.Wait(); err != nil {
					rt.Error(err)
				}
			}
		}()
		for i := range engines {
			e, err := mgmt.Open(ctx, mgmt.Options{Registry: reg, State: mgmt.StateIn(t.TempDir())}, nil)
			if err != nil {
				rt.Fatal(err)
			}
			engines[i] = e
		}
		byParts, byWhole := engines[0], engines[1]
		m := &declaredPieces{specs: map[string]pieceSpec{}, edges: map[[2]string]bool{}}
		for range rapid.IntRange(1, 10).Draw(rt, "changes") {
			next, some, edges, removes := m.change(rt, grouping)
			var ids []string
			for _, n := range some {
				ids = append(ids, "piece["+n+"]")
			}
			var err error
			switch {
			case rapid.IntRange(0, 7).Draw(rt, "whole") == 0:
				_, err = byParts.Apply(ctx, next.whole())
			case removes:
				err = byParts.Patch(ctx, mgmt.Patch{Delete: append([]string{}, ids...)})
			default:
				err = byParts.Patch(ctx, mgmt.Patch{Upsert: next.declare(some, edges)})
			}
			rt.Logf("delete %v %v %v: %v", removes, ids, edges, err)
			for _, n := range some {
				rt.Logf("%s: %+v", n, next.specs[n])
			}
			_, want := byWhole.Apply(ctx, next.whole())
			if (err == nil) != (want == nil) {
				rt.Fatalf("by parts: %v\nwhole: %v", err, want)
			}
			if err == nil {
				m = next
				taken++
			} else {
				refused[why(want)]++
			}
			if got, want := drawnGraph(inEffect(t, byParts)), drawnGraph(inEffect(t, byWhole)); !slices.Equal(got, want) {
				rt.Fatalf("by parts: %q\nwhole:    %q", got, want)
			}
			if got, want := runs(rt, ctx, byParts), runs(rt, ctx, byWhole); !slices.Equal(got, want) {
				rt.Fatalf("by parts run %q, whole %q", got, want)
			}
		}
	})
	if taken == 0 || len(refused) < 2 {
		t.Errorf("of the changes %d were taken, and %v refused", taken, refused)
	}
}

// TestPartsAreJudgedByTheWhole: a part is refused for what it is to resources that run and are not in it.
func TestPartsAreJudgedByTheWhole(t *testing.T) {
	reg, err := engine.NewRegistry().With("piece", func() engine.Res { return &piece{} })
	if err != nil {
		t.Fatal(err)
	}
	e, ctx := applied(t, mgmt.Options{Registry: reg})
	m := &declaredPieces{names: []string{"a", "b", "c", "d"}, specs: map[string]pieceSpec{
		"a": {value: "x", is: []string{"/a"}}, "b": {value: "x", open: "a.out"}, "c": {value: "x", other: "b"}, "d": {value: "x", in: "b.out"},
	}}
	if _, err := e.Apply(ctx, m.whole()); err != nil {
		t.Fatal(err)
	}
	before := drawnGraph(inEffect(t, e))
	for want, spec := range map[string]pieceSpec{
		"piece[e] and piece[a] are the same thing": {value: "y", is: []string{"/a"}},
		"it never runs, so it sends nothing":       {hidden: true},
		"which may hold a secret that piece[a]":    {value: "x", marks: "in"},
	} {
		name := "a"
		if spec.is != nil {
			name = "e"
		}
		err := e.Patch(ctx, mgmt.Patch{Upsert: &gapi.Declared{Resources: []gapi.Declaration{spec.declare(name)}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	err = e.Patch(ctx, mgmt.Patch{Delete: []string{"piece[d]", "piece[b]"}})
	if by, ok := errors.AsType[*reactor.ReferredError](err); !ok || by.By != "piece[c]" {
		t.Errorf("what a parameter refers to was deleted: %v", err)
	}
	if after := drawnGraph(inEffect(t, e)); !slices.Equal(before, after) {
		t.Errorf("%q, before %q", after, before)
	}
}

// why returns the reason of a refusal in a word.
func why(err error) string {
	for _, word := range []string{"undo each other", "cycle", "not in the graph", "secret", "hidden", "before itself"} {
		if strings.Contains(err.Error(), word) {
			return word
		}
	}
	return err.Error()
}

// runs returns the resources that run.
func runs(t *rapid.T, ctx context.Context, e *mgmt.Engine) (list []string) {
	all, err := statusesOf(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range all {
		list = append(list, fmt.Sprint(st.Resource))
	}
	slices.Sort(list)
	return list
}

// TestPartsRaceWithTheWhole: parts and whole graphs that come at once take effect one after the other, each with what the engine knows of
// the one before. Seen failing with: upsert.go, change: without enter, with the detector of races and by a crash without.
func TestPartsRaceWithTheWhole(t *testing.T) {
	e, ctx := applied(t, mgmt.Options{})
	for round := range 150 {
		var wg sync.WaitGroup
		for k := range 3 {
			wg.Go(func() {
				ds := []gapi.Declaration{noopOf("base", 1), noopOf(fmt.Sprint("whole", k), round)}
				if _, err := e.Apply(ctx, &gapi.Declared{Resources: ds}); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				err := e.Patch(ctx, mgmt.Patch{Upsert: &gapi.Declared{Resources: []gapi.Declaration{noopOf(fmt.Sprint("part", k), round, "base")}}})
				if err != nil && round > 0 {
					t.Error(err)
				}
				if err := e.Patch(ctx, mgmt.Patch{Delete: []string{fmt.Sprintf("noop[part%d]", k)}}); err != nil {
					if _, unknown := errors.AsType[*reactor.UnknownResourceError](err); !unknown {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		list, err := statusesOf(ctx, e)
		if err != nil {
			t.Fatal(err)
		}
		var runs, known []string
		for _, st := range list {
			runs = append(runs, st.Resource)
		}
		for _, id := range inEffect(t, e).IDs() {
			known = append(known, id)
		}
		slices.Sort(runs)
		slices.Sort(known)
		if !slices.Equal(runs, known) {
			t.Fatalf("round %d: %q run, and %q are known", round, runs, known)
		}
	}
}

// TestPartsAreTold: a part is told of as a graph is, its names are kept for the next start, and its groups are known.
func TestPartsAreTold(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	e, err := mgmt.Open(ctx, mgmt.Options{State: mgmt.StateIn(dir), Input: "x", Observer: mgmt.Observer{Loaded: func(graph func() *resgraph.Graph) {
		mu.Lock()
		defer mu.Unlock()
		seen = drawnGraph(graph())
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	both := func(what string, err error, want ...string) {
		t.Helper()
		if err == nil {
			err = e.Told(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(seen, want) {
			t.Errorf("%s: %q, want %q", what, seen, want)
		}
	}
	both("a part before any graph", e.Patch(ctx, mgmt.Patch{Upsert: &gapi.Declared{Resources: []gapi.Declaration{noopOf("a", 1)}}}), "noop[a]")
	plain := func(name string) *gapi.Declared {
		return &gapi.Declared{Resources: []gapi.Declaration{static.Declare("noop", name, &basic.NoopRes{})}}
	}
	both("one that may be grouped", e.Patch(ctx, mgmt.Patch{Upsert: plain("b")}), "noop[a]", "noop[b]")
	both("two of those", e.Patch(ctx, mgmt.Patch{Upsert: plain("c")}), "noop[a]", "noop[b]+noop[c]")
	if owner, members, ok := groupOf(t, e, "noop[c]"); !ok || owner != "noop[b]" || fmt.Sprint(members) != "[noop[c]]" {
		t.Errorf("%s %v %t", owner, members, ok)
	}
	both("the owner goes", e.Patch(ctx, mgmt.Patch{Delete: []string{"noop[b]"}}), "noop[a]", "noop[c]")
	if st, err := e.Status(ctx, "noop[c]"); err != nil || st.Member != "" {
		t.Errorf("%+v %v", st, err)
	}
	stop()
	if err := e.Wait(); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "in-effect"))
	if err != nil || !strings.Contains(string(b), `"resources":["noop[a]","noop[c]"]`) {
		t.Errorf("%s %v", b, err)
	}
}

// TestDeleteUndoes: a resource that asks for it is undone when a part takes it away.
func TestDeleteUndoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	rested := make(chan struct{}, 100)
	ctx, stop := context.WithTimeout(t.Context(), await.Left())
	defer stop()
	e, err := mgmt.Open(ctx, mgmt.Options{State: mgmt.StateIn(t.TempDir()), Observer: mgmt.Observer{Converged: func(yes bool, _ reactor.Counts) {
		if yes {
			rested <- struct{}{}
		}
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := static.NewGraph("g")
	g.AddValues("file", path, map[string]any{"content": "after"}).Meta(map[string]any{"reverse": true})
	if err := e.Patch(ctx, mgmt.Patch{Upsert: g.Declared()}); err != nil {
		t.Fatal(err)
	}
	is := func(want string) {
		t.Helper()
		for {
			if b, _ := os.ReadFile(path); string(b) == want {
				return
			}
			select {
			case <-rested:
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				b, err := os.ReadFile(path)
				t.Fatalf("%q %v, want %q", b, err, want)
			}
		}
	}
	is("after")
	if err := e.Patch(ctx, mgmt.Patch{Delete: []string{"file[" + path + "]"}}); err != nil {
		t.Fatal(err)
	}
	is("before")
	stop()
	_ = e.Wait()
}

// inEffect returns the graph that is in effect, an empty one where there is none.
func inEffect(t *testing.T, e *mgmt.Engine) *resgraph.Graph {
	t.Helper()
	g := &resgraph.Graph{}
	err := e.Look(t.Context(), func(r mgmt.Running) error {
		g = r.(interface{ Graph() *resgraph.Graph }).Graph()
		return nil
	})
	if err != nil && !errors.Is(err, mgmt.ErrNoGraph) {
		t.Fatal(err)
	}
	return g
}
