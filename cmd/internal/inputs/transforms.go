package inputs

import (
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/transform"
)

// Transforms says which steps a graph goes through before it runs.
type Transforms struct{ noEdges, noGroup bool }

// Flags adds the switches of the automatic edges and groups.
func (t *Transforms) Flags(cmd *cobra.Command) {
	cli.Bind(cmd, "no_autoedges", &t.noEdges)
	cli.Bind(cmd, "no_autogroup", &t.noGroup)
}

// Set tells the engine.
func (t *Transforms) Set(o *mgmt.Options) { o.NoAutoEdges, o.NoAutoGroup = t.noEdges, t.noGroup }

// Options returns the transforms by the flags. They know no state folder, so nothing of an
// earlier graph is undone or remembered.
func (t *Transforms) Options() transform.Options {
	return transform.Options{NoAutoEdges: t.noEdges, NoAutoGroup: t.noGroup}
}
