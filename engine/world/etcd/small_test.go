//go:build small

package etcd_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// TestSmall: a program without etcd says so.
func TestSmall(t *testing.T) {
	_, err := etcd.Open(t.Context(), etcd.Options{Endpoints: []string{"127.0.0.1:1"}})
	if !errors.Is(err, world.ErrRefused) || !strings.Contains(err.Error(), "built with the tag small") {
		t.Errorf("Open: %v", err)
	}
}
