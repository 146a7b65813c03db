package control

import (
	"context"
	"iter"
	"slices"
	"sync"
)

// Memory is a History that is forgotten with the process. It keeps the newest
// entries.
type Memory struct {
	mu      sync.Mutex
	entries []Entry // by ID; never more than twice limit
	limit   int
	last    uint64
}

var _ History = (*Memory)(nil)

// NewMemory returns an empty History for that many entries, at least one.
func NewMemory(limit int) *Memory { return &Memory{limit: max(limit, 1)} }

// Append implements History.
func (m *Memory) Append(ctx context.Context, list []Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range list {
		m.last++
		e.ID = m.last
		m.entries = append(m.entries, e)
	}
	if n := len(m.entries); n > 2*m.limit {
		m.entries = slices.Clone(m.entries[n-m.limit:])
	}
	return nil
}

// Last implements History.
func (m *Memory) Last() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// Select implements History. It holds no lock while it yields.
func (m *Memory) Select(ctx context.Context, q Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(Entry{}, err)
			return
		}
		for _, e := range m.fitting(&q) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *Memory) fitting(q *Query) []Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.entries[max(0, len(m.entries)-m.limit):]
	walk := slices.All(all)
	if q.Newest {
		walk = slices.Backward(all)
	}
	var out []Entry
	for _, e := range walk {
		if q.Fits(&e) {
			out = append(out, e)
		}
		if q.Limit > 0 && len(out) == q.Limit {
			break
		}
	}
	return out
}
