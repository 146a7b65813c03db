package main

import (
	"context"
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// objectRows are graphs of stored objects, which the engine follows.
// The store is in memory, so that no disk is measured. Each object is a vertex: its change costs
// the part, and never the whole graph.
func objectRows() []row {
	return []row{
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

// runObjects stores n objects and runs them.
// It stores them in transactions of 50, without admission: nothing runs yet that could judge them.
// It returns the time until they took effect, and a store with the checks of admission. The caller
// closes r.
func runObjects(n int) (took time.Duration, nb *model.NB, r *running) {
	w := memory.New()
	reg := model.NewRegistry(engine.DefaultRegistry())
	nb = model.Open(w, reg, model.Options{})
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
	admission := &native.Admission{Kinds: engine.DefaultRegistry, Graph: func(ctx context.Context, f func(native.Graph) error) error {
		return r.e.Look(ctx, func(g mgmt.Running) error { return f(g) })
	}}
	nb = model.Open(w, reg, model.Options{Admit: admission.Admit})
	give()
	begin := time.Now()
	r = start(native.New(nb, native.Options{}), mgmt.Options{Hostname: "h1", World: w})
	for s := range r.swapped {
		if s.Kept+s.Added == n {
			break
		}
	}
	return time.Since(begin), nb, r
}

// The objects are written, and the garbage of that is collected, before the clock starts.
func coldObjects(*bench) result {
	took, _, r := runObjects(100_000)
	r.close()
	return under(took, 1500*time.Millisecond)
}

// oneObjectChanged writes one object after the other, each time another one.
// The write comes through the NB API, below the servers: HTTP and JSON are not in the figure.
// Statuses are not written back.
func oneObjectChanged(*bench) result {
	const objects, rounds = 100_000, 50
	_, nb, r := runObjects(objects)
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
