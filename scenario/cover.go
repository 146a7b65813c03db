package scenario

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Coverage counts the resources that have run in tests, those that an expectation names, and the outcomes of each condition. The zero
// value is empty; a nil Coverage counts nothing. It is safe for concurrent use.
type Coverage struct {
	mu        sync.Mutex
	resources map[string]*reached          // by id
	paths     map[string]string            // the ids of resources, by kind and path where the path is not their name
	branches  map[schema.Pos]map[bool]bool // by the place of a condition: the outcomes that it had
}

// reached says how far tests have come with a resource.
type reached struct{ ran, asserted bool }

// graph takes the resources of a graph. A later test with other variables may add to them.
func (c *Coverage) graph(g *resgraph.Graph) {
	if c == nil || g == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resources == nil {
		c.resources, c.paths = map[string]*reached{}, map[string]string{}
	}
	for i := range g.Len() {
		id := g.ID(i)
		if c.resources[id] == nil {
			c.resources[id] = &reached{}
		}
		if path := pathOf(g.Value(i)); path != "" {
			kind, _, _ := strings.Cut(id, "[")
			c.paths[schema.Ref{Kind: kind, Name: path}.ID()] = id
		}
	}
}

// pathOf returns the parameter path of a resource, empty for none and for one that is received: then it is set while the graph runs.
func pathOf(v *resgraph.Vertex) string {
	if slices.ContainsFunc(v.Recv, func(w resgraph.Wire) bool { return w.Field == "path" }) {
		return ""
	}
	value, err := schema.Get(v.Res, "path")
	if err != nil {
		return ""
	}
	path, _ := value.(string)
	return path
}

// ran notes that a resource has run. A resource of no graph is not counted.
func (c *Coverage) ran(id string) {
	c.note(id, func(r *reached) { r.ran = true })
}

// asserted notes that an expectation names a resource, or the thing at its path.
func (c *Coverage) asserted(id string) {
	c.note(id, func(r *reached) { r.asserted = true })
}

func (c *Coverage) note(id string, set func(*reached)) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range []string{id, c.paths[id]} {
		if r := c.resources[id]; r != nil {
			set(r)
		}
	}
}

// branch notes an outcome of a condition. The turns of a loop share one condition, which may have both outcomes in one graph.
func (c *Coverage) branch(at schema.Pos, taken bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.branches == nil {
		c.branches = map[schema.Pos]map[bool]bool{}
	}
	if c.branches[at] == nil {
		c.branches[at] = map[bool]bool{}
	}
	c.branches[at][taken] = true
}

// Counts are the figures of a Coverage. A condition has two branches.
type Counts struct {
	Resources int // in the graphs of the tests
	Ran       int // of them
	Asserted  int // of them: an expectation names them
	Branches  int
	Taken     int // of them
}

// Counts returns the figures.
func (c *Coverage) Counts() (n Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.resources {
		n.Resources++
		if r.ran {
			n.Ran++
		}
		if r.asserted {
			n.Asserted++
		}
	}
	for _, outcomes := range c.branches {
		n.Branches += 2
		n.Taken += len(outcomes)
	}
	return n
}

// Write writes the figures, and below them a line for each part that no test has reached, or says nothing about.
func (c *Coverage) Write(w io.Writer) error {
	n := c.Counts()
	var b strings.Builder
	fmt.Fprintf(&b, "coverage: of %d resources %d have run and %d are asserted; %d of %d branches\n", n.Resources, n.Ran, n.Asserted, n.Taken, n.Branches)
	for _, id := range slices.Sorted(maps.Keys(c.resources)) {
		switch r := c.resources[id]; {
		case !r.ran:
			fmt.Fprintf(&b, "  %s has not run\n", id)
		case !r.asserted:
			fmt.Fprintf(&b, "  %s has run, and no test expects anything of it\n", id)
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(c.branches), func(a, b schema.Pos) int { return strings.Compare(a.String(), b.String()) }) {
		for _, outcome := range []bool{true, false} {
			if !c.branches[at][outcome] {
				fmt.Fprintf(&b, "  %s: the condition was never %t\n", at, outcome)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
