package deploy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/world"
)

// unending is a store whose lists have no end.
type unending struct {
	world.World
	value []byte
}

// List implements world.World.
func (u unending) List(_ context.Context, prefix string, _ world.ListOptions) (world.Page, error) {
	return world.Page{KVs: []world.KV{{Key: prefix + "a", Value: u.value}}, Revision: 1, More: true}, nil
}

// TestFindingJ12EndlessPages: a store, or a daemon, that never ends a list is given up.
func TestFindingJ12EndlessPages(t *testing.T) {
	s := deploy.Store{World: unending{value: make([]byte, 1<<20)}}
	if _, err := s.Reports(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 256 MiB below ") {
		t.Error(err)
	}
	if _, err := s.History(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "more than 256 MiB below ") {
		t.Error(err)
	}
}
