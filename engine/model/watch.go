package model

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Interest says which changes are wanted.
type Interest struct {
	Models []*Model // nil is every model of the registry, now and later, without the ReadOnly models
	Topics []string // nil is every topic; "" is an object without a topic
}

// Batch is all wanted changes of one revision. One without changes is a bookmark: a Watch that begins anew may begin
// there.
type Batch struct {
	Revision int64
	Changes  []Change
}

// Action is what happened to an object.
type Action uint8

// The actions. An object that moves to another topic is updated for those who watch both, created or deleted for those
// who watch one.
const (
	Create Action = iota + 1
	Update
	Delete
)

// String returns create, set or delete.
func (a Action) String() string { return [...]string{"", "create", "set", "delete"}[a] }

// Change is what happened to one object.
type Change struct {
	Action   Action
	Model    *Model
	ID       string
	Topic    string  // of the object; after a deletion, its last topic
	Object   *Object // nil after a deletion, and where Err is set
	Revision int64
	Quiet    bool  // the writer wants no event
	Err      error // the record cannot be read; an Error
}

// Watch yields the changes after a revision, whole revisions at a time, until the context ends. world.ErrCompacted
// says that the revision is too old: list, compare, and watch from the revision of the list.
//
// A store may refuse a reader everything but its topics. Each topic is then watched by itself: a revision that has
// changes in several topics comes in several batches, and a Watch that begins anew may tell a change once more. An object
// that moves between two of the topics is an Update even so.
func (nb *NB) Watch(ctx context.Context, in Interest, from int64) iter.Seq2[Batch, error] {
	prefixes := nb.prefixes(in)
	return func(yield func(Batch, error) bool) {
		if len(prefixes) > 1 {
			nb.watchEach(ctx, in, prefixes, from, yield)
			return
		}
		begun := false
		for b, err := range nb.world.Watch(ctx, prefixes[0], from) {
			if !begun && len(in.Topics) > 1 && errors.Is(err, world.ErrRefused) {
				nb.watchEach(ctx, in, nb.topicPrefixes(in), from, yield)
				return
			}
			begun = true
			if err != nil {
				yield(Batch{}, err)
				return
			}
			if !yield(nb.batch(in, b), nil) {
				return
			}
		}
	}
}

// batch turns the changes of keys into changes of objects. Tables without a model, of another program, are left out.
func (nb *NB) batch(in Interest, b world.Batch) Batch {
	out := Batch{Revision: b.Revision}
	for _, u := range b.Updates {
		m, p, ok := nb.placed(in, u.Key)
		if !ok {
			continue
		}
		same := slices.IndexFunc(out.Changes, func(c Change) bool { return c.Model == m && c.ID == p.id })
		switch {
		case p.quiet && same >= 0:
			out.Changes[same].Quiet = true
		case p.quiet:
		default:
			c := nb.change(m, p, u)
			if same < 0 {
				out.Changes = append(out.Changes, c)
				continue
			}
			if c.Action == Delete { // the other half of a move
				c = out.Changes[same]
			}
			c.Action = Update
			out.Changes[same] = c
		}
	}
	return out
}

// change reads the change of one record.
func (nb *NB) change(m *Model, p place, u world.Update) Change {
	c := Change{Action: Update, Model: m, ID: p.id, Topic: p.topic, Revision: u.Revision}
	switch {
	case u.Deleted:
		c.Action = Delete
		return c
	case u.Created == u.Revision:
		c.Action = Create
	}
	c.Object, c.Quiet, c.Err = decodeRecord(m, p, u.KV)
	return c
}
