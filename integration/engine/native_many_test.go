package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/world"
	worldmem "github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/native"
	"github.com/reactivegraph/mgmt/internal/await"
)

// manyObjects is an engine that runs many objects.
type manyObjects struct {
	nb   *model.NB
	swap chan reactor.Swap
	cold time.Duration // from Run to the first graph
	stop func()

	wholes atomic.Int64 // how often the whole graph was made
}

// countedWholes counts how often a whole graph is made of a part.
type countedWholes struct {
	gapi.Frontend
	n *atomic.Int64
}

// Graphs implements gapi.Frontend.
func (c countedWholes) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		for d, err := range c.Frontend.Graphs(ctx, env) {
			if err == nil {
				whole := d.Part.Whole
				d.Part.Whole = func() *gapi.Declared { c.n.Add(1); return whole() }
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// awaitStatuses waits until the statuses of so many objects are in the store.
func (m *manyObjects) awaitStatuses(tb testing.TB, n int) {
	tb.Helper()
	for end := time.Now().Add(await.Left()); ; time.Sleep(100 * time.Millisecond) {
		all, err := m.nb.StatusesOf(tb.Context(), "h1")
		if errors.Is(err, world.ErrCompacted) {
			continue // other statuses have pushed the revision of the list out
		}
		if err != nil {
			tb.Fatal(err)
		}
		if len(all) == n {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("%d of %d statuses are written", len(all), n)
		}
	}
}

// storeObjects fills a World with objects of the kind noop.
func storeObjects(tb testing.TB, w world.World, n int) *model.NB {
	tb.Helper()
	nb := model.Open(w, model.NewRegistry(engine.DefaultRegistry()), model.Options{})
	for i := 0; i < n; {
		_, err := nb.Txn(tb.Context(), func(tx *model.Tx) error {
			for end := min(i+50, n); i < end; i++ {
				if _, err := tx.Create(noopObject(tb, nb, i, 0), model.Write{}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return nb
}

// noopObject is object i in its nth form.
func noopObject(tb testing.TB, nb *model.NB, i, n int) *model.Object {
	tb.Helper()
	m, err := nb.Registry().Model("noop")
	if err != nil {
		tb.Fatal(err)
	}
	text := fmt.Sprintf(`{"id":"n%06d","comment":"%d","meta":{"autogroup":false}}`, i, n)
	o, err := m.Parse("", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// runMany runs n objects until the test ends, and returns when they are in effect.
func runMany(tb testing.TB, n int) *manyObjects {
	tb.Helper()
	w := worldmem.New()
	storeObjects(tb, w, n)
	m := &manyObjects{swap: make(chan reactor.Swap, 100)}
	rested := make(chan bool, 1)
	var e *mgmt.Engine // set before an object is written
	admission := &native.Admission{Kinds: engine.DefaultRegistry, Graph: func(ctx context.Context, f func(native.Graph) error) error {
		return e.Look(ctx, func(r mgmt.Running) error { return f(r) })
	}}
	m.nb = model.Open(w, model.NewRegistry(engine.DefaultRegistry()), model.Options{Admit: admission.Admit})
	front := native.New(m.nb, native.Options{})
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan error, 2)
	begin := time.Now()
	var err error
	e, err = mgmt.Open(ctx, mgmt.Options{Hostname: "h1", World: mgmt.Share(w), Observer: mgmt.Observer{
		Swapped: func(s reactor.Swap) { m.swap <- s },
		Refused: func(err error) { tb.Log(err) },
		Converged: func(yes bool, c reactor.Counts) {
			if yes && c[resgraph.StateOK] == n {
				select {
				case rested <- true:
				default:
				}
			}
		},
	}}, countedWholes{front, &m.wholes})
	if err != nil {
		tb.Fatal(err)
	}
	go func() { ended <- e.Wait() }()
	for s := range m.swap {
		if s.Kept+s.Added == n {
			break
		}
	}
	m.cold = time.Since(begin)
	<-rested
	writer := native.NewWriter(front, "h1", &teller{e}, nil, nil)
	go func() { writer.Run(ctx); ended <- nil }()
	m.stop = func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				tb.Error(err)
			}
		}
		w.Close()
	}
	return m
}
