package cmd

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/transform"
)

// transforms says which steps a graph goes through before it runs.
type transforms struct{ noEdges, noGroup bool }

func (t *transforms) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.noEdges, "no-autoedges", false, "without automatic edges: only what is declared comes first")
	cmd.Flags().BoolVar(&t.noGroup, "no-autogroup", false, "without groups: every resource runs by itself")
}

// steps returns the steps, in order.
func (t *transforms) steps() []transform.Step {
	return slices.DeleteFunc(transform.Default(), func(s transform.Step) bool {
		return t.noEdges && s.Name == "autoedge" || t.noGroup && s.Name == "autogroup"
	})
}
