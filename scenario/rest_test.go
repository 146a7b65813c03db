package scenario_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/scenario"
	"github.com/reactivegraph/mgmt/traits"
)

// busy stands for a machine that is busy: each of its methods is late. That is more than a test that guesses would wait for.
const busy = 50 * time.Millisecond

// late watches a path, and tells of each change late, by real time. A change that it was told of is one that it makes, too.
type late struct {
	traits.Base
	traits.Refreshable

	Path string `yaml:"path" doc:"The path." mgmt:"nowatch"`

	init  *engine.Init
	heard atomic.Int64
	done  int64
}

func (*late) Default() engine.Res              { return &late{} }
func (*late) Validate() error                  { return nil }
func (l *late) Init(init *engine.Init) error   { l.init = init; return nil }
func (*late) Cleanup() error                   { return nil }
func (l *late) Cmp(o engine.Res) error         { return engine.CmpFields(l, o) }
func (*late) Rooted() (writes, apart []string) { return nil, nil }

func (l *late) Watch(ctx context.Context) error {
	s, err := l.init.Host.Watch(ctx, []string{l.Path}, events.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	l.init.Running()
	for {
		select {
		case <-s.C():
			time.Sleep(busy)
			l.heard.Add(1)
			l.init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *late) CheckApply(context.Context, bool) (bool, error) {
	now := l.heard.Load()
	if now == l.done {
		return true, nil
	}
	l.init.Change(engine.Change{Field: "path", From: l.done, To: now})
	l.done = now
	return false, nil
}

// slow takes its time for one method, by real time.
type slow struct {
	traits.Base

	In string `yaml:"in" doc:"The method." mgmt:"nowatch,enum=watch|checkapply"`

	init *engine.Init
}

func (*slow) Default() engine.Res              { return &slow{} }
func (*slow) Validate() error                  { return nil }
func (s *slow) Init(init *engine.Init) error   { s.init = init; return nil }
func (*slow) Cleanup() error                   { return nil }
func (s *slow) Cmp(o engine.Res) error         { return engine.CmpFields(s, o) }
func (*slow) Rooted() (writes, apart []string) { return nil, nil }

func (s *slow) Watch(ctx context.Context) error {
	if s.In == "watch" {
		time.Sleep(busy)
	}
	s.init.Running()
	<-ctx.Done()
	return nil
}

func (s *slow) CheckApply(context.Context, bool) (bool, error) {
	if s.In == "checkapply" {
		time.Sleep(busy)
	}
	return true, nil
}

// TestRest: a test compares when nothing is under way any more, and moves the clock only where nothing works. How fast the machine is does not
// matter.
func TestRest(t *testing.T) {
	kinds := engine.DefaultRegistry()
	for name, made := range map[string]func() engine.Res{"late": func() engine.Res { return &late{} }, "slow": func() engine.Res { return &slow{} }} {
		var err error
		if kinds, err = kinds.With(name, made); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, resources, steps string }{
		{
			"an event that comes after a run that had another cause",
			`
  late: [{name: l, path: /x}]
  file: [{name: /x, content: a, notify: ["late[l]"]}]
`, `
  - {}
  - drift: {file: [{name: /x, content: b}]}
    expect: {changed: ["file[/x]", "late[l]"], ok: ["file[/x]", "late[l]"]}
`,
		},
		{
			"a run that works",
			`
  slow: [{name: s, in: checkapply}]
  timer: [{name: t, interval: 20s, notify: ["exec[tick]"]}]
  exec: [{name: tick, cmd: tick, refreshonly: true}]
`, `
  - expect: {changed: [], refreshed: []}
`,
		},
		{
			"a Watch that starts",
			`
  slow: [{name: s, in: watch}]
  timer: [{name: t, interval: 20s, notify: ["exec[tick]"]}]
  exec: [{name: tick, cmd: tick, refreshonly: true}]
`, `
  - expect: {changed: [], refreshed: []}
`,
		},
		{
			"runs that sleep, a run that waits for one of them, and a Watch that sleeps",
			`
  test:
  - {name: a, sleep: 30, differs: 1, meta: {sema: ["s"]}}
  - {name: b, sleep: 30, differs: 1, meta: {sema: ["s"]}}
  - {name: c, watchslow: 25, differs: 1}
`, `
  - expect: {changed: ["test[a]", "test[b]", "test[c]"]}
`,
		},
		{
			"a resource that gives events by the clock",
			`
  test: [{name: a, watchevery: 20, differs: 4}]
`, `
  - expect: {changed: ["test[a]"]}
  - {after: 20s, expect: {changed: ["test[a]"]}}
  - {after: 19s, expect: {changed: []}}
  - {after: 21s, expect: {changed: ["test[a]"]}}
`,
		},
		{
			"a value that one resource writes, and another one reads",
			`
  kv: [{name: out, key: k, value: v}, {name: in, key: k}]
  file: [{name: /x, content: "${{ sent('kv[in].value') }}"}]
`, `
  - expect: {file: [{name: /x, content: v}], ok: ["kv[in]"]}
  - drift: {kv: [{name: k, value: w}]}
    expect: {kv: [{name: k, value: v}], file: [{name: /x, content: v}], ok: ["kv[in]"]}
`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			graph := "graph: g\nresources:" + c.resources
			if err := os.WriteFile(filepath.Join(dir, "g.yaml"), []byte(graph), 0o600); err != nil {
				t.Fatal(err)
			}
			n, ds := yaml.Document("g_test.yaml", fmt.Appendf(nil, "graph: g.yaml\ntests:\n- name: x\n  commands: [{cmd: tick}]\n  steps:%s", c.steps))
			f, more := scenario.Read(n)
			if err := append(ds, more...).Err(); err != nil {
				t.Fatal(err)
			}
			for _, r := range scenario.Run(t.Context(), filepath.Join(dir, "g_test.yaml"), f, scenario.Options{Kinds: kinds}, nil) {
				for _, fail := range r.Failures {
					t.Error(strings.ReplaceAll(fail.Pos.String(), dir+"/", ""), fail.Message)
				}
			}
		})
	}
}
