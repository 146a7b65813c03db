package cmd

import (
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/transform"
)

// transforms says which steps a graph goes through before it runs.
type transforms struct{ noEdges, noGroup bool }

// flags adds the switches of the automatic edges and groups.
func (t *transforms) flags(cmd *cobra.Command) {
	bind(cmd, "no_autoedges", &t.noEdges)
	bind(cmd, "no_autogroup", &t.noGroup)
}

// set tells the engine.
func (t *transforms) set(o *mgmt.Options) { o.NoAutoEdges, o.NoAutoGroup = t.noEdges, t.noGroup }

// options returns the transforms by the flags. They know no state folder, so nothing of an
// earlier graph is undone or remembered.
func (t *transforms) options() transform.Options {
	return transform.Options{NoAutoEdges: t.noEdges, NoAutoGroup: t.noGroup}
}
