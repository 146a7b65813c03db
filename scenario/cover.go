package scenario

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Coverage counts the resources that have run in tests, and the outcomes of each condition. The zero value is empty; a nil
// Coverage counts nothing. It is safe for concurrent use.
type Coverage struct {
	mu        sync.Mutex
	resources map[string]bool              // by id: it has run
	branches  map[schema.Pos]map[bool]bool // by the place of a condition: the outcomes that it had
}

// graph takes the resources of a graph. A later test with other variables may add to them.
func (c *Coverage) graph(g *engine.Graph) {
	if c == nil || g == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resources == nil {
		c.resources = map[string]bool{}
	}
	for i := range g.Len() {
		c.resources[g.ID(i)] = c.resources[g.ID(i)] || false
	}
}

// ran notes that a resource has run. A resource of no graph is not counted.
func (c *Coverage) ran(id string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.resources[id]; known {
		c.resources[id] = true
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

// Counts returns how many resources and branches there are, and how many of them were reached. A condition has two branches.
func (c *Coverage) Counts() (resources, reached, branches, taken int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ran := range c.resources {
		resources++
		if ran {
			reached++
		}
	}
	for _, outcomes := range c.branches {
		branches += 2
		taken += len(outcomes)
	}
	return resources, reached, branches, taken
}

// Write writes the counts, and below them a line for each part that no test has reached.
func (c *Coverage) Write(w io.Writer) error {
	resources, reached, branches, taken := c.Counts()
	var b strings.Builder
	fmt.Fprintf(&b, "coverage: %d of %d resources, %d of %d branches\n", reached, resources, taken, branches)
	for _, id := range slices.Sorted(maps.Keys(c.resources)) {
		if !c.resources[id] {
			fmt.Fprintf(&b, "  %s has not run\n", id)
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
