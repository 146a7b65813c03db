package expand

import (
	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Declared says how a variable is declared.
type Declared struct {
	Pos  schema.Pos
	Word string // its type, in the words of a graph
	Doc  string
}

// Members returns what may follow a path of names in an expression; see expr.Scope. It is called after Start.
func (g *Graph) Members(path []string) []expr.Member {
	if len(path) == 1 && path[0] == "data" {
		// Data are a map without a type, and their keys are known all the same.
		values := g.names["data"].(map[string]any)
		var all []expr.Member
		for _, key := range g.DataKeys() {
			all = append(all, expr.Member{Name: key, Type: expr.OfValue(values[key])})
		}
		return all
	}
	return g.scope.Members(path)
}

// FunctionNames returns the functions that an expression may call. It is called after Start.
func (g *Graph) FunctionNames() []string { return g.scope.FunctionNames() }

// Variable returns the declaration of a variable. It is called after Start.
func (g *Graph) Variable(name string) (d Declared, ok bool) {
	v, ok := g.vars[name]
	if !ok {
		return Declared{}, false
	}
	return Declared{Pos: v.pos, Word: v.typ.String(), Doc: v.doc}, true
}

// Used is a module that a graph uses.
type Used struct {
	Name   string // of the instance
	Pos    schema.Pos
	Folder string // empty where it could not be read
}

// Used returns the modules that the graph itself uses, in the order of the key use. It is called after Start.
func (g *Graph) Used() (all []Used) {
	for _, i := range g.instances {
		u := Used{Name: i.Name, Pos: i.pos}
		if i.Doc != nil {
			u.Folder = i.Doc.Dir
		}
		all = append(all, u)
	}
	return all
}
