package transform_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/traits"
)

// after returns what Parts.After has to yield of a thing, each once.
func (m *standing) after(from string) map[string]bool {
	all := map[string]bool{}
	id := func(name string) string { return "thing[" + name + "]" }
	for _, name := range m.names {
		for _, on := range m.specs[name].depend {
			if on == from {
				all[id(name)+" by "+id(name)] = true
			}
		}
	}
	for _, to := range m.specs[from].notify {
		all[id(to)+" by "+id(from)] = true
	}
	for ends := range m.free {
		if ends[0] == from {
			all[id(ends[1])+" by "] = true
		}
	}
	return all
}

// having returns the things that say that they are a text, and whose UIDs have a hash.
func (m *standing) having(text string) (ids []string) {
	for _, name := range m.names {
		if s := m.specs[name]; s.kind != 2 && slices.Contains(s.is, text) {
			ids = append(ids, "thing["+name+"]")
		}
	}
	slices.Sort(ids)
	return ids
}

// plainEdges returns the declared edges, without marks and in order.
func plainEdges(g *resgraph.Graph) []string { return sortedEdges(g) }

// reference reports whether a pair that Referrer returned is right: the first goes, and the second stays and has declared an edge to it.
func (m *standing) reference(gone []string, id, by string) bool {
	for name, s := range m.specs {
		if by != "thing["+name+"]" || slices.Contains(gone, name) {
			continue
		}
		for _, other := range slices.Concat(s.depend, s.notify) {
			if id == "thing["+other+"]" && slices.Contains(gone, other) {
				return true
			}
		}
	}
	return false
}

// TestPartsAnswerAsTheModel: whatever sequence of changes there was, each question to Parts is answered as of the graph that is
// declared then, and Referrer finds what a removal would leave without its end.
func TestPartsAnswerAsTheModel(t *testing.T) {
	whole := 0
	rapid.Check(t, func(t *rapid.T) {
		m := &standing{specs: map[string]spec{}, free: map[[2]string]bool{}}
		var memory transform.Memory
		swap := func(g *resgraph.Graph) *transform.Parts {
			c, err := transform.Compile(t.Context(), g, transform.Options{Memory: &memory})
			if err != nil {
				t.Fatal(err)
			}
			memory.Keep()
			return c.Parts(&memory)
		}
		p := swap(m.whole(t))
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			next, some, free, removes := m.change(t)
			var part *resgraph.Graph
			var remove, brought []string
			for _, n := range some {
				if removes {
					remove = append(remove, "thing["+n+"]")
				}
			}
			if !removes {
				part = next.graph(t, func(n string) bool { return slices.Contains(some, n) }, free)
				for i, v := range part.All() {
					if v != nil {
						brought = append(brought, part.ID(i))
					}
				}
			}
			c, err := p.Change(t.Context(), nil, part, remove...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for id, v := range c.Brought() {
				if got = append(got, id); v == nil {
					t.Fatalf("%s is brought without a value", id)
				}
			}
			if !slices.Equal(got, brought) {
				t.Fatalf("brought are %q, want %q", got, brought)
			}
			gone, by := referrer(c)
			refers := removes && m.refers(some)
			if by != "" && !m.reference(some, gone, by) || by == "" && refers && c.Whole != "" {
				t.Fatalf("the referrer of %q is %q of %q (whole: %s)", some, by, gone, c.Whole)
			}
			if refers {
				continue
			}
			m = next
			if got, want := plainEdges(p.Whole(c)), plainEdges(m.whole(t)); !slices.Equal(got, want) {
				t.Fatalf("with the change %q, want %q", got, want)
			}
			if _, cyclic := tiesOf(p.Whole(c)).edges(); c.Whole != "" || cyclic || rapid.IntRange(0, 9).Draw(t, "as a whole") == 0 {
				whole++
				p = swap(p.Whole(c))
			} else {
				p.Take(c)
			}
			m.compare(t, p)
		}
	})
	if whole == 0 {
		t.Error("no change went as a whole")
	}
}

// TestReferrer: a removal is told with the resource that stays and has declared an edge to what goes. What was asked for automatically,
// what belongs to neither end, and what goes or comes anew by the same change is no reference.
func TestReferrer(t *testing.T) {
	for _, c := range []struct {
		name          string
		base          []string // who has declared which edges: see declaredBy
		first, part   string   // what an earlier change has brought, and what comes with the removal
		firstE, partE string   // the edges of those
		free          string   // an edge that belongs to neither end
		remove        string
		want          string
	}{
		{name: "a need", base: []string{"b: a>b"}, remove: "a", want: "a by b"},
		{name: "a dependent", base: []string{"b: b>a"}, remove: "a", want: "a by b"},
		{name: "a notification", base: []string{"b: b!a"}, remove: "a", want: "a by b"},
		{name: "its own edge", base: []string{"b: a>b"}, remove: "b"},
		{name: "both go", base: []string{"b: a>b"}, remove: "a b"},
		{name: "of nobody", free: "a b", remove: "a"},
		{name: "asked for", remove: "a"},
		{name: "declared and asked for", base: []string{"w: a>w"}, remove: "a", want: "a by w"},
		{name: "it comes anew without", base: []string{"b: a>b"}, part: "b", remove: "a"},
		{name: "it comes anew with another", base: []string{"b: a>b"}, part: "b (c)", partE: "b: c>b", remove: "a"},
		{name: "it came since", first: "b (a)", firstE: "b: a>b", remove: "a", want: "a by b"},
		{name: "it came since without", base: []string{"b: a>b"}, first: "b", remove: "a"},
		{name: "it came since and goes", first: "b (a)", firstE: "b: a>b", remove: "b a"},
		{name: "what came since goes", first: "d", part: "b (d)", partE: "b: d>b", remove: "c"},
	} {
		for _, whole := range []bool{false, true} { // whether the reactor, or Referrer alone, looks at what stays
			things := map[string]*thing{"a": {is: []string{"/a/x"}}, "c": {is: []string{"/a/y"}}, "w": {wants: []string{"/a/x"}}, "z": {}}
			if whole {
				things["z"].wants = []string{"/a/*"}
			}
			alone := func(g *resgraph.Graph) *resgraph.Graph {
				for _, v := range g.All() {
					if v != nil {
						v.Res.MetaParams().AutoGroup = new(false)
					}
				}
				return g
			}
			g := alone(declaredBy(t, things, "a b c w z", c.base...))
			if from, to, ok := strings.Cut(c.free, " "); ok {
				x, _ := g.Index("thing[" + from + "]")
				y, _ := g.Index("thing[" + to + "]")
				if err := g.Connect(graph.Edge{From: x, To: y}); err != nil {
					t.Fatal(err)
				}
			}
			var memory transform.Memory
			compiled, err := transform.Compile(t.Context(), g, transform.Options{Memory: &memory})
			if err != nil {
				t.Fatal(err)
			}
			memory.Keep()
			p := compiled.Parts(&memory)
			if c.first != "" {
				first, err := p.Change(t.Context(), nil, alone(declaredBy(t, nil, c.first, c.firstE)))
				if err != nil || first.Whole != "" {
					t.Fatalf("%s: %v, %s", c.name, err, first.Whole)
				}
				p.Take(first)
			}
			var part *resgraph.Graph
			if c.part != "" {
				part = alone(declaredBy(t, nil, c.part, c.partE))
			}
			var remove []string
			for name := range strings.FieldsSeq(c.remove) {
				remove = append(remove, "thing["+name+"]")
			}
			change, err := p.Change(t.Context(), nil, part, remove...)
			if err != nil {
				t.Fatal(err)
			}
			removesUID := strings.ContainsAny(c.remove, "ac")
			if (change.Whole != "") != (whole && removesUID) {
				t.Fatalf("%s: the whole is needed for %q", c.name, change.Whole)
			}
			gone, by := referrer(change)
			got := strings.TrimPrefix(short(gone+" by "+by), " by ")
			if want := c.want; got != want && (change.Whole != "" || got != "") {
				t.Errorf("%s, whole %t: %q, want %q", c.name, whole, got, want)
			}
		}
	}
}

// referrer returns the first of Referrers.
func referrer(c *transform.Change) (gone, by string) {
	for gone, by := range c.Referrers() {
		return gone, by
	}
	return "", ""
}

// compare asks Parts everything.
func (m *standing) compare(t *rapid.T, p *transform.Parts) {
	var order []string
	for _, n := range m.names {
		order = append(order, "thing["+n+"]")
	}
	declared := p.Declared()
	if got := slices.Sorted(slices.Values(declared.AllIDs())); !slices.Equal(got, slices.Sorted(slices.Values(order))) {
		t.Fatalf("declared are %q, want %q", got, order)
	}
	if got, want := plainEdges(declared), plainEdges(m.whole(t)); !slices.Equal(got, want) {
		t.Fatalf("declared are the edges %q, want %q", got, want)
	}
	for _, n := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		id := "thing[" + n + "]"
		v, there := p.Find(id), slices.Contains(m.names, n)
		if (v != nil) != there || there && !slices.Equal(v.Res.(*thing).is, m.specs[n].is) {
			t.Fatalf("%s is found as %v", id, v)
		}
		got := map[string]bool{}
		for to, owner := range p.After(id) {
			got[to+" by "+owner] = true
		}
		if want := m.after(n); !maps.Equal(got, want) {
			t.Fatalf("after %s are %v, want %v", id, got, want)
		}
		if owner, members, ok := p.Group(id); owner != id || members != nil || ok != there || p.Owner(id) != id {
			t.Fatalf("%s runs as %q with %q (%t), owner %q", id, owner, members, ok, p.Owner(id))
		}
	}
	for _, text := range texts {
		u := traits.FileUID(autoedge.BaseUID{}, text)
		if got := slices.Sorted(p.Sharing(u)); !slices.Equal(slices.Compact(got), m.having(text)) {
			t.Fatalf("%q is shared by %q, want %q", text, got, m.having(text))
		}
	}
	if got := slices.Collect(p.Sharing(&slowUID{text: "/"})); len(got) > 0 {
		t.Fatalf("a UID without a hash is shared by %q", got)
	}
}

// TestPartsKnowGroups: a member of a group is found under its own name, and runs as its owner.
func TestPartsKnowGroups(t *testing.T) {
	things := keyed("p q r l m")
	base := declaredBy(t, things, "p q r x y l m", "x: p>x", "y: q>y", "l: x>l", "m: x>m")
	base.Value(3).Recv = []resgraph.Wire{{Field: "x", From: schema.Ref{Kind: "thing", Name: "y", Key: "k"}}}
	if err := base.Connect(graph.Edge{From: 4, To: 3, By: graph.ByTo, Implied: true}); err != nil {
		t.Fatal(err)
	}
	c, err := transform.Compile(t.Context(), base, transform.Options{NoAutoEdges: true})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Parts(nil)
	for id, want := range map[string]string{
		"thing[p]": "thing[p] of thing[q] thing[r]", "thing[q]": "thing[p] of thing[q] thing[r]", "thing[r]": "thing[p] of thing[q] thing[r]",
		"thing[l]": "thing[l] of thing[m]", "thing[m]": "thing[l] of thing[m]", "thing[x]": "thing[x] of ", "thing[none]": "no thing[none] of ", "": "no  of ",
	} {
		owner, members, ok := p.Group(id)
		got := owner + " of " + strings.Join(members, " ")
		if !ok {
			got = "no " + got
		}
		if got != want || p.Owner(id) != owner {
			t.Errorf("%q: %q, owner %q, want %q", id, got, p.Owner(id), want)
		}
	}
	same(t, "in effect", p.IDs(), "thing[p]", "thing[q]", "thing[r]", "thing[x]", "thing[y]", "thing[l]", "thing[m]")
	same(t, "declared", groups(p.Declared()), "p", "q", "r", "x", "y", "l", "m")
	same(t, "receivers", p.Receivers("thing[y]"), "thing[x]")
	same(t, "receivers of none", p.Receivers("thing[x]"))
	if p.Grouped() != c.Grouped || p.Graph() != c.Grouped {
		t.Error("the graph that runs is another one")
	}
	if p.Prepared() {
		t.Error("there is an index that no change needed")
	}
	if p.Prepare(); !p.Prepared() {
		t.Error("there is no index")
	}
	if got := p.Find("thing[q]"); got == nil || got.Res.Name() != "q" {
		t.Errorf("a member is found as %v", got)
	}
}

// TestWholeGivesCopies: the graph for another run of the steps has none of the resources that a group has altered, and the
// metaparameters are those of the declaration.
func TestWholeGivesCopies(t *testing.T) {
	things := keyed("p q")
	things["p"].MetaParams().Retry, things["q"].MetaParams().Retry = 1, 3
	base := build(t, things, "p q x")
	c, err := transform.Compile(t.Context(), base, transform.Options{NoAutoEdges: true})
	if err != nil {
		t.Fatal(err)
	}
	if same(t, "groups", groups(c.Grouped), "p+q", "x"); things["p"].MetaParams().Retry != 3 {
		t.Fatalf("the group has retry %d", things["p"].MetaParams().Retry)
	}
	p := c.Parts(nil)
	change, err := p.Change(t.Context(), nil, nil, "thing[q]")
	if err != nil || change.Whole == "" {
		t.Fatalf("the whole is not needed: %v", err)
	}
	whole := p.Whole(change)
	same(t, "the whole", groups(whole), "p", "x")
	at, _ := whole.Index("thing[p]")
	x, _ := base.Index("thing[x]")
	if got := whole.Value(at).Res; got == engine.Res(things["p"]) || got.MetaParams().Retry != 1 || got.String() != "thing[p]" {
		t.Errorf("p is %v, with retry %d", got, got.MetaParams().Retry)
	}
	if at, _ := whole.Index("thing[x]"); whole.Value(at).Res != base.Value(x).Res {
		t.Error("x, which is in no group, is a copy")
	}
	if d := p.Declared(); d.Len() != 3 {
		t.Errorf("a change that is not taken is in effect: %q", groups(d))
	}
}

// TestCompileLogs: the log tells of groups with figures, of each note as a line, and warns of those that cost a resource something.
func TestCompileLogs(t *testing.T) {
	things := map[string]*thing{"a": {key: "k"}, "b": {key: "k"}, "c": {key: "k"}, "d": {bad: "AutoEdges"}, "e": {wants: []string{"/x"}}, "f": {is: []string{"/x"}}}
	c, err := transform.Compile(t.Context(), build(t, things, "a b c d e f", "e f"), transform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	c.Log(t.Context(), log)
	same(t, "log", strings.Split(strings.TrimSpace(b.String()), "\n"),
		`level=INFO msg="resources run together" resources=3 groups=1 in_all=6 vertices=4`,
		`level=WARN msg=skipped step=autoedge reason="AutoEdges panicked: oh" resource=thing[d]`,
		`level=INFO msg="edge left out" step=autoedge reason="thing[e] wants file[/x], but thing[e] comes before thing[f] already"`)
	for kind, level := range map[string]string{transform.Skipped: "WARN", transform.NotReversed: "WARN", transform.EdgeLeftOut: "INFO", transform.NotGrouped: "INFO"} {
		b.Reset()
		n := transform.Notes{List: []transform.Note{{Kind: kind, Step: "s", Reason: "r"}}}
		if n.Log(t.Context(), log); b.String() != fmt.Sprintf("level=%s msg=%q step=s reason=r\n", level, kind) && b.String() != fmt.Sprintf("level=%s msg=%s step=s reason=r\n", level, kind) {
			t.Errorf("%s: %s", kind, b.String())
		}
	}
	b.Reset()
	if c, err = transform.Compile(t.Context(), build(t, nil, "a b"), transform.Options{}); err != nil {
		t.Fatal(err)
	}
	if c.Log(t.Context(), log); b.Len() > 0 {
		t.Errorf("of a graph without groups the log is %s", b.String())
	}
	if c.Base != c.Grouped {
		t.Error("a graph without groups is there twice")
	}
}

// TestCompileFails: a step that ends gives its error with its name, and no step runs after it.
func TestCompileFails(t *testing.T) {
	g := build(t, map[string]*thing{"a": {key: "k"}, "b": {key: "k"}}, "a b")
	for name, o := range map[string]transform.Options{"autoedge": {}, "autogroup": {NoAutoEdges: true}} {
		if _, err := transform.Compile(ended(t), g, o); err == nil || err.Error() != name+": enough" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []struct {
		options transform.Options
		want    string
	}{
		{transform.Options{}, "autoedge autogroup"},
		{transform.Options{NoAutoEdges: true}, "autogroup"},
		{transform.Options{NoAutoGroup: true}, "autoedge"},
		{transform.Options{Undoing: transform.Undoing{Store: failing{}}}, "autoedge reverse autogroup"},
		{transform.Options{NoAutoGroup: true, NoAutoEdges: true}, ""},
	} {
		var names []string
		for _, s := range transform.Steps(o.options) {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != o.want {
			t.Errorf("the steps are %q, want %q", got, o.want)
		}
	}
	if c, err := transform.Compile(t.Context(), g, transform.Options{NoAutoGroup: true}); err != nil || c.Grouped != c.Base || c.Grouped.Len() != 2 {
		t.Errorf("without groups there are %q: %v", groups(c.Grouped), err)
	}
	if got := transform.Default(); len(got) != 2 {
		t.Errorf("there are %d steps by default", len(got))
	}
}

// TestChangeEnds: a change ends with its context, and alters nothing. A step does so too.
func TestChangeEnds(t *testing.T) {
	var memory transform.Memory
	x := &thing{}
	x.MetaParams().AutoGroup = new(false)
	g, err := transform.Run(t.Context(), build(t, map[string]*thing{"a": x}, "a"), []transform.Step{memory.AutoEdge(nil, transform.Known{})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	memory.Keep()
	p := transform.NewParts(g, g, &memory, false)
	y := &thing{wants: []string{"/a"}}
	y.MetaParams().AutoGroup = new(false)
	if _, err := p.Change(ended(t), nil, build(t, map[string]*thing{"b": y}, "b")); err == nil || err.Error() != "enough" {
		t.Errorf("with an ended context: %v", err)
	}
	if p.Find("thing[b]") != nil || p.Graph() != g {
		t.Error("the change is in effect")
	}
	c, err := p.Change(t.Context(), nil, nil)
	if err != nil || c.Whole != "" || c.Part.Len() != 0 {
		t.Errorf("a change of nothing: %+v, %v", c, err)
	}
}

// TestForget: a vertex that has changed without a graph is asked again, until a graph with its answers runs.
func TestForget(t *testing.T) {
	var m transform.Memory
	var asked []string
	things := map[string]*thing{"a": {}, "b": {}}
	for name, x := range things {
		x.tell = func() { asked = append(asked, name) }
	}
	pass := func(keep bool, want ...string) {
		t.Helper()
		asked = nil
		if _, err := transform.Run(t.Context(), build(t, things, "a b"), []transform.Step{m.AutoEdge(nil, transform.Known{Same: func(int) bool { return true }})}, nil); err != nil {
			t.Fatal(err)
		}
		slices.Sort(asked)
		if same(t, "asked", asked, want...); keep {
			m.Keep()
		}
	}
	pass(true, "a", "b")
	pass(true)
	m.Forget("thing[a]", "thing[none]")
	pass(false, "a")
	pass(true, "a") // the one before does not run
	pass(true)
	m.Forget("thing[a]")
	m.Forget("thing[b]")
	pass(true, "a", "b")
	pass(true)
	m.Keep() // nothing was transformed since
	pass(true)
}

// TestKnownUIDs: a resource whose UIDs are known is not asked for them.
func TestKnownUIDs(t *testing.T) {
	things := map[string]*thing{"a": {bad: "UIDs"}, "b": {wants: []string{"/x"}}}
	g := build(t, things, "b a")
	known := transform.Known{UIDs: func(i int) []autoedge.UID {
		if g.ID(i) == "thing[a]" {
			return []autoedge.UID{nil, traits.FileUID(autoedge.BaseUID{Name: "a", Kind: "thing"}, "/x")}
		}
		return nil
	}}
	out, notes := run(t, new(transform.Memory).AutoEdge(nil, known), g)
	same(t, "edges", edges(out), "a~b")
	same(t, "notes", notes, "autoedge: edge added: a -> b: b wants /x")
}

// oddUID panics where it is hashed.
type oddUID struct{ autoedge.BaseUID }

func (*oddUID) Hash() string          { panic("hash") }
func (*oddUID) IFF(autoedge.UID) bool { return true }

// odd is a resource with UIDs of the test.
type odd struct {
	thing
	uids []autoedge.UID
}

func (o *odd) UIDs() []autoedge.UID { return o.uids }

// TestUIDsPanic: a UID that panics costs its resource what it alone says; the other UIDs are found.
func TestUIDsPanic(t *testing.T) {
	x := &odd{uids: []autoedge.UID{&oddUID{}, nil, traits.FileUID(autoedge.BaseUID{Kind: "thing", Name: "o"}, "/x")}}
	x.SetKind("thing")
	x.SetName("o")
	asks := &odd{uids: nil}
	asks.SetKind("thing")
	asks.SetName("q")
	asks.wants = []string{"/x"}
	g := graph.New[*resgraph.Vertex]("g")
	for _, r := range []engine.Res{x, asks} {
		if _, err := g.Add(r.String(), &resgraph.Vertex{Res: r}); err != nil {
			t.Fatal(err)
		}
	}
	out, notes := run(t, transform.AutoEdge(nil), g)
	same(t, "edges", edges(out), "o~q")
	same(t, "notes", notes, "autoedge: skipped: o: Hash panicked: hash", "autoedge: edge added: o -> q: q wants /x")
}

// TestSurveyKeys: a resource whose key panics is not surveyed, and is told; a graph without a host is surveyed by no call.
func TestSurveyKeys(t *testing.T) {
	calls := 0
	do := func(members []engine.Res) ([]engine.Surveyed, error) {
		calls += len(members)
		all := make([]engine.Surveyed, len(members))
		for i, m := range members {
			all[i].UIDs = []autoedge.UID{traits.FileUID(autoedge.UIDOf(m), "y")}
		}
		return all, errors.New("half of the lists are missing")
	}
	g := survey(t, do, "k", "k", "k")
	g.Value(1).Res.(*surveyed).bad = "GroupKey"
	out, notes := run(t, transform.AutoEdge(enginetest.NewHost()), g)
	same(t, "edges", edges(out), "a~z")
	same(t, "notes", notes, "autoedge: skipped: b: GroupKey panicked: oh", "autoedge: skipped: a: half of the lists are missing", "autoedge: edge added: a -> z: z wants y")
	if calls != 2 {
		t.Errorf("%d were surveyed", calls)
	}
	out, _ = run(t, transform.AutoEdge(nil), g)
	if same(t, "edges without a host", edges(out)); calls != 2 {
		t.Error("a survey was made without a host")
	}
}

// TestSurveyEnds: a survey that sees the end of its context costs no note: the step returns the cause.
func TestSurveyEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	g := survey(t, func([]engine.Res) ([]engine.Surveyed, error) {
		cancel(errors.New("enough"))
		return nil, ctx.Err()
	}, "k")
	n := &transform.Notes{}
	if _, err := transform.Run(ctx, g, []transform.Step{transform.AutoEdge(enginetest.NewHost())}, n); err == nil || err.Error() != "autoedge: enough" || len(n.List) > 0 {
		t.Errorf("%v, with the notes %v", err, n.List)
	}
}

// TestManyWishes: an asker with many wishes has each edge once, and the refresh of any of its questions.
func TestManyWishes(t *testing.T) {
	things := map[string]*thing{"z": {}}
	for i := range 100 {
		things[fmt.Sprint("t", i)] = &thing{is: []string{fmt.Sprint("/", i)}}
		things["z"].wants = append(things["z"].wants, fmt.Sprint("/", i))
	}
	things["z"].wants = append(things["z"].wants, "/7", "+/8", "/8", "+/90", "/95")
	out, _ := run(t, transform.AutoEdge(nil), build(t, things, many("t%d", 100)+"z"))
	if n := out.EdgeCount(); n != 100 {
		t.Errorf("there are %d edges", n)
	}
	var loud []string
	for _, e := range edges(out) {
		if strings.Contains(e, "!") {
			loud = append(loud, e)
		}
	}
	same(t, "with refresh", loud, "t8~!z", "t90~!z")
}
