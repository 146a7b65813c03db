package gapi

import (
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Sketch returns the graph of a declaration as far as it can be told, also where
// Build gives none: with the cycles that it has, without the edges that lead
// nowhere. It is made for drawing and not for running: a vertex whose kind is
// unknown or whose parameters could not be read has no Res, the others were not
// validated. Build tells the faults.
func Sketch(reg *engine.Registry, d *Declared) *resgraph.Graph {
	b := newBuilder(reg, d)
	for i := range b.d.Resources {
		b.declare(&b.d.Resources[i])
	}
	for _, it := range b.items {
		it.info = b.kindOf(it)
		b.make(it)
	}
	for _, it := range b.items {
		b.wire(it)
		b.references(it)
	}
	b.connect()
	b.fillGraph()
	b.join(b.g)
	return b.g
}
