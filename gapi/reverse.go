package gapi

import "github.com/reactivegraph/mgmt/engine"

import "github.com/reactivegraph/mgmt/engine/schema"

// checkReverse warns of the metaparameter reverse where nothing can follow from
// it: the kind can't be undone, or can't look at the state before.
func (b *builder) checkReverse(it *item) {
	if !engine.MetaOf(it.res).Reverse || it.info.Abilities.Reversible && it.info.Abilities.Readable {
		return
	}
	b.addMeta(it, schema.Diagnostic{
		Severity: schema.Warning, Pos: posOf(it.Meta.At("reverse"), it.Pos), Path: "reverse",
		Message: "reverse: the kind " + it.kind + " can't be undone: it stays as it is when it leaves the graph",
	})
}
