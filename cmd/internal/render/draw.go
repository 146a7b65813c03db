package render

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/graph"
)

// DrawOptions gives each resource its kind as a class, for style sheets, and the
// owner of a group a label with its members.
// The kind of a vertex stands before the first bracket of its id, as in file[/etc/motd].
func DrawOptions(g *resgraph.Graph) graph.DrawOptions {
	return graph.DrawOptions{Style: func(i int) graph.Style {
		kind, _, _ := strings.Cut(g.ID(i), "[")
		s := graph.Style{Classes: []string{"kind-" + kind}}
		if members := g.Value(i).Special().Group; len(members) > 0 {
			s.Label = groupLabel(g.ID(i), members)
			s.Classes = append(s.Classes, "group")
		}
		return s
	}}
}

// maxLabelled keeps a box of a large group readable.
const maxLabelled = 5 // members in a label

// groupLabel names the members of a group below its owner.
// Each member has a line of its own. The number of the others stands in the last line.
func groupLabel(owner string, members []*resgraph.Vertex) string {
	label := owner
	for k, m := range members {
		if k == maxLabelled {
			return label + fmt.Sprintf("\n+ %d more", len(members)-k)
		}
		label += "\n+ " + m.Res.String()
	}
	return label
}
