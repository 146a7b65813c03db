package files

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
)

// One is the part of a kind whose resource manages at most one file, and always the same one from Init to Cleanup. The kind embeds it
// and has its methods Cleanup and Shared.
type One struct {
	all  *Shared
	file Managed
}

// Manage is called by Init of the kind. It tells the files of the graph that the path is managed; an empty path tells nothing.
func (o *One) Manage(init *engine.Init, path string) {
	*o = One{all: Of(init)}
	o.file.Tell(o.all, path)
}

// Cleanup takes back what Manage has told.
func (o *One) Cleanup() error {
	o.file.Tell(o.all, "")
	return nil
}

// Shared is the registry of the files that this graph manages, and of the locks of files that several resources edit.
func (*One) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return With()
}
