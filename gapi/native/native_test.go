package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/native"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/traits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// thing is a kind with a text.
type thing struct {
	engine.Res
	traits.Base
	Text string `yaml:"text" doc:"A text."`
}

func (x *thing) Default() engine.Res { return &thing{} }
func (x *thing) Validate() error     { return nil }
func (x *thing) String() string      { return x.Base.String() }
func (x *thing) Kind() string        { return x.Base.Kind() }
func (x *thing) SetKind(s string)    { x.Base.SetKind(s) }
func (x *thing) Name() string        { return x.Base.Name() }
func (x *thing) SetName(s string)    { x.Base.SetName(s) }

func (x *thing) MetaParams() *engine.MetaParams     { return x.Base.MetaParams() }
func (x *thing) SetMetaParams(m *engine.MetaParams) { x.Base.SetMetaParams(m) }

// rig is a store of things.
type rig struct {
	t  *testing.T
	w  *counting
	nb *model.NB
}

// counting is a World that counts its questions and transactions, and can be away.
type counting struct {
	world.World
	gets, txns atomic.Int64
	away       atomic.Bool
	lost       atomic.Pointer[string] // a part of the keys that Get cannot reach
}

func (c *counting) Get(ctx context.Context, key string) (world.KV, error) {
	c.gets.Add(1)
	if part := c.lost.Load(); part != nil && strings.Contains(key, *part) {
		return world.KV{}, errAway
	}
	return c.World.Get(ctx, key)
}

var errAway = fmt.Errorf("the store is away: %w", world.ErrUnavailable)

func (c *counting) Txn(ctx context.Context, when []world.Compare, ops []world.Op) (int64, bool, error) {
	if c.away.Load() {
		return 0, false, errAway
	}
	c.txns.Add(1)
	return c.World.Txn(ctx, when, ops)
}

func (c *counting) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if c.away.Load() {
		return world.Page{}, errAway
	}
	return c.World.List(ctx, prefix, o)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	kinds := engine.NewRegistry()
	if err := kinds.Register("thing", func() engine.Res { return &thing{} }); err != nil {
		t.Fatal(err)
	}
	w := &counting{World: memory.New()}
	t.Cleanup(func() { w.Close() })
	return &rig{t: t, w: w, nb: model.Open(w, model.NewRegistry(kinds), model.Options{})}
}

// object makes a thing out of JSON.
func (r *rig) object(text string) *model.Object {
	r.t.Helper()
	m, err := r.nb.Registry().Model("thing")
	if err != nil {
		r.t.Fatal(err)
	}
	o, err := m.Parse("", []byte(text))
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func (r *rig) create(text string) {
	r.t.Helper()
	if _, err := r.nb.Create(r.t.Context(), r.object(text), model.Write{}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) update(text string) {
	r.t.Helper()
	if _, err := r.nb.Update(r.t.Context(), r.object(text), model.Write{}); err != nil {
		r.t.Fatal(err)
	}
}

// graphs pulls the graphs of a frontend until the test ends.
func (r *rig) graphs(f *native.Frontend, env gapi.Env) func() (*gapi.Declared, error, bool) {
	next, stop := iter.Pull2(f.Graphs(r.t.Context(), env))
	r.t.Cleanup(stop)
	return next
}

// show says a graph in a line: the ids of the whole, then those that are new or altered, and those that are gone.
func show(d *gapi.Declared) string {
	text := ids(d.Complete().Resources)
	if d.Part.All {
		return text
	}
	return text + " +" + ids(d.Part.Resources) + " -" + strings.Join(d.Part.Removed, ",")
}

func ids(list []gapi.Declaration) string {
	var out []string
	for i := range list {
		out = append(out, list[i].ID())
	}
	return strings.Join(out, ",")
}

// TestDeclaration: each field of an object is where the builder looks for it, and a wrong reference is a fault with its field.
func TestDeclaration(t *testing.T) {
	r := newRig(t)
	d, err := native.Declaration(r.object(`{"id":"a","text":"x","topic":"all","meta":{"noop":true},
		"depend":["thing[b]"],"before":["thing[c]"],"notify":["thing[d]"],"listen":["thing[e]"],"recv":{"text":"thing[f].out"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if d.ID() != "thing[a]" || !d.Optional || d.Pos.File != "store:thing/a" || d.Value.Get("text").Text != "x" || len(d.Value.Pairs) != 1 || d.Meta.Get("noop") == nil {
		t.Errorf("the declaration is %+v", d)
	}
	for want, list := range map[string][]gapi.RefDecl{"b": d.Depend, "c": d.Before, "d": d.Notify, "e": d.Listen} {
		if len(list) != 1 || list[0].Ref.ID() != "thing["+want+"]" || list[0].Pos != d.Pos {
			t.Errorf("the edges to %s are %v", want, list)
		}
	}
	if len(d.Recv) != 1 || d.Recv[0].Field != "text" || d.Recv[0].From.String() != "thing[f].out" {
		t.Errorf("it receives %v", d.Recv)
	}
	for text, want := range map[string]string{
		`{"id":"a","depend":["thing[b].out"]}`:  "depend: ",
		`{"id":"a","recv":{"text":"thing[f]"}}`: "recv: text: ",
	} {
		if _, err := native.Declaration(r.object(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestParts: the first graph is a whole, and each later one a part, whose whole is that of its moment.
func TestParts(t *testing.T) {
	r := newRig(t)
	r.create(`{"id":"b"}`)
	reload := make(chan struct{}, 1)
	next := r.graphs(native.New(r.nb, native.Options{}), gapi.Env{Reload: reload})
	want := func(want string) *gapi.Declared {
		t.Helper()
		d, err, ok := next()
		if err != nil || !ok || show(d) != want {
			t.Fatalf("the graph is %v, %v, and should be %q", show(d), err, want)
		}
		return d
	}
	first := want("thing[b]")
	r.create(`{"id":"a"}`)
	want("thing[a],thing[b] +thing[a] -")
	m, _ := r.nb.Registry().Model("thing")
	if _, err := r.nb.Delete(t.Context(), m, "b", model.Write{}); err != nil {
		t.Fatal(err)
	}
	want("thing[a] + -thing[b]")
	r.update(`{"id":"a","text":"x"}`)
	want("thing[a] +thing[a] -")
	r.update(`{"id":"a","depend":["thing[b].out"]}`) // it cannot be declared any more
	want(" + -thing[a]")
	reload <- struct{}{}
	want("")
	if got := show(first); got != "thing[b]" {
		t.Errorf("the first graph is %q by now", got)
	}
}

// TestKindsPerGraph: a kind that comes while the frontend runs brings its objects into the next graph, and a kind that goes takes
// them away.
func TestKindsPerGraph(t *testing.T) {
	r := newRig(t)
	reg := r.nb.Registry()
	both := engine.NewRegistry()
	for _, kind := range []string{"thing", "other"} {
		if err := both.Register(kind, func() engine.Res { return &thing{} }); err != nil {
			t.Fatal(err)
		}
	}
	kinds := reg.Kinds()
	elsewhere := model.Open(r.w, model.NewRegistry(both), model.Options{}) // a host that has the kind already
	m, err := elsewhere.Registry().Model("other")
	if err != nil {
		t.Fatal(err)
	}
	o, err := m.New(map[string]any{"id": "x"})
	if err == nil {
		_, err = elsewhere.Create(t.Context(), o, model.Write{})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.create(`{"id":"a"}`)
	next := r.graphs(native.New(r.nb, native.Options{}), gapi.Env{})
	want := func(want string) {
		t.Helper()
		if d, err, ok := next(); err != nil || !ok || show(d) != want {
			t.Fatalf("the graph is %v, %v, and should be %q", show(d), err, want)
		}
	}
	want("thing[a]")
	reg.Replace(model.NewRegistry(both))
	want("other[x],thing[a]")
	reg.Replace(model.NewRegistry(kinds))
	want("thing[a]")
}

// TestReloadWithoutWatch: without a watch, the objects are read again for each question.
func TestReloadWithoutWatch(t *testing.T) {
	r := newRig(t)
	reload := make(chan struct{}, 1)
	next := r.graphs(native.New(r.nb, native.Options{}), gapi.Env{NoWatch: true, Reload: reload})
	if d, err, _ := next(); err != nil || show(d) != "" {
		t.Fatal(show(d), err)
	}
	r.create(`{"id":"a"}`)
	reload <- struct{}{}
	if d, err, _ := next(); err != nil || show(d) != "thing[a]" {
		t.Error(show(d), err)
	}
	r.w.away.Store(true)
	reload <- struct{}{}
	if _, err, _ := next(); !errors.Is(err, world.ErrUnavailable) {
		t.Error(err)
	}
	r.w.away.Store(false)
	reload <- struct{}{}
	if d, err, _ := next(); err != nil || show(d) != "thing[a]" {
		t.Error(show(d), err)
	}
}

// TestStoreAwayAtStart: other frontends do not wait for the store, and the objects come when it is back.
func TestStoreAwayAtStart(t *testing.T) {
	r := newRig(t)
	r.create(`{"id":"a"}`)
	r.w.away.Store(true)
	next := r.graphs(native.New(r.nb, native.Options{}), gapi.Env{})
	if d, err, _ := next(); err != nil || show(d) != "" || d.Done != nil {
		t.Fatal(show(d), err)
	}
	r.w.away.Store(false)
	if d, err, _ := next(); err != nil || show(d) != "thing[a]" || d.Done == nil {
		t.Error(show(d), err)
	}
}

// states is an engine in which each resource has changed so many times.
type states struct{ changed atomic.Int64 }

func (s *states) State(_ context.Context, id string) (native.State, bool) {
	return native.State{Resource: id, State: "ok", Changed: int(s.changed.Load())}, true
}

func (s *states) States(context.Context) ([]native.State, error) { return nil, nil }

// TestStormOfStates: 10,000 changes of a state are few writes, the last one tells the last state, and none of them makes a graph.
func TestStormOfStates(t *testing.T) {
	r := newRig(t)
	r.create(`{"id":"a"}`)
	f := native.New(r.nb, native.Options{})
	graphs := make(chan *gapi.Declared)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool, 2)
	go func() {
		for d := range f.Graphs(ctx, gapi.Env{}) {
			d.Done(gapi.Outcome{})
			select {
			case graphs <- d:
			case <-ctx.Done():
			}
		}
		ended <- true
	}()
	<-graphs
	e := &states{}
	w := native.NewWriter(f, "h1", e, nil, nil)
	before, begin := r.w.txns.Load(), time.Now()
	go func() { w.Run(ctx); ended <- true }()
	const storm = 10_000
	for i := range storm {
		e.changed.Add(1)
		w.Touch("thing[a]")
		if i%100 == 0 {
			time.Sleep(3 * time.Millisecond) // the storm lasts longer than several writes could
		}
	}
	r.await("a", func(s native.Status) bool { return s.Changed == storm && s.Version == 1 && s.State == "ok" })
	most := int64(time.Since(begin)/(100*time.Millisecond)) + 2
	if n := r.w.txns.Load() - before; n > most {
		t.Errorf("%d writes in %s, and at most %d are allowed", n, time.Since(begin), most)
	}
	// The writes above are older than this change. So a graph for one of them would come first.
	r.create(`{"id":"b"}`)
	if d := <-graphs; show(d) != "thing[a],thing[b] +thing[b] -" {
		t.Errorf("the next graph is %s", show(d))
	}
	cancel()
	<-ended
	<-ended
}

// await waits for a status that check accepts.
func (r *rig) await(id string, check func(native.Status) bool) {
	r.t.Helper()
	m, err := r.nb.Registry().Model("thing")
	if err != nil {
		r.t.Fatal(err)
	}
	last := ""
	for end := time.Now().Add(await.Left()); time.Now().Before(end); time.Sleep(time.Millisecond) {
		text, err := r.nb.Status(r.t.Context(), "h1", m, id)
		var s native.Status
		if err == nil && (text == nil || json.Unmarshal(text, &s) == nil) && check(s) {
			return
		}
		last = fmt.Sprint(string(text), err)
	}
	r.t.Fatalf("the status of %s is %s", id, last)
}

// TestRefusedStatus: the reasons of the outcome are the statuses, and a status goes with its object.
func TestRefusedStatus(t *testing.T) {
	r := newRig(t)
	r.create(`{"id":"a"}`)
	r.create(`{"id":"wrong","depend":["thing[b].out"]}`)
	f := native.New(r.nb, native.Options{Accept: func(d *gapi.Declaration) error {
		if d.Name == "unwanted" {
			return errors.New("this host does not take it")
		}
		return nil
	}})
	next := r.graphs(f, gapi.Env{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { native.NewWriter(f, "h1", &states{}, nil, nil).Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	is := func(word string) func(native.Status) bool {
		return func(s native.Status) bool { return s.State == native.Refused && strings.Contains(s.Error, word) }
	}
	d, _, _ := next()
	d.Done(gapi.Outcome{})
	r.await("a", func(s native.Status) bool { return s.State == "ok" })
	r.await("wrong", is("names a value"))
	r.create(`{"id":"unwanted"}`)
	d, _, _ = next()
	d.Done(gapi.Outcome{Err: errors.New("the graph of a file is broken")})
	m, _ := r.nb.Registry().Model("thing")
	if _, err := r.nb.Delete(t.Context(), m, "wrong", model.Write{}); err != nil {
		t.Fatal(err)
	}
	d, _, _ = next()
	d.Done(gapi.Outcome{})
	r.await("unwanted", is("does not take it"))
	r.await("wrong", func(s native.Status) bool { return s == native.Status{} })
	left, err := r.nb.StatusesOf(t.Context(), "h1")
	if err != nil || len(left) != 2 || !slices.ContainsFunc(left, func(s model.StatusOf) bool { return s.ID == "a" }) {
		t.Error(left, err)
	}
}

// fates is an engine that tells the states in list, and counts the questions for all of them.
type fates struct {
	mu     sync.Mutex
	list   map[string]native.State
	asked  []string // resources that were asked for by themselves
	wholes int
}

func (f *fates) State(_ context.Context, id string) (native.State, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, id)
	s, ok := f.list[id]
	return s, ok
}

func (f *fates) States(context.Context) ([]native.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wholes++
	return slices.Collect(maps.Values(f.list)), nil
}

func (f *fates) set(id, state, fault, by string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list[id] = native.State{Resource: id, State: state, Error: fault, BlockedBy: by}
}

// TestRested: a failure makes the writer look at all, a rest at those that were not well, and a run at its own.
func TestRested(t *testing.T) {
	r := newRig(t)
	e := &fates{list: map[string]native.State{}}
	for _, id := range []string{"a", "b", "c"} {
		r.create(`{"id":"` + id + `"}`)
		e.set("thing["+id+"]", "ok", "", "")
	}
	f := native.New(r.nb, native.Options{})
	d, _, _ := r.graphs(f, gapi.Env{})()
	d.Done(gapi.Outcome{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	w := native.NewWriter(f, "h1", e, nil, nil)
	go func() { w.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	is := func(word string) func(native.Status) bool {
		return func(s native.Status) bool { return s.State == word }
	}
	r.await("c", is("ok"))

	e.set("thing[a]", "failed", "disk full", "")
	e.set("thing[b]", "blocked", "", "thing[a]") // without a run of its own
	w.Touch("thing[a]")
	r.await("b", is("blocked"))

	e.set("thing[a]", "ok", "", "")
	e.set("thing[b]", "ok", "", "")
	e.mu.Lock()
	e.asked, e.wholes = nil, 0
	e.mu.Unlock()
	w.Touch("thing[a]")
	w.Rested()
	r.await("b", is("ok"))
	r.await("a", is("ok"))
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.Contains(e.asked, "thing[c]") || e.wholes != 0 {
		t.Errorf("the rest made the writer ask for %v, and %d times for all", e.asked, e.wholes)
	}
}
