package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/internal/await"
)

// shelf is a world of things of the type rec, whose provider notes what it is asked.
type shelf struct {
	mu     sync.Mutex
	things map[string]provider.Record
	calls  []string
	fail   func(call string) error
	lazy   bool                 // Set changes nothing
	news   chan []provider.Name // for Watch
}

func newShelf(names ...string) *shelf {
	s := &shelf{things: map[string]provider.Record{}, news: make(chan []provider.Name, 100)}
	for _, n := range names {
		s.things[n] = provider.Record{"ensure": "present", "name": n, "a": "1"}
	}
	return s
}

func (s *shelf) note(format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := fmt.Sprintf(format, args...)
	s.calls = append(s.calls, call)
	if s.fail != nil {
		return s.fail(call)
	}
	return nil
}

func (s *shelf) log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// put changes a thing from the outside.
func (s *shelf) put(name, a string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.things[name] = provider.Record{"ensure": "present", "name": name, "a": a}
}

func (s *shelf) get(name string) provider.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.things[name]
}

// clerk is the provider of a shelf.
type clerk struct{ *shelf }

func (c clerk) Get(_ context.Context, _ *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		what := "all"
		if !f.All {
			what = fmt.Sprint(f.Names)
		}
		if err := c.note("get %s", what); err != nil {
			yield(nil, err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, n := range slices.Sorted(maps.Keys(c.things)) {
			if f.Has(provider.NameOf(n)) && !yield(c.things[n], nil) {
				return
			}
		}
	}
}

func (c clerk) Set(_ context.Context, rt *provider.Runtime, changes []provider.Change) error {
	slices.SortFunc(changes, func(a, b provider.Change) int { return strings.Compare(a.Title, b.Title) })
	var names []string
	for _, ch := range changes {
		names = append(names, ch.Title)
	}
	if err := c.note("set %v noop=%v", names, rt.Noop); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range changes {
		switch {
		case rt.Noop || c.lazy:
		case ch.Should["ensure"] == "absent":
			delete(c.things, ch.Name.String())
			rt.Log.Deleted(ch.Title)
		default:
			rec := ch.Is.Record.Clone()
			if rec == nil {
				rec = provider.Record{}
			}
			maps.Copy(rec, ch.Should)
			c.things[ch.Name.String()] = rec
		}
	}
	return nil
}

// alert is a clerk that tells of changes.
type alert struct{ clerk }

func (a alert) Watch(ctx context.Context, _ *provider.Runtime, armed func(), changed func(...provider.Name)) error {
	armed()
	for {
		select {
		case <-ctx.Done():
			return nil
		case names := <-a.news:
			changed(names...)
		}
	}
}

// rec is the definition of the type.
func rec(features provider.Features) provider.Definition {
	return provider.Definition{
		Name: "rec", Doc: "A thing on a shelf.", Features: features,
		Attributes: []provider.Attribute{
			{Name: "ensure", Type: "Enum[present, absent]", Doc: "Whether it is there.", Default: "present", HasDefault: true},
			{Name: "name", Type: "String", Doc: "Its name.", Role: provider.Namevar},
			{Name: "a", Type: "Optional[String]", Doc: "Some text."},
			{Name: "n", Type: "Optional[Integer]", Doc: "Some number."},
			{Name: "uid", Type: "Optional[Integer]", Doc: "Some number that stays.", Role: provider.InitOnly},
			{Name: "sum", Type: "Optional[String]", Doc: "What can't be set.", Role: provider.ReadOnly},
		},
	}
}

// withRec returns a registry that knows the type.
func withRec(t *testing.T, d provider.Definition, make func() provider.Provider) *engine.Registry {
	t.Helper()
	k, err := provider.New(d, make)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := engine.DefaultRegistry().With(k.Name(), k.New)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// converge runs a graph until it has converged.
func converge(t *testing.T, graph string, o mgmt.Options) (mgmt.Report, error) {
	t.Helper()
	o.ConvergedExit = true
	o.MaxRuntime = time.Minute
	o.Strict = true
	with, f := from(graph, o)
	return mgmt.Run(t.Context(), with, f)
}

func wantCalls(t *testing.T, s *shelf, want ...string) {
	t.Helper()
	if got := s.log(); !slices.Equal(got, want) {
		t.Errorf("the provider was asked\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTypeInSync: one Get for all, and nothing else.
func TestTypeInSync(t *testing.T) {
	s := newShelf("x", "y", "z")
	reg := withRec(t, rec(0), func() provider.Provider { return clerk{s} })
	_, err := converge(t, "resources: {rec: [{name: x, a: '1'}, {name: y}, {name: z, ensure: present}]}", mgmt.Options{Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	wantCalls(t, s, "get all")
}

// TestTypeConverges: what differs is set, in one call, and read again.
func TestTypeConverges(t *testing.T) {
	s := newShelf("x", "y")
	reg := withRec(t, rec(0), func() provider.Provider { return clerk{s} })
	rep, err := converge(t, "resources: {rec: [{name: x, a: '2'}, {name: y, ensure: absent}, {name: z, n: 3}]}", mgmt.Options{Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	if s.get("x")["a"] != "2" || s.get("y") != nil || s.get("z")["n"] != int64(3) {
		t.Errorf("%v", s.things)
	}
	if rep.ExitCode() != 0 {
		t.Errorf("code %d", rep.ExitCode())
	}
	t.Log(s.log())
}

// TestTypeBelievesNothing: a Set that changes nothing fails its resources.
func TestTypeBelievesNothing(t *testing.T) {
	for name, features := range map[string]provider.Features{"all": 0, "names": provider.SimpleGetFilter} {
		t.Run(name, func(t *testing.T) {
			s := newShelf("x")
			s.lazy = true
			reg := withRec(t, rec(features), func() provider.Provider { return clerk{s} })
			rep, err := converge(t, "resources: {rec: [{name: x, a: '2'}]}", mgmt.Options{Registry: reg})
			if err != nil {
				t.Fatal(err)
			}
			if rep.ExitCode() != 4 {
				t.Errorf("code %d, %v", rep.ExitCode(), s.log())
			}
		})
	}
}

// TestTypeUnavailable: a Get that fails fails all of the type, and is called once.
func TestTypeUnavailable(t *testing.T) {
	s := newShelf("x", "y")
	s.fail = func(string) error { return errors.New("no shelf") }
	reg := withRec(t, rec(0), func() provider.Provider { return clerk{s} })
	rep, err := converge(t, "resources: {rec: [{name: x, a: '2'}, {name: y}]}", mgmt.Options{Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	if rep.ExitCode() != 4 {
		t.Errorf("code %d, %+v", rep.ExitCode(), rep.Counts)
	}
	wantCalls(t, s, "get all")
}

// stage runs a graph as a daemon, and tells when it has converged.
type stage struct {
	t     *testing.T
	e     *mgmt.Engine
	convs chan bool
	mu    sync.Mutex
	runs  []reactor.Run
}

func daemon(t *testing.T, graph string, o mgmt.Options) *stage {
	t.Helper()
	st := &stage{t: t, convs: make(chan bool, 1000)}
	o.Observer.Converged = func(yes bool, _ reactor.Counts) { st.convs <- yes }
	o.Observer.Ran = func(r reactor.Run) {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.runs = append(st.runs, r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	with, f := from(graph, o)
	var err error
	if st.e, err = mgmt.Open(ctx, with, f); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := st.e.Wait(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// settled waits until the graph has converged, once more if it has before.
func (st *stage) settled() {
	st.t.Helper()
	for {
		select {
		case yes := <-st.convs:
			if yes {
				return
			}
		case <-time.After(await.Left()):
			st.t.Fatal("the graph does not converge")
		}
	}
}

// ran returns how often CheckApply ran since the last call.
func (st *stage) ran() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	n := len(st.runs)
	st.runs = nil
	return n
}

// forget forgets what the provider was asked.
func (s *shelf) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}

// TestTypeWatched: a change from the outside is seen with one Get, wakes the resource
// that it concerns and no other, and is repaired; one that concerns nobody wakes
// nobody.
func TestTypeWatched(t *testing.T) {
	s := newShelf("x", "y", "other")
	reg := withRec(t, rec(provider.SimpleGetFilter), func() provider.Provider { return alert{clerk{s}} })
	st := daemon(t, "resources: {rec: [{name: x, a: '1'}, {name: y, a: '1'}]}", mgmt.Options{Registry: reg})
	st.settled()
	s.forget()
	st.ran()

	s.put("x", "2")
	s.news <- []provider.Name{provider.NameOf("x")}
	st.settled()
	wantCalls(t, s, "get [x]", "set [x] noop=false", "get [x]")
	if n := st.ran(); n != 1 {
		t.Errorf("%d runs", n)
	}

	s.forget()
	s.put("other", "2")
	s.news <- []provider.Name{provider.NameOf("other")}
	s.put("y", "3")
	s.news <- nil
	st.settled()
	if n := st.ran(); n != 1 {
		t.Errorf("%d runs, %v", n, s.log())
	}
	if s.get("y")["a"] != "1" {
		t.Error("it was not repaired")
	}
}

// TestTypeInitOnly: a change of what can be set at creation only is a failure that
// names it, and Set is not called.
func TestTypeInitOnly(t *testing.T) {
	s := newShelf("x")
	s.things["x"]["uid"] = int64(1)
	reg := withRec(t, rec(0), func() provider.Provider { return clerk{s} })
	var failed error
	o := mgmt.Options{Registry: reg}
	o.Observer.Ran = func(r reactor.Run) { failed = errors.Join(failed, r.Err) }
	rep, err := converge(t, "resources: {rec: [{name: x, uid: 2, a: '5'}, {name: z, uid: 3}]}", o)
	if err != nil {
		t.Fatal(err)
	}
	if rep.ExitCode() != 4 || failed == nil || !strings.Contains(failed.Error(), "uid can be set only when it is created: it is 1 and should be 2") {
		t.Errorf("code %d, %v", rep.ExitCode(), failed)
	}
	if s.get("x")["a"] != "1" || s.get("z")["uid"] != int64(3) {
		t.Errorf("%v", s.things)
	}
}

// TestTypeRefused: what is wrong in a graph is refused with its position.
func TestTypeRefused(t *testing.T) {
	reg := withRec(t, rec(0), func() provider.Provider { return clerk{newShelf()} })
	_, err := converge(t, `resources:
  rec:
  - {name: x, sum: abc}
  - {name: y, n: five}
  - {name: z, ensure: gone}
  - {name: w, bogus: 1}
  - {name: v}
  - {name: v2}
`, mgmt.Options{Registry: reg})
	for _, want := range []string{"stdin:3:", "sum", "stdin:4:", "n must be", "stdin:5:", "state must be", "stdin:6:", `unknown key "bogus"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// fussy is a clerk with the optional methods.
type fussy struct{ clerk }

func (f fussy) Canonicalize(_ context.Context, _ *provider.Runtime, recs []provider.Record) ([]provider.Record, error) {
	for _, r := range recs {
		r["name"] = strings.ToUpper(r["name"].(string))
		if r["a"] == "panic" {
			panic("ouch")
		}
	}
	return recs, nil
}

func (f fussy) Refresh(_ context.Context, rt *provider.Runtime, changes []provider.Change) error {
	for _, ch := range changes {
		rt.Log.Notice("refreshed", provider.Of(ch.Title))
	}
	return f.note("refresh %d", len(changes))
}

// TestTypeFussy: names are compared in canonical form, a panic fails its own resource,
// a notification refreshes, and noop is asked of the handler.
func TestTypeFussy(t *testing.T) {
	s := newShelf("X")
	reg := withRec(t, rec(provider.Canonicalize|provider.Refreshable|provider.NoopHandler), func() provider.Provider { return fussy{clerk{s}} })
	rep, err := converge(t, `resources:
  rec:
  - {name: x, a: "1"}
  - {name: y, a: panic}
  - {name: n, a: "1", meta: {noop: true}}
  print:
  - {name: p, msg: hello, notify: ["rec[x]"]}
`, mgmt.Options{Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	if rep.ExitCode() != 6 {
		t.Errorf("code %d", rep.ExitCode())
	}
	if s.get("N") != nil {
		t.Error("it was set though it is noop")
	}
	calls := strings.Join(s.log(), "\n")
	for _, want := range []string{"get all", "set [n] noop=true"} {
		if !strings.Contains(calls, want) {
			t.Errorf("%q is not in\n%s", want, calls)
		}
	}
	if strings.Contains(calls, "noop=false") {
		t.Error(calls)
	}
}

// TestTypeRefreshed: a resource that is notified, and as it should be, is refreshed.
func TestTypeRefreshed(t *testing.T) {
	s := newShelf("X")
	reg := withRec(t, rec(provider.Canonicalize|provider.Refreshable), func() provider.Provider { return fussy{clerk{s}} })
	rep, err := converge(t, `resources:
  rec: [{name: x, a: "1"}]
  test: [{name: t, differs: 1, notify: ["rec[x]"]}]
`, mgmt.Options{Registry: reg})
	if err != nil || rep.ExitCode() != 0 {
		t.Fatal(err, rep.ExitCode())
	}
	if calls := s.log(); !slices.Contains(calls, "refresh 1") {
		t.Error(calls)
	}
}

// TestTypeRelations: the relations of a definition become edges, with refresh where it
// says so, and none where an edge of the graph says the opposite.
func TestTypeRelations(t *testing.T) {
	d := rec(0)
	d.Attributes = append(d.Attributes, provider.Attribute{Name: "deps", Type: "Optional[Array[String]]", Doc: "What it needs.", Role: provider.Parameter})
	d.Require = []provider.Relation{{Kind: "noop", Titles: []string{"$deps", "always", "not there"}}}
	d.Before = []provider.Relation{{Kind: "noop", Titles: []string{"after"}}}
	d.Notify = []provider.Relation{{Kind: "test", Titles: []string{"told"}}}
	d.Subscribe = []provider.Relation{{Kind: "file", Titles: []string{"/tmp/never"}}}
	reg := withRec(t, d, func() provider.Provider { return clerk{newShelf("x")} })
	var edges []string
	o := mgmt.Options{Registry: reg, NoAutoGroup: true}
	o.Observer.Loaded = func(graph func() *resgraph.Graph) {
		g := graph()
		for _, e := range slices.Collect(g.Edges()) {
			arrow := " -> "
			if e.Notify {
				arrow = " ~> "
			}
			edges = append(edges, g.ID(e.From)+arrow+g.ID(e.To))
		}
	}
	_, err := converge(t, `resources:
  noop: [{name: one}, {name: two}, {name: always}, {name: after, before: ["rec[x]"]}]
  test: [{name: told}]
  file: [{name: /tmp/never, state: undefined, meta: {noop: true}}]
  rec: [{name: x, deps: [one, two]}]
`, o)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(edges)
	want := []string{"file[/tmp/never] ~> rec[x]", "noop[after] -> rec[x]", "noop[always] -> rec[x]", "noop[one] -> rec[x]", "noop[two] -> rec[x]", "rec[x] ~> test[told]"}
	if !slices.Equal(edges, want) {
		t.Errorf("%q\nwant\n%q", edges, want)
	}
}

// TestTypeTwice: two resources that are about one thing are refused.
func TestTypeTwice(t *testing.T) {
	d := rec(0)
	d.Attributes[1] = provider.Attribute{Name: "id", Type: "Integer", Doc: "Its number.", Role: provider.Namevar}
	reg := withRec(t, d, func() provider.Provider { return clerk{newShelf()} })
	_, err := converge(t, `resources:
  rec:
  - {name: first, id: 7}
  - {name: second, id: 7}
  - {name: third, id: 8}
`, mgmt.Options{Registry: reg})
	if err == nil || !strings.Contains(err.Error(), "stdin:4:") || !strings.Contains(err.Error(), "both are the rec 7") {
		t.Error(err)
	}
}
