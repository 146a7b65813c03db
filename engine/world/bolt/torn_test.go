package bolt_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
)

const (
	sector = 512      // a disk writes so many bytes whole, or not
	metas  = 2 * 4096 // the first two pages, which bbolt writes last and in turns
)

// torn is a file of which a loss of power has left a part of the last commit: any sectors of the data without the first
// pages, or all data and the beginning of the page that makes it count.
func torn(r *rand.Rand, before, after []byte) []byte {
	out := bytes.Clone(after)
	copy(out, before[:metas])
	if r.IntN(2) == 0 { // before the first fsync
		for at := metas; at < len(out); at += sector {
			if r.IntN(2) > 0 {
				clear(out[at : at+sector])
				if at < len(before) {
					copy(out[at:at+sector], before[at:])
				}
			}
		}
		return out
	}
	for page := 0; page < metas; page += metas / 2 { // before the second one
		if n := r.IntN(metas / 2); !bytes.Equal(before[page:page+metas/2], after[page:page+metas/2]) {
			copy(out[page:page+n], after[page:])
		}
	}
	return out
}

// TestTornWrites: whatever part of a commit a loss of power leaves, every commit before it is there, and it is there whole
// or not at all.
func TestTornWrites(t *testing.T) {
	path := file(t)
	w := open(t, path, bolt.Options{})
	r := rand.New(rand.NewPCG(1, 2))
	before := read(t, path)
	for round := 1; round <= 200; round++ {
		value := fmt.Appendf(nil, "%d", round)
		ops := []world.Op{{Key: "left", Value: value}, {Key: "right", Value: value}, {Key: fmt.Sprint("more", round%50), Value: make([]byte, r.IntN(3000))}}
		if _, ok, err := w.Txn(t.Context(), nil, ops); !ok || err != nil {
			t.Fatal(ok, err)
		}
		after := read(t, path)
		copied := file(t)
		if err := os.WriteFile(copied, torn(r, before, after), 0o600); err != nil {
			t.Fatal(err)
		}
		again := open(t, copied, bolt.Options{})
		left, right := number(t, again, "left"), number(t, again, "right")
		if left != right || left < round-1 || left > round {
			t.Fatalf("round %d: left is %d and right is %d", round, left, right)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		before = after
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
