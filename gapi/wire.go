package gapi

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
	"github.com/reactivegraph/mgmt/graph"
)

// wire checks what an item receives and makes its wires.
func (b *builder) wire(it *item) {
	if len(it.Recv) == 0 {
		return
	}
	if it.info != nil && !it.info.Abilities.Recvable {
		b.errorf(it, it.Recv[0].Pos, "%s can't receive: its kind takes no values", it.id)
		return
	}
	for _, r := range it.Recv {
		if w, ok := b.checkWire(it, r); ok {
			it.addWire(w)
		}
	}
	b.overlaps(it)
}

// addWire keeps the wires in the order of their fields; of one field, in that of declaration.
func (it *item) addWire(w resgraph.Wire) {
	at := slices.IndexFunc(it.wires, func(o resgraph.Wire) bool { return o.Field > w.Field })
	if at < 0 {
		at = len(it.wires)
	}
	it.wires = slices.Insert(it.wires, at, w)
}

// checkWire checks one received value. The wire's field is by YAML keys, and its
// sender's kind in lower case.
func (b *builder) checkWire(it *item, r RecvDecl) (resgraph.Wire, bool) {
	to, path := b.receiver(it, r)
	word := "recv"
	if r.Formula != nil {
		word = "sent"
	}
	at, ok := b.resolve(it, r.From, r.Pos, word)
	if !ok {
		return resgraph.Wire{}, false
	}
	sender := b.first[at]
	from, key := b.sent(it, sender, r)
	w := resgraph.Wire{Field: path, Pos: r.Pos, Formula: r.Formula, From: schema.Ref{Kind: sender.kind, Name: sender.name, Key: key}}
	if !it.runs {
		b.link(link{from: at, to: it.vertex, implied: true, by: graph.ByTo}, how{word: word + " " + path, pos: r.Pos})
	}
	if from == nil || to == nil {
		return w, false
	}
	if r.Formula != nil { // the expression was judged by the type of the parameter
		return w, true
	}
	if err := schema.Assignable(from, to); err != nil {
		b.errorf(it, r.Pos, "%s can't receive %s: %v", path, w.From, err)
		return w, false
	}
	b.receivedAndSet(it, w)
	return w, true
}

// receiver returns the type and the path of a received parameter, or nil after
// reporting its fault.
func (b *builder) receiver(it *item, r RecvDecl) (*schema.Type, string) {
	if it.info == nil {
		return nil, r.Field
	}
	t, top, ok := b.lookUp(it, it.info.Type, r.Field, r.Pos, "recv: ")
	if !ok {
		return nil, r.Field
	}
	path := top.Key + strings.TrimPrefix(r.Field, topKey(r.Field))
	switch {
	case top.Role == schema.RoleReadOnly:
		b.errorf(it, r.Pos, "%s can only be read, not received", path)
		return nil, path
	case top.Key == "name":
		b.errorf(it, r.Pos, "the name can't be received")
		return nil, path
	case top.Key == targets.Key && it.info.Abilities.Targeted:
		b.errorf(it, r.Pos, "the target can't be received: it is a part of the name")
		return nil, path
	}
	return t, path
}

// sent returns the type of the value that is received and its key, or nil if the
// sender's kind is not known or something is wrong with it.
func (b *builder) sent(it, sender *item, r RecvDecl) (*schema.Type, string) {
	key := r.From.Key
	if sender.info == nil {
		return nil, key
	}
	sends := sender.info.Abilities.Sends
	switch {
	case key == "":
		b.errorf(it, r.Pos, "%s names no value, write %s.key", r.From, r.From)
		return nil, key
	case sends == nil:
		b.errorf(it, r.Pos, "%s sends nothing", sender.id)
		return nil, key
	case sender.res != nil && engine.MetaOf(sender.res).Hidden:
		b.errorf(it, r.Pos, "%s is hidden: it never runs, so it sends nothing", sender.id)
		return nil, key
	}
	t, top, ok := b.lookUp(it, sends, key, r.Pos, sender.id+": ")
	if !ok {
		return nil, key
	}
	return t, top.Key + strings.TrimPrefix(key, topKey(key))
}

// lookUp finds a path in a struct, or reports it with a suggestion.
func (b *builder) lookUp(it *item, t *schema.Type, path string, pos schema.Pos, what string) (*schema.Type, *schema.Field, bool) {
	key := topKey(path)
	if t.Field(key) == nil {
		b.add(schema.Diagnostic{
			Pos: pos, Resource: it.id,
			Message:    what + "unknown key " + quote(key),
			Suggestion: schema.Nearest(key, t.Keys()),
		})
		return nil, nil, false
	}
	at, top, err := t.At(path)
	if err != nil {
		b.errorf(it, pos, "%s%v", what, err)
		return nil, nil, false
	}
	return at, top, true
}

// receivedAndSet warns when a parameter has a declared value that will never
// count.
func (b *builder) receivedAndSet(it *item, w resgraph.Wire) {
	n := it.Value
	for key := range strings.SplitSeq(w.Field, ".") {
		n = n.Get(key)
	}
	if n == nil {
		return
	}
	b.add(schema.Diagnostic{
		Severity: schema.Warning, Pos: n.Pos, Resource: it.id, Path: w.Field,
		Message: w.Field + " is also received from " + w.From.String() + ", and that value wins",
		Related: []schema.Related{{Pos: w.Pos, Message: "received here"}},
	})
}

// overlaps reports parameters that are received twice, as a whole or in part.
func (b *builder) overlaps(it *item) {
	for i, w := range it.wires {
		for _, o := range it.wires[:i] {
			if w.Field == o.Field && w.Formula != nil && w.Formula == o.Formula {
				continue // one expression has read two values
			}
			if w.Field != o.Field && !strings.HasPrefix(w.Field, o.Field+".") && !strings.HasPrefix(w.Field, o.Field+"[") {
				continue
			}
			b.add(schema.Diagnostic{
				Pos: w.Pos, Resource: it.id, Path: w.Field,
				Message: w.Field + " is received twice",
				Related: []schema.Related{{Pos: o.Pos, Message: o.Field + " is received here too"}},
			})
			break
		}
	}
}
