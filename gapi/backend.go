package gapi

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// checkBackend refuses the metaparameter backend where there is nothing to choose, and
// where it names what nobody knows. Whether the machine has it is asked by Validate.
func (b *builder) checkBackend(it *item) {
	name := it.res.MetaParams().Backend
	if name == "" {
		return
	}
	d := schema.Diagnostic{Pos: posOf(it.Meta.At("backend"), it.Pos), Path: "backend"}
	v, virtual := it.res.(engine.VirtualRes)
	if !virtual {
		d.Message = "backend: nothing is to be chosen, the kind " + it.kind + " is always done in one way"
	} else if known := v.Backends(); !slices.Contains(known, name) {
		d.Message = "backend: " + it.kind + " has no backend " + quote(name) + ", only " + strings.Join(known, ", ")
		d.Suggestion = schema.Nearest(name, known)
	} else {
		return
	}
	it.bad = true
	b.addMeta(it, d)
}
