package idl_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema/bag"
	"github.com/reactivegraph/mgmt/engine/schema/generate"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// vectorsDir is the folder that holds idl/: that of VECTORS, or the copy here.
func vectorsDir() string { return filepath.Join(cmp.Or(os.Getenv("VECTORS"), "testdata"), "idl") }

// vector is one case of compilation.
type vector struct {
	ID      string            `json:"id"`
	Package string            `json:"package"`
	Files   map[string]string `json:"files"`
	Expect  map[string]any    `json:"expect"`
}

// group is one file of cases.
type group struct {
	Cases    []vector          `json:"cases"`
	Pairs    map[string]string `json:"pairs"`
	Validate []validation      `json:"validate"`
	Diff     []difference      `json:"diff"`
}

type validation struct {
	ID       string         `json:"id"`
	Resource string         `json:"resource"`
	Side     string         `json:"side"`
	Props    map[string]any `json:"props"`
	OK       bool           `json:"ok"`
	Errors   []struct{ Class, Path string }
}

type difference struct {
	ID, Resource      string
	Old, New          map[string]any
	Changed, Replaces []string
	Action            string
}

// load reads all files of a folder. No case is an error: a wrong path must not look like success.
func load(dir string) (map[string]group, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]group{}
	cases := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var g group
		if err := json.Unmarshal(text, &g); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		n := len(g.Cases) + len(g.Pairs) + len(g.Validate) + len(g.Diff)
		if n == 0 {
			return nil, fmt.Errorf("%s has no case", name)
		}
		cases += len(g.Cases)
		all[strings.TrimSuffix(filepath.Base(name), ".json")] = g
	}
	if cases == 0 {
		return nil, errors.New("there is no case of compilation in " + dir)
	}
	return all, nil
}

func loadAll(t testing.TB) map[string]group {
	t.Helper()
	all, err := load(vectorsDir())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// root is the path by which the cases import their modules.
const root = "example.com/defs/idl"

// compile compiles the files of a case.
func compile(v vector) (*idl.Package, []idlError) {
	fsys := fstest.MapFS{}
	for name, text := range v.Files {
		text = strings.ReplaceAll(text, `"IDLPKG"`, `"`+idl.Marker+`"`)
		text = strings.ReplaceAll(text, `"ROOT/`, `"`+root+`/`)
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	p, found := idl.Compile(context.Background(), fsys, idl.Options{Package: v.Package, Root: root})
	var errs []idlError
	for _, d := range found {
		errs = append(errs, idlError{d.Class, d.Path, d.Pos.File, int(d.Pos.Line)})
	}
	return p, errs
}

type idlError struct {
	class, subject, file string
	line                 int
}

// observe compiles a case and reads back all that was generated, in the form of the expectations.
func observe(v vector) (map[string]any, error) {
	p, errs := compile(v)
	if p == nil {
		return map[string]any{"ok": false, "errors": errorsOf(errs)}, nil
	}
	ts, err := generated("typescript", p)
	if err != nil {
		return nil, err
	}
	stubs, err := generated("go", p)
	if err != nil {
		return nil, err
	}
	delete(stubs, "schema.json")
	for name := range ts {
		if filepath.Base(name) == "index.ts" {
			delete(ts, name)
		}
	}
	out := map[string]any{"ok": true, "ts": map[string]any{}, "go": map[string]any{}}
	docs := map[string]any{}
	for name, text := range ts {
		out["ts"].(map[string]any)[name], docs[name] = readScript(string(text))
	}
	ops := map[string]any{}
	for name, text := range stubs {
		seen, err := readStub(string(text), ops)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out["go"].(map[string]any)[name] = seen
	}
	out["ops"], out["docs"] = ops, docs
	replaces, schemas := map[string]any{}, map[string]any{}
	for _, d := range p.Decls() {
		if d.Type == nil {
			continue
		}
		if d.Kind == idl.DeclResource {
			replaces[d.Name] = replacing(d)
		}
		if err := schemasOf(d, schemas); err != nil {
			return nil, err
		}
	}
	out["replaces"], out["schema"] = replaces, schemas
	return plain(out)
}

// plain brings a value into the form that JSON gives.
func plain(v map[string]any) (map[string]any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(text, &out)
}

func generated(target string, p *idl.Package) (generate.Files, error) {
	t, err := generate.Find(target)
	if err != nil {
		return nil, err
	}
	return t.Files(p, generate.Options{Stubs: "example.com/defs/provider"})
}

// errorsOf writes findings as the cases do. Of what Go refuses only the class and the file count.
func errorsOf(errs []idlError) []any {
	var out []any
	seen := map[string]bool{}
	for _, e := range errs {
		m := map[string]any{"class": e.class, "file": e.file}
		if e.class == idl.EGo {
			if seen[e.file] {
				continue
			}
			seen[e.file] = true
		} else {
			m["line"] = float64(e.line)
			if e.subject != "" {
				m["subject"] = e.subject
			}
		}
		out = append(out, m)
	}
	return out
}

func replacing(d *idl.Decl) []string {
	var keys []string
	for _, f := range d.Type.Fields {
		if f.Replaces {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// differ compares an expectation with what was seen. Every key of an expectation is compared, and nothing else may be seen.
func differ(expect, seen map[string]any) string {
	want := maps.Clone(expect)
	have := map[string]any{"ok": seen["ok"]}
	for key := range want {
		have[key] = seen[key]
	}
	if seen["ok"] == true {
		have["ts"], have["go"] = seen["ts"], seen["go"]
	}
	want["errors"] = expectedErrors(expect)
	have["errors"] = expectedErrors(seen)
	want["ts"] = complete(want["ts"], "imports")
	have["ts"] = complete(have["ts"], "imports")
	want["go"], have["go"] = complete(want["go"]), complete(have["go"])
	for key, narrow := range map[string]func(want, have any) any{"schema": narrowSchema, "replaces": narrowKeys, "docs": narrowLists, "ops": narrowKeys} {
		if w, ok := want[key]; ok {
			have[key] = narrow(w, have[key])
		}
	}
	return gocmp.Diff(want, have)
}

// expectedErrors leaves out of an expectation all that is not to be compared.
func expectedErrors(expect map[string]any) any {
	list, _ := expect["errors"].([]any)
	var out []any
	for _, e := range list {
		m := maps.Clone(e.(map[string]any))
		if m["class"] == idl.EGo {
			delete(m, "line")
		}
		out = append(out, m)
	}
	return out
}

// complete drops the empty parts of each file, which an expectation may leave out.
func complete(files any, _ ...string) any {
	all, _ := files.(map[string]any)
	out := map[string]any{}
	for name, f := range all {
		parts := map[string]any{}
		m, ok := f.(map[string]any)
		if !ok {
			out[name] = f
			continue
		}
		for key, v := range m {
			switch v := v.(type) {
			case map[string]any:
				if len(v) > 0 {
					parts[key] = v
				}
			case []any:
				if len(v) > 0 {
					parts[key] = v
				}
			case nil:
			default:
				parts[key] = v
			}
		}
		out[name] = parts
	}
	return out
}

// narrowKeys keeps the keys that an expectation has.
func narrowKeys(want, have any) any {
	h, _ := have.(map[string]any)
	out := map[string]any{}
	w, ok := want.(map[string]any)
	if !ok {
		return have
	}
	for key := range w {
		if v, ok := h[key]; ok {
			out[key] = v
		}
	}
	return out
}

// narrowSchema keeps the keywords that an expectation has, at every level.
func narrowSchema(want, have any) any {
	w, ok := want.(map[string]any)
	h, ok2 := have.(map[string]any)
	if !ok || !ok2 {
		return have
	}
	out := map[string]any{}
	for key, v := range w {
		if hv, ok := h[key]; ok {
			out[key] = narrowSchema(v, hv)
		}
	}
	return out
}

// narrowLists keeps the items of lists that an expectation has.
func narrowLists(want, have any) any {
	w, _ := want.(map[string]any)
	h, _ := have.(map[string]any)
	out := map[string]any{}
	for key, list := range w {
		var kept []any
		items, _ := list.([]any)
		seen, _ := h[key].([]any)
		for _, item := range items {
			if slices.Contains(seen, item) {
				kept = append(kept, item)
			}
		}
		out[key] = kept
	}
	return out
}

// TestVectors runs every case.
func TestVectors(t *testing.T) {
	n := 0
	for name, g := range loadAll(t) {
		for _, v := range g.Cases {
			n++
			t.Run(name+"/"+v.ID, func(t *testing.T) {
				seen, err := observe(v)
				if err != nil {
					t.Fatal(err)
				}
				if diff := differ(v.Expect, seen); diff != "" {
					t.Error("(-want +seen)\n" + diff)
				}
			})
		}
		for from, to := range g.Pairs {
			if got := idl.Property(from); got != to {
				t.Errorf("%s gives %s, want %s", from, got, to)
			}
		}
	}
	t.Logf("%d cases", n)
}

// TestRuntime validates bags and compares them, by the type of the full example.
func TestRuntime(t *testing.T) {
	all := loadAll(t)
	p := fullExample(t, all)
	n := 0
	for _, g := range all {
		for _, v := range g.Validate {
			n++
			if diff := judge(p, v); diff != "" {
				t.Errorf("%s: %s", v.ID, diff)
			}
		}
		for _, v := range g.Diff {
			n++
			if diff := compare(p, v); diff != "" {
				t.Errorf("%s: %s", v.ID, diff)
			}
		}
	}
	if n == 0 {
		t.Error("there is no case of the running time")
	}
}

// fullExample is the package that the cases of the running time speak of.
func fullExample(t testing.TB, all map[string]group) *idl.Package {
	for _, g := range all {
		for _, v := range g.Cases {
			if v.ID == "sg-full" {
				p, errs := compile(v)
				if p == nil {
					t.Fatal(errs)
				}
				return p
			}
		}
	}
	t.Fatal("the case sg-full is absent")
	return nil
}

// typeOf returns the type of a resource by its token.
func typeOf(p *idl.Package, token string) *idl.Decl {
	for _, d := range p.Resources() {
		if d.Token == token {
			return d
		}
	}
	return nil
}

func judge(p *idl.Package, v validation) string {
	d := typeOf(p, v.Resource)
	if d == nil {
		return "there is no type " + v.Resource
	}
	problems := bag.Check(d.Type, v.Props)
	var got []struct{ Class, Path string }
	for _, p := range problems {
		got = append(got, struct{ Class, Path string }{p.Class, p.Path})
	}
	if (len(problems) == 0) != v.OK {
		return fmt.Sprintf("ok is %v: %v", len(problems) == 0, problems)
	}
	return gocmp.Diff(slices.Clip(v.Errors), got, sameEmpty)
}

func compare(p *idl.Package, v difference) string {
	d := typeOf(p, v.Resource)
	if d == nil {
		return "there is no type " + v.Resource
	}
	return gocmp.Diff(bag.Change{Changed: v.Changed, Replaces: v.Replaces, Action: v.Action}, bag.Compare(d.Type, v.Old, v.New), sameEmpty)
}

// sameEmpty takes an empty list for an absent one.
var sameEmpty = gocmp.FilterValues(func(a, b any) bool { return isEmpty(a) && isEmpty(b) }, gocmp.Ignore())

func isEmpty(v any) bool {
	switch v := v.(type) {
	case []string:
		return len(v) == 0
	case []struct{ Class, Path string }:
		return len(v) == 0
	}
	return false
}

// TestLoadRefuses: a folder without cases is no success.
func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := load(dir); err == nil {
		t.Error("an empty folder is taken")
	}
	if _, err := load(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing folder is taken")
	}
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(`{"group":"a","cases":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(dir); err == nil {
		t.Error("a file without cases is taken")
	}
}

// TestFalsified alters every value of every expectation, one at a time. The harness has to find each.
func TestFalsified(t *testing.T) {
	all := loadAll(t)
	n := 0
	for name, g := range all {
		for _, v := range g.Cases {
			seen, err := observe(v)
			if err != nil {
				t.Fatal(err)
			}
			for at, wrong := range falsify(v.Expect, "") {
				if strings.HasSuffix(at, ".line") && strings.Contains(fmt.Sprint(v.Expect["errors"]), idl.EGo) {
					continue // not to be compared
				}
				n++
				if differ(wrong.(map[string]any), seen) == "" {
					t.Errorf("%s/%s: it passes though %s is another", name, v.ID, at)
				}
			}
		}
	}
	p := fullExample(t, all)
	for _, g := range all {
		for _, v := range g.Validate {
			n++
			v.OK = !v.OK
			if judge(p, v) == "" {
				t.Errorf("%s passes though ok is another", v.ID)
			}
			v.OK = !v.OK
			for i := range v.Errors {
				w := v
				w.Errors = slices.Clone(v.Errors)
				w.Errors[i].Path += "x"
				if judge(p, w) == "" {
					t.Errorf("%s passes though a path is another", v.ID)
				}
			}
		}
		for _, v := range g.Diff {
			n++
			v.Action += "x"
			if compare(p, v) == "" {
				t.Errorf("%s passes though the action is another", v.ID)
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d falsified expectations", n)
	}
	t.Logf("%d falsified expectations", n)
}

// falsify returns copies of a value, each with one part altered, by the path of the part.
func falsify(v any, at string) map[string]any {
	out := map[string]any{}
	switch v := v.(type) {
	case string:
		out[at] = v + "x"
	case bool:
		out[at] = !v
	case float64:
		out[at] = v + 1
	case []any:
		for i, item := range v {
			for path, wrong := range falsify(item, fmt.Sprintf("%s[%d]", at, i)) {
				c := slices.Clone(v)
				c[i] = wrong
				out[path] = c
			}
		}
		out[at+"+"] = append(slices.Clone(v), map[string]any{"added": true})
	case map[string]any:
		for key, item := range v {
			for path, wrong := range falsify(item, at+"."+key) {
				c := maps.Clone(v)
				c[key] = wrong
				out[path] = c
			}
		}
		c := maps.Clone(v)
		c["added"] = map[string]any{"added": "x"}
		out[at+"+"] = c
	}
	return out
}

// BenchmarkVectors compiles all cases: the figure of the issue is 70 ms of CPU.
func BenchmarkVectors(b *testing.B) {
	all := loadAll(b)
	for b.Loop() {
		for _, g := range all {
			for _, v := range g.Cases {
				compile(v)
			}
		}
	}
}
