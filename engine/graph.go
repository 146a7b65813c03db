package engine

import (
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/graph"
)

// Graph is a checked graph of resources, ready to run: kinds exist, names are
// unique, every reference is there, wiring fits, and there is no cycle. An id of
// it is kind[name].
type Graph = graph.Graph[*Vertex]

// Vertex is one resource of a Graph and what the graph says of it.
type Vertex struct {
	Res  Res
	Recv []Wire     // by field, sorted
	Pos  schema.Pos // of its declaration
}

// Wire is one value that a vertex receives.
type Wire struct {
	Field string     // path of the receiving parameter, by its YAML keys
	From  schema.Ref // the sender and its key
	Pos   schema.Pos
}
