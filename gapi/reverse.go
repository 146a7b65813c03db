package gapi

import "github.com/reactivegraph/mgmt/engine"

import "github.com/reactivegraph/mgmt/engine/schema"

// checkReverse warns of the metaparameters reverse and leaving where nothing can follow from
// them: the kind can't be undone, or can't look at the state before. It refuses two that contradict each other.
func (b *builder) checkReverse(it *item) {
	m, key := engine.MetaOf(it.res), "leaving"
	if !m.Undoes() {
		return
	}
	if m.Reverse {
		key = "reverse"
	}
	d := schema.Diagnostic{Pos: posOf(it.Meta.At(key), it.Pos), Path: key}
	switch {
	case m.Reverse && m.Leaving != "" && m.Leaving != engine.LeavingUndo:
		d.Message = "reverse: true is the same as leaving: undo, and leaving says " + string(m.Leaving) + ": leave one of them out"
	case !(it.info.Abilities.Reversible && it.info.Abilities.Readable):
		d.Severity = schema.Warning
		d.Message = key + ": the kind " + it.kind + " can't be undone: it stays as it is when it leaves the graph"
	default:
		return
	}
	b.addMeta(it, d)
}
