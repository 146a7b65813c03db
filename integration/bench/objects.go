package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// objectRows are graphs of stored objects, which the engine follows.
// The first row reads the store of a daemon, a file. The last one has its store in memory, so that no disk is measured.
// Each object is a vertex: its change costs the part, and never the whole graph.
func objectRows() []row {
	return []row{
		{"cold start of 100,000 objects stored in a file", library, "the default store of a daemon opened, to the swap in effect", "1.5 s", coldFile},
		{"cold start of 100,000 stored objects", library, "Run called with a store in memory, to the swap in effect", "1.5 s", coldObjects},
		{"one of 100,000 stored objects changed", library, "CPU of the process from the write, with the checks of admission, to the swap in effect; mean of 50", "10 ms of CPU, no other touched", oneObjectChanged},
	}
}

// noopObject is object i with a comment.
// No object is grouped with others: each is a vertex of its own.
func noopObject(nb *model.NB, i, comment int) *model.Object {
	m, err := nb.Registry().Model("noop")
	must(err)
	o, err := m.Parse("", fmt.Appendf(nil, `{"id":"n%06d","comment":"%d","meta":{"autogroup":false}}`, i, comment))
	must(err)
	return o
}

// storeObjects writes n objects into a store.
// It writes them in transactions of 50, without admission: nothing runs yet that could judge them.
func storeObjects(w world.World, n int) {
	nb := model.Open(w, model.NewRegistry(engine.DefaultRegistry()), model.Options{})
	for i := 0; i < n; {
		_, err := nb.Txn(context.Background(), func(tx *model.Tx) error {
			for end := min(i+50, n); i < end; i++ {
				if _, err := tx.Create(noopObject(nb, i, 0), model.Write{}); err != nil {
					return err
				}
			}
			return nil
		})
		must(err)
	}
}

// runObjects runs the n objects of a store until they are in effect.
// It returns a store with the checks of admission. The caller closes r, and then the store.
func runObjects(w world.World, n int) (nb *model.NB, r *running) {
	admission := &native.Admission{Kinds: engine.DefaultRegistry, Graph: func(ctx context.Context, f func(native.Graph) error) error {
		return r.e.Look(ctx, func(g mgmt.Running) error { return f(g) })
	}}
	nb = model.Open(w, model.NewRegistry(engine.DefaultRegistry()), model.Options{Admit: admission.Admit})
	r = start(native.New(nb, native.Options{}), mgmt.Options{Hostname: "h1", World: mgmt.Share(w)})
	for s := range r.swapped {
		if s.Kept+s.Added == n {
			break
		}
	}
	return nb, r
}

// The objects are written, and the garbage of that is collected, before the clock starts.
// coldObjects measures a start with the store in memory.
func coldObjects(*bench) result {
	w := memory.New()
	storeObjects(w, 100_000)
	give()
	begin := time.Now()
	_, r := runObjects(w, 100_000)
	took := time.Since(begin)
	r.close()
	return under(took, 1500*time.Millisecond)
}

// The file is closed in between, as by a daemon that ends. Its pages stay in the memory of the machine, so no disk is measured.
func coldFile(b *bench) result {
	path := filepath.Join(b.dir, "objects.db")
	w, err := bolt.Open(path, bolt.Options{})
	must(err)
	storeObjects(w, 100_000)
	must(w.Close())
	give()
	begin := time.Now()
	w, err = bolt.Open(path, bolt.Options{})
	must(err)
	_, r := runObjects(w, 100_000)
	took := time.Since(begin)
	r.close()
	must(w.Close())
	return under(took, 1500*time.Millisecond)
}

// oneObjectChanged writes one object after the other, each time another one.
// The write comes through the NB API, below the servers: HTTP and JSON are not in the figure.
// Statuses are not written back.
func oneObjectChanged(*bench) result {
	const objects, rounds = 100_000, 50
	w := memory.New()
	storeObjects(w, objects)
	nb, r := runObjects(w, objects)
	r.rest()
	begin, alone := cpu(), true
	for i := range rounds {
		_, err := nb.Update(context.Background(), noopObject(nb, i*7919%objects, i+1), model.Write{})
		must(err)
		s := <-r.swapped
		alone = alone && s.Changed == 1 && s.Added+s.Removed == 0
	}
	each := (cpu() - begin) / rounds
	r.close()
	return result{Figure: fmt.Sprintf("%s, alone: %t", round(each), alone), OK: alone && each <= 10*time.Millisecond}
}
