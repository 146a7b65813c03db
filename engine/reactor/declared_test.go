package reactor_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// holder is a fake whose thing is a text in a map: it makes that what it wants.
func holder(w *stage, things map[string]string, want string) *fake {
	return &fake{w: w, Want: want, check: func(_ context.Context, f *fake, apply bool) (bool, error) {
		w.mu.Lock() // several run at once
		defer w.mu.Unlock()
		is := things[f.Name()]
		if is == f.Want {
			return true, nil
		}
		f.init.Change(engine.Change{Field: "want", From: is, To: f.Want})
		if apply {
			things[f.Name()] = f.Want
		}
		return false, nil
	}}
}

// declaredAs writes what a run says of its declaration.
func declaredAs(r reactor.Run) string {
	for _, t := range r.Triggers {
		if len(t.Fields) > 0 {
			return string(t.Cause) + " " + strings.Join(t.Fields, ",") + ": " + r.Class.String()
		}
	}
	return triggers(r)
}

func (rg *rig) wantDeclared(name, want string) {
	rg.t.Helper()
	if got := declaredAs(rg.lastRun(name)); got != want {
		rg.t.Errorf("%s was run by %q, want %q", name, got, want)
	}
}

// TestFindingL3Declaration: an edit is told with what differs: parameters, metaparameters, and where a value comes from.
func TestFindingL3Declaration(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Sweep: -1})
		defer rg.close()
		w, things := newWorld(), map[string]string{}
		rg.swap(newDecl(t).add("a", holder(w, things, "1")).add("b", holder(w, things, "1")))
		rg.rest()
		rg.wantDeclared("a", "graph: intended")
		rg.swap(newDecl(t).add("a", holder(w, things, "2")).add("b", holder(w, things, "1")))
		rg.rest()
		rg.wantDeclared("a", "declaration want: intended")
		rg.wantDeclared("b", "graph: intended")
		b := holder(w, things, "1")
		b.Key, b.MetaParams().Retry = "k", 7
		rg.swap(newDecl(t).add("a", holder(w, things, "2")).add("b", b))
		synctest.Wait()
		rg.wantDeclared("b", "declaration key,meta.retry: intended")
	})
}

// declaredIn returns a memory of declarations, as it is after its way through a file.
func declaredIn(t *testing.T, file *[]byte) *reactor.Declared {
	t.Helper()
	var placed map[string]reactor.Placed
	if *file != nil {
		if err := json.Unmarshal(*file, &placed); err != nil {
			t.Fatal(err)
		}
	}
	keep := &keptIn{t: t, file: file, all: maps.Clone(placed)}
	return reactor.NewDeclared([]byte("0123456789abcdef"), placed, keep)
}

// keptIn keeps declarations in a file.
type keptIn struct {
	t    *testing.T
	mu   sync.Mutex
	file *[]byte
	all  map[string]reactor.Placed
}

func (k *keptIn) Put(id string, placed any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[string]reactor.Placed{}
	}
	if p, ok := placed.(reactor.Placed); ok {
		k.all[id] = p
	} else {
		delete(k.all, id)
	}
	b, err := json.Marshal(k.all)
	if err != nil {
		k.t.Error(err)
	}
	*k.file = b
}

func (k *keptIn) Flush() {}

// TestFindingQ5AlteredWhileDown: after a restart the machine has changed where the declaration has not. What is declared otherwise, or
// for the first time, is intended.
func TestFindingQ5AlteredWhileDown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var file []byte
		w, things := newWorld(), map[string]string{}
		start := func() *rig { return newRig(t, reactor.Options{Sweep: -1, Declared: declaredIn(t, &file)}) }
		rg := start()
		rg.swap(newDecl(t).add("drifts", holder(w, things, "1")).add("edited", holder(w, things, "1")).add("leaves", holder(w, things, "1")))
		rg.rest()
		rg.wantDeclared("drifts", "graph: intended")
		rg.swap(newDecl(t).add("drifts", holder(w, things, "1")).add("edited", holder(w, things, "1")))
		rg.rest()
		rg.close()
		if strings.Contains(string(file), "leaves") {
			t.Errorf("what has left is remembered: %s", file)
		}
		things["drifts"] = "x"

		rg = start()
		rg.swap(newDecl(t).add("drifts", holder(w, things, "1")).add("edited", holder(w, things, "2")).add("leaves", holder(w, things, "2")))
		rg.rest()
		rg.wantDeclared("drifts", "anew: corrective")
		rg.wantDeclared("edited", "declaration want: intended")
		rg.wantDeclared("leaves", "graph: intended")
		before := string(file)
		rg.close()

		rg = start()
		defer rg.close()
		rg.swap(newDecl(t).add("drifts", holder(w, things, "1")).add("edited", holder(w, things, "2")).add("leaves", holder(w, things, "2")))
		rg.rest()
		if string(file) != before {
			t.Error("a start on a machine that is right remembers something else")
		}
	})
}

// TestFindingQ5NotBroughtAbout: a declaration that was never brought about is not the one of the last run: not after a pause, nor where
// the edit was taken back before it took effect.
func TestFindingQ5NotBroughtAbout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var file []byte
		w, things, store := newWorld(), map[string]string{}, &memStore{}
		start := func() *rig {
			return newRig(t, reactor.Options{Sweep: -1, Store: store, Declared: declaredIn(t, &file)})
		}
		rg := start()
		rg.swap(newDecl(t).add("a", holder(w, things, "1")))
		rg.rest()
		rg.pause(t, "a")
		rg.swap(newDecl(t).add("a", holder(w, things, "2")))
		synctest.Wait()
		rg.close()
		rg = start()
		rg.swap(newDecl(t).add("a", holder(w, things, "2")))
		synctest.Wait()
		rg.resume(t, "a")
		rg.wantDeclared("a", "declaration want: intended")
		rg.pause(t, "a")
		things["a"] = "x"
		rg.swap(newDecl(t).add("a", holder(w, things, "3")))
		rg.swap(newDecl(t).add("a", holder(w, things, "2")))
		rg.resume(t, "a")
		rg.wantDeclared("a", "anew: corrective")
		rg.close()
	})
}

// TestFindingQ5OnlyRuns: what only runs, and has nothing to correct, does so at each start as it is meant to.
func TestFindingQ5OnlyRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var file []byte
		w := newWorld()
		runs := func() *fake {
			return &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				f.init.Change(engine.Change{Verb: engine.Ran})
				return false, nil
			}}
		}
		for _, want := range []string{"graph: intended", "anew: intended"} {
			rg := newRig(t, reactor.Options{Sweep: -1, Declared: declaredIn(t, &file)})
			rg.swap(newDecl(t).add("a", runs()))
			rg.rest()
			rg.wantDeclared("a", want)
			rg.close()
		}
	})
}

// TestFindingQ5Received: a received value is no part of the declaration, and where it comes from is.
func TestFindingQ5Received(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var file []byte
		w, things, out := newWorld(), map[string]string{}, atomic.Pointer[string]{}
		one, two := "1", "2"
		out.Store(&one)
		graph := func(key string) *decl {
			s := &sender{fake: fake{w: w}}
			s.check = func(_ context.Context, f *fake, _ bool) (bool, error) {
				return true, f.init.Send(&sends{Out: *out.Load()})
			}
			r := holder(w, things, "")
			r.Key = key
			return newDecl(t).add("s", s).add("r", r, "want=fake[s].out").edges("s>r")
		}
		store := &memStore{}
		start := func() *rig {
			return newRig(t, reactor.Options{Sweep: -1, Store: store, Declared: declaredIn(t, &file)})
		}
		rg := start()
		rg.swap(graph("k"))
		rg.rest()
		rg.close()
		things["r"] = "x"
		rg = start()
		rg.swap(graph("k"))
		rg.rest()
		rg.wantDeclared("r", "anew: corrective")
		rg.close()
		out.Store(&two)
		rg = start()
		rg.swap(graph("k"))
		rg.rest()
		rg.wantDeclared("r", "anew, value fake[s].want: cascade")
		rg.close()
		rg = start()
		defer rg.close()
		rg.swap(graph("l"))
		rg.rest()
		rg.wantDeclared("r", "declaration key: intended")
	})
}

// textBatch is a fake that runs in batches and has a parameter of its own.
type textBatch struct {
	batched
	Text string `yaml:"text"`
}

// TestFindingL3Batch: members of one key that run in one call have each a cause of its own: one is edited, one was altered, one is new,
// and one is right.
func TestFindingL3Batch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, things := newWorld(), map[string]string{}
		var file []byte
		start := func() *rig { return newRig(t, reactor.Options{Sweep: -1, Parallel: 1, Declared: declaredIn(t, &file)}) }
		member := func(want string) *textBatch {
			return &textBatch{Text: want, batched: batched{fake: *holder(w, things, want), group: "all", batch: func(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
				outs := make([]engine.Outcome, len(members))
				for i, m := range members {
					b := m.(*textBatch)
					outs[i].OK, outs[i].Err = b.check(ctx, &b.fake, apply)
				}
				return outs
			}}}
		}
		rg := start()
		rg.swap(newDecl(t).add("altered", member("1")).add("edited", member("1")).add("right", member("1")))
		rg.rest()
		rg.close()
		w.mu.Lock()
		things["altered"] = "x"
		w.mu.Unlock()
		w.order()

		rg = start()
		defer rg.close()
		rg.swap(newDecl(t).add("altered", member("1")).add("edited", member("2")).add("new", member("1")).add("right", member("1")))
		rg.rest()
		for name, want := range map[string]string{"altered": "anew: corrective", "edited": "declaration text: intended", "new": "graph: intended"} {
			rg.wantDeclared(name, want)
			if r := rg.lastRun(name); !r.Changed {
				t.Errorf("%s has not changed: %+v", name, r)
			}
		}
		if r := rg.lastRun("right"); r.Changed {
			t.Errorf("what is right has changed: %+v", r)
		}
		if !slices.ContainsFunc(w.order(), func(s string) bool { return strings.HasPrefix(s, "batch ") }) {
			t.Error("they do not run in one call")
		}
	})
}
