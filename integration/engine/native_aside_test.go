package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	worldmem "github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi/native"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
)

// ok is the status of an object whose version n is in effect.
func ok(n int64) func(native.Status) bool {
	return func(s native.Status) bool { return s.State == "ok" && s.Version == n && s.Error == "" }
}

// refused is the status of an object that is put aside for a reason with a word.
func refused(word string) func(native.Status) bool {
	return func(s native.Status) bool { return s.State == native.Refused && strings.Contains(s.Error, word) }
}

// update stores another form of an object.
func (h *objectHost) update(kind, text string) {
	h.t.Helper()
	if _, err := h.nb.Update(h.t.Context(), h.object(kind, text), model.Write{}); err != nil {
		h.t.Fatal(err)
	}
}

// remove deletes an object.
func (h *objectHost) remove(kind, id string) {
	h.t.Helper()
	m, err := h.nb.Registry().Model(kind)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.nb.Delete(h.t.Context(), m, id, model.Write{}); err != nil {
		h.t.Fatal(err)
	}
}

// TestFaultsAreMended: each fault puts its object aside with the reason and with its dependents, whether it is there at the
// start or comes later, and all others go on. Once it is mended, the object is in the graph.
func TestFaultsAreMended(t *testing.T) {
	const other = `{"id":"other","meta":{"autogroup":false}}`
	for _, c := range []struct {
		name      string
		kind, id  string
		bad, good string
		word      string
		mend      func(h *objectHost)
		version   int64
	}{
		{name: "init", kind: "test", id: "x", bad: `{"id":"x","initerror":"no luck"}`, good: `{"id":"x","initerror":null}`, word: "no luck", version: 2},
		{name: "validate", kind: "test", id: "x", bad: `{"id":"x","validateerror":"it is wrong"}`, good: `{"id":"x","validateerror":null}`, word: "it is wrong", version: 2},
		{name: "missing", kind: "test", id: "x", bad: `{"id":"x","depend":["noop[late]"]}`, word: "noop[late] is not in the graph", version: 1,
			mend: func(h *objectHost) { h.create(h.object("noop", `{"id":"late"}`)) }},
		{name: "cycle", kind: "test", id: "x", bad: `{"id":"x","depend":["test[after]"]}`, good: `{"id":"x","depend":null}`, word: "", version: 2},
	} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s at the start %t", c.name, first), func(t *testing.T) {
				w := worldmem.New()
				defer w.Close()
				h := newObjectHost(t, w)
				add := func() {
					h.create(h.object(c.kind, c.bad), h.object("test", `{"id":"after","depend":["`+c.kind+`[x]"]}`))
				}
				if first {
					add()
				}
				h.start("h1")
				h.create(h.object("noop", other))
				h.awaitStatus("h1", "noop", "other", ok(1))
				if !first {
					add()
				}
				h.awaitStatus("h1", c.kind, "x", refused(c.word))
				h.awaitStatus("h1", "test", "after", refused(""))
				h.update("noop", `{"id":"other","comment":"all others go on"}`)
				h.awaitStatus("h1", "noop", "other", ok(2))
				if c.mend != nil {
					c.mend(h)
				} else {
					h.update(c.kind, c.good)
				}
				h.awaitStatus("h1", c.kind, "x", ok(c.version))
				h.awaitStatus("h1", "test", "after", ok(1))
				h.update(c.kind, c.bad) // a resource that runs is put aside, with its dependents
				if c.mend == nil {
					h.awaitStatus("h1", c.kind, "x", refused(c.word))
					h.awaitStatus("h1", "test", "after", refused(""))
				}
				h.awaitStatus("h1", "noop", "other", ok(2))
			})
		}
	}
}

// TestClashIsMended: an object that clashes with the graph of a file names both places, and takes its place when it may.
func TestClashIsMended(t *testing.T) {
	w := worldmem.New()
	defer w.Close()
	own := static.NewGraph("own")
	own.Add("noop", "mine", newNoop())
	h := startObjects(t, w, "h1", static.New(own.Declared()))
	h.create(h.object("noop", `{"id":"other"}`))
	h.awaitStatus("h1", "noop", "other", ok(1))
	h.create(h.object("noop", `{"id":"mine"}`))
	h.awaitStatus("h1", "noop", "mine", refused("native_aside_test.go"))
	h.update("noop", `{"id":"mine","comment":"still there"}`)
	h.awaitStatus("h1", "noop", "mine", func(s native.Status) bool { return s.Version == 2 && refused("store:noop/mine")(s) })
	h.update("noop", `{"id":"other","comment":"others go on"}`)
	h.awaitStatus("h1", "noop", "other", ok(2))
	h.remove("noop", "mine")
	h.awaitStatus("h1", "noop", "mine", func(s native.Status) bool { return s == (native.Status{}) })
	if st, err := h.e.Status(t.Context(), "noop[mine]"); err != nil || st.State.String() != "ok" {
		t.Errorf("the resource of the file is %v, %v", st, err)
	}
}

// TestRemovedDependency: an object that others depend on leaves, and they are put aside until it is back.
func TestRemovedDependency(t *testing.T) {
	w := worldmem.New()
	defer w.Close()
	h := startObjects(t, w, "h1")
	h.create(h.object("noop", `{"id":"a"}`), h.object("noop", `{"id":"b","depend":["noop[a]"]}`), h.object("noop", `{"id":"c","depend":["noop[b]"]}`))
	h.awaitStatus("h1", "noop", "c", ok(1))
	h.remove("noop", "a")
	h.awaitStatus("h1", "noop", "b", refused("noop[a]"))
	h.awaitStatus("h1", "noop", "c", refused("noop[b]"))
	h.create(h.object("noop", `{"id":"a"}`))
	h.awaitStatus("h1", "noop", "c", ok(1))
	h.awaitStatus("h1", "noop", "b", ok(1))
}

// TestPartsAreTheWhole: after any changes the graph is the one that a new start makes of the same objects.
func TestPartsAreTheWhole(t *testing.T) {
	w := worldmem.New()
	defer w.Close()
	h := startObjects(t, w, "h1")
	alone := `,"meta":{"autogroup":false}}`
	h.create(h.object("noop", `{"id":"a"`+alone), h.object("noop", `{"id":"b","depend":["noop[a]"]`+alone), h.object("noop", `{"id":"gone"`+alone))
	h.awaitStatus("h1", "noop", "gone", ok(1))
	h.create(h.object("noop", `{"id":"c","before":["noop[a]"]`+alone))
	h.update("noop", `{"id":"b","depend":["noop[c]"]}`)
	h.remove("noop", "gone")
	h.create(h.object("noop", `{"id":"lost","depend":["noop[nowhere]"]`+alone))
	h.awaitStatus("h1", "noop", "lost", refused("noop[nowhere]"))
	h.create(h.object("noop", `{"id":"last"`+alone))
	h.awaitStatus("h1", "noop", "last", ok(1))
	h.awaitStatus("h1", "noop", "b", ok(2))
	again := startObjects(t, w, "h2")
	again.awaitStatus("h2", "noop", "last", ok(1))
	if got, want := idsOf(t, h.e), idsOf(t, again.e); !slices.Equal(got, want) {
		t.Errorf("the parts are %v, the whole is %v", got, want)
	}
}

// idsOf returns the resources of a graph that runs.
func idsOf(t *testing.T, e *mgmt.Engine) (ids []string) {
	t.Helper()
	list, err := statusesOf(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range list {
		ids = append(ids, st.Resource)
	}
	slices.Sort(ids)
	return ids
}

// TestChangeCostsThePart: only the first graph is taken as a whole, and a change of an object is taken as a part.
func TestChangeCostsThePart(t *testing.T) {
	m := runMany(t, 2000)
	defer m.stop()
	first := m.wholes.Load()
	for n := range 20 {
		if _, err := m.nb.Update(t.Context(), noopObject(t, m.nb, n*97, n+1), model.Write{}); err != nil {
			t.Fatal(err)
		}
		if s := <-m.swap; s.Changed != 1 || s.Added+s.Removed != 0 {
			t.Errorf("the change is %+v", s)
		}
	}
	if n := m.wholes.Load(); first == 0 || n != first {
		t.Errorf("the whole graph was made %d times, and %d times before the changes", n, first)
	}
}

// aimed is a kind whose thing may be on a target.
type aimed struct {
	basic.NoopRes
	On string `yaml:"target" doc:"The target."`
}

func (x *aimed) Default() engine.Res { return &aimed{} }

func (x *aimed) Cmp(o engine.Res) error { return engine.CmpFields(x, o) }
func (*aimed) Targeted() bool           { return true }

// Target implements engine.TargetedRes.
func (x *aimed) Target() string { return x.On }

// TestTargets: a resource with a target runs under the name with the target. When the target of its object changes, comes, or goes,
// exactly one resource runs, and its state is that of the object.
func TestTargets(t *testing.T) {
	w := worldmem.New()
	defer w.Close()
	kinds, err := engine.DefaultRegistry().With("aimed", func() engine.Res { return &aimed{} })
	if err != nil {
		t.Fatal(err)
	}
	h := newObjectHost(t, w)
	h.kinds, h.nb = kinds, model.Open(w, model.NewRegistry(kinds), model.Options{})
	h.start("h1")
	h.create(h.object("noop", `{"id":"other"}`))
	h.awaitStatus("h1", "noop", "other", ok(1))
	h.create(h.object("aimed", `{"id":"a"}`))
	version := int64(1)
	runs := func(want string) {
		t.Helper()
		h.awaitStatus("h1", "aimed", "a", ok(version))
		version++
		list, err := statusesOf(t.Context(), h.e)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range list {
			if strings.HasPrefix(s.Resource, "aimed") {
				got = append(got, s.Resource)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%v runs, not %s", got, want)
		}
	}
	runs("aimed[a]")
	h.update("aimed", `{"id":"a","target":"web1"}`)
	runs("aimed[a@web1]")
	h.update("aimed", `{"id":"a","target":"web2"}`)
	runs("aimed[a@web2]")
	h.update("aimed", `{"id":"a","target":null}`)
	runs("aimed[a]")
	h.update("aimed", `{"id":"a","target":"web1"}`)
	runs("aimed[a@web1]")
	h.remove("aimed", "a")
	h.awaitStatus("h1", "aimed", "a", func(s native.Status) bool { return s == (native.Status{}) })
	if s, err := h.e.Status(t.Context(), "aimed[a@web1]"); err == nil {
		t.Errorf("the resource of a deleted object is %v", s)
	}
}
