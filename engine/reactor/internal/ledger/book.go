package ledger

import (
	"strconv"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine/records"
)

// Book numbers the refreshes, and keeps the ledger of an earlier process until the first vertex
// of each name takes its part over. The zero Book has nothing.
type Book struct {
	numbers atomic.Uint64
	left    map[string]*Vertex
}

// number returns a refresh with a number of its own. Callable from any goroutine.
func (b *Book) number(source string) Pending { return Pending{source, b.numbers.Add(1)} }

// Tables returns the tables that Recall reads, with their names in words.
func Tables() [][2]string {
	return [][2]string{{TableRefresh, "the pending refreshes"}, {TableIntent, "the intents"}, {TableRetry, "the retries"}}
}

// Recall takes a record of an earlier process, from one of those tables. A record that can't be read is left alone.
func (b *Book) Recall(table string, rec records.Record) {
	switch table {
	case TableIntent:
		b.of(rec.Key).intent = true
	case TableRetry:
		if n, err := strconv.ParseInt(string(rec.Value), 10, 32); err == nil {
			b.of(rec.Key).retries = int32(n)
		}
	case TableRefresh:
		target, p, ok := parsePending(rec.Key)
		if !ok {
			return
		}
		b.of(target).pending.add(p)
		b.numbers.Store(max(b.numbers.Load(), p.num))
	}
}

func (b *Book) of(id string) *Vertex {
	if b.left == nil {
		b.left = map[string]*Vertex{}
	}
	if b.left[id] == nil {
		b.left[id] = &Vertex{}
	}
	return b.left[id]
}

// Take returns the part of a name, and keeps it no longer.
func (b *Book) Take(id string) (v Vertex) {
	if left := b.left[id]; left != nil {
		v = *left
		delete(b.left, id)
	}
	return v
}

// Rest returns all that no vertex has taken, by name, and keeps it no longer.
func (b *Book) Rest() (left map[string]*Vertex) {
	left, b.left = b.left, nil
	return left
}
