package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/world"
	worldmem "github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/merge"
	"github.com/reactivegraph/mgmt/gapi/native"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/internal/await"
	_ "github.com/reactivegraph/mgmt/resources/all"
)

// objectHost is an engine that runs the objects of a store.
type objectHost struct {
	t      *testing.T
	dir    string
	world  world.World
	nb     *model.NB
	e      *mgmt.Engine
	accept func(*gapi.Declaration) error // nil accepts all
	kinds  *engine.Registry              // nil is the default
}

// startObjects runs the objects of a World, with other frontends, until the test ends.
func startObjects(t *testing.T, w world.World, host string, others ...gapi.Frontend) *objectHost {
	t.Helper()
	return startObjectsBy(t, w, host, nil, others...)
}

// startObjectsBy does that with a rule for what the host takes over.
func startObjectsBy(t *testing.T, w world.World, host string, accept func(*gapi.Declaration) error, others ...gapi.Frontend) *objectHost {
	t.Helper()
	h := newObjectHost(t, w)
	h.accept = accept
	h.start(host, others...)
	return h
}

// newObjectHost returns a host that does not run yet.
func newObjectHost(t *testing.T, w world.World) *objectHost {
	return &objectHost{t: t, dir: t.TempDir(), world: w, nb: model.Open(w, model.NewRegistry(engine.DefaultRegistry()), model.Options{})}
}

// start runs the host until the test ends.
func (h *objectHost) start(host string, others ...gapi.Frontend) {
	t, w := h.t, h.world
	t.Helper()
	front := native.New(h.nb, native.Options{Topics: []string{"", "all", "host:" + host}, Accept: h.accept})
	ctx, cancel := context.WithCancel(t.Context())
	begin := make(chan struct{})
	e, err := mgmt.Open(ctx, mgmt.Options{Hostname: host, World: mgmt.Share(w), Registry: h.kinds}, gated{merge.New(append(others, front)...), begin})
	if err != nil {
		t.Fatal(err)
	}
	h.e = e
	events := e.Events(ctx)
	close(begin)
	writer := native.NewWriter(front, host, &teller{e}, nil, nil)
	ended := make(chan error, 2)
	go func() { writer.Run(ctx); ended <- nil }()
	go func() {
		for ev := range events {
			writer.Touch(ev.Run.Resource)
		}
		ended <- nil
	}()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if err := e.Wait(); err != nil {
			t.Error(err)
		}
	})
}

type teller struct{ e *mgmt.Engine }

func (s *teller) State(ctx context.Context, id string) (native.State, bool) {
	st, err := s.e.Status(ctx, id)
	return stateOf(st), err == nil
}

func (s *teller) States(ctx context.Context) (list []native.State, err error) {
	all, err := statusesOf(ctx, s.e)
	for _, st := range all {
		list = append(list, stateOf(st))
	}
	return list, err
}

func stateOf(st reactor.Status) native.State {
	s := native.State{Resource: st.Resource, State: st.State.String(), BlockedBy: st.BlockedBy, Changed: st.Changed}
	if st.Err != nil {
		s.Error = st.Err.Error()
	}
	return s
}

// object makes an object of a kind out of JSON.
func (h *objectHost) object(kind, text string) *model.Object {
	h.t.Helper()
	m, err := h.nb.Registry().Model(kind)
	if err != nil {
		h.t.Fatal(err)
	}
	o, err := m.Parse("", []byte(text))
	if err != nil {
		h.t.Fatal(err)
	}
	return o
}

// create stores objects in one transaction.
func (h *objectHost) create(all ...*model.Object) {
	h.t.Helper()
	_, err := h.nb.Txn(h.t.Context(), func(tx *model.Tx) error {
		for _, o := range all {
			if _, err := tx.Create(o, model.Write{}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// path returns a path in the folder of the test.
func (h *objectHost) path(name string) string { return filepath.Join(h.dir, name) }

// eventually waits until a condition holds, and tells the last reason why it did not.
func eventually(t *testing.T, why func() string) {
	t.Helper()
	last := ""
	if !await.Eventually(func() bool { last = why(); return last == "" }) {
		t.Fatal(last)
	}
}

func (h *objectHost) awaitFile(name, want string) {
	h.t.Helper()
	eventually(h.t, func() string {
		if got, err := os.ReadFile(h.path(name)); err != nil || string(got) != want {
			return fmt.Sprintf("%s holds %q, %v, and should hold %q", name, got, err, want)
		}
		return ""
	})
}

// awaitStatus waits for a status that check accepts.
func (h *objectHost) awaitStatus(host, kind, id string, check func(native.Status) bool) {
	h.t.Helper()
	m, err := h.nb.Registry().Model(kind)
	if err != nil {
		h.t.Fatal(err)
	}
	eventually(h.t, func() string {
		text, err := h.nb.Status(h.t.Context(), host, m, id)
		var s native.Status
		if err != nil || text != nil && json.Unmarshal(text, &s) != nil || !check(s) {
			return fmt.Sprintf("the status of %s %s is %s, %v", kind, id, text, err)
		}
		return ""
	})
}

// TestObjectsAreTheGraph follows an object through its life: the store has it, the machine has it, and the store
// has its status.
func TestObjectsAreTheGraph(t *testing.T) {
	w := worldmem.New()
	defer w.Close()
	h := startObjects(t, w, "h1")
	p := h.path("a")
	h.create(h.object("file", fmt.Sprintf(`{"id":%q,"content":"one"}`, p)))
	h.awaitFile("a", "one")
	h.awaitStatus("h1", "file", p, func(s native.Status) bool { return s.State == "ok" && s.Version == 1 && s.Revision > 0 })

	if _, err := h.nb.Update(t.Context(), h.object("file", fmt.Sprintf(`{"id":%q,"content":"two"}`, p)), model.Write{}); err != nil {
		t.Fatal(err)
	}
	h.awaitFile("a", "two")
	h.awaitStatus("h1", "file", p, func(s native.Status) bool { return s.State == "ok" && s.Version == 2 })

	if err := os.WriteFile(p, []byte("drift"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.awaitFile("a", "two")

	m, _ := h.nb.Registry().Model("file")
	if _, err := h.nb.Delete(t.Context(), m, p, model.Write{}); err != nil {
		t.Fatal(err)
	}
	h.awaitStatus("h1", "file", p, func(s native.Status) bool { return s == (native.Status{}) })
	h.awaitFile("a", "two") // the thing stays
}

// TestTopics: a host takes over what is for it, and nothing else.
func TestTopics(t *testing.T) {
	w := worldmem.New()
	defer w.Close()
	one, two := startObjects(t, w, "h1"), startObjects(t, w, "h2")
	one.create(
		one.object("file", fmt.Sprintf(`{"id":%q,"content":"x","topic":"host:h1"}`, one.path("own"))),
		one.object("file", fmt.Sprintf(`{"id":%q,"content":"x","topic":"host:h2"}`, two.path("own"))),
		one.object("file", fmt.Sprintf(`{"id":%q,"content":"x","topic":"host:h3"}`, two.path("foreign"))),
		one.object("file", fmt.Sprintf(`{"id":%q,"content":"x","topic":"all"}`, two.path("all"))),
	)
	one.awaitFile("own", "x")
	two.awaitFile("own", "x")
	two.awaitFile("all", "x")
	one.awaitStatus("h1", "file", two.path("all"), func(s native.Status) bool { return s.State == "ok" })
	one.awaitStatus("h2", "file", two.path("all"), func(s native.Status) bool { return s.State == "ok" })
	if _, err := os.Stat(two.path("foreign")); err == nil {
		t.Error("an object of another host was taken over")
	}
}

// TestFaultyObjects: objects that cannot be built are put aside with their dependents, say why, and come back when they
// are mended. All others go on.
func TestFaultyObjects(t *testing.T) {
	w := worldmem.New()
	defer w.Close()
	other := static.NewGraph("own")
	h := startObjects(t, w, "h1", static.New(other.Declared()))
	bad, after, good := h.path("bad"), h.path("after"), h.path("good")
	h.create(
		h.object("file", fmt.Sprintf(`{"id":%q,"content":"x","source":"/nowhere"}`, bad)), // content and source
		h.object("file", fmt.Sprintf(`{"id":%q,"content":"x","depend":["file[%s]"]}`, after, bad)),
		h.object("file", fmt.Sprintf(`{"id":%q,"content":"x","before":["file[%s]"]}`, good, bad)),
		h.object("file", fmt.Sprintf(`{"id":%q,"content":"x","depend":["file[/absent]"]}`, h.path("lost"))),
	)
	h.awaitFile("good", "x")
	h.awaitStatus("h1", "file", bad, refused("source"))
	h.awaitStatus("h1", "file", after, refused("depends on file["+bad+"]"))
	h.awaitStatus("h1", "file", h.path("lost"), refused("file[/absent] is not in the graph"))
	if _, err := os.Stat(after); err == nil {
		t.Error("a dependent of a refused object ran")
	}
	if _, err := h.nb.Update(t.Context(), h.object("file", fmt.Sprintf(`{"id":%q,"source":null}`, bad)), model.Write{}); err != nil {
		t.Fatal(err)
	}
	h.awaitFile("bad", "x")
	h.awaitFile("after", "x")
	h.awaitStatus("h1", "file", after, func(s native.Status) bool { return s.State == "ok" && s.Error == "" })
}

// TestCycleOfObjects: of a circle of objects, one is put aside with what comes after it, and the rest of the graph goes on.
func TestCycleOfObjects(t *testing.T) {
	w := worldmem.New()
	defer w.Close()
	h := startObjects(t, w, "h1")
	h.create(
		h.object("noop", `{"id":"a","depend":["noop[b]"]}`),
		h.object("noop", `{"id":"b","depend":["noop[a]"]}`),
		h.object("file", fmt.Sprintf(`{"id":%q,"content":"x"}`, h.path("good"))),
	)
	h.awaitFile("good", "x")
	h.awaitStatus("h1", "noop", "a", func(s native.Status) bool { return s.State == native.Refused && s.Error != "" })
}

// TestClashWithTheGraphOfAFile: a graph that people have written wins, and the object says where the other is.
func TestClashWithTheGraphOfAFile(t *testing.T) {
	w := worldmem.New()
	defer w.Close()
	own := static.NewGraph("own")
	own.Add("noop", "mine", newNoop())
	h := startObjects(t, w, "h1", static.New(own.Declared()))
	h.create(h.object("noop", `{"id":"mine"}`), h.object("file", fmt.Sprintf(`{"id":%q,"content":"x"}`, h.path("good"))))
	h.awaitFile("good", "x")
	h.awaitStatus("h1", "noop", "mine", func(s native.Status) bool {
		return s.State == native.Refused && strings.Contains(s.Error, "native_test.go") && strings.Contains(s.Error, "store:noop/mine")
	})
}

func newNoop() engine.Res {
	res, err := engine.DefaultRegistry().New("noop")
	if err != nil {
		panic(err)
	}
	return res
}
