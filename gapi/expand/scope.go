package expand

import (
	"maps"

	"github.com/reactivegraph/mgmt/engine/expr"
)

// scoped gives the graph a scope with these names.
func (g *Graph) scoped(names map[string]expr.Type) { g.declared, g.scope = names, nil }

// current returns the scope of the graph. It is made when the first expression needs it: a graph with many modules gets a new
// one after each of them, and to make it takes longer than all else. An error is one of the program.
func (g *Graph) current() *expr.Scope {
	if g.scope != nil || g.declared == nil {
		return g.scope
	}
	scope, err := expr.NewScopeSent(maps.Clone(g.declared), senders(g.opts.Sends).sent(g.late), g.functions()...)
	if err != nil {
		panic(err) // a programmer's error, which any test shows
	}
	g.scope = scope
	return scope
}
