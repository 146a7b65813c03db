package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/traits"
)

// conf is a resource whose parameters are described by data: a file of JSON with
// some of them. It says nothing of its type but through Params.
type conf struct {
	traits.Base
	traits.Recvable
	traits.Reversible
	schema.Data

	init *engine.Init
}

var confType = sync.OnceValues(func() (*schema.Type, error) {
	text := &schema.Type{Kind: schema.KindString}
	return schema.Build(&schema.Type{Kind: schema.KindStruct, Name: "conf", Fields: []*schema.Field{
		{Key: "path", Type: text, Role: schema.RoleIdentity, Required: true, Doc: "The file."},
		{Key: "state", Type: &schema.Type{Kind: schema.KindString, Enum: []string{"present", "absent"}}, Default: "present", Doc: "Whether it is."},
		{Key: "content", Type: text, Doc: "A text."},
		{Key: "count", Type: &schema.Type{Kind: schema.KindInt, Min: new(int64(0)), Max: new(int64(50))}, Default: 3, Doc: "A number."},
		{Key: "token", Type: &schema.Type{Kind: schema.KindString, Secret: true}, Doc: "A secret."},
		{Key: "env", Type: &schema.Type{Kind: schema.KindMap, Elem: text}, Doc: "Texts by name."},
		{Key: "tags", Type: &schema.Type{Kind: schema.KindList, Elem: text}, Role: schema.RoleParam, NoWatch: true, Doc: "Words."},
	}})
})

// briefType is confType without the secret: another kind, of the same Go type.
var briefType = sync.OnceValues(func() (*schema.Type, error) {
	t, err := confType()
	if err != nil {
		return nil, err
	}
	brief := *t
	brief.Fields = slices.DeleteFunc(slices.Clone(t.Fields), func(f *schema.Field) bool { return f.Key == "token" })
	return schema.Build(&brief)
})

var confSends = sync.OnceValues(func() (*schema.Type, error) {
	return schema.Build(&schema.Type{Kind: schema.KindStruct, Name: "what conf sends", Fields: []*schema.Field{
		{Key: "path", Type: &schema.Type{Kind: schema.KindString}, Doc: "The file."},
		{Key: "count", Type: &schema.Type{Kind: schema.KindInt}, Doc: "The number."},
		{Key: "token", Type: &schema.Type{Kind: schema.KindString, Secret: true}, Doc: "The secret."},
	}})
})

// dataOf returns a new value of a type.
func dataOf(make func() (*schema.Type, error)) schema.Data {
	t, err := make()
	if err != nil {
		panic(err)
	}
	return t.New()
}

func newConf() engine.Res  { return &conf{Data: dataOf(confType)} }
func newBrief() engine.Res { return &conf{Data: dataOf(briefType)} }

func (c *conf) Default() engine.Res       { return &conf{Data: c.Type.New()} }
func (c *conf) Init(i *engine.Init) error { c.init = i; return nil }
func (c *conf) Cleanup() error            { return nil }
func (c *conf) Cmp(o engine.Res) error    { return engine.CmpFields(c, o) }
func (c *conf) Overlaps() bool            { return true }
func (c *conf) Sends() any                { return dataOf(confSends) }

func (c *conf) text(key string) string {
	v, _ := schema.Get(c, key)
	s, _ := v.(string)
	return s
}

func (c *conf) Validate() error {
	if !filepath.IsAbs(c.text("path")) {
		return schema.Diagnostics{{Path: "path", Message: "path must begin with a slash"}}
	}
	return nil
}

func (c *conf) Watch(ctx context.Context) error {
	s, err := c.init.Host.Watch(ctx, []string{c.text("path")}, events.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	c.init.Running()
	for {
		select {
		case <-s.C():
			c.init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

// load returns what is in the file, nil if there is none.
func (c *conf) load() (is map[string]any, err error) {
	data, err := os.ReadFile(c.text("path"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return is, errors.Join(err, json.Unmarshal(data, &is))
}

// wanted returns what is to be in the file, nil for none.
func (c *conf) wanted() map[string]any {
	if c.text("state") == "absent" {
		return nil
	}
	all, _ := schema.EncodeAll(c)
	m := all.(map[string]any)
	if token, ok := m["token"].(schema.Secret); ok {
		m["token"] = token.Reveal()
	}
	for _, key := range []string{"path", "state", "tags"} {
		delete(m, key)
	}
	return m
}

func (c *conf) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := errors.Join(ctx.Err(), c.send()); err != nil {
		return false, err
	}
	if tags, _ := schema.Get(c, "tags"); schema.Equal(tags, []string{"tell"}) {
		token, _ := schema.Get(c, "token")
		c.init.Logf("the token is %s", token.(schema.Secret).Reveal())
	}
	is, err := c.load()
	want := c.wanted()
	if err != nil || c.same(is, want) {
		return err == nil, err
	}
	if !apply {
		return false, nil
	}
	if want == nil {
		return false, os.Remove(c.text("path"))
	}
	data, err := json.Marshal(want)
	if err != nil {
		return false, err
	}
	return false, os.WriteFile(c.text("path"), data, 0o600)
}

func (c *conf) send() error {
	all, err := schema.EncodeAll(c)
	d := dataOf(confSends)
	for _, key := range []string{"path", "count", "token"} {
		if v, ok := all.(map[string]any)[key]; ok {
			err = errors.Join(err, schema.Set(d, key, v))
		}
	}
	return errors.Join(err, c.init.Send(d))
}

func (c *conf) same(is, want map[string]any) bool {
	if (is == nil) != (want == nil) {
		words := map[bool]string{true: "absent", false: "present"}
		c.init.Change(engine.Change{Field: "state", From: words[is == nil], To: words[want == nil]})
		return false
	}
	found := schema.Diff(c.Type, is, want)
	for _, d := range found {
		c.init.Change(engine.Change{Field: d.Path, From: d.From, To: d.To})
	}
	return len(found) == 0
}

func (c *conf) like(path string, values any) (engine.Res, error) {
	n := c.Default()
	n.SetKind(c.Kind())
	n.SetName(c.Name())
	node, err := schema.NodeOf(values)
	if err != nil {
		return nil, err
	}
	node.Pairs = append(node.Pairs, schema.Pair{Key: "path", Value: &schema.Node{Kind: schema.NodeString, Text: path}})
	return n, schema.Decode(node, n).Err()
}

func (c *conf) Read(context.Context) (engine.Res, error) {
	is, err := c.load()
	if is == nil || err != nil {
		return nil, err
	}
	return c.like(c.text("path"), is)
}

func (c *conf) Reversed(was engine.Res) (engine.Res, error) {
	if was == nil {
		return c.like(c.text("path"), map[string]any{"state": "absent"})
	}
	return c.like(c.text("path"), was.(*conf).wanted())
}

func withConf(t *testing.T) *engine.Registry {
	t.Helper()
	reg := engine.DefaultRegistry().Clone()
	if err := errors.Join(reg.Register("conf", newConf), reg.Register("brief", newBrief)); err != nil {
		t.Fatal(err)
	}
	return reg
}

// TestTypedKeepsTheLaws: the laws of a kind hold for one whose type is data.
func TestTypedKeepsTheLaws(t *testing.T) {
	put := func(text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(dir+"/conf", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	enginetest.Run(t, enginetest.Suite{
		Kind: "conf", Registry: withConf(t),
		New: func(t *testing.T, dir string) engine.Res {
			c := newConf()
			for key, v := range map[string]any{"path": dir + "/conf", "content": "c", "token": "t", "tags": []string{"x"}, "env": map[string]string{"A": "b"}} {
				if err := schema.Set(c, key, v); err != nil {
					t.Fatal(err)
				}
			}
			return c
		},
		Drifts: map[string]func(t *testing.T, dir string){
			"altered": put(`{"content": "d", "count": 4, "token": "u"}`),
			"gone": func(t *testing.T, dir string) {
				if err := os.Remove(dir + "/conf"); err != nil {
					t.Fatal(err)
				}
			},
		},
		Variants: map[string]func(engine.Res){
			"absent": func(r engine.Res) { _ = schema.Set(r, "state", "absent") },
		},
		Received: []string{"content"},
	})
}

// TestTypedKind: the registry, and what is derived, tell of it as of any kind.
func TestTypedKind(t *testing.T) {
	k, err := withConf(t).Kind("conf")
	if err != nil {
		t.Fatal(err)
	}
	if f := k.Type.Field("count"); f.Default != int64(3) || k.Abilities.Sends.Field("token") == nil {
		t.Errorf("the default of count is %v, sent is %v", f.Default, k.Abilities.Sends)
	}
	dk := derive.Kind{Name: k.Name, Type: k.Type, Sends: k.Abilities.Sends, Abilities: k.Abilities.Names()}
	js, err := derive.KindSchema(dk)
	if err != nil || !strings.Contains(string(js), `"absent"`) || !strings.Contains(string(js), `"maximum": 50`) {
		t.Errorf("the JSON schema is %s, %v", js, err)
	}
	md := derive.Markdown(dk)
	for _, want := range []string{"A number.", "`3`", "The secret."} {
		if !strings.Contains(md, want) {
			t.Errorf("the page lacks %q:\n%s", want, md)
		}
	}
}

// TestTypedInAGraph: what is wrong with it in a file is told with its place.
func TestTypedInAGraph(t *testing.T) {
	const graph = `
resources:
  conf:
  - name: bad
    path: relative
  - name: worse
    state: presnt
    count: 51
    contnt: x
    token: [1]
    recv: {content: "test[s].answer", tags: "test[s].nothing"}
  test:
  - name: s
    recv: {secret: "conf[bad].path", str: "conf[bad].tags"}
`
	with, f := from(graph, mgmt.Options{Registry: withConf(t)})
	_, err := mgmt.Plan(t.Context(), with, f)
	ds, ok := errors.AsType[schema.Diagnostics](err)
	if !ok {
		t.Fatal(err)
	}
	got := strings.Split(ds.Error(), "\n")
	want := strings.Split(strings.TrimSpace(`
stdin:5:11: path must begin with a slash
stdin:6:5: path is required: text
stdin:7:12: state must be one of present, absent, not "presnt" (did you mean "present"?)
stdin:8:12: count must be a whole number from 0 to 50, not 51
stdin:9:5: unknown key "contnt" (did you mean "content"?)
stdin:10:12: token must be secret text, not a list
stdin:11:12: content can't receive test[s].answer: a whole number cannot be sent where text is needed
stdin:11:39: test[s]: unknown key "nothing"
stdin:14:38: conf[bad]: unknown key "tags"
`), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTypedSendsAndReceives: its fields are sent to kinds of data and of Go, and
// received from both; a secret stays one on the way.
func TestTypedSendsAndReceives(t *testing.T) {
	dir := t.TempDir()
	graph := strings.ReplaceAll(`
resources:
  brief:
  - {name: first, path: DIR/first, before: ["conf[a]"]}
  conf:
  - {name: a, path: DIR/a, content: plain, token: canary-77, count: 7, tags: [tell]}
  - {name: b, path: DIR/b, recv: {content: "conf[a].token", count: "conf[a].count"}}
  - {name: c, path: DIR/c, recv: {content: "test[go].hello", count: "test[go].answer", "env.KEY": "test[go].hello"}, env: {KEY: x}}
  test:
  - {name: go, str: from go}
  file:
  - {name: DIR/f, state: exists, recv: {content: "conf[a].path"}}
  - {name: DIR/s, state: exists, recv: {content: "conf[a].token"}}
`, "DIR", dir)
	_, log, r := transformed(t, graph, mgmt.Options{Registry: withConf(t)})
	if r.Counts[resgraph.StateFailed] > 0 || strings.Contains(log, "canary") {
		t.Errorf("%+v\n%s", r, log)
	}
	if !strings.Contains(log, "the token is") {
		t.Error("it has not told of its token, so nothing was kept out of the log")
	}
	for name, want := range map[string]string{
		"first": `{"content":"","count":3,"env":{}}`,
		"a":     `{"content":"plain","count":7,"env":{},"token":"canary-77"}`,
		"b":     `{"content":"canary-77","count":7,"env":{},"token":""}`,
		"c":     `{"content":"from go","count":42,"env":{"KEY":"from go"},"token":""}`,
		"f":     dir + "/a",
		"s":     "canary-77",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want || err != nil {
			t.Errorf("%s holds %s, %v", name, got, err)
		}
	}
}

// TestTypedAtASwap: what wants the same goes on, also when it comes from data read
// anew.
func TestTypedAtASwap(t *testing.T) {
	dir := t.TempDir()
	graph := func(count int, more string) {
		text := fmt.Sprintf("resources: {conf: [{name: a, path: %s/a}, {name: b, path: %s/b, count: %d}%s]}\n", dir, dir, count, more)
		if err := os.WriteFile(dir+"/graph.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	swaps := make(chan reactor.Swap, 8)
	graph(1, "")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	e, err := mgmt.Open(ctx, mgmt.Options{Registry: withConf(t), Observer: mgmt.Observer{Swapped: func(s reactor.Swap) { swaps <- s }}}, yaml.New(dir+"/graph.yaml", yaml.Options{Settle: time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- e.Wait() }()
	if s := <-swaps; s.Added != 2 {
		t.Errorf("at first %+v", s)
	}
	graph(2, "")
	if s := <-swaps; s.Kept != 1 || s.Changed != 1 {
		t.Errorf("with another count %+v", s)
	}
	graph(2, fmt.Sprintf(", {name: c, path: %s/c}", dir))
	if s := <-swaps; s.Kept != 2 || s.Added != 1 {
		t.Errorf("with one more %+v", s)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestTypedIsReversed: what was there before comes back when it leaves the graph.
func TestTypedIsReversed(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	const was = `{"content":"was","count":9,"env":{"A":"b"},"token":"old"}`
	if err := os.WriteFile(dir+"/b", []byte(was), 0o600); err != nil {
		t.Fatal(err)
	}
	graph := strings.ReplaceAll("resources: {conf: [{name: a, path: DIR/a, meta: {reverse: true}}, {name: b, path: DIR/b, content: new, meta: {reverse: true}}]}", "DIR", dir)
	for _, text := range []string{graph, "resources: {}"} {
		_, _, r := transformed(t, text, mgmt.Options{Registry: withConf(t), State: mgmt.StateIn(state)})
		if r.Counts[resgraph.StateFailed] > 0 {
			t.Errorf("%+v", r)
		}
		if text == graph {
			if got, err := os.ReadFile(dir + "/b"); err != nil || !strings.Contains(string(got), "new") {
				t.Errorf("b holds %s, %v", got, err)
			}
		}
	}
	if _, err := os.Stat(dir + "/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a is there still: %v", err)
	}
	if got, err := os.ReadFile(dir + "/b"); string(got) != was {
		t.Errorf("b holds %s, %v", got, err)
	}
}
