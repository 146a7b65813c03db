//go:build !small

package etcd_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/model/modeltest"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/engine/world/worldtest"
)

// TestWorld: the suite of every World, with both servers. Each test has a prefix of its own.
func TestWorld(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m, n := single(t, v), 0
		worldtest.Run(t, func(t *testing.T) worldtest.Backend {
			n++
			o := etcd.Options{Endpoints: []string{m.endpoint}, Prefix: fmt.Sprint("/suite", n)}
			w := open(t, o)
			return worldtest.Backend{
				World: w,
				Lose: func(t *testing.T) world.World {
					w.Abandon()
					return open(t, o)
				},
				Compact:   func(t *testing.T) { compact(t, m.endpoint) },
				Bookmarks: true,
			}
		})
	})
}

// TestSameAsMemory: random operations come to the same in etcd and in memory.
func TestSameAsMemory(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m, n := single(t, v), 0
		worldtest.Same(t, func(t *testing.T) world.World {
			n++
			return open(t, etcd.Options{Endpoints: []string{m.endpoint}, Prefix: fmt.Sprint("/same", n)})
		})
	})
}

// TestVectors: the scenarios of objects that touch the database come out as in memory, and a falsified one fails.
func TestVectors(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m, n := single(t, v), 0
		c := modeltest.Config{Stores: modeltest.Stores(), Database: true, Worlds: []modeltest.NamedWorld{{Name: v.name, Open: func() (world.World, error) {
			n++
			return etcd.Open(t.Context(), etcd.Options{Endpoints: []string{m.endpoint}, Prefix: fmt.Sprint("/vectors", n)})
		}}}}
		modeltest.Vectors(t, c)
		if v.name == versions[0].name { // the harness is the same with both
			t.Run("falsified", func(t *testing.T) { modeltest.Falsify(t, c) })
		}
	})
}

// TestLongestPrefix: a transaction that fills Limits fits the limit of the server, with the longest prefix, too.
func TestLongestPrefix(t *testing.T) {
	each(t, func(t *testing.T, v version) {
		m := single(t, v)
		w := open(t, etcd.Options{Endpoints: []string{m.endpoint}, Prefix: "/" + strings.Repeat("p", etcd.MaxPrefix-2)})
		l, err := w.Lease(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		limits := w.Limits()
		var ops []world.Op
		var compares []world.Compare
		room := limits.Bytes
		for i := range limits.Ops {
			key := fmt.Sprint("k", i)
			compares = append(compares, world.Compare{Key: key})
			ops = append(ops, world.Op{Key: key, Lease: l})
			room -= 2 * len(key)
		}
		for i := range ops {
			ops[i].Value = make([]byte, room/len(ops))
		}
		ops[0].Value = make([]byte, room/len(ops)+room%len(ops))
		if _, ok, err := w.Txn(t.Context(), compares, ops); !ok || err != nil {
			t.Errorf("%d operations of %d bytes: %t, %v", len(ops), limits.Bytes, ok, err)
		}
	})
}
