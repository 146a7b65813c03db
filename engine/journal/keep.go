package journal

import (
	"context"
	"encoding/binary"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/engine/records"
)

// keeper is where the chunks of a history are.
type keeper interface {
	// list returns what is there, oldest first, and the ceiling.
	list() ([]span, uint64, error)
	// load returns a chunk, nil if it is not there. It must not be altered.
	load(first uint64) ([]byte, error)
	// save does all or nothing.
	save(saving) error
}

// stored keeps a history in the file of a journal.
type stored struct{ j *Journal }

func chunkKey(first uint64) []byte { return binary.BigEndian.AppendUint64(nil, first) }

func (s *stored) list() (index []span, ceiling uint64, err error) {
	err = s.j.use(func(f *boltfile.File) error {
		index = nil
		if ceiling, err = readCeiling(f); err != nil {
			return err
		}
		return f.View(func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(bucketHistory))
			if b == nil {
				return nil
			}
			at := b.Cursor()
			for k, v := at.First(); k != nil; k, v = at.Next() {
				if len(k) != 8 || len(v) < boltfile.SealSize || len(v) > maxValue {
					return boltfile.Damaged("the history has a chunk %q of %d bytes", k, len(v))
				}
				x, ok := spanOf(binary.BigEndian.Uint64(k), v[boltfile.SealSize:])
				if !ok {
					return boltfile.Damaged("the history has an empty chunk")
				}
				index = append(index, x)
			}
			return nil
		})
	})
	return index, ceiling, err
}

func (s *stored) load(first uint64) (b []byte, err error) {
	err = s.j.use(func(f *boltfile.File) error {
		return f.View(func(tx *bbolt.Tx) error {
			b, err = lookup(tx, bucketHistory, chunkKey(first))
			return err
		})
	})
	return b, err
}

func (s *stored) save(w saving) error {
	writes := make([]records.Write, 0, len(w.put)+len(w.remove)+1)
	size := 0
	for _, first := range w.remove {
		writes = append(writes, records.Write{Table: bucketHistory, Key: string(chunkKey(first))})
	}
	for _, p := range w.put {
		writes = append(writes, records.Write{Table: bucketHistory, Key: string(chunkKey(p.first)), Value: p.bytes})
		size += len(p.bytes)
	}
	if w.ceiling > 0 {
		writes = append(writes, records.Write{Table: bucketMeta, Key: keyCeiling, Value: chunkKey(w.ceiling)})
	}
	return s.j.submit(context.Background(), writes, size, true)
}

// kept keeps a history in memory.
type kept struct {
	mu     sync.Mutex
	chunks map[uint64][]byte
}

func (k *kept) list() ([]span, uint64, error) { return nil, 0, nil }

func (k *kept) load(first uint64) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.chunks[first], nil
}

func (k *kept) save(w saving) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, first := range w.remove {
		delete(k.chunks, first)
	}
	for _, p := range w.put {
		k.chunks[p.first] = p.bytes
	}
	return nil
}
