package gapi

import (
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// CheckMachine is the step after Build, which knows no machine: it asks the resources what they need and this machine
// has not. The machine is an argument, so a graph can be judged for another one. It is read once, when the first resource asks for it:
// all facts of a machine cost more than a small part of a graph. CheckMachine takes what Build has returned, and
// returns the same with its own findings; with an error among them there is no graph. Hidden resources are not asked,
// nor those of which same says, by their index, that they run as they are declared. same may be nil.
func CheckMachine(g *resgraph.Graph, ds schema.Diagnostics, machine func() engine.Machine, same func(i int) bool) (*resgraph.Graph, schema.Diagnostics) {
	if g == nil {
		return g, ds
	}
	lacks := lacksOf(g, sync.OnceValue(machine), same)
	if len(lacks) == 0 {
		return g, ds
	}
	var found schema.Findings
	found.Add(ds...)
	found.Add(lacks...)
	all := found.All()
	if all.Err() != nil {
		return nil, all
	}
	return g, all
}

// lacksOf asks all resources of a graph.
func lacksOf(g *resgraph.Graph, machine func() engine.Machine, same func(i int) bool) (all schema.Diagnostics) {
	for i, v := range g.All() {
		if v == nil || same != nil && same(i) || engine.MetaOf(v.Res).Hidden { // nil stands for a running one, of a part
			continue
		}
		if _, asks := engine.As[engine.MachineCheckedRes](v.Res); !asks || machine().Unknown {
			continue
		}
		for _, err := range flatten(lifecycle.CheckMachine(v.Res, machine())) {
			all = append(all, lack(v, err))
		}
	}
	return all
}

// lack is an error of a vertex as a finding at the place of its declaration.
func lack(v *resgraph.Vertex, err error) schema.Diagnostic {
	return named(schema.Diagnostic{Pos: v.Pos, Resource: v.Res.String(), Message: err.Error()})
}
