package transform_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/reversal"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/traits"
	"pgregory.net/rapid"
)

// past is a kind that can be undone: what undoes it has the text of before.
type past struct {
	traits.Base
	traits.Reversible

	Text  string `yaml:"text"`
	At    string `yaml:"at"`    // the path that it is
	Needs string `yaml:"needs"` // the path that it asks for
}

func (*past) Default() engine.Res                            { return &past{} }
func (*past) Init(*engine.Init) error                        { return nil }
func (*past) Cleanup() error                                 { return nil }
func (*past) Watch(context.Context) error                    { return nil }
func (*past) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (p *past) Cmp(o engine.Res) error                       { return engine.CmpFields(p, o) }
func (p *past) Read(context.Context) (engine.Res, error)     { return p, nil }
func (p *past) Validate() error {
	if p.Text == "invalid" {
		return errors.New("text is not valid")
	}
	return nil
}

func (p *past) Reversed(was engine.Res) (engine.Res, error) {
	if p.Text == "refuse" {
		return nil, errors.New("this can't be undone")
	}
	if was == nil {
		return &past{Text: "gone", At: p.At}, nil
	}
	return &past{Text: was.(*past).Text, At: p.At}, nil
}

func (p *past) Leaving() bool { return p.Text == "gone" }

func (p *past) UIDs() []autoedge.UID {
	if p.At == "" {
		return nil
	}
	return []autoedge.UID{traits.FileUID(autoedge.UIDOf(p), p.At)}
}

func (p *past) AutoEdges() (autoedge.Needs, error) {
	if p.Needs == "" {
		return nil, nil
	}
	return &asker{x: &thing{wants: []string{p.Needs}}}, nil
}

func newPast(name, text string) *past {
	p := &past{Text: text}
	p.SetKind("past")
	p.SetName(name)
	return p
}

// tb is what helpers need of a test, or of a rapid one.
type tb interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}

func pasts(t tb) *engine.Registry {
	t.Helper()
	reg := engine.NewRegistry()
	if err := reg.Register("past", func() engine.Res { return &past{} }); err != nil {
		t.Fatal(err)
	}
	return reg
}

func id(name string) string { return "past[" + name + "]" }

func ids(names string) []string {
	var list []string
	for n := range strings.FieldsSeq(names) {
		list = append(list, id(n))
	}
	return list
}

// graphOf makes a graph of edges "a>b", and of single vertices.
func graphOf(t tb, text string) *resgraph.Graph {
	t.Helper()
	g := graph.New[*resgraph.Vertex]("g")
	at := func(name string) int {
		i, _ := g.Add(id(name), &resgraph.Vertex{Res: newPast(name, "now")}) // the first, if it is there
		return i
	}
	for word := range strings.FieldsSeq(text) {
		from, to, isEdge := strings.Cut(word, ">")
		i := at(from)
		if !isEdge {
			continue
		}
		if err := g.Connect(graph.Edge{From: i, To: at(to)}); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// keep writes down that something stood before and after others when it was first
// changed.
func keep(t tb, s records.Store, name, after, before string) {
	t.Helper()
	keepImage(t, s, reversal.Reversal{Kind: "past", Name: name, After: ids(after), Before: ids(before)}, "was "+name)
}

func keepImage(t tb, s records.Store, rev reversal.Reversal, was string) {
	t.Helper()
	var img *reversal.Image
	var err error
	if rev.Why == "" {
		if img, err = reversal.Take(newPast(rev.Name, "then"), newPast(rev.Name, was), []string{"text"}); err != nil {
			t.Fatal(err)
		}
	}
	writes, err := rev.Writes(img)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, writes...)
}

func commit(t tb, s records.Store, writes ...records.Write) {
	t.Helper()
	if err := s.Commit(t.Context(), writes); err != nil {
		t.Fatal(err)
	}
}

// undo runs the step, and returns the graph and the notes as text.
func undo(t tb, s records.Store, g *resgraph.Graph) (*resgraph.Graph, string) {
	t.Helper()
	n := &transform.Notes{All: true}
	step := transform.Reverse(transform.Undoing{Store: s, Registry: pasts(t)})
	out, err := transform.Run(t.Context(), g, []transform.Step{step}, n)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, note := range n.List {
		lines = append(lines, note.String())
	}
	return out, strings.Join(lines, "\n")
}

// edgesOf lists the edges of a graph by their names, sorted.
func edgesOf(g *resgraph.Graph) string {
	var list []string
	for e := range g.Edges() {
		name := func(i int) string { return strings.TrimSuffix(strings.TrimPrefix(g.ID(i), "past["), "]") }
		list = append(list, name(e.From)+">"+name(e.To))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestReverse: what has left is undone once, and nothing else changes.
func TestReverse(t *testing.T) {
	s := journal.NewMemory()
	keep(t, s, "x", "", "")
	keep(t, s, "y", "", "")
	g := graphOf(t, "y")
	out, notes := undo(t, s, g)
	if g.Len() != 1 || out.Len() != 2 {
		t.Fatalf("%d vertices became %d", g.Len(), out.Len())
	}
	i, _ := out.Index(id("x"))
	v := out.Value(i)
	if p := v.Res.(*past); p.String() != id("x") || p.Text != "was x" || !v.Special().Once || !slices.Equal(v.Special().Secret, []string{"text"}) {
		t.Errorf("%s %q, once %t, secret %v", p, p.Text, v.Special().Once, v.Special().Secret)
	}
	if j, _ := out.Index(id("y")); out.Value(j) != g.Value(0) {
		t.Error("what remains is another one")
	}
	if want := "reverse: reversing: past[x]: it has left the graph"; notes != want {
		t.Errorf("notes: %s", notes)
	}
	if same, notes := undo(t, s, graphOf(t, "x y")); same.Len() != 2 || notes != "" {
		t.Errorf("nothing has left, and it did %q", notes)
	}
	n := 0
	for range s.Records(t.Context(), reversal.Table) {
		n++
	}
	if n != 2 {
		t.Errorf("the step altered the store: %d records are left", n)
	}
}

// TestReverseOrder: among what is undone the old order turns round; what remains
// and came later comes first, what remains and came before comes last.
func TestReverseOrder(t *testing.T) {
	for _, c := range []struct{ name, graph, kept, want, left string }{
		{"among them", "", "a:: b:a: c:b:", "b>a c>b", ""},
		{"said by both", "", "a::b b:a:", "b>a", ""},
		{"around", "y z", "x:y:z", "x>y z>x", ""},
		{"those that are not there", "y", "x:y q:r", "x>y", ""},
		{"there is a path", "y>z", "x:y:z", "y>z z>x", "past[x] -> past[y]"},
		{"a longer path", "y>m m>z", "x:y:z", "m>z y>m z>x", "past[x] -> past[y]"},
		{"other generations", "", "a:b: b:a:", "a>b", "past[b] -> past[a]"},
		{"the other way round", "z>y", "x:y:z", "x>y z>x z>y", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := journal.NewMemory()
			for k := range strings.FieldsSeq(c.kept) {
				p := strings.Split(k+"::", ":")
				keep(t, s, p[0], p[1], p[2])
			}
			out, notes := undo(t, s, graphOf(t, c.graph))
			if got := edgesOf(out); got != c.want {
				t.Errorf("the edges are %s, want %s", got, c.want)
			}
			var left []string
			for line := range strings.Lines(notes) {
				if rest, ok := strings.CutPrefix(line, "reverse: edge left out: "); ok {
					left = append(left, strings.Join(strings.SplitN(rest, ":", 2)[:1], ""))
				}
			}
			if strings.Join(left, " ") != c.left {
				t.Errorf("left out: %q, want %q", left, c.left)
			}
		})
	}
}

// TestReverseAmongNew: what was not there with it comes before a thing that goes and that it needs, since that may have to wait, after one that
// comes back, and after one whose place it takes. What was kept counts for more.
func TestReverseAmongNew(t *testing.T) {
	for _, c := range []struct {
		name, kept string
		was        *past
		now        past
		alone      bool
		want       string
	}{
		{name: "needs what goes", now: past{Needs: "/d"}, want: "y>x"},
		{name: "needs what comes back", was: newPast("x", "back"), now: past{Needs: "/d"}, want: "x>y"},
		{name: "takes its place", now: past{At: "/d"}, want: "x>y"},
		{name: "takes its place and needs it", now: past{At: "/d", Needs: "/d"}, want: "x>y"},
		{name: "was there", kept: "y", now: past{Needs: "/d"}, want: "x>y"},
		{name: "another place", now: past{At: "/e"}},
		{name: "without automatic edges", now: past{Needs: "/d"}, alone: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := journal.NewMemory()
			rev := reversal.Reversal{Kind: "past", Name: "x", After: ids(c.kept)}
			then := newPast("x", "then")
			then.At = "/d"
			var was engine.Res // no typed nil
			if c.was != nil {
				was = c.was
			}
			img, err := reversal.Take(then, was, []string{"text", "at"})
			if err != nil {
				t.Fatal(err)
			}
			writes, err := rev.Writes(img)
			if err != nil {
				t.Fatal(err)
			}
			commit(t, s, writes...)
			g := graph.New[*resgraph.Vertex]("g")
			c.now.SetKind("past")
			c.now.SetName("y")
			if _, err := g.Add(id("y"), &resgraph.Vertex{Res: &c.now}); err != nil {
				t.Fatal(err)
			}
			steps := transform.Steps(transform.Options{NoAutoEdges: c.alone, Undoing: transform.Undoing{Store: s, Registry: pasts(t)}})
			out, err := transform.Run(t.Context(), g, steps, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := edgesOf(out); got != c.want {
				t.Errorf("the edges are %q, want %q", got, c.want)
			}
		})
	}
}

// sour is a kind whose UIDs can't be compared.
type sour struct{ past }

func (*sour) Default() engine.Res                     { return &sour{} }
func (*sour) Reversed(engine.Res) (engine.Res, error) { return &sour{past{Text: "gone"}}, nil }
func (s *sour) UIDs() []autoedge.UID                  { return []autoedge.UID{&sourUID{autoedge.UIDOf(s)}} }

type sourUID struct{ autoedge.BaseUID }

func (*sourUID) IFF(autoedge.UID) bool { panic("no") }

// TestReverseIFFPanics: a UID that can't be compared costs no more than the order that it would give.
func TestReverseIFFPanics(t *testing.T) {
	reg, err := pasts(t).With("sour", func() engine.Res { return &sour{} })
	if err != nil {
		t.Fatal(err)
	}
	s := journal.NewMemory()
	then, now := &sour{}, &sour{}
	then.SetKind("sour")
	then.SetName("x")
	now.SetKind("sour")
	now.SetName("y")
	img, err := reversal.Take(then, nil, []string{"text"})
	if err != nil {
		t.Fatal(err)
	}
	rev := reversal.Reversal{Kind: "sour", Name: "x"}
	writes, err := rev.Writes(img)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, writes...)
	g := graph.New[*resgraph.Vertex]("g")
	if _, err := g.Add("sour[y]", &resgraph.Vertex{Res: now}); err != nil {
		t.Fatal(err)
	}
	out, err := transform.Run(t.Context(), g, transform.Steps(transform.Options{Undoing: transform.Undoing{Store: s, Registry: reg}}), nil)
	if err != nil || out.Len() != 2 {
		t.Error(out, err)
	}
}

// TestReverseRefuses: what can't be undone is told, and costs nothing else.
func TestReverseRefuses(t *testing.T) {
	s := journal.NewMemory()
	keep(t, s, "good", "", "")
	keepImage(t, s, reversal.Reversal{Kind: "past", Name: "why", Why: "it was too large"}, "")
	keepImage(t, s, reversal.Reversal{Kind: "past", Name: "bad"}, "invalid")
	keepImage(t, s, reversal.Reversal{Kind: "strange", Name: "kind"}, "x")
	keep(t, s, "lost", "", "")
	keep(t, s, "edited", "", "")
	commit(t, s,
		records.Write{Table: reversal.TableWanted, Key: id("edited"), Value: []byte("noise")},
		records.Write{Table: reversal.TableImage, Key: id("lost")},
		records.Write{Table: reversal.Table, Key: id("damaged"), Value: []byte("noise")},
	)
	out, notes := undo(t, s, graphOf(t, "y"))
	if out.Len() != 2 {
		t.Errorf("there are %d vertices", out.Len())
	}
	for _, want := range []string{
		"past[good]: it has left", "not reversed: past[why]: it was too large", "not reversed: past[bad]: text is not valid",
		"not reversed: strange[kind]: unknown resource kind", "of 1 resources that have left", "past[damaged]: the record of past[damaged]",
		"past[edited]: the record of past[edited]",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in\n%s", want, notes)
		}
	}
}

// TestReverseLater: what was wanted last is undone, and not what was wanted at first.
// Seen failing with Later not called.
func TestReverseLater(t *testing.T) {
	s := journal.NewMemory()
	keep(t, s, "x", "", "")
	first, err := reversal.WantedOf(newPast("x", "was x"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	last, err := reversal.WantedOf(newPast("x", "refuse"), []string{"text"}, first)
	if err != nil {
		t.Fatal(err)
	}
	write, err := last.Write(id("x"))
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, write)
	if out, notes := undo(t, s, graphOf(t, "y")); out.Len() != 1 || !strings.Contains(notes, "past[x]: this can't be undone") {
		t.Errorf("there are %d vertices, and the notes\n%s", out.Len(), notes)
	}
}

// TestReverseUnderNoop: in a graph that only looks, so does what undoes.
func TestReverseUnderNoop(t *testing.T) {
	s := journal.NewMemory()
	keep(t, s, "x", "", "")
	for _, noop := range []bool{true, false} {
		step := transform.Reverse(transform.Undoing{Store: s, Registry: pasts(t), Noop: noop})
		out, err := transform.Run(t.Context(), graphOf(t, ""), []transform.Step{step}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := out.Value(0).Res.MetaParams()
		if (m.Noop != nil && *m.Noop) != noop || m.AutoEdges() || m.AutoGroups() {
			t.Errorf("noop %t: %+v", noop, m)
		}
	}
}

// failing is a store of which one table can't be read.
type failing struct {
	records.Store
	table string
}

func (f failing) Records(ctx context.Context, table string) iter.Seq2[records.Record, error] {
	if table != f.table {
		return f.Store.Records(ctx, table)
	}
	return func(yield func(records.Record, error) bool) { yield(records.Record{}, errors.New("no disk")) }
}

// TestReverseWithoutStore: a store that can't be read costs the reversals and not
// the graph; the end of the context is an error.
func TestReverseWithoutStore(t *testing.T) {
	s := journal.NewMemory()
	keep(t, s, "x", "", "")
	for _, table := range []string{reversal.Table, reversal.TableImage, reversal.TableWanted} {
		out, notes := undo(t, failing{s, table}, graphOf(t, "y"))
		if out.Len() != 1 || !strings.Contains(notes, "no disk") {
			t.Errorf("%s: %d vertices, %s", table, out.Len(), notes)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	step := transform.Reverse(transform.Undoing{Store: s, Registry: pasts(t)})
	if _, err := transform.Run(ctx, graphOf(t, "y"), []transform.Step{step}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// TestReverseLaws: whatever was kept and whatever remains, the result has no
// cycle, has all edges of before, has every reversal, and every wanted edge that
// closes no cycle with it.
func TestReverseLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		remain := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 6, rapid.ID).Draw(t, "remain")
		var words []string
		for i, a := range remain {
			words = append(words, a)
			for _, b := range remain[i+1:] {
				if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
					words = append(words, a+">"+b)
				}
			}
		}
		s := journal.NewMemory()
		kept := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 6, rapid.ID).Draw(t, "kept")
		some := rapid.SliceOfN(rapid.SampledFrom(names), 0, 3)
		type pair struct{ from, to string }
		var want []pair
		for _, x := range kept {
			after, before := some.Draw(t, "after"), some.Draw(t, "before")
			keep(t, s, x, strings.Join(after, " "), strings.Join(before, " "))
			if slices.Contains(remain, x) {
				continue
			}
			for _, y := range after {
				want = append(want, pair{id(x), id(y)})
			}
			for _, z := range before {
				want = append(want, pair{id(z), id(x)})
			}
		}
		g := graphOf(t, strings.Join(words, " "))
		out, _ := undo(t, s, g)
		if _, err := out.Sort(); err != nil {
			t.Fatal(err)
		}
		for e := range g.Edges() {
			if _, ok := out.Link(e.From, e.To); !ok {
				t.Fatalf("the edge from %s to %s is lost", g.ID(e.From), g.ID(e.To))
			}
		}
		for _, x := range kept {
			if _, ok := out.Index(id(x)); !ok {
				t.Fatalf("%s is not undone", x)
			}
		}
		for _, p := range want {
			i, ok := out.Index(p.from)
			j, ok2 := out.Index(p.to)
			if !ok || !ok2 || i == j {
				continue
			}
			if _, there := out.Link(i, j); !there && !out.Reachable(j, i) {
				t.Fatalf("%s should come before %s, and could", p.from, p.to)
			}
		}
	})
}

// TestLargestImage: a journal takes the largest image that there is.
func TestLargestImage(t *testing.T) {
	j, err := journal.Open(filepath.Join(t.TempDir(), "journal"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	keepImage(t, j, reversal.Reversal{Kind: "past", Name: "x"}, strings.Repeat("x", reversal.MaxImage-200))
	if out, notes := undo(t, j, graphOf(t, "")); out.Len() != 1 {
		t.Error(notes)
	}
}

// TestReverseMany: ten thousand that leave are all undone, in the opposite order.
func TestReverseMany(t *testing.T) {
	s := journal.NewMemory()
	const n = 10_000
	for i := range n {
		after := ""
		if i > 0 {
			after = fmt.Sprint(i - 1)
		}
		keep(t, s, fmt.Sprint(i), after, "")
	}
	out, _ := undo(t, s, graphOf(t, "y"))
	if out.Len() != n+1 || out.EdgeCount() != n-1 {
		t.Errorf("%d vertices and %d edges", out.Len(), out.EdgeCount())
	}
}
