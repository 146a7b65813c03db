package journal

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Query says which entries are wanted. The zero value asks for all, oldest first.
type Query struct {
	Resource, Outcome string    // equal to this, if not empty
	After, Before     uint64    // ids above After, and below Before if that is not 0
	From, Until       time.Time // not before From, and before Until, where they are not zero
	Newest            bool      // newest first
	Limit             int       // at most so many, if above 0
}

// Query yields the entries that fit, those of the moment at which it begins. They
// belong to the caller. No lock is held meanwhile. Entries that are removed during
// the loop may be missing.
func (h *History) Query(ctx context.Context, q Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s := scan{h: h, q: q, yield: yield, left: q.Limit}
		if err := s.all(ctx); err != nil {
			yield(Entry{}, err)
		}
	}
}

// scan is one query at work.
type scan struct {
	h     *History
	q     Query
	yield func(Entry, error) bool
	left  int
	raws  []raw
}

// part is a chunk to look at: in memory, or still to be loaded.
type part struct {
	span
	buf []byte
}

// parts returns the chunks that may hold wanted entries, in the wanted order.
func (s *scan) parts() []part {
	var list []part
	s.h.mu.Lock()
	index := s.h.index
	live := make([]part, 0, len(s.h.live))
	for _, c := range s.h.live {
		if c.n > 0 {
			live = append(live, part{c.span, c.buf})
		}
	}
	s.h.mu.Unlock()
	for _, x := range index {
		if s.q.mayHave(x) {
			list = append(list, part{x, nil})
		}
	}
	for _, p := range live {
		if s.q.mayHave(p.span) {
			list = append(list, p)
		}
	}
	if s.q.Newest {
		slices.Reverse(list)
	}
	return list
}

func (q *Query) mayHave(x span) bool {
	return x.last() > q.After && (q.Before == 0 || x.first < q.Before) &&
		(q.From.IsZero() || x.late >= q.From.UnixNano()) && (q.Until.IsZero() || x.early < q.Until.UnixNano())
}

func (q *Query) has(e *raw) bool {
	return e.id > q.After && (q.Before == 0 || e.id < q.Before) &&
		(q.From.IsZero() || e.at >= q.From.UnixNano()) && (q.Until.IsZero() || e.at < q.Until.UnixNano()) &&
		(q.Resource == "" || string(e.resource) == q.Resource) && (q.Outcome == "" || string(e.outcome) == q.Outcome)
}

func (s *scan) all(ctx context.Context) error {
	for _, p := range s.parts() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.buf == nil {
			var err error
			if p.buf, err = s.h.keep.load(p.first); err != nil {
				return err
			}
			if p.buf == nil {
				continue // removed meanwhile
			}
		}
		if more, err := s.part(p); err != nil || !more {
			return err
		}
	}
	return nil
}

// part yields the wanted entries of a chunk. more is false when the loop is over.
func (s *scan) part(p part) (more bool, err error) {
	var ok bool
	if s.raws, ok = entries(s.raws[:0], p.first, p.n, p.buf); !ok {
		return false, fmt.Errorf("journal: the history from entry %d on cannot be read", p.first)
	}
	if s.q.Newest {
		slices.Reverse(s.raws)
	}
	for i := range s.raws {
		if !s.q.has(&s.raws[i]) {
			continue
		}
		if !s.yield(s.raws[i].entry(), nil) {
			return false, nil
		}
		if s.left--; s.left == 0 {
			return false, nil
		}
	}
	return true, nil
}

func (e *raw) entry() Entry {
	return Entry{
		ID: e.id, At: time.Unix(0, e.at), Resource: string(e.resource), Outcome: string(e.outcome),
		Data: bytes.Clone(e.data),
	}
}
