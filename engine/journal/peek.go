package journal

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
)

// peekTries is how often Peek begins again while the owner goes on writing.
const peekTries = 20

// Peek returns a copy of the records of the journal in path, as of one moment;
// commits to the copy are forgotten. A file that is not there has none. It takes no
// lock, does not wait and alters nothing. So it serves a caller that wants to know
// the memory of a running process. The error says that the file can't be read, is
// damaged, or does not stand still for the time that it takes to read it.
//
// bbolt never writes to a page that the newest tree uses. So the reading is whole
// if the newest tree is the same before and after; else it is read again.
func Peek(path string) (*Memory, error) {
	f, err := os.Open(path)
	if isAbsent(err) {
		return NewMemory(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	if isEmpty(f) {
		return NewMemory(), nil
	}
	for range peekTries {
		var m *Memory
		if m, err = peek(f); !errors.Is(err, errMoved) {
			return m, err
		}
	}
	return nil, fmt.Errorf("journal: %s: %w", path, err)
}

var errMoved = errors.New("it changes faster than it can be read; try again")

func peek(f *os.File) (*Memory, error) {
	m := NewMemory()
	before, _ := boltfile.ReadMeta(f) // check says what is wrong with it
	_, err := boltfile.Check(f, math.MaxInt64, func(bucket, key, stored []byte) error {
		table, ok := strings.CutPrefix(string(bucket), tablePrefix)
		if !ok {
			return nil
		}
		value, ok := boltfile.Unseal(bucket, key, stored)
		if !ok {
			return boltfile.Damaged("the record %q of %q has changed", key, bucket)
		}
		if m.tables[table] == nil {
			m.tables[table] = map[string][]byte{}
		}
		m.tables[table][string(key)] = append([]byte{}, value...)
		return nil
	})
	if after, again := boltfile.ReadMeta(f); again == nil && after.TxID != before.TxID {
		return nil, errMoved
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %s: %w", f.Name(), err)
	}
	return m, nil
}
