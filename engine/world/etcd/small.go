//go:build small

package etcd

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
)

// World is what Open would return.
type World struct{ engine.World }

// Open refuses, since this program was built without a client of etcd.
func Open(context.Context, Options) (*World, error) {
	return nil, fmt.Errorf("%w: this mgmt was built with the tag small, so it has no etcd; use --world bolt, or a build without that tag", engine.ErrRefused)
}

// Probe refuses as Open does.
func (w *World) Probe(context.Context, string) error { return engine.ErrRefused }

// Protect refuses as Open does.
func (w *World) Protect(context.Context, string) error { return engine.ErrRefused }

// Allow refuses as Open does.
func (w *World) Allow(context.Context, string, string, ...Grant) error { return engine.ErrRefused }

// Granted refuses as Open does.
func (w *World) Granted(context.Context) (map[string][]Grant, error) { return nil, engine.ErrRefused }

// Add refuses as Open does.
func (w *World) Add(context.Context, string, ...Grant) error { return engine.ErrRefused }

// Forbid refuses as Open does.
func (w *World) Forbid(context.Context, string) (bool, error) { return false, engine.ErrRefused }
