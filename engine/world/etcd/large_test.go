//go:build !small

package etcd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// TestFindingH10Large: keys that a host has made as large as it may come in pages and answers of a bounded size, at one revision, and a watch tells all of
// their revisions whole.
func TestFindingH10Large(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		const keys, page = 24, 8 << 20
		w := open(t, etcd.Options{Endpoints: []string{single(t, v).endpoint}, Prefix: "/large"})
		value := strings.Repeat("x", w.Limits().Bytes-100)
		before := put(t, w, "a", "small")
		var last int64
		for i := range keys {
			last = put(t, w, fmt.Sprintf("k/%02d", i), value)
		}
		half := []byte(value[:len(value)/2-100])
		if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: "k/x", Value: half}, {Key: "k/y", Value: half}}); err != nil {
			t.Fatal(err)
		}
		o := world.ListOptions{Limit: 1000, At: last}
		n, pages := 0, 0
		for more := true; more; pages++ {
			p, err := w.List(t.Context(), "k/", o)
			if err != nil {
				t.Fatal(err)
			}
			size := 0
			for _, kv := range p.KVs {
				if size += len(kv.Value); kv.Key != fmt.Sprintf("k/%02d", n) || string(kv.Value) != value {
					t.Errorf("the key %d is %s of %d bytes", n, kv.Key, len(kv.Value))
				}
				n++
			}
			if size > 2*page || p.Revision != last {
				t.Errorf("a page has %d bytes at %d, want at most %d at %d", size, p.Revision, 2*page, last)
			}
			more, o.After = p.More, p.KVs[len(p.KVs)-1].Key
		}
		if n != keys || pages < 3 {
			t.Errorf("%d keys came in %d pages", n, pages)
		}
		if p, err := w.List(t.Context(), "k/", world.ListOptions{}); err != nil || len(p.KVs) != keys+2 || p.More {
			t.Errorf("%d keys came without a limit: %v", len(p.KVs), err)
		}
		n = 0
		for b, err := range w.Watch(t.Context(), "k/", before) {
			if err != nil {
				t.Fatal(err)
			}
			if len(b.Updates) == 0 {
				continue
			}
			if n++; len(b.Updates) != 1+n/(keys+1) || b.Revision != before+int64(n) {
				t.Errorf("the revision %d has %d changes", b.Revision, len(b.Updates))
			}
			if n == keys+1 {
				break
			}
		}
	})
}
