package bolt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
)

// meta runs a function on the table of a closed file that has the state.
func meta(t *testing.T, path string, do func(*bbolt.Bucket) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return do(tx.Bucket([]byte("!"))) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// state returns the three numbers of the state, as every version of the program reads them.
func state(t *testing.T, b *bbolt.Bucket) (rev, floor, log int64) {
	t.Helper()
	v, ok := boltfile.Unseal([]byte("!"), []byte("state"), b.Get([]byte("state")))
	if !ok || len(v) != 24 {
		t.Fatalf("the state is %q", v)
	}
	n := binary.BigEndian
	return int64(n.Uint64(v)), int64(n.Uint64(v[8:])), int64(n.Uint64(v[16:]))
}

// copied returns a copy of the file of a World after n writes, as a power loss would leave it.
func copied(t *testing.T, n int) (path string, from int64) {
	t.Helper()
	path = file(t)
	w := open(t, path, bolt.Options{})
	for i := range n {
		rev, ok, err := w.Txn(t.Context(), nil, []world.Op{{Key: fmt.Sprint("k", i), Value: []byte("v")}, {Key: fmt.Sprint("other", i)}})
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if i == 0 {
			from = rev
		}
	}
	return copyFile(t, path), from
}

// watched returns how many changes a World still shows behind a revision, up to its newest one.
func watched(t *testing.T, w world.World, from int64) (n int, err error) {
	t.Helper()
	p, err := w.List(t.Context(), "", world.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range w.Watch(t.Context(), "", from) {
		if err != nil {
			return n, err
		}
		if n += len(b.Updates); b.Revision >= p.Revision {
			return n, nil
		}
	}
	return n, errors.New("it has ended")
}

// TestNewestChanges: whatever part of the history is still apart when the process dies, a Watch goes on from before. After Close
// nothing is apart, so that a program of before reads all of it.
func TestNewestChanges(t *testing.T) {
	for _, n := range []int{1, 2, 9, 10, 11, 40} {
		path, from := copied(t, n)
		w := open(t, path, bolt.Options{})
		if got, err := watched(t, w, from-1); err != nil || got != 2*n {
			t.Errorf("%d of %d changes: %v", got, 2*n, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		meta(t, path, func(b *bbolt.Bucket) error {
			if rev, floor, log := state(t, b); b.Get([]byte("recent")) != nil || rev != int64(1+n) || floor != 0 || log != int64(2*n) {
				t.Errorf("after Close revision %d, floor %d, %d changes, and %q apart", rev, floor, log, b.Get([]byte("recent")))
			}
			return nil
		})
	}
}

// TestOlderProgram: a program that does not know the newest changes finds a history that begins after them, and no gap. What it
// writes is not taken for a part of theirs later.
func TestOlderProgram(t *testing.T) {
	path, from := copied(t, 3)
	meta(t, path, func(b *bbolt.Bucket) error {
		rev, floor, log := state(t, b)
		if rev != 1+3 || floor != rev || log != 0 {
			t.Errorf("revision %d, floor %d, %d changes", rev, floor, log)
		}
		v := binary.BigEndian.AppendUint64(nil, uint64(rev)+1) // of the older program's own write
		v = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(v, uint64(floor)), uint64(log))
		return b.Put([]byte("state"), boltfile.Seal(nil, []byte("!"), []byte("state"), v))
	})
	w := open(t, path, bolt.Options{})
	if n, err := watched(t, w, from); !errors.Is(err, world.ErrCompacted) {
		t.Errorf("%d changes behind a gap: %v", n, err)
	}
	rev, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "k", Value: []byte("new")}})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := watched(t, w, rev-1); err != nil || n != 1 {
		t.Errorf("%d changes: %v", n, err)
	}
}

// TestNewestChangesDamaged: a changed byte among the newest changes is damage, and no other content.
func TestNewestChangesDamaged(t *testing.T) {
	for _, short := range []bool{false, true} {
		path, _ := copied(t, 3)
		meta(t, path, func(b *bbolt.Bucket) error {
			stored := bytes.Clone(b.Get([]byte("recent")))
			if short { // whole, but too short for a head
				stored = boltfile.Seal(nil, []byte("!"), []byte("recent"), []byte("short"))
			} else {
				stored[len(stored)-1] ^= 1
			}
			return b.Put([]byte("recent"), stored)
		})
		w, err := bolt.Open(path, bolt.Options{})
		if !errors.As(err, new(*bolt.DamageError)) {
			t.Errorf("short %t: %v, %v", short, w, err)
		}
	}
}
