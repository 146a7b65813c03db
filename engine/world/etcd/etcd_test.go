//go:build !small

package etcd_test

import (
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
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
				Lose: func(t *testing.T) engine.World {
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
		worldtest.Same(t, func(t *testing.T) engine.World {
			n++
			return open(t, etcd.Options{Endpoints: []string{m.endpoint}, Prefix: fmt.Sprint("/same", n)})
		})
	})
}
