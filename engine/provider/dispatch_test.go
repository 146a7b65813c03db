package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

const (
	oakType = `{"name": "oak", "docs": "x", "provider": "stock", "attributes": {"ensure": {"type": "Enum[present, absent]", "docs": "x", "default": "present"},
		"name": {"type": "String", "docs": "x", "kind": "namevar"}, "a": {"type": "Optional[String]", "docs": "x"}, "secret": {"type": "Optional[String]", "docs": "x", "sensitive": true}}}`
	elmType = `{"name": "elm", "docs": "x", "provider": "stock", "attributes": {"name": {"type": "String", "docs": "x", "kind": "namevar"}, "b": {"type": "Optional[String]", "docs": "x"}, "age": {"type": "Optional[Integer]", "docs": "x", "kind": "read_only"}}}`
	treeTop = `{"name": "tree", "docs": "x", "attributes": {"ensure": {"type": "Enum[present, absent]", "docs": "x", "default": "present"}, "name": {"type": "String", "docs": "x", "kind": "namevar"}, "a": {"type": "Optional[String]", "docs": "x"},
		"sort": {"type": "Enum[hard, soft]", "docs": "x", "kind": "parameter"}, "options": {"type": "Optional[Hash[String, Any]]", "docs": "x", "kind": "parameter"}}, `
	treeType = treeTop + `"dispatch": {"attribute": "sort", "to": {"hard": "oak", "soft": "elm"}, "options": "options"}}`
)

// loadTypes registers types of files that are called a.json, b.json and so on. The provider stock is a clerk.
func loadTypes(t testing.TB, s *stock, texts ...string) (*engine.Registry, schema.Diagnostics) {
	t.Helper()
	r := engine.NewRegistry()
	var nodes []*schema.Node
	for i, text := range texts {
		n, err := jsonNode(string(rune('a'+i))+".json", text)
		defMust(err)
		nodes = append(nodes, n)
	}
	return r, provider.Load(r, nodes, provider.Providers{"stock": s.clerk})
}

// TestDispatchDefinition: what is wrong with a type that dispatches is said at the place of dispatch.
func TestDispatchDefinition(t *testing.T) {
	for name, c := range map[string]struct {
		old, with string // in treeType
		want      string
	}{
		"well":          {"", "", ""},
		"no options":    {`, "options": "options"}`, `}`, `no kind has the attribute "options"`},
		"no attribute":  {`"attribute": "sort"`, `"attribute": "kind"`, `tree: dispatch: there is no attribute "kind" that could choose`},
		"no kind":       {`"oak"`, `"ash"`, "tree: dispatch to hard: "},
		"itself":        {`"oak"`, `"tree"`, "tree: dispatch to hard: "},
		"more values":   {"Enum[hard, soft]", "Enum[hard, soft, dead]", "tree: dispatch: sort must be an Enum of the keys of to, not Enum['dead', 'hard', 'soft']"},
		"fewer values":  {"Enum[hard, soft]", "Enum[hard]", "tree: dispatch: sort must be an Enum of the keys of to, not Enum['hard']"},
		"no Enum":       {"Enum[hard, soft]", "String", "tree: dispatch: sort must be an Enum of the keys of to, not String"},
		"no parameter":  {`"sort": {"type": "Enum[hard, soft]", "docs": "x", "kind": "parameter"}`, `"sort": {"type": "Enum[hard, soft]", "docs": "x"}`, `the attribute "sort" that chooses must be a parameter`},
		"other options": {`"options": "options"`, `"options": "a"`, `options must name an attribute that is a parameter and a Hash[String, Any], or an Optional of that, not "a"`},
		"lost options":  {`"options": "options"`, `"options": "opts"`, `or an Optional of that, not "opts"`},
		"open secrets":  {"Hash[String, Any]", "Hash[String, String]", "tree: dispatch: options must be a Hash[String, Any]: text in a Optional[Hash[String, String]] could not be kept secret, and oak.secret is sensitive"},
		"of no kind":    {`"a": {"type"`, `"z": {"type"`, `tree: dispatch: no kind has the attribute "z"`},
	} {
		text := treeType
		if c.old != "" {
			if text = strings.Replace(treeType, c.old, c.with, 1); text == treeType {
				t.Fatalf("%s: %s is not there", name, c.old)
			}
		}
		r, ds := loadTypes(t, newStock(), text, elmType, oakType)
		switch {
		case c.want == "" && (ds.Err() != nil || !r.Has("tree")):
			t.Errorf("%s: %v", name, ds)
		case c.want != "" && (!strings.Contains(ds.Error(), c.want) || ds[0].Pos.File != "a.json" || r.Has("tree")):
			t.Errorf("%s: %v, want %s", name, ds, c.want)
		}
	}
}

// grove makes resources of the type tree over a stock.
type grove struct {
	t     *testing.T
	kinds *engine.Registry
	stock *stock
}

func newGrove(t *testing.T, names ...string) *grove {
	t.Helper()
	s := newStock(names...)
	r, ds := loadTypes(t, s, treeType, elmType, oakType)
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	return &grove{t, r, s}
}

// tree makes a resource without Validate.
func (g *grove) tree(name string, values map[string]any) engine.Res {
	g.t.Helper()
	r, err := g.kinds.New("tree")
	must(g.t, err)
	r.SetName(name)
	for key, v := range values {
		must(g.t, schema.Set(r.(schema.Typed), key, v))
	}
	return r
}

// TestDispatchValidate: a resource has the attributes that its own type and the chosen one have, and the entries of its options.
func TestDispatchValidate(t *testing.T) {
	g := newGrove(t)
	type values = map[string]any
	for _, c := range []struct {
		values values
		want   string
	}{
		{values{"sort": "hard", "a": "1"}, ""},
		{values{"sort": "soft"}, ""},
		{values{"sort": "soft", "options": values{"b": "2"}}, ""},
		{values{"sort": "hard", "options": values{"secret": "x"}}, ""},
		{values{}, "sort"},
		{values{"sort": "soft", "a": "1"}, "a: a elm does not have it, and this is one by its sort"},
		{values{"sort": "soft", "ensure": "absent"}, "ensure: a elm does not have it, and this is one by its sort"},
		{values{"sort": "soft", "options": values{"secret": "x"}}, "options.secret: a elm has no attribute of that name"},
		{values{"sort": "hard", "options": values{"secrte": "x"}}, `options.secrte: a oak has no attribute of that name (did you mean "secret"?)`},
		{values{"sort": "hard", "options": values{"a": "1"}}, "options.a: it is an attribute of a tree, give it there"},
		{values{"sort": "soft", "options": values{"age": 5}}, "age can only be read, not set, of a elm"},
		{values{"sort": "soft", "options": values{"b": values{}}}, "b: "},
	} {
		err := g.tree("x", c.values).Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.values, err, c.want)
		}
	}
	err := g.tree("x", values{"sort": "soft", "a": "1", "options": values{"secret": "x", "z": 5}}).Validate()
	for _, part := range []string{"a: a elm", "options.secret", "options.z"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("all is said at once: %q is not in %v", part, err)
		}
	}
}

// plant has trees share what they share.
func (g *grove) plant(rs ...engine.Res) *crew {
	g.t.Helper()
	c := &crew{t: g.t}
	for _, r := range rs {
		must(g.t, r.Validate())
		if c.sh == nil {
			_, open := r.(engine.SharedRes).Shared()
			var err error
			c.sh, err = open(g.t.Context(), enginetest.NewHost())
			must(g.t, err)
		}
		f := enginetest.NewInit(g.t, enginetest.WithShared(c.sh))
		must(g.t, r.Init(f.Init()))
		c.res, c.fakes = append(c.res, r), append(c.fakes, f)
	}
	return c
}

// TestDispatchWorks: a tree that is an oak is set together with the oaks, read back as a tree, and sends what a tree sends.
func TestDispatchWorks(t *testing.T) {
	g := newGrove(t, "x")
	oak, err := g.kinds.New("oak")
	must(t, err)
	oak.SetName("z")
	c := g.plant(g.tree("x", map[string]any{"sort": "hard", "a": "2", "options": map[string]any{"secret": "hush"}}), g.tree("y", map[string]any{"sort": "hard"}), oak)
	defer c.end()
	if key, other := c.res[0].(engine.Batcher).GroupKey(), oak.(engine.Batcher).GroupKey(); key != other {
		t.Errorf("a tree that is an oak is in the group %q, and an oak in %q", key, other)
	}
	wantOuts(t, c.run(true), "changed", "changed", "changed")
	wantLog(t, g.stock, "get", "set x y z", "get")
	wantOuts(t, c.run(true), "ok", "ok", "ok")
	sent, ok := c.fakes[0].Sent().(schema.Typed)
	if !ok {
		t.Fatalf("it sends a %T", c.fakes[0].Sent())
	}
	if a, err := schema.Get(sent, "a"); err != nil || a != "2" {
		t.Errorf("it sends %v: %v", a, err)
	}
	shown, err := c.res[0].(engine.Readable).Read(t.Context())
	must(t, err)
	if shown.Kind() != c.res[0].Kind() || shown.Name() != "x" {
		t.Errorf("it is shown as %s", shown)
	}
	for key, want := range map[string]string{"a": "2", "sort": "hard", "state": "present", "options": "map[secret:" + schema.Redacted + "]"} {
		if v, err := schema.Get(shown.(schema.Typed), key); err != nil || fmt.Sprint(v) != want {
			t.Errorf("%s is shown as %v, want %s: %v", key, v, want, err)
		}
	}
}

// TestDispatchKeepsItsChoice: a resource in a graph stays of its kind.
func TestDispatchKeepsItsChoice(t *testing.T) {
	g := newGrove(t, "x")
	r := g.tree("x", map[string]any{"sort": "hard"})
	c := g.plant(r)
	defer c.end()
	must(t, schema.Set(r.(schema.Typed), "sort", "soft"))
	if err := r.Validate(); err == nil || err.Error() != "sort can't be altered while the resource is in a graph" {
		t.Error(err)
	}
	must(t, schema.Set(r.(schema.Typed), "sort", "hard"))
	must(t, r.Validate())
}

// TestDispatchReceives: values that were received are those of the chosen kind; one that is not valid fails its resource alone.
func TestDispatchReceives(t *testing.T) {
	g := newGrove(t, "x", "y")
	x, y := g.tree("x", map[string]any{"sort": "hard", "a": "1"}), g.tree("y", map[string]any{"sort": "hard", "a": "1"})
	for _, r := range []engine.Res{x, y} {
		r.(engine.RecvableRes).SetRecv(map[string]*engine.Send{"a": {}, "options": {}})
	}
	c := g.plant(x, y)
	defer c.end()
	wantOuts(t, c.run(true), "ok", "ok")
	must(t, schema.Set(x.(schema.Typed), "a", "9"))
	must(t, schema.Set(y.(schema.Typed), "options", map[string]any{"z": 5}))
	wantOuts(t, c.run(true), "changed", "options.z: a oak has no attribute of that name")
	if got := g.stock.things["x"]["a"]; got != "9" {
		t.Errorf("x has %v", got)
	}
}

// TestDispatchReversed: the reversal of a tree is a tree.
func TestDispatchReversed(t *testing.T) {
	g := newGrove(t)
	r := g.tree("x", map[string]any{"sort": "hard", "a": "2"})
	was := g.tree("x", map[string]any{"sort": "hard", "a": "1"})
	for name, c := range map[string]struct {
		before engine.Res
		want   string
	}{"there": {was, "present 1 hard"}, "not there": {nil, "absent <nil> hard"}} {
		undo, err := r.(engine.ReversibleRes).Reversed(c.before)
		must(t, err)
		var got []string
		for _, key := range []string{"state", "a", "sort"} {
			v, err := schema.Get(undo.(schema.Typed), key)
			must(t, err)
			got = append(got, fmt.Sprint(v))
		}
		if undo.Name() != "x" || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s is %q, want %s", name, undo, got, c.want)
		}
		must(t, undo.Validate())
	}
	soft := g.tree("x", map[string]any{"sort": "soft"})
	if _, err := soft.(engine.ReversibleRes).Reversed(nil); err == nil || !strings.Contains(err.Error(), "it was not there before") {
		t.Error("an elm that was not there can't be removed:", err)
	}
}

// TestDispatchAbilities: things of a type that dispatches are those of the others, so it can't be listed; it acts on notifications if all
// the others do.
func TestDispatchAbilities(t *testing.T) {
	g := newGrove(t)
	for _, name := range g.kinds.Kinds() {
		k, err := g.kinds.Kind(name)
		must(t, err)
		if want := k.Name != "tree"; k.Abilities.Listable != want {
			t.Errorf("%s: listable %v", k.Name, k.Abilities.Listable)
		}
	}
	x, y := g.tree("x", map[string]any{"sort": "hard"}), g.tree("x", map[string]any{"sort": "soft"})
	again, err := g.kinds.New("oak")
	must(t, err)
	again.SetName("x")
	for _, r := range []engine.Res{x, y, again} {
		must(t, r.Validate())
	}
	if err := x.(engine.ClashingRes).Clashes(again); err == nil || !strings.Contains(err.Error(), "both are the oak x") {
		t.Error("a tree that is an oak, and the oak:", err)
	}
	uids := x.(engine.EdgeableRes).UIDs()
	if len(uids) != 1 || uids[0].String() != "oak[x]" || !slices.ContainsFunc(again.(engine.EdgeableRes).UIDs(), uids[0].IFF) {
		t.Errorf("%v", uids)
	}
	if slices.ContainsFunc(y.(engine.EdgeableRes).UIDs(), uids[0].IFF) {
		t.Error("an oak and an elm are the same thing")
	}
}

// TestDispatchComing: what the chosen type needs may be received later.
func TestDispatchComing(t *testing.T) {
	g := &grove{t: t, stock: newStock()}
	var ds schema.Diagnostics
	g.kinds, ds = loadTypes(t, g.stock, treeType, elmType, strings.Replace(oakType, `"a": {"type": "Optional[String]"`, `"a": {"type": "String"`, 1))
	must(t, ds.Err())
	r := g.tree("x", map[string]any{"sort": "hard"})
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "as a oak: ") {
		t.Error("an oak without a:", err)
	}
	r.(engine.RecvableRes).SetRecv(map[string]*engine.Send{"a": {}})
	must(t, r.Validate())
	r = g.tree("x", nil)
	r.(engine.RecvableRes).SetRecv(map[string]*engine.Send{"sort": {}})
	if err := r.Validate(); err == nil || err.Error() != "sort must be given here: it chooses between hard, soft" {
		t.Error("a choice that is to be received:", err)
	}
}

// TestDispatchTwice: a type that dispatches is no choice of another one.
func TestDispatchTwice(t *testing.T) {
	wood := strings.NewReplacer(`"tree"`, `"wood"`, `"oak"`, `"tree"`).Replace(treeType)
	for _, files := range [][]string{{treeType, wood}, {wood, treeType}} {
		r, ds := loadTypes(t, newStock(), append(files, elmType, oakType)...)
		if ds.Err() == nil || !strings.Contains(ds.Error(), "wood: dispatch to hard: ") || r.Has("wood") || !r.Has("tree") {
			t.Errorf("%v", ds)
		}
	}
}
