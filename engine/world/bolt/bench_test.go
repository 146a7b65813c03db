package bolt_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
)

// object is the size of a typical declared object.
const object = 600

// BenchmarkCommit is an update of one object, beside a bare commit of bbolt of the same size in a
// file of its own. The limit is 1.3 times the bare one.
func BenchmarkCommit(b *testing.B) {
	value := make([]byte, object)
	b.Run("bare", func(b *testing.B) {
		db, err := bbolt.Open(filepath.Join(b.TempDir(), "bare.db"), 0o600, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		n := 0
		for b.Loop() {
			n++
			err := db.Update(func(tx *bbolt.Tx) error {
				bucket, err := tx.CreateBucketIfNotExists([]byte("objects"))
				if err != nil {
					return err
				}
				return bucket.Put(fmt.Appendf(nil, "m/all/file/%06d", n%10_000), value)
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("writers=", writers), func(b *testing.B) { writersCommit(b, writers, value) })
	}
}

// writersCommit shares the updates among writers.
func writersCommit(b *testing.B, writers int, value []byte) {
	w := open(b, filepath.Join(b.TempDir(), "world.db"), bolt.Options{})
	next := make(chan int)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for n := range next {
				ops := []world.Op{{Key: fmt.Sprintf("m/all/file/%06d", n%10_000), Value: value}}
				if _, ok, err := w.Txn(context.Background(), nil, ops); !ok || err != nil {
					b.Error(ok, err)
				}
			}
		})
	}
	n := 0
	for b.Loop() {
		n++
		next <- n
	}
	close(next)
	wg.Wait()
}
