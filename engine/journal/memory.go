package journal

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
)

// Memory is an engine.Store that is forgotten with the process.
type Memory struct {
	mu     sync.RWMutex
	tables map[string]map[string][]byte // the values are never altered
}

var _ engine.Store = (*Memory)(nil)

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{tables: map[string]map[string][]byte{}} }

// Records implements engine.Store. It holds no lock while it yields.
func (m *Memory) Records(ctx context.Context, table string) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		m.mu.RLock()
		records := maps.Clone(m.tables[table])
		m.mu.RUnlock()
		for _, key := range slices.Sorted(maps.Keys(records)) {
			if err := ctx.Err(); err != nil {
				yield(engine.Record{}, err)
				return
			}
			if !yield(engine.Record{Key: key, Value: slices.Clone(records[key])}, nil) {
				return
			}
		}
	}
}

// Commit implements engine.Store.
func (m *Memory) Commit(ctx context.Context, writes []engine.Write) error {
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

func (m *Memory) write(w engine.Write) {
	if w.Value == nil {
		delete(m.tables[w.Table], w.Key)
		return
	}
	if m.tables[w.Table] == nil {
		m.tables[w.Table] = map[string][]byte{}
	}
	m.tables[w.Table][w.Key] = append([]byte{}, w.Value...)
}
