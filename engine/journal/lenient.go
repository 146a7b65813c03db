package journal

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/records"
)

// Lenient is a Store that goes on when the disk is full or can no longer be
// written. It keeps pending records in memory, and writes them when there is room
// again. A full disk must not stop the repair of its machine; only the machine's
// death would lose the pending records. Calls may come from many goroutines.
type Lenient struct {
	store records.Store
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex
	pending map[pendingKey][]byte // nil value: to be deleted
	tried   time.Time             // when it was last tried to write that

	debt atomic.Pointer[debt] // written under mu; nil where nothing is pending
}

// debt is since when records are pending, and why.
type debt struct {
	since time.Time
	why   error
}

type pendingKey struct{ table, key string }

const (
	pendingEvery  = time.Second // how often it is tried at most
	pendingAtOnce = 4096        // writes of one commit
)

// NewLenient returns a store that stands before another one, which stays the caller's. It tries by a clock whether there is room again, and
// logs when that has gone and come. Close it before the other one.
func NewLenient(s records.Store, log *slog.Logger, clock clock.Clock) *Lenient {
	return &Lenient{store: s, log: log, now: clock.Now}
}

// NoRoom reports whether an error says that nothing can be written at present, which lets a Lenient go on.
func NoRoom(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, ErrUnwritable)
}

// Commit implements records.Store.
func (l *Lenient) Commit(ctx context.Context, writes []records.Write) error {
	if !l.owes() {
		err := l.store.Commit(ctx, writes)
		if NoRoom(err) {
			l.owe(writes, err)
			err = nil
		}
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, w := range writes {
		if w.Table == "" || w.Key == "" {
			return errors.New("a write names no table or no key")
		}
	}
	l.owe(writes, nil)
	return l.pay(ctx, false)
}

func (l *Lenient) owes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending) > 0
}

// Owed returns since when records are pending, and why; zero and nil where none is. It does not wait for a write that goes on.
func (l *Lenient) Owed() (since time.Time, why error) {
	if d := l.debt.Load(); d != nil {
		return d.since, d.why
	}
	return time.Time{}, nil
}

// owe keeps writes for later. The error is why, the first time.
func (l *Lenient) owe(writes []records.Write, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		l.pending, l.tried = map[pendingKey][]byte{}, l.now()
		if why != nil {
			l.debt.Store(&debt{l.tried, why})
			l.log.Warn("THE STATE FOLDER CANNOT BE WRITTEN ANY MORE: what is pending and the history are lost if the program ends before there is room again",
				slog.Any("error", why))
		}
	}
	for _, w := range writes {
		l.pending[pendingKey{w.Table, w.Key}] = bytes.Clone(w.Value) // nil stays nil, and empty empty
	}
}

// pay writes pending records, if it is time to try, or at once.
func (l *Lenient) pay(ctx context.Context, atOnce bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 || !atOnce && l.now().Sub(l.tried) < pendingEvery {
		return nil
	}
	l.tried = l.now()
	keys := slices.Collect(maps.Keys(l.pending))
	for part := range slices.Chunk(keys, pendingAtOnce) {
		writes := make([]records.Write, len(part))
		for i, k := range part {
			writes[i] = records.Write{Table: k.table, Key: k.key, Value: l.pending[k]}
		}
		err := l.store.Commit(ctx, writes)
		if NoRoom(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, k := range part {
			delete(l.pending, k)
		}
	}
	l.debt.Store(nil)
	l.log.Info("the state folder can be written again", slog.Int("records", len(keys)))
	return nil
}

// Records implements records.Store: the records of the store, and the pending ones.
func (l *Lenient) Records(ctx context.Context, table string) iter.Seq2[records.Record, error] {
	if !l.owes() {
		return l.store.Records(ctx, table)
	}
	return func(yield func(records.Record, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(records.Record{}, err)
			return
		}
		all := map[string][]byte{}
		for rec, err := range l.store.Records(ctx, table) {
			if err != nil {
				yield(rec, err)
				return
			}
			all[rec.Key] = rec.Value
		}
		l.mu.Lock()
		for k, v := range l.pending {
			if k.table == table {
				all[k.key] = v
			}
		}
		l.mu.Unlock()
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if all[key] != nil && !yield(records.Record{Key: key, Value: bytes.Clone(all[key])}, nil) {
				return
			}
		}
	}
}

// Close tries a last time to write the pending records. A disk that is still full is a warning and no error.
func (l *Lenient) Close() error {
	if err := l.pay(context.Background(), true); err != nil {
		return err
	}
	if l.owes() {
		l.log.Warn("the state folder could not be written: what was pending is lost")
	}
	return nil
}
