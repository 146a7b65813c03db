package journal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// PeekHistory returns a copy of the history in the journal in path, as of one moment, to
// be asked by Query only: it keeps nothing, and has no goroutine to close. Like Peek it
// takes no lock and alters nothing. A chunk that is damaged is left out. The error is
// fs.ErrNotExist where there is no journal; else it says that the file can't be read, or
// does not stand still for the time that it takes to read it.
func PeekHistory(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	for range peekTries {
		var p past
		if p, err = peekChunks(f); !errors.Is(err, errMoved) {
			h := newHistory(p, HistoryOptions{}.withDefaults(), slog.New(slog.DiscardHandler))
			h.closed = true
			h.reload()
			return h, err
		}
	}
	return nil, fmt.Errorf("journal: %s: %w", path, err)
}

// past is a copy of the chunks of a history, by their keys.
type past map[uint64][]byte

// peekChunks reads the chunks once.
func peekChunks(f *os.File) (past, error) {
	p := past{}
	if isEmpty(f) {
		return p, nil
	}
	before, _ := boltfile.ReadMeta(f) // check says what is wrong with it
	_, err := boltfile.Check(f, math.MaxInt64, func(bucket, key, stored []byte) error {
		if string(bucket) != bucketHistory || len(key) != 8 {
			return nil
		}
		if value, ok := boltfile.Unseal(bucket, key, stored); ok {
			p[binary.BigEndian.Uint64(key)] = append([]byte{}, value...)
		}
		return nil
	})
	if after, again := boltfile.ReadMeta(f); again == nil && after.TxID != before.TxID {
		return nil, errMoved
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %s: %w", f.Name(), err)
	}
	return p, nil
}

// list implements keeper.
func (p past) list() ([]span, uint64, error) {
	var index []span
	for first, b := range p {
		if x, ok := spanOf(first, b); ok {
			index = append(index, x)
		}
	}
	sorted.Func(index, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	return index, 0, nil
}

// load implements keeper.
func (p past) load(first uint64) ([]byte, error) { return p[first], nil }

// save implements keeper.
func (p past) save(saving) error { return errors.New("journal: this history is a copy") }
