package gapi

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// RefuseBackend says why the metaparameter backend of a resource can't be name: there is nothing
// to choose, or there is no such backend. It returns nil where it can be, and where name is
// empty; whether this machine has it is asked by Validate.
func RefuseBackend(r engine.Res, name string) *schema.Diagnostic {
	if name == "" {
		return nil
	}
	d := &schema.Diagnostic{Path: "backend"}
	v, virtual := engine.As[engine.VirtualRes](r)
	if !virtual {
		d.Message = "backend: nothing is to be chosen, the kind " + r.Kind() + " is always done in one way"
		return d
	}
	known := v.Backends()
	if slices.Contains(known, name) {
		return nil
	}
	d.Message = "backend: " + r.Kind() + " has no backend " + quote(name) + ", only " + strings.Join(known, ", ")
	d.Suggestion = schema.Nearest(name, known)
	return d
}

// checkBackend refuses a metaparameter that can't be, at its place.
func (b *builder) checkBackend(it *item) {
	d := RefuseBackend(it.res, engine.MetaOf(it.res).Backend)
	if d == nil {
		return
	}
	d.Pos = posOf(it.Meta.At("backend"), it.Pos)
	it.bad = true
	b.addMeta(it, *d)
}
