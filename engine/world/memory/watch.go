package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
)

// batch bounds what a watcher takes from the history at once.
const batch = 64

// Watch implements engine.World. The sequence ends without an error when the
// context ends. A revision in the future is waited for.
func (w *World) Watch(ctx context.Context, prefix string, from int64) iter.Seq2[engine.Update, error] {
	return func(yield func(engine.Update, error) bool) {
		for ctx.Err() == nil {
			updates, next, wake, err := w.since(prefix, from)
			if err != nil {
				yield(engine.Update{}, err)
				return
			}
			for _, u := range updates {
				if ctx.Err() != nil || !yield(u, nil) {
					return
				}
			}
			from = next
			if wake == nil {
				continue
			}
			select {
			case <-wake:
			case <-ctx.Done():
			}
		}
	}
}

// since returns whole revisions of changes below the prefix that are newer than
// from, the revision up to which it has looked, and, where that is the end, a
// channel that closes when there is more.
func (w *World) since(prefix string, from int64) (found []engine.Update, next int64, wake <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expire()
	if from < w.floor {
		return nil, 0, nil, fmt.Errorf("watch from revision %d, kept since %d: %w", from, w.floor, engine.ErrCompacted)
	}
	i, _ := slices.BinarySearchFunc(w.log, from+1, func(u engine.Update, rev int64) int {
		return cmp.Compare(u.Revision, rev)
	})
	for ; i < len(w.log); i++ {
		u := w.log[i]
		if len(found) >= batch && u.Revision > next {
			return found, next, nil, nil
		}
		next = u.Revision
		if strings.HasPrefix(u.Key, prefix) {
			u.Value = slices.Clone(u.Value)
			found = append(found, u)
		}
	}
	return found, max(from, w.rev), w.wake, nil
}
