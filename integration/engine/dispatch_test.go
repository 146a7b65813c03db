package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// recType is a type of a shelf with one attribute more; pack stands for two of them.
const (
	recType = `
- name: rec_%[1]s
  docs: A thing on a shelf.
  attributes:
    name: {type: String, docs: Its name., kind: namevar}
    ensure: {type: "Enum[present, absent]", docs: Whether it is there., default: present}
    a: {type: "Optional[String]", docs: Some text.}
    %[1]s: {type: "Optional[Integer]", docs: Some number.}
    seen: {type: "Optional[String]", docs: Who has seen it., kind: read_only}
  provider: %[1]s
`
	packType = `
- name: pack
  docs: One of two.
  attributes:
    name: {type: String, docs: Its name., kind: namevar}
    ensure: {type: "Enum[present, absent]", docs: Whether it is there., default: present}
    a: {type: "Optional[String]", docs: Some text.}
    x: {type: "Optional[Integer]", docs: What only rec_x has.}
    provider: {type: "Enum[ex, wy]", docs: Which., kind: parameter}
    options: {type: "Optional[Hash[String, Any]]", docs: More., kind: parameter}
  dispatch: {attribute: provider, to: {ex: rec_x, wy: rec_y}, options: options}
`
)

// loadTypes registers what a file says.
func loadTypes(t *testing.T, text string, ps provider.Providers) (*engine.Registry, schema.Diagnostics) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "types.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes, ds := yaml.Documents(dir, yaml.Options{})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	reg := engine.DefaultRegistry().Clone()
	ds = provider.Load(reg, nodes, ps)
	for i := range ds {
		ds[i].Pos.File = filepath.Base(ds[i].Pos.File)
	}
	return reg, ds
}

// packer is a clerk that leaves the order of its changes alone.
type packer struct{ clerk }

func (p packer) Set(ctx context.Context, rt *provider.Runtime, changes []provider.Change) error {
	return p.clerk.Set(ctx, rt, slices.Clone(changes))
}

// packs are the kinds of pack, over two backends.
func packs(t *testing.T, x, y *shelf) *engine.Registry {
	t.Helper()
	reg, ds := loadTypes(t, packType+fmt.Sprintf(recType, "x")+fmt.Sprintf(recType, "y"), provider.Providers{
		"x": func() provider.Provider { return packer{clerk{x}} }, "y": func() provider.Provider { return packer{clerk{y}} },
	})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	return reg
}

// TestDispatch: a resource is one of the chosen kind, with what is in its options; all of
// a kind are read and set together, however they are written.
func TestDispatch(t *testing.T) {
	x, y := newShelf("old", "same"), newShelf()
	reg := packs(t, x, y)
	graph := `
resources:
  pack:
  - {name: one, provider: ex, a: '2', x: 5}
  - {name: old, provider: ex, ensure: absent}
  - {name: same, provider: ex, a: '1'}
  - {name: two, provider: wy, options: {y: 7}}
  rec_x:
  - {name: three, x: 9}
`
	rep, err := converge(t, graph, mgmt.Options{Registry: reg})
	if err != nil || rep.ExitCode() != 0 {
		t.Fatal(err, rep.ExitCode())
	}
	// One read before, and one after each Set: rec_x is apart from the others at most.
	log := x.log()
	sets := strings.Count(strings.Join(log, " "), "set [")
	if log[0] != "get all" || log[len(log)-1] != "get all" || sets > 2 || strings.Count(strings.Join(log, " "), "get all") != sets+1 {
		t.Error(log)
	}
	wantCalls(t, y, "get all", "set [two] noop=false", "get all")
	if x.get("one")["x"] != int64(5) || x.get("one")["provider"] != nil || x.get("old") != nil || y.get("two")["y"] != int64(7) || x.get("three")["x"] != int64(9) {
		t.Error(x.things, y.things)
	}
	calls := len(x.log())
	if rep, err = converge(t, graph, mgmt.Options{Registry: reg}); err != nil || rep.ExitCode() != 0 || len(x.log()) != calls+1 {
		t.Error(err, rep)
	}
}

// TestDispatchRefuses: what the chosen kind lacks is refused when the graph is loaded,
// all at once, and so are two names for one thing.
func TestDispatchRefuses(t *testing.T) {
	x, y := newShelf(), newShelf()
	reg := packs(t, x, y)
	for graph, want := range map[string]string{
		"{name: r, provider: wy, x: 5}":                                 "x: a rec_y does not have it, and this is one by its provider",
		"{name: r, provider: wy, options: {x: 5}}":                      "options.x: a rec_y has no attribute of that name",
		"{name: r, provider: ex, options: {a: b}}":                      "options.a: it is an attribute of a pack, give it there",
		"{name: r, provider: ex, options: {seen: me}}":                  "seen can only be read, not set, of a rec_x",
		"{name: r, provider: ex, options: {provider: b}}":               "options.provider: a rec_x has no attribute of that name",
		"{name: r, provider: wy, options: {y: seven}}":                  "y: ",
		"{name: r, provider: zz}":                                       "must be one of ex, wy",
		"{name: r}":                                                     "provider is required",
		`{name: r, recv: {provider: "rec_x[s].a"}}], rec_x: [{name: s}`: "provider must be given here: it chooses between ex, wy",
		"{name: r, provider: wy, x: 5, options: {z: 1, name: s}}":       "options.z: a rec_y has no attribute of that name",
		"{name: r, provider: ex}], rec_x: [{name: r, ensure: absent}":   "both are the rec_x r",
	} {
		_, err := converge(t, "resources: {pack: ["+graph+"]}", mgmt.Options{Registry: reg})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", graph, err)
		}
	}
	wantCalls(t, x)
	wantCalls(t, y)
}

// TestDispatchDefinitions: what can't be dispatched is an error with its place.
func TestDispatchDefinitions(t *testing.T) {
	const head = "name: d\ndocs: x\nattributes:\n  id: {type: String, docs: x, kind: namevar}\n  provider: {type: \"Enum[a]\", docs: x, kind: parameter}\n"
	for tail, want := range map[string]string{
		"dispatch: {attribute: provider, to: {a: rec_x, b: rec_x}}":                      "types.yaml:6:13: d: dispatch: provider must be an Enum of the keys of to, not Enum['a']",
		"dispatch: {attribute: prov, to: {a: rec_x}}":                                    `there is no attribute "prov" that could choose`,
		"dispatch: {attribute: id, to: {a: rec_x}}":                                      `the attribute "id" that chooses must be a parameter`,
		"dispatch: {attribute: provider, to: {}}":                                        "dispatch has no kinds",
		"dispatch: {attribute: provider, to: {a: rec_z}}":                                "rec_z",
		"dispatch: {attribute: provider, to: {a: file}}":                                 "file is no type of its own that is written as data",
		"dispatch: {attribute: provider, to: {a: d}}":                                    `unknown resource kind "d"`,
		"dispatch: {attribute: provider, to: {a: rec_x}, options: o}":                    "options must name an attribute",
		"dispatch: {attribute: provider, to: {a: rec_x}, option: o}":                     `types.yaml:6:51: unknown key "option" of dispatch (did you mean "options"?)`,
		"  zz: {type: String, docs: x}\ndispatch: {attribute: provider, to: {a: rec_x}}": `no kind has the attribute "zz"`,
		"dispatch: {attribute: provider, to: {a: rec_x}}\nprovider: x":                   "a type has one provider, and here are provider and dispatch",
	} {
		_, ds := loadTypes(t, "- "+strings.ReplaceAll(head+tail, "\n", "\n  ")+fmt.Sprintf(recType, "x"), provider.Providers{"x": func() provider.Provider { return clerk{newShelf()} }})
		if ds.Err() == nil || !strings.Contains(ds.Error(), want) {
			t.Errorf("%s:\n%v", tail, ds)
		}
	}
}

// TestDispatchReceives: what is received goes to the resource of the chosen kind, and
// what that sends comes from this one.
func TestDispatchReceives(t *testing.T) {
	x, y := newShelf("from"), newShelf()
	reg := packs(t, x, y)
	rep, err := converge(t, `
resources:
  pack:
  - {name: from, provider: ex}
  - {name: to, provider: wy, recv: {a: "pack[from].a"}}
`, mgmt.Options{Registry: reg})
	if err != nil || rep.ExitCode() != 0 || y.get("to")["a"] != "1" {
		t.Error(err, rep.ExitCode(), y.things)
	}
}

// scraps is a provider whose things are files.
type scraps struct{}

func (scraps) Get(context.Context, *provider.Runtime, provider.Filter) iter.Seq2[provider.Record, error] {
	panic("it can't list")
}

func (scraps) Find(_ context.Context, _ *provider.Runtime, n provider.Name) (provider.Record, bool, error) {
	text, err := os.ReadFile(n.String())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return provider.Record{"path": n.String(), "ensure": "present", "text": string(text)}, err == nil, err
}

func (scraps) Set(_ context.Context, rt *provider.Runtime, changes []provider.Change) error {
	var errs []error
	for _, c := range changes {
		path := c.Name.String()
		if c.Should["ensure"] == "absent" {
			errs = append(errs, os.Remove(path))
			continue
		}
		text, _ := c.Should["text"].(string)
		errs = append(errs, os.WriteFile(path, []byte(text), 0o600))
	}
	return errors.Join(errs...)
}

const scrapTypes = `
- name: scrap_file
  docs: A file.
  attributes: &common
    path: {type: String, docs: Where., kind: namevar}
    ensure: {type: "Optional[Enum[present, absent]]", docs: Whether it is there.}
    text: {type: "Optional[String]", docs: What it says.}
  features: [find]
  poll: 1s
  provider: scraps
- name: scrap
  docs: One sort of scrap.
  attributes:
    <<: *common
    provider: {type: "Enum[file]", docs: Which., kind: parameter}
    options: {type: "Optional[Hash[String, Any]]", docs: More., kind: parameter}
  dispatch: {attribute: provider, to: {file: scrap_file}, options: options}
`

// TestDispatchKeepsTheLaws runs the suite that every kind passes.
func TestDispatchKeepsTheLaws(t *testing.T) {
	reg, ds := loadTypes(t, scrapTypes, provider.Providers{"scraps": func() provider.Provider { return scraps{} }})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	thing := func(dir string) string { return filepath.Join(dir, "thing") }
	enginetest.Run(t, enginetest.Suite{
		Kind: "scrap", Registry: reg,
		New: func(t *testing.T, dir string) engine.Res {
			r, err := reg.New("scrap")
			if err != nil {
				t.Fatal(err)
			}
			r.SetName(thing(dir))
			for key, v := range map[string]any{"text": "hello", "provider": "file", "ensure": "present"} {
				if err := schema.Set(r, key, v); err != nil {
					t.Fatal(err)
				}
			}
			return r
		},
		Drifts: map[string]func(*testing.T, string){
			"altered": func(t *testing.T, dir string) { mustWrite(t, thing(dir), "else") },
			"removed": func(t *testing.T, dir string) {
				if err := os.Remove(thing(dir)); err != nil {
					t.Fatal(err)
				}
			},
		},
		Variants: map[string]func(engine.Res){"text": func(r engine.Res) {
			if err := schema.Set(r, "text", "other"); err != nil {
				panic(err)
			}
		}},
	})
}

func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const relatedTypes = `
- name: part
  docs: A thing.
  attributes: {name: {type: String, docs: x, kind: namevar}, m: {type: String, docs: x}, where: {type: "Optional[String]", docs: x}}
  autobefore: {exec: $m}
  features: [refresh]
  provider: x
- name: whole
  docs: Some part.
  attributes:
    name: {type: String, docs: x, kind: namevar}
    m: {type: String, docs: x}
    extra: {type: String, docs: x, default: usual}
    sort: {type: "Enum[a, b]", docs: x, kind: parameter}
  autorequire: {svc: $extra}
  dispatch: {attribute: sort, to: {a: part, b: plain}}
- name: wholly
  docs: Some part.
  attributes: {name: {type: String, docs: x, kind: namevar}, m: {type: String, docs: x}, sort: {type: "Enum[a]", docs: x, kind: parameter}}
  dispatch: {attribute: sort, to: {a: part}}
- name: plain
  docs: A thing.
  attributes: {name: {type: String, docs: x, kind: namevar}, extra: {type: String, docs: x}}
  provider: x
`

// refresher is a packer that can be notified.
type refresher struct{ packer }

func (refresher) Refresh(context.Context, *provider.Runtime, []provider.Change) error { return nil }

// dispatchedRes makes a valid resource.
func dispatchedRes(t *testing.T, reg *engine.Registry, kind string, values map[string]any) (engine.Res, error) {
	t.Helper()
	r, err := reg.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	r.SetName("n")
	for key, v := range values {
		if err := schema.Set(r, key, v); err != nil {
			t.Fatal(err)
		}
	}
	return r, r.Validate()
}

// TestDispatchRelations: the relations of both types count; a default that the chosen
// kind lacks is nobody's wish; a kind acts on notifications if all that it stands for do.
func TestDispatchRelations(t *testing.T) {
	reg, ds := loadTypes(t, relatedTypes, provider.Providers{"x": func() provider.Provider { return refresher{packer{clerk{newShelf()}}} }})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	r, err := dispatchedRes(t, reg, "whole", map[string]any{"sort": "a", "m": "run"})
	if err != nil {
		t.Fatal(err)
	}
	edges, err := r.(engine.EdgeableRes).AutoEdges()
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(edges.Next()); !strings.Contains(got, "usual") || !strings.Contains(got, "exec[run]") {
		t.Error(got)
	}
	if got := fmt.Sprint(r.(engine.EdgeableRes).UIDs()); got != "[part[n]]" {
		t.Error(got)
	}
	if _, err := dispatchedRes(t, reg, "whole", map[string]any{"sort": "a", "m": "run", "extra": "other"}); err == nil || !strings.Contains(err.Error(), "extra: a part does not have it") {
		t.Error(err)
	}
	if _, ok := engine.As[engine.Listable](r); ok {
		t.Error("whole can be listed, and its things are those of other kinds")
	}
	if _, ok := engine.As[engine.RefreshableRes](r); ok {
		t.Error("whole can be notified, and plain can't")
	}
	r, err = dispatchedRes(t, reg, "wholly", map[string]any{"sort": "a", "m": "run"})
	if _, ok := engine.As[engine.RefreshableRes](r); !ok || err != nil {
		t.Error("wholly can't be notified, and part can", err)
	}
	if r, err = reg.New("wholly"); err != nil {
		t.Fatal(err)
	}
	r.SetName("n")
	_ = schema.Set(r, "sort", "a")
	r.(engine.RecvableRes).SetRecv(map[string]*engine.Send{"m": {Key: "x"}})
	if err := r.Validate(); err != nil {
		t.Errorf("what is to come is missed: %v", err)
	}
	_, ds = loadTypes(t, relatedTypes+`
- name: twice
  docs: x
  attributes: {name: {type: String, docs: x, kind: namevar}, sort: {type: "Enum[a]", docs: x, kind: parameter}}
  dispatch: {attribute: sort, to: {a: wholly}}
`, provider.Providers{"x": func() provider.Provider { return refresher{packer{clerk{newShelf()}}} }})
	if ds.Err() == nil || !strings.Contains(ds.Error(), "wholly is no type of its own") {
		t.Error(ds)
	}
}
