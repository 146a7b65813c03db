package gapi

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
)

// make makes the resource of an item: its kind, its value, its name and its
// metaparameters. On failure, res stays nil or bad is set.
func (b *builder) make(it *item) {
	if it.info == nil {
		it.bad = true
		return
	}
	before := b.errors
	if err := b.fill(it); err != nil {
		b.errorf(it, it.Pos, "%v", err)
	}
	it.bad = b.errors > before || it.Wrong
	if it.res != nil {
		b.checkName(it)
		b.checkReverse(it)
		b.checkRetry(it)
		it.marks = len(engine.MetaOf(it.res).Secret) > 0
		b.checkSecret(it)
		b.checkBackend(it)
	}
}

// fill makes the resource and decodes into it. The error is a panic of one of
// its methods.
func (b *builder) fill(it *item) error {
	if b.made(it) { // it may run, so only a copy of its metaparameters is judged
		meta := *engine.MetaOf(it.Res)
		b.decodeMeta(it, &meta)
		it.res = it.Res
		return nil
	}
	want := lifecycle.Wanted{Kind: it.kind, Name: it.name, Ready: it.Res, Borrows: it.Res == nil && it.info.Meta != nil}
	var decode func(engine.Res) error
	if it.Value != nil || it.Res == nil || it.info.named { // else there is nothing to decode
		decode = func(res engine.Res) error { b.decode(it, res); return nil }
	}
	res, err := lifecycle.Make(b.reg, want, decode)
	if err != nil {
		return err
	}
	if want.Borrows {
		b.lender.meta = *it.info.Meta
		b.decodeMeta(it, &b.lender.meta)
		res.(engine.MetaLender).LendMetaParams(b.lender.lend()) // the kind was tried
	} else {
		b.decodeMeta(it, res.MetaParams())
	}
	it.res = res
	return nil
}

// lender makes metaparameters in one place, and lends those that resources have in common: of a graph, most have equal ones.
type lender struct {
	meta engine.MetaParams     // that are made
	last [4]*engine.MetaParams // that were lent
}

// lend returns the metaparameters that were made, in common with a resource that has equal ones.
func (l *lender) lend() *engine.MetaParams {
	for _, m := range l.last {
		if m != nil && m.Equal(&l.meta) {
			return m
		}
	}
	copy(l.last[1:], l.last[:]) // the oldest one falls out
	l.last[0] = new(l.meta)
	return l.last[0]
}

// decode fills the parameters. A required one may be missing if it is received.
func (b *builder) decode(it *item, res engine.Res) {
	value := it.value(&b.blank)
	if value == nil || it.Wrong {
		return
	}
	for _, path := range it.marked() {
		value = value.Conceal(path)
	}
	for _, d := range schema.Decode(value, res) {
		if !it.mayLack(value, d.Path) {
			d.Resource = it.id
			b.add(guessKey(d))
		}
	}
	if r, ok := engine.As[declaration.Stated](res); ok && it.computesState() {
		if err := callsafe.Do("DropForState", func() error { r.DropForState(); return nil }); err != nil {
			b.errorf(it, it.Pos, "%v", err)
		}
	}
	if c := it.Value.Get("comment"); !it.info.commented && c != nil && (c.Kind == schema.NodeList || c.Kind == schema.NodeMap) {
		b.add(schema.Diagnostic{Pos: c.Pos, Resource: it.id, Path: "comment", Message: "a comment must be text"})
	}
	for _, key := range it.info.readOnly {
		if n := value.Get(key); n != nil {
			b.add(schema.Diagnostic{Pos: n.Pos, Resource: it.id, Path: key, Message: key + " can only be read, not set"})
		}
	}
}

// computesState reports whether an expression gives the state.
func (it *item) computesState() bool {
	state := it.Value.Get("state")
	return state != nil && state.Computed
}

// guessKey suggests the keys that every resource has for an unknown one.
func guessKey(d schema.Diagnostic) schema.Diagnostic {
	if d.Suggestion != "" || !strings.HasPrefix(d.Message, "unknown key ") {
		return d
	}
	if t, err := schema.OfType(reflect.TypeFor[engine.MetaParams]()); err == nil && slices.Contains(t.Keys(), d.Path) {
		d.Suggestion = "meta: {" + d.Path + ": ...}"
		return d
	}
	if !strings.ContainsAny(d.Path, ".[") {
		d.Suggestion = schema.Nearest(d.Path, append([]string{"name"}, schema.ReservedKeys...))
	}
	return d
}

// mayLack reports whether a finding is about a parameter that is missing but
// received, or set already in a ready resource.
func (it *item) mayLack(value *schema.Node, path string) bool {
	f := it.info.Type.Field(path)
	if f == nil || !f.Required || value.Get(f.Key) != nil {
		return false
	}
	if it.Res != nil {
		return true
	}
	return slices.ContainsFunc(it.Recv, func(r RecvDecl) bool { return it.info.Type.Field(topKey(r.Field)) == f })
}

// value returns the node to decode: the name is added where the kind has a field
// for it, a comment is dropped where it has none. A resource without parameters has the blank one.
func (it *item) value(blank *schema.Node) *schema.Node {
	n := it.Value
	if n == nil && it.Res == nil {
		*blank = schema.Node{Kind: schema.NodeMap, Pos: it.Pos}
		n = blank
	}
	comment := !it.info.commented && n.Get("comment") != nil
	if n != nil && n.Kind != schema.NodeMap || !it.info.named && !comment {
		return n
	}
	c := schema.Node{Kind: schema.NodeMap, Pos: it.Pos}
	if n != nil {
		c = *n
	}
	c.Pairs = slices.Clone(c.Pairs)
	if comment {
		c.Pairs = slices.DeleteFunc(c.Pairs, func(p schema.Pair) bool { return p.Key == "comment" })
	}
	if it.info.named {
		name := &schema.Node{Kind: schema.NodeString, Pos: it.namePos(), Text: it.name}
		if it.info.Abilities.Targeted {
			name.Text = targets.Unqualify(it.name, targetOf(it.Declaration))
		}
		c.Pairs = append(c.Pairs, schema.Pair{Key: "name", Pos: it.namePos(), Value: name})
	}
	return &c
}

// metaPairs are metaparameters of which one is judged by the other.
var metaPairs = map[string]string{"delaymax": "delay", "limit": "burst", "burst": "limit"}

// decodeMeta fills the metaparameters and checks them all; unreadable values are
// not judged a second time.
func (b *builder) decodeMeta(it *item, meta *engine.MetaParams) {
	var unread map[string]bool
	if it.Meta != nil {
		for _, d := range engine.DecodeMeta(it.Meta, meta) {
			if d.Severity == schema.Error {
				if unread == nil {
					unread = map[string]bool{}
				}
				unread[topKey(d.Path)] = true
			}
			b.addMeta(it, d)
		}
	}
	if b.d.Noop {
		meta.Noop = new(true)
	}
	meta.Leave(it.Leaving)
	meta.Unread, meta.Proofs, meta.Module, meta.Rests = it.Unread, it.Proofs, it.Module, it.Rests
	if err := meta.Validate(); err != nil && !unread[""] {
		b.judgeMeta(it, err, unread)
	}
	if len(meta.Export) > 0 {
		b.checkExport(it, meta)
	}
}

// checkExport refuses to publish a resource that is more than its parameters, or that has secrets.
func (b *builder) checkExport(it *item, meta *engine.MetaParams) {
	wrong := ""
	switch {
	case len(it.Recv) > 0:
		wrong = "export publishes the declared parameters, and this resource receives some: export the sender, or leave recv out"
	case len(meta.Secret) > 0:
		wrong = "export publishes the parameters to other hosts, and secret says that some must not be shown: leave one of them out"
	case it.info.Type != nil && slices.ContainsFunc(it.info.Type.Fields, func(f *schema.Field) bool { return f.Type.Secret && it.Value.Get(f.Key) != nil }):
		wrong = "export publishes the parameters to other hosts, and one of them is a secret: leave export or the secret out"
	default:
		return
	}
	b.addMeta(it, schema.Diagnostic{Pos: posOf(it.Meta.Get("export"), it.Pos), Path: "export", Message: wrong})
}

// judgeMeta reports what MetaParams.Validate found.
func (b *builder) judgeMeta(it *item, err error, unread map[string]bool) {
	wrong, _ := errors.AsType[schema.Diagnostics](err)
	for _, d := range wrong {
		if key := topKey(d.Path); !unread[key] && !unread[metaPairs[key]] {
			d.Pos = posOf(it.Meta.At(d.Path), it.Pos)
			b.addMeta(it, d)
		}
	}
}

func (b *builder) addMeta(it *item, d schema.Diagnostic) {
	d.Resource, d.Path = it.id, metaPath(d.Path)
	b.add(d)
}

func metaPath(p string) string {
	if p == "" || strings.HasPrefix(p, "[") {
		return "meta" + p
	}
	return "meta." + p
}

// checkName refuses names that nothing can have, and names that need a missing
// permission.
func (b *builder) checkName(it *item) {
	if strings.ContainsRune(it.name, 0) {
		b.errorf(it, it.namePos(), "the name %s holds a NUL character", quote(it.name))
	}
	if strings.HasPrefix(it.name, "$") && !engine.MetaOf(it.res).Dollar {
		b.errorf(it, it.namePos(), "the name %s begins with a dollar sign, allow it with meta: {dollar: true} if it is no forgotten variable", quote(it.name))
	}
}

// validate asks the resource, unless it is hidden, its value could not be read, or an equal
// one runs.
func (b *builder) validate(it *item) {
	if it.res == nil || it.bad || it.runs || engine.MetaOf(it.res).Hidden {
		return
	}
	if b.declared(it) != nil && b.same(int(it.vertex)) {
		return
	}
	faults := flatten(lifecycle.Validate(it.res, it.coming()))
	for _, err := range faults {
		b.invalid(it, err)
	}
	if len(faults) == 0 {
		b.lint(it)
	}
}

// lint warns of what a valid resource seldom means. A panic of the resource is an error of it.
func (b *builder) lint(it *item) {
	r, ok := engine.As[declaration.Linted](it.res)
	if !ok {
		return
	}
	var found schema.Diagnostics
	if err := callsafe.Do("Lint", func() error { found = r.Lint(); return nil }); err != nil {
		b.errorf(it, it.Pos, "%v", err)
	}
	for _, d := range found {
		if it.receives(d.Path) {
			continue
		}
		d.Severity, d.Resource, d.Pos = schema.Warning, it.id, it.Pos
		if n := it.Value.Get(topKey(d.Path)); n != nil {
			d.Pos = it.Value.At(d.Path).Pos
		}
		b.add(d)
	}
}

// coming returns the values that the resource will receive.
func (it *item) coming() map[string]*engine.Send {
	if len(it.wires) == 0 {
		return nil
	}
	m := make(map[string]*engine.Send, len(it.wires))
	for _, w := range it.wires {
		m[w.Field] = &engine.Send{Res: schema.Ref{Kind: w.From.Kind, Name: w.From.Name}, Key: w.From.Key}
	}
	return m
}

func quote(s string) string { return strconv.Quote(s) }
