//go:build small

package etcd

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine/world"
)

// World is what Open would return.
type World struct{ world.World }

// Open refuses, since this program was built without a client of etcd.
func Open(context.Context, Options) (*World, error) {
	return nil, fmt.Errorf("%w: this mgmt was built with the tag small, so it has no etcd; use --world bolt, or a build without that tag", world.ErrRefused)
}

// Probe refuses as Open does.
func (w *World) Probe(context.Context, string) error { return world.ErrRefused }

// Protect refuses as Open does.
func (w *World) Protect(context.Context, string) error { return world.ErrRefused }

// Allow refuses as Open does.
func (w *World) Allow(context.Context, string, string, ...Grant) error { return world.ErrRefused }

// Granted refuses as Open does.
func (w *World) Granted(context.Context) (map[string][]Grant, error) { return nil, world.ErrRefused }

// Add refuses as Open does.
func (w *World) Add(context.Context, string, ...Grant) error { return world.ErrRefused }

// Forbid refuses as Open does.
func (w *World) Forbid(context.Context, string) (bool, error) { return false, world.ErrRefused }
