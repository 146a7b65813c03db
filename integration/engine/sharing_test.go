package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	worldmemory "github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/kv"
	"github.com/reactivegraph/mgmt/traits"
)

// lines is a log that many write.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.buf.String(), text)
}

// fleet is several hosts of one process on one store.
type fleet struct {
	t     *testing.T
	store *worldmemory.World
	clock *enginetest.Clock
}

func newFleet(t *testing.T) *fleet {
	clock := enginetest.NewClock()
	return &fleet{t: t, store: worldmemory.New(worldmemory.WithClock(clock)), clock: clock}
}

// member is one host.
type member struct {
	*mgmt.Engine
	name  string
	t     *testing.T
	world *worldmemory.World
	log   *lines
	stop  func()

	mu     sync.Mutex
	warned []string
}

// host starts a host; change alters its options.
func (f *fleet) host(name string, change func(*mgmt.Options)) *member {
	f.t.Helper()
	m := &member{name: name, t: f.t, world: f.store.Join(), log: &lines{}}
	o := mgmt.Options{
		Hostname: name, Host: enginetest.NewHost(), World: mgmt.Share(m.world), Lease: time.Minute, NoAutoGroup: true,
		Logger: slog.New(slog.NewTextHandler(m.log, nil)),
		Observer: mgmt.Observer{Warned: func(list schema.Diagnostics) {
			m.mu.Lock()
			defer m.mu.Unlock()
			for _, d := range list {
				m.warned = append(m.warned, d.Message)
			}
		}},
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e, err := mgmt.Open(ctx, o, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	m.Engine = e
	m.stop = sync.OnceFunc(func() {
		cancel()
		if err := e.Wait(); err != nil {
			f.t.Error(err)
		}
	})
	f.t.Cleanup(func() { m.stop(); _ = m.world.Close() })
	return m
}

// apply puts a graph into effect that a function declares.
func (m *member) apply(declare func(*static.Graph)) {
	m.t.Helper()
	g := static.NewGraph("g")
	declare(g)
	if _, err := m.Apply(m.t.Context(), g.Declared()); err != nil {
		m.t.Fatal(err)
	}
}

// names returns the ids of the graph, sorted.
func (m *member) names() (ids []string) {
	list, err := statusesOf(m.t.Context(), m.Engine)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, st := range list {
		ids = append(ids, st.Resource)
	}
	slices.Sort(ids)
	return ids
}

// becomes waits until the graph has these resources.
func (m *member) becomes(want ...string) {
	m.t.Helper()
	m.until(fmt.Sprintf("the graph %v", want), func() bool { return slices.Equal(m.names(), want) })
}

func (m *member) until(what string, ok func() bool) {
	m.t.Helper()
	for end := time.Now().Add(await.Left()); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("%s did not come; it has %v", what, m.names())
		}
	}
}

func exported(to ...any) map[string]any { return map[string]any{"export": to} }

func hiddenFor(to ...any) map[string]any { return map[string]any{"export": to, "hidden": true} }

// TestExportAndCollect: what two hosts export a third one has, for as long as they export it, and what is not for it
// or does not fit it has not.
func TestExportAndCollect(t *testing.T) {
	f := newFleet(t)
	a, b, c := f.host("a", nil), f.host("b", nil), f.host("c", func(o *mgmt.Options) { o.Roles = []string{"db"} })
	c.apply(func(g *static.Graph) {
		g.Add("noop", "own", &basic.NoopRes{})
		g.Collect("noop", "web/*", "*", nil)
		g.Collect("NOOP", "only*", "a", nil)
		g.Collect("print", "", "", map[string]any{"msg": "set here"})
	})
	a.apply(func(g *static.Graph) {
		g.Add("noop", "web/a/1", &basic.NoopRes{}).Meta(exported("*"))
		g.Add("noop", "web/x", &basic.NoopRes{}).Meta(hiddenFor("c"))
		g.Add("noop", "web/y", &basic.NoopRes{}).Meta(hiddenFor("someone"))
		g.Add("noop", "web/z", &basic.NoopRes{}).Meta(hiddenFor("group:db"))
		g.Add("noop", "else", &basic.NoopRes{}).Meta(exported("*"))
		g.Add("print", "p", &basic.PrintRes{Msg: "from a"}).Meta(exported("*"))
	})
	b.apply(func(g *static.Graph) { g.Add("noop", "only/b", &basic.NoopRes{}).Meta(exported("*")) })
	c.becomes("noop[own]", "noop[web/a/1]", "noop[web/x]", "noop[web/z]", "print[p]")
	c.until("the message", func() bool { return c.log.has("set here") })
	a.becomes("noop[else]", "noop[web/a/1]", "noop[web/x]", "noop[web/y]", "noop[web/z]", "print[p]")

	// A change of a parameter arrives, and so does a part.
	if err := a.Patch(t.Context(), mgmt.Patch{Delete: []string{"noop[web/x]"}}); err != nil {
		t.Error(err)
	}
	c.becomes("noop[own]", "noop[web/a/1]", "noop[web/z]", "print[p]")
	a.apply(func(g *static.Graph) { g.Add("noop", "only/a", &basic.NoopRes{}).Meta(exported("*")) })
	c.becomes("noop[only/a]", "noop[own]")

	// A graph without collect has nothing of the others.
	c.apply(func(g *static.Graph) { g.Add("noop", "own", &basic.NoopRes{}) })
	c.becomes("noop[own]")
}

// TestHiddenChanges: a change of a hidden resource, which this host does not run, comes to the hosts that collect it.
func TestHiddenChanges(t *testing.T) {
	f := newFleet(t)
	a, b := f.host("a", nil), f.host("b", nil)
	b.apply(func(g *static.Graph) { g.Collect("print", "", "", nil) })
	for _, text := range []string{"the first", "the second"} {
		a.apply(func(g *static.Graph) { g.Add("print", "p", &basic.PrintRes{Msg: text}).Meta(hiddenFor("*")) })
		b.until(text, func() bool { return b.log.has(text) })
	}
}

// exports has a host export one resource, for a time.
func (m *member) exports(name string, lasts string) {
	m.t.Helper()
	meta := exported("*")
	if lasts != "" {
		meta["exportfor"] = lasts
	}
	m.apply(func(g *static.Graph) { g.Add("noop", name, &basic.NoopRes{}).Meta(meta) })
}

// TestFindingQ7Outlives: no end of a daemon takes an export back, be it in order or by kill -9. The time of the export does, 10 minutes if it says none, and
// so does a later graph without it. A daemon that comes back in that time alters nothing for those that collect it.
func TestFindingQ7Outlives(t *testing.T) {
	f := newFleet(t)
	dir := t.TempDir()
	state := func(name string) func(*mgmt.Options) {
		return func(o *mgmt.Options) { o.State = mgmt.StateIn(filepath.Join(dir, name)) }
	}
	a, b, e, c := f.host("a", state("a")), f.host("b", state("b")), f.host("e", state("e")), f.host("c", nil)
	a.exports("a", "")
	b.exports("b", "3m")
	e.exports("e", "")
	c.apply(func(g *static.Graph) { g.Collect("noop", "", "", nil) })
	c.becomes("noop[a]", "noop[b]", "noop[e]")
	a.world.Abandon() // as kill -9 does
	a.stop()
	b.stop()
	e.stop()
	f.clock.Advance(2 * time.Minute)
	if got := c.names(); len(got) != 3 {
		t.Errorf("after the end of the daemons it has %v", got)
	}
	// One comes back with the same graph, and one with another.
	a = f.host("a", state("a"))
	a.exports("a", "")
	a.until("the export is under the new lease", func() bool { return f.leaseOf("exports/all/a/noop/a", a) })
	if got := c.names(); len(got) != 3 {
		t.Errorf("after a restart it has %v", got)
	}
	e = f.host("e", state("e"))
	e.exports("new", "")
	c.becomes("noop[a]", "noop[b]", "noop[new]")
	f.clock.Advance(time.Minute)
	c.becomes("noop[a]", "noop[new]")
	f.clock.Advance(time.Hour)
	if got := c.names(); len(got) != 2 {
		t.Errorf("of the living ones it has %v", got)
	}
	// Another time is no reason to take it back in between.
	before, err := f.store.Get(t.Context(), "exports/all/a/noop/a")
	if err != nil {
		t.Fatal(err)
	}
	a.exports("a", "1m")
	a.until("the export is under the lease of its time", func() bool {
		kv, err := f.store.Get(t.Context(), "exports/all/a/noop/a")
		return err == nil && kv.Lease != before.Lease
	})
	a.stop()
	f.clock.Advance(59 * time.Second)
	if got := c.names(); len(got) != 2 {
		t.Errorf("within the other time it has %v", got)
	}
	f.clock.Advance(time.Second)
	c.becomes("noop[new]")
	e.apply(func(*static.Graph) {})
	c.becomes()
}

// leaseOf reports whether a key is under a lease of a host that lives.
func (f *fleet) leaseOf(key string, m *member) bool {
	kv, err := f.store.Get(f.t.Context(), key)
	return err == nil && m.world.Held(kv.Lease) != nil
}

// TestCollectOwn: a host that collects its own hidden export applies it.
func TestCollectOwn(t *testing.T) {
	f := newFleet(t)
	a, b := f.host("a", nil), f.host("b", nil)
	for _, m := range []*member{a, b} {
		m.apply(func(g *static.Graph) {
			name := map[*member]string{a: "a", b: "b"}[m]
			g.Add("print", name, &basic.PrintRes{Msg: "I am " + name}).Meta(hiddenFor("*"))
			g.Collect("print", "*", "*", nil)
		})
	}
	for _, m := range []*member{a, b} {
		m.becomes("print[a]", "print[b]")
		m.until("both lines", func() bool { return m.log.has("I am a") && m.log.has("I am b") })
	}
}

// TestNoWorld: an engine without a World runs its graph. It says at each wish that nothing is collected, a resource that needs a store
// fails with the reason, and an export reaches no host. With a World without a store it has one of its own, and collects what it exports itself.
func TestNoWorld(t *testing.T) {
	graph := func(g *static.Graph) {
		g.Add("print", "mine", &basic.PrintRes{Msg: "mine"}).Meta(hiddenFor("*"))
		g.Collect("print", "*", "*", nil)
		g.Add("kv", "k", &kv.Res{Key: "k", Value: new("v")})
	}
	f := newFleet(t)
	without := f.host("a", func(o *mgmt.Options) { o.World = nil })
	without.apply(graph)
	without.until("a warning at the wish", func() bool {
		without.mu.Lock()
		defer without.mu.Unlock()
		return slices.ContainsFunc(without.warned, func(s string) bool { return strings.HasPrefix(s, "nothing is collected: ") })
	})
	const reason = "this program has no store; its author has to set the option World"
	without.until("the reason at kv[k]", func() bool {
		st, err := without.Status(t.Context(), "kv[k]")
		return err == nil && st.State == resgraph.StateFailed && strings.Contains(fmt.Sprint(st.Err), reason)
	})
	own := f.host("b", func(o *mgmt.Options) { o.World = mgmt.Share(nil) })
	own.apply(graph)
	own.until("its line, and its value", func() bool {
		st, err := own.Status(t.Context(), "kv[k]")
		return err == nil && st.State == resgraph.StateOK && own.log.has("mine")
	})
	if kvs, err := f.store.List(t.Context(), "", world.ListOptions{}); err != nil || len(kvs.KVs) > 0 {
		t.Errorf("the store of others has %v, %v", kvs.KVs, err)
	}
}

// TestCollectLeavesOut: what this host declares itself, what two export, what it does not accept and what is broken is
// left out with the reason, and all else goes on.
func TestCollectLeavesOut(t *testing.T) {
	f := newFleet(t)
	a, b, c := f.host("a", nil), f.host("b", nil), f.host("c", func(o *mgmt.Options) { o.Accept = []string{"noop", "test.*"} })
	c.apply(func(g *static.Graph) {
		g.Add("noop", "own", &basic.NoopRes{})
		for _, kind := range []string{"noop", "timer", "test"} {
			g.Collect(kind, "", "", nil)
		}
	})
	for _, m := range []*member{a, b} {
		m.apply(func(g *static.Graph) {
			g.Add("noop", "own", &basic.NoopRes{}).Meta(hiddenFor("*"))
			g.Add("noop", "both", &basic.NoopRes{}).Meta(hiddenFor("*"))
			g.Add("timer", "t", &basic.TimerRes{Interval: time.Hour}).Meta(hiddenFor("*"))
			g.Add("test", "broken", &basic.TestRes{ValidateError: "it is broken"}).Meta(hiddenFor("*"))
		})
	}
	put(t, f.store, "exports/all/z/noop/unread", "{")
	put(t, f.store, "exports/all/z/noop/good", `{"value":{"comment":"x"}}`)
	put(t, f.store, "exports/all/z/noop/wrong", `{"value":{"coment":"x"}}`)
	put(t, f.store, "exports/odd", "x")
	c.becomes("noop[both]", "noop[good]", "noop[own]")
	for _, want := range []string{
		"noop[own] of the host a is left out: this host declares it itself", "noop[both] of the host b is left out: the host a exports it, too",
		"timer[t] of the host a is left out: this host takes over the kinds noop, test (setting accept)",
		"test[broken] of the host a is left out: ", "noop[wrong] of the host z is left out: ",
	} {
		c.until(want, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return slices.ContainsFunc(c.warned, func(s string) bool { return strings.Contains(s, want) })
		})
	}
	// A whole graph leaves the same out, and goes on.
	c.apply(func(g *static.Graph) { g.Collect("noop", "", "", nil); g.Collect("test", "", "", nil) })
	c.becomes("noop[both]", "noop[good]", "noop[own]")
}

// TestFindingH4Accept: with a list of kinds only those come, whatever they do.
func TestFindingH4Accept(t *testing.T) {
	f := newFleet(t)
	a, b := f.host("a", nil), f.host("b", func(o *mgmt.Options) { o.Accept = []string{"timer.*"} })
	b.apply(func(g *static.Graph) { g.Collect("noop", "", "", nil); g.Collect("timer", "", "", nil) })
	a.apply(func(g *static.Graph) {
		g.Add("noop", "n", &basic.NoopRes{}).Meta(exported("*"))
		g.Add("timer", "t", &basic.TimerRes{Interval: time.Hour}).Meta(exported("*"))
	})
	b.becomes("timer[t]")
}

// TestFindingH3Worm: a host does not export on what another host's record says that it should.
func TestFindingH3Worm(t *testing.T) {
	f := newFleet(t)
	put(t, f.store, "exports/all/web1/print/p", `{"value":{"msg":"m"},"meta":{"export":["*","group:db"]}}`)
	b := f.host("b", nil)
	b.apply(func(g *static.Graph) { g.Collect("print", "", "", nil) })
	b.becomes("print[p]")
	b.apply(func(g *static.Graph) {
		g.Collect("print", "", "", nil)
		g.Add("noop", "own", &basic.NoopRes{}).Meta(exported("*"))
	})
	var keys []string
	b.until("its own export", func() bool {
		page, err := f.store.List(t.Context(), "exports/", world.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		keys = nil
		for _, e := range page.KVs {
			keys = append(keys, e.Key)
		}
		return slices.Contains(keys, "exports/all/b/noop/own")
	})
	if slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "/b/print/") }) {
		t.Errorf("it exports on: %v", keys)
	}
}

// TestMembers: each host is in the list with its state, and leaves it at its end.
func TestMembers(t *testing.T) {
	f := newFleet(t)
	a, b := f.host("a", nil), f.host("b", nil)
	a.apply(func(g *static.Graph) { g.Add("noop", "n", &basic.NoopRes{}) })
	list := func() (out []string) {
		members, err := hosts.Members(t.Context(), f.store)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			out = append(out, fmt.Sprintf("%s %t %d %v", m.Name, m.State.Converged, m.State.OK, m.Facts["hostname"] != nil))
		}
		return out
	}
	a.until("both hosts", func() bool { return slices.Equal(list(), []string{"a true 1 true", "b false 0 true"}) })
	a.apply(func(g *static.Graph) { g.Add("noop", "n", &basic.NoopRes{}) })
	if got := list(); got[0] != "a true 1 true" {
		t.Errorf("a graph that keeps all leaves the host at %s", got[0])
	}
	b.stop()
	a.until("one host", func() bool { return slices.Equal(list(), []string{"a true 1 true"}) })
}

// driftingRes alters something at each event.
type driftingRes struct {
	traits.Base
	init  *engine.Init
	event chan struct{}
}

func (r *driftingRes) Default() engine.Res          { return &driftingRes{event: r.event} }
func (r *driftingRes) Validate() error              { return nil }
func (r *driftingRes) Init(init *engine.Init) error { r.init = init; return nil }
func (r *driftingRes) Cleanup() error               { return nil }
func (r *driftingRes) Cmp(engine.Res) error         { return nil }

func (r *driftingRes) Watch(ctx context.Context) error {
	r.init.Running()
	for {
		select {
		case <-r.event:
			r.init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *driftingRes) CheckApply(context.Context, bool) (bool, error) {
	return false, nil
}

// TestMemberStirred: a host that corrects something for a while is not published as converged, until it rests again.
func TestMemberStirred(t *testing.T) {
	f := newFleet(t)
	event := make(chan struct{})
	reg := engine.NewRegistry()
	if err := reg.Register("drifting", func() engine.Res { return &driftingRes{event: event} }); err != nil {
		t.Fatal(err)
	}
	a := f.host("a", func(o *mgmt.Options) { o.Registry, o.ConvergedTimeout = reg, 3*time.Second })
	a.apply(func(g *static.Graph) { g.Add("drifting", "g", &driftingRes{event: event}) })
	state := func() hosts.MemberState {
		members, err := hosts.Members(t.Context(), f.store)
		if err != nil || len(members) > 1 {
			t.Fatal(members, err)
		}
		for _, m := range members {
			return m.State
		}
		return hosts.MemberState{}
	}
	a.until("rest", func() bool { return state().Converged })
	before := state()
	event <- struct{}{}
	a.until("work", func() bool { return !state().Converged })
	if st := state(); st.Word() != "working" || !st.Since.After(before.Since) || st.Graph != "g" {
		t.Errorf("the state at work: %+v", st)
	}
	a.until("rest again", func() bool { return state().Converged })
}

// TestExportsSameTwice: an equal graph writes nothing into the store.
func TestExportsSameTwice(t *testing.T) {
	f := newFleet(t)
	a, b := f.host("a", nil), f.host("b", nil)
	graph := func() {
		a.apply(func(g *static.Graph) { g.Add("noop", "n", &basic.NoopRes{}).Meta(exported("*")) })
	}
	graph()
	b.apply(func(g *static.Graph) { g.Collect("noop", "", "", nil) })
	b.becomes("noop[n]")
	created := func() int64 {
		kv, err := f.store.Get(t.Context(), "exports/all/a/noop/n")
		if err != nil {
			t.Fatal(err)
		}
		return kv.Revision
	}
	before := created()
	graph()
	a.apply(func(g *static.Graph) {
		g.Add("noop", "n", &basic.NoopRes{}).Meta(exported("*"))
		g.Add("noop", "m", &basic.NoopRes{}).Meta(exported("*"))
	})
	b.becomes("noop[m]", "noop[n]")
	if created() != before {
		t.Error("an equal export was written again")
	}
}

// TestNoopExportsNothing: a run that alters nothing does not alter what other hosts do.
func TestNoopExportsNothing(t *testing.T) {
	f := newFleet(t)
	before, err := f.store.List(t.Context(), "", world.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a := f.host("a", func(o *mgmt.Options) { o.Noop = reactor.NoopAll })
	a.apply(func(g *static.Graph) { g.Add("noop", "n", &basic.NoopRes{}).Meta(exported("*")) })
	a.becomes("noop[n]")
	a.stop()
	p, err := f.store.List(t.Context(), "", world.ListOptions{})
	if err != nil || p.Revision != before.Revision {
		t.Errorf("the store is at %d with %v, %v", p.Revision, p.KVs, err)
	}
}

func put(t *testing.T, w world.World, key, value string) {
	t.Helper()
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: key, Value: []byte(value)}}); err != nil {
		t.Fatal(err)
	}
}
