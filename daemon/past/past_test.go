package past

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	_ "github.com/reactivegraph/mgmt/resources/basic"
	_ "github.com/reactivegraph/mgmt/resources/file"
)

// graphs is a frontend that yields texts of graphs, one after the other.
type graphs []string

func (g graphs) Graphs(context.Context, gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		for _, text := range g {
			if !yield(yaml.LoadFiles("g.yaml", map[string][]byte{"g.yaml": []byte(text)}, options())) {
				return
			}
		}
	}
}

func options() yaml.Options {
	return yaml.Options{Registry: engine.DefaultRegistry, Facts: func() map[string]any { return nil }}
}

// graphOf returns the text of a graph with a file.
func graphOf(content string) string {
	return fmt.Sprintf("graph: g\nresources:\n  file:\n  - name: /a\n    content: %q\n", content)
}

func open(t *testing.T, dir string) *Keeper {
	t.Helper()
	k, err := Open(Options{Dir: dir, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// play hands graphs to an engine that takes those that judge does not refuse, and returns the contents of the file that were handed over.
func play(t *testing.T, k *Keeper, judge func(content string) error, list ...string) (contents []string) {
	t.Helper()
	front := k.Beside(graphs(list), options)
	for d, err := range front.Graphs(t.Context(), gapi.Env{}) {
		if err != nil {
			t.Fatal(err)
		}
		d = d.Complete()
		content := d.Resources[0].Value.Get("content").Text
		contents = append(contents, content)
		o := gapi.Outcome{}
		if judge != nil {
			o.Err = judge(content)
			_, o.Held = errors.AsType[*reactor.RemovalsError](o.Err)
		}
		d.Done(o)
		if err := k.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return contents
}

func numbersOf(k *Keeper) (list []int) {
	for _, g := range k.List().Graphs {
		list = append(list, g.Number)
	}
	return list
}

// TestRollback: a pinned graph stands in the place of the one of the input, over a restart, until the input has another one.
func TestRollback(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir)
	one, two, three := graphOf("one"), graphOf("two"), graphOf("three")
	if got := play(t, k, nil, one, one, two); !slices.Equal(got, []string{"one", "one", "two"}) || !slices.Equal(numbersOf(k), []int{2, 1}) {
		t.Fatalf("handed over %q, kept %v", got, numbersOf(k))
	}
	if err := k.Pin(1, "jo", "why"); err != nil {
		t.Fatal(err)
	}
	if got := play(t, k, nil, two, two); !slices.Equal(got, []string{"one", "one"}) {
		t.Errorf("pinned, it hands over %q", got)
	}
	if g := k.List().Graphs[0]; g.Number != 3 || g.Rollback != 1 || g.By != "jo" || g.Reason != "why" || g.Changed != 1 {
		t.Errorf("the rollback is kept as %+v", g)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = open(t, dir)
	if got := play(t, k, nil, two, three, two); !slices.Equal(got, []string{"one", "three", "two"}) || k.Pinned() != nil {
		t.Errorf("after a restart it hands over %q, pinned %+v", got, k.Pinned())
	}
	if err := k.Pin(9, "", ""); err == nil {
		t.Error("a graph that is not there is pinned")
	}
}

// TestRollbackRefused: a pinned graph that is refused, or can't be read, gives way to the graph of the input; one that is held does not.
func TestRollbackRefused(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir)
	one, two := graphOf("one"), graphOf("two")
	play(t, k, nil, one, two)
	refuse := func(err error) func(string) error {
		return func(content string) error {
			if content == "one" {
				return err
			}
			return nil
		}
	}
	for _, c := range []struct {
		err  error
		want []string
	}{{&reactor.RemovalsError{}, []string{"one"}}, {errors.New("no"), []string{"one", "two"}}} {
		if err := k.Pin(1, "", ""); err != nil {
			t.Fatal(err)
		}
		if got := play(t, k, refuse(c.err), two); !slices.Equal(got, c.want) || (k.Pinned() == nil) != (len(c.want) == 2) {
			t.Errorf("%v: it hands over %q, pinned %+v", c.err, got, k.Pinned())
		}
	}
	if err := k.Pin(1, "", ""); err != nil {
		t.Fatal(err)
	}
	g, err := k.find(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(k.path(g.Content), []byte("noise"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := play(t, k, nil, two); !slices.Equal(got, []string{"two"}) || k.Pinned() != nil {
		t.Errorf("of a damaged file it hands over %q, pinned %+v", got, k.Pinned())
	}
}

// whole has everything that a graph can declare without a computation at run time.
const whole = `graph: w
noop: true
resources:
  file:
  - name: /a
    content: "{{ x }} $${{ y }}\nyes\n"
    mode: "0640"
    depend: print[p]
    notify: print[q]
    meta: {reverse: true, retry: 3, labels: {tier: db}}
  - name: /secret
    content: canary
    meta: {secret: [content]}
  print:
  - name: p
    msg: "no"
  - name: q
    msg: z
edges:
- {from: "print[p]", to: "print[q]", notify: true}
`

// TestDocument: what is kept of a graph is the same graph again. A value that was concealed is so again, and no file of the state folder shows it.
func TestDocument(t *testing.T) {
	d := loaded(t, whole)
	r := &d.Resources[1]
	r.Value = r.Value.Conceal("content")
	r.Module, r.Optional, r.Leaving = "web.tls", true, engine.LeavingAsk
	dir := t.TempDir()
	k := open(t, dir)
	k.took(&effect{d: d})
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	doc, err := open(t, dir).load(1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := doc.read("graph 1", options())
	if err != nil {
		t.Fatal(err)
	}
	if again.Resources[1].Module != "web.tls" || !again.Resources[1].Optional {
		t.Errorf("a resource of a module is %+v", again.Resources[1])
	}
	a, ds := gapi.Build(engine.DefaultRegistry(), d)
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	b, ds := gapi.Build(engine.DefaultRegistry(), again)
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	if a.Len() != b.Len() || a.EdgeCount() != b.EdgeCount() {
		t.Fatalf("%d resources and %d edges become %d and %d", a.Len(), a.EdgeCount(), b.Len(), b.EdgeCount())
	}
	for i, v := range a.All() {
		n, ok := b.Index(a.ID(i))
		if !ok {
			t.Errorf("%s is lost", a.ID(i))
			continue
		}
		was, is := *engine.MetaOf(v.Res), *engine.MetaOf(b.Value(n).Res)
		if v.Res.Cmp(b.Value(n).Res) != nil || !was.Equal(&is) {
			t.Errorf("%s is another one: %v, %+v and %+v", a.ID(i), v.Res.Cmp(b.Value(n).Res), was, is)
		}
	}
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if info, _ := e.Info(); strings.Contains(string(content), "canary") || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v and %q", path, info.Mode(), content)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestReveal: a concealed value is written in clear, and marked as a secret beside what is marked already.
func TestReveal(t *testing.T) {
	d := loaded(t, strings.ReplaceAll(whole, "secret: [content]", "secret: mode"))
	r := &d.Resources[1]
	r.Value = r.Value.Conceal("content")
	reveal(r)
	secret := r.Meta.Get("secret")
	if text := r.Value.Get("content").Text; text != "canary" || len(secret.Items) != 2 || secret.Items[0].Text != "content" || secret.Items[1].Text != "mode" {
		t.Errorf("it has %q, and marks %+v", text, secret)
	}
}

// TestBounds: the oldest graphs go, and with them their files; the pinned one stays.
func TestBounds(t *testing.T) {
	const most = 5
	k := open(t, t.TempDir())
	k.o.Most = most
	var list []string
	for i := range most {
		list = append(list, graphOf(fmt.Sprint(i)))
	}
	play(t, k, nil, list...)
	if err := k.Pin(1, "", ""); err != nil {
		t.Fatal(err)
	}
	for _, oldest := range []int{1, 3} { // while it is pinned, and after that
		play(t, k, nil, graphOf(fmt.Sprint("x", oldest)))
		if n := numbersOf(k); len(n) != most || n[len(n)-1] != oldest {
			t.Errorf("%d are kept, from %d to %d, want those from %d on", len(n), n[len(n)-1], n[0], oldest)
		}
	}
	files, err := os.ReadDir(k.path(""))
	if err != nil || len(files) != most+2 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// TestDiff: each difference is told, and no secret is shown.
func TestDiff(t *testing.T) {
	k := open(t, t.TempDir())
	k.took(&effect{d: loaded(t, whole)})
	if err := k.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.took(&effect{d: loaded(t, strings.NewReplacer("canary", "canary2", "  - name: p\n    msg: \"no\"\n", "  - name: p\n    msg: yes it is\n", "0640", "0600",
		"notify: print[q]", "before: print[q]", "tier: db", "tier: web", "  print:", "  noop:\n  - name: n\n  print:").Replace(whole))})
	if err := k.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := k.Diff(1, 2, options())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range d.Resources {
		var line strings.Builder
		fmt.Fprintf(&line, "%s %s:", r.Resource, r.Verb)
		for _, c := range r.Changes {
			fmt.Fprintf(&line, " %s %v>%v;", c.Field, c.From, c.To)
		}
		got = append(got, line.String())
	}
	want := []string{
		"file[/a] : before <nil>>print[q]; meta.labels map[tier:db]>map[tier:web]; mode 0640>0600; notify print[q]><nil>;",
		"file[/secret] : content (secret)>(secret);",
		"noop[n] created:",
		"print[p] : msg no>yes it is;",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the differences are\n%s", strings.Join(got, "\n"))
	}
	if same, err := k.Diff(2, 2, options()); err != nil || len(same.Resources) > 0 {
		t.Errorf("a graph differs from itself: %+v, %v", same, err)
	}
}

func loaded(t *testing.T, text string) *gapi.Declared {
	t.Helper()
	d, err := yaml.LoadFiles("g.yaml", map[string][]byte{"g.yaml": []byte(text)}, options())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestNodes: two values are told apart, however they are written.
func TestNodes(t *testing.T) {
	text := func(s string) *schema.Node { return &schema.Node{Kind: schema.NodeString, Text: s} }
	list := func(items ...*schema.Node) *schema.Node { return &schema.Node{Kind: schema.NodeList, Items: items} }
	seen := map[string]int{}
	for i, n := range []*schema.Node{nil, {}, text(""), text("a"), list(), list(text("a")), list(text("a"), text("")), list(list(text("a"))), {Kind: schema.NodeInt, Text: "1"}, text("1"), {Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: "a", Value: text("b")}}}, {Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: "ab", Value: text("")}}}} {
		sum := sumOf(n)
		if was, ok := seen[sum]; ok {
			t.Errorf("values %d and %d are taken for one", was, i)
		}
		seen[sum] = i
	}
}
