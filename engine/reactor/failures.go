package reactor

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
)

// failures are the failed vertices without a retry in the graph: they are tried again at once when
// a vertex above them has changed, or the machine has another address.
//
// The vertices above a stuck one are marked, so that a change of any other vertex costs nothing. A
// mark is made once and, by a change, taken away once: a vertex that a change finds below it is not
// stuck any more, and is marked again if it fails again. A marked vertex has marked ancestors only.
type failures struct {
	list   map[*vertex]struct{}
	above  map[int32]struct{} // by slot
	facing bool               // a goroutine waits for news of the machine
	doubts doubts
	places places // of the present graph
}

// add notes a stuck vertex, and marks those above it.
func (f *failures) add(m *sched.Machine, v *vertex) {
	if f.list == nil {
		f.list, f.above = map[*vertex]struct{}{}, map[int32]struct{}{}
	}
	f.list[v] = struct{}{}
	for todo := []int32{v.slot}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, up := range m.Above(i) {
			if _, marked := f.above[up]; !marked {
				f.above[up] = struct{}{}
				todo = append(todo, up)
			}
		}
	}
}

// takeBelow returns the stuck vertices below one that has changed, which are not stuck any more.
func (f *failures) takeBelow(m *sched.Machine, bySlot []*vertex, v *vertex) (stuck []*vertex) {
	if _, marked := f.above[v.slot]; !marked {
		return nil
	}
	delete(f.above, v.slot)
	for todo := []int32{v.slot}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, down := range m.Below(i) {
			if below := bySlot[down]; below != v && f.take(below) {
				stuck = append(stuck, below)
			}
			if _, marked := f.above[down]; marked {
				delete(f.above, down)
				todo = append(todo, down)
			}
		}
	}
	return stuck
}

// take reports whether a vertex is stuck, and counts it as such no more.
func (f *failures) take(v *vertex) bool {
	_, stuck := f.list[v]
	delete(f.list, v)
	return stuck
}

// remark marks anew for another graph.
func (f *failures) remark(m *sched.Machine) {
	clear(f.above)
	for v := range f.list {
		if v.membership.gone {
			delete(f.list, v)
		}
	}
	for v := range f.list {
		f.add(m, v)
	}
}

// doubts are the vertices whose failure is not believed before the vertices above them were looked
// at: a removed folder takes its contents along, and the events come in any order.
type doubts map[*vertex]struct{}

// places are where the present graph declares its resources on targets, by id. An error about another machine leads to no file of this one, so it
// names the line of the graph. Others are found by their names, and a place of each would cost memory.
type places map[string]schema.Pos

// note keeps the place of a vertex that is on a target. A resource that panics is on none.
func (p *places) note(v *vertex, decl *resgraph.Vertex) {
	if !v.abil.Targeted || decl.Pos.IsZero() {
		return
	}
	on := ""
	if err := callsafe.Do("Target", func() error { on = targets.Of(v.Res); return nil }); err != nil || on == "" {
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
