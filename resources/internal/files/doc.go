// Package files is the knowledge that all kinds share which write files: the managed paths, the
// secrets among them, locks for parts of a file, numbers of users and groups, and delayed flushes. So no folder is
// purged of a file that another kind has made.
//
// # Laws
//
//   - One Shared serves a whole engine. It is safe for concurrent use, and keeps no resource alive.
//   - Two resources that edit one file hold its lock in turn.
//   - A file system that was written to is flushed once the files are at rest, and at Close.
//   - A nil Shared knows nothing, and all its methods may be called.
package files

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
)

// With is the Shared of such a kind.
func With() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return "file", func(_ context.Context, h engine.Host) (engine.Shared, error) { return New(h), nil }
}
