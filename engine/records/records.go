package records

import (
	"context"
	"iter"
)

// Store keeps the records that must survive the death of the process, as plain
// records in named tables. Commit blocks until all of it is durable, and does all
// of it or nothing; calls may come from many goroutines at once and may be
// committed together.
type Store interface {
	Records(ctx context.Context, table string) iter.Seq2[Record, error]
	Commit(ctx context.Context, writes []Write) error
}

// Record is one entry of a table.
type Record struct {
	Key   string
	Value []byte
}

// Write puts a record, or deletes it where Value is nil.
type Write struct {
	Table, Key string
	Value      []byte
}
