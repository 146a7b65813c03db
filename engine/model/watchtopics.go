package model

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine/world"
)

// heard is a batch of one prefix.
type heard struct {
	from  int // in the list of prefixes
	batch world.Batch
	err   error
}

// watchEach watches each prefix by itself. The revision of a batch is one up to which all of them have told everything,
// so a quiet prefix holds it back until its next bookmark.
func (nb *NB) watchEach(ctx context.Context, in Interest, prefixes []string, from int64, yield func(Batch, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	all := make(chan heard)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for i, prefix := range prefixes {
		wg.Go(func() { hear(ctx, i, nb.world.Watch(ctx, prefix, from), all) })
	}
	upTo := slices.Repeat([]int64{from}, len(prefixes))
	told := from
	for {
		var h heard
		select {
		case h = <-all:
		case <-ctx.Done():
			return
		}
		b := Batch{}
		if h.err == nil {
			b = nb.batch(in, h.batch)
			h.err = nb.withoutMoves(ctx, in, &b)
		}
		if h.err != nil {
			yield(Batch{}, h.err)
			return
		}
		upTo[h.from] = max(upTo[h.from], h.batch.Revision)
		b.Revision = slices.Min(upTo)
		if len(b.Changes) == 0 && b.Revision == told {
			continue // a bookmark of one prefix
		}
		if told = b.Revision; !yield(b, nil) {
			return
		}
	}
}

// hear hands the batches of one prefix over, until the context ends.
func hear(ctx context.Context, from int, watch iter.Seq2[world.Batch, error], all chan<- heard) {
	for b, err := range watch {
		select {
		case all <- heard{from, b, err}:
		case <-ctx.Done():
			return
		}
	}
}

// withoutMoves leaves out the deletion of an object that is in another watched topic by now: the watch of that topic
// tells of it. The key of the id says where it is. It is written in the transaction of the move, so it is never behind.
func (nb *NB) withoutMoves(ctx context.Context, in Interest, b *Batch) error {
	var failed error
	b.Changes = slices.DeleteFunc(b.Changes, func(c Change) bool {
		if c.Action != Delete || failed != nil {
			return false
		}
		kv, err := nb.world.Get(ctx, nb.keys.id(c.Model, c.ID))
		if err != nil && !errors.Is(err, world.ErrNotFound) {
			failed = err
		}
		return err == nil && string(kv.Value) != c.Topic && slices.Contains(in.Topics, string(kv.Value))
	})
	return failed
}
