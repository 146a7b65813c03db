package reactor

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// places are where the present graph declares its resources on targets, by id. An error about another machine leads to no file of this one, so it
// names the line of the graph. Others are found by their names, and a place of each would cost memory.
type places map[string]schema.Pos

// note keeps the place of a vertex that is on a target. A resource that panics is on none.
func (p *places) note(v *vertex, decl *engine.Vertex) {
	if !v.abil.Targeted || decl.Pos.IsZero() {
		return
	}
	on := ""
	if err := engine.Guard("Target", func() error { on = engine.TargetOf(v.Res); return nil }); err != nil || on == "" {
		return
	}
	if *p == nil {
		*p = places{}
	}
	(*p)[v.ID] = decl.Pos
}

// in returns the error of a run of v with the place of v.
func (p places) in(v *vertex, err error) error {
	pos, ok := p[v.ID]
	if err == nil || !ok {
		return err
	}
	return fmt.Errorf("%s: %w", pos, err)
}
