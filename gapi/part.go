package gapi

import (
	"iter"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Running is the graph that runs, for a part of it. Its answers must not change before the end of Draft.Check.
type Running interface {
	// Find returns the vertex under an id as it was declared, nil for none.
	Find(id string) *resgraph.Vertex
	// Receivers returns the ids of the vertices that receive values from the one with an id.
	Receivers(id string) []string
	// Sharing yields the ids of the vertices that may have a UID with the hash of this one.
	Sharing(u autoedge.UID) iter.Seq[string]
}

// running makes an item for a running vertex, nil for none. The graph does not have the id yet.
func (b *builder) running(id string) *item {
	if b.runs == nil {
		return nil
	}
	v := b.runs.Find(id)
	if v == nil {
		return nil
	}
	d := &Declaration{Kind: v.Res.Kind(), Name: v.Res.Name(), Res: v.Res, Pos: v.Pos}
	for _, w := range v.Recv {
		d.Recv = append(d.Recv, RecvDecl{Field: w.Field, From: w.From, Pos: w.Pos, Formula: w.Formula})
	}
	it := &item{Declaration: d, ident: ident{strings.ToLower(d.Kind), d.Name}, id: id, res: v.Res, runs: true, marks: len(v.Special().Secret) > 0}
	it.info = b.goKindOf(it)
	at, _ := b.g.Add(id, nil) // it was not there
	it.vertex = int32(at)
	b.items, b.first = append(b.items, it), append(b.first, it)
	return it
}

// receiving takes the running vertices in that receive from the part, near or far: what the part sends may be of another type
// now, or a secret.
func (b *builder) receiving() {
	if b.runs == nil {
		return
	}
	for i := 0; i < len(b.items); i++ {
		for _, id := range b.runs.Receivers(b.items[i].id) {
			if _, in := b.g.Index(id); !in {
				b.running(id)
			}
		}
	}
}

// claimRunning adds the claims of running vertices that the part may clash with, before those of the part.
func (b *builder) claimRunning() {
	if b.runs == nil {
		return
	}
	for _, c := range slices.Clone(b.claims) {
		if c.item.runs {
			continue
		}
		for id := range b.runs.Sharing(c.uid) {
			if _, in := b.g.Index(id); in {
				continue
			}
			if it := b.running(id); it != nil {
				for _, r := range it.Recv {
					it.wires = append(it.wires, resgraph.Wire{Field: r.Field, From: r.From, Pos: r.Pos, Formula: r.Formula})
				}
				b.claim(it)
			}
		}
	}
	var running, brought []claim
	for _, c := range b.claims {
		if c.item.runs {
			running = append(running, c)
		} else {
			brought = append(brought, c)
		}
	}
	b.claims = append(running, brought...)
}

// MayRefer reports whether the resources of this type may refer to others by a parameter.
func MayRefer(res engine.Res) bool {
	t, err := schema.TypeOf(res)
	return err == nil && hasRef(t)
}

// References returns the resources that a resource refers to by its parameters. It returns none for one whose
// parameters can't be read.
func References(res engine.Res) []schema.Ref {
	v, err := schema.Encode(res)
	if err != nil {
		return nil
	}
	return refsIn(v)
}

// refsIn returns the references in a plain value.
func refsIn(v any) (list []schema.Ref) {
	switch v := v.(type) {
	case schema.Ref:
		if !v.IsZero() {
			list = append(list, v)
		}
	case []any:
		for _, item := range v {
			list = append(list, refsIn(item)...)
		}
	case map[string]any:
		for _, item := range v {
			list = append(list, refsIn(item)...)
		}
	}
	return list
}
