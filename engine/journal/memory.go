package journal

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine/records"
)

// Memory is an records.Store that is forgotten with the process.
type Memory struct {
	mu     sync.RWMutex
	tables map[string]map[string][]byte // the values are never altered
}

var _ records.Store = (*Memory)(nil)

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{tables: map[string]map[string][]byte{}} }

// Records implements records.Store. It holds no lock while it yields.
func (m *Memory) Records(ctx context.Context, table string) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		m.mu.RLock()
		stretches := maps.Clone(m.tables[table])
		m.mu.RUnlock()
		for _, key := range slices.Sorted(maps.Keys(stretches)) {
			if err := ctx.Err(); err != nil {
				yield(records.Record{}, err)
				return
			}
			if !yield(records.Record{Key: key, Value: slices.Clone(stretches[key])}, nil) {
				return
			}
		}
	}
}

// Commit implements records.Store.
func (m *Memory) Commit(ctx context.Context, writes []records.Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := validate(writes); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range writes {
		m.write(w)
	}
	return nil
}

func (m *Memory) write(w records.Write) {
	if w.Value == nil {
		delete(m.tables[w.Table], w.Key)
		return
	}
	if m.tables[w.Table] == nil {
		m.tables[w.Table] = map[string][]byte{}
	}
	m.tables[w.Table][w.Key] = append([]byte{}, w.Value...)
}
