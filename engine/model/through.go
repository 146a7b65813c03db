package model

import (
	"context"
	"errors"
	"sync"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Through answers from a Store, and asks the NB for an object that the Store does not have. Only a question by id goes
// on to the NB: no other index can tell a miss from an answer. An object that was read is kept in the Store, unless the
// Store has learned something newer meanwhile, such as that the object is gone. A miss in both is not kept.
//
// It is a Source whose lists are those of the Store. So the references that a View, Refs and Deep follow go on to the NB, too.
type Through struct {
	Store Store
	NB    *NB

	mu      sync.Mutex
	flights map[flightKey]*flight
}

type flightKey struct {
	m  *Model
	id string
}

// flight is a read that several callers wait for. Its result is set before done is closed.
type flight struct {
	done chan struct{}
	o    *Object
	err  error
}

// Get returns an object by its id, or NotFound. Callers that miss at the same time share one read.
func (t *Through) Get(ctx context.Context, m *Model, id string) (*Object, error) {
	if o, valid := t.Store.Peek(m, id); o != nil && valid {
		return o, nil
	}
	key := flightKey{m, id}
	t.mu.Lock()
	f := t.flights[key]
	if f == nil {
		if t.flights == nil {
			t.flights = map[flightKey]*flight{}
		}
		f = &flight{done: make(chan struct{})}
		t.flights[key] = f
		go t.read(context.WithoutCancel(ctx), key, f)
	}
	t.mu.Unlock()
	select {
	case <-f.done:
		return f.o, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read asks the NB, and fills the Store. It goes on when the first caller gives up, since others may wait.
func (t *Through) read(ctx context.Context, key flightKey, f *flight) {
	f.o, f.err = t.NB.Get(ctx, key.m, key.id)
	switch {
	case f.err == nil:
		if !t.Store.Fill(f.o, f.o.revision) {
			if o, valid := t.Store.Peek(key.m, key.id); o != nil && valid {
				f.o = o
			}
		}
	case errors.Is(f.err, world.ErrNotFound):
		// Only the snapshot that was out of date before goes: a snapshot that comes meanwhile is newer than the answer.
		if o, valid := t.Store.Peek(key.m, key.id); o != nil && !valid {
			t.Store.Delete(key.m, key.id, o.revision)
		}
	}
	t.mu.Lock()
	delete(t.flights, key)
	t.mu.Unlock()
	close(f.done)
}

// One is Get for a query by the index id, which is the default. Another index is a NeedsID.
func (t *Through) One(ctx context.Context, q Query) (*Object, error) {
	if q.Index != "" && q.Index != "id" {
		return nil, q.Model.fault(NeedsID, "", "", "only a question by id can go on to the database; ask the store by the index %s", q.Index)
	}
	id := ""
	if q.Like != nil {
		id = q.Like.id
	} else if v, ok := q.Where["id"].(string); ok {
		id = v
	}
	if id == "" {
		return nil, q.Model.fault(NeedsID, "", "id", "a question that goes on to the database needs an id")
	}
	return t.Get(ctx, q.Model, id)
}

// First returns the object of the smallest id that a query finds in the Store.
func (t *Through) First(ctx context.Context, q Query) (*Object, error) { return t.Store.First(ctx, q) }

// List returns the objects that a query finds in the Store.
func (t *Through) List(ctx context.Context, q Query) ([]*Object, error) { return t.Store.List(ctx, q) }

// Stale reports whether the Store now has something else than o, so that a View reads it again.
func (t *Through) Stale(o *Object) bool { return t.Store.Stale(o) }

var _ Source = (*Through)(nil)
