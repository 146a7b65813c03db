package puppet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// translation turns one resource into a declaration.
// It lives for one resource. Rows fill it, the type's finish corrects it, and declare adds it
// to the graph.
type translation struct {
	*resource
	typ     *kindType
	kind    engine.Kind
	lenient bool
	found   *schema.Findings

	name    string        // of the declaration
	value   *schema.Node  // its parameters
	meta    []schema.Pair // its metaparameters
	recv    []gapi.RecvDecl
	helpers []gapi.Declaration // that send it its secrets
	out     bool               // it is left out
}

// outcome is what became of a resource.
// Edges are made by it: see translator.edge.
type outcome struct {
	ref       schema.Ref
	refreshes bool // a refresh does something to it
	notifies  bool // its changes are changes here
}

// translator turns resources into declarations.
// It is for one catalog and one goroutine.
type translator struct {
	reg   *engine.Registry
	opts  Options
	found *schema.Findings
	kinds map[string]kindFound
	// In the order of the catalog, each behind the vertices that send it secrets.
	decls   []gapi.Declaration
	outcome map[*resource]outcome
}

type kindFound struct {
	kind engine.Kind
	err  error
}

// find returns the kind of the registry with that name.
// Each kind is asked for once, errors too.
func (tr *translator) find(name string) (engine.Kind, error) {
	f, ok := tr.kinds[name]
	if !ok {
		f.kind, f.err = tr.reg.Kind(name)
		tr.kinds[name] = f
	}
	return f.kind, f.err
}

// resource declares a resource, or a vertex that stands for a resource that does
// not run.
func (tr *translator) resource(r *resource) {
	if !tr.selected(r) {
		tr.standIn(r)
		return
	}
	name := strings.TrimPrefix(strings.ToLower(r.typ), "::")
	typ := typeNamed[name]
	if typ == nil {
		typ = &kindType{name: name, kind: name, how: same}
	}
	if typ.how == same {
		typ = new(*typ) // the abilities of the kind are not known before
	}
	t := &translation{resource: r, typ: typ, lenient: tr.opts.Lenient, found: tr.found, name: r.title}
	t.value = &schema.Node{Kind: schema.NodeMap, Pos: r.at}
	// A type that is ignored or refused keeps its place in the order: see standIn.
	switch typ.how {
	case ignored:
		tr.standIn(r)
		return
	case refused:
		t.refuse("", typ.note, true)
	default:
		t.kindFrom(tr)
	}
	if !t.out {
		t.parameters()
	}
	if t.out {
		tr.standIn(r)
		return
	}
	tr.declare(t)
}

// kindFrom looks the kind up.
// An unknown type is refused with the nearest known one.
func (t *translation) kindFrom(tr *translator) {
	kind, err := tr.find(t.typ.kind)
	switch {
	case err == nil:
		t.kind = kind
		if t.typ.how == same {
			t.typ.refreshes = kind.Abilities.Refreshable
		}
	case t.typ.how == same:
		text := "unknown type: mgmt has no kind " + t.typ.name
		if near := schema.Nearest(t.typ.name, tr.knownTypes()); near != "" {
			text += " (did you mean " + near + "?)"
		}
		t.refuse("", text, true)
	default:
		t.refuse("", fmt.Sprintf("this program has no kind %s, which it would be", t.typ.kind), true)
	}
}

// knownTypes returns all names of types, of Puppet and of the registry, for a suggestion.
func (tr *translator) knownTypes() []string {
	list := tr.reg.Kinds()
	for _, t := range types {
		list = append(list, t.name)
	}
	return list
}

// parameters translates all parameters.
func (t *translation) parameters() {
	for i := range t.params {
		p := &t.params[i]
		a := t.typ.attribute(p.name)
		switch {
		// A fault of the value comes before everything that its row would say.
		case p.err != nil:
			t.bad(p, "%v", p.err)
		case p.foreign != "":
			t.refuse(p.name, p.foreign, true)
		case p.made: // and finish knows it
		case a != nil:
			t.row(a, p)
		case t.typ.how == same: // a kind of the registry
			t.copied(p)
		default:
			text := fmt.Sprintf("%s has no such attribute", t.typ.name)
			if near := schema.Nearest(p.name, t.typ.names()); near != "" {
				text += fmt.Sprintf(" (did you mean %q?)", near)
			}
			t.refuse(p.name, text, false)
		}
	}
	switch {
	case slices.ContainsFunc(t.params, param.unread):
		t.out = true // a value that is missing for that reason does not make a problem of its own
	case t.typ.finish != nil:
		t.typ.finish(t)
	}
	if strings.HasPrefix(t.name, "$") {
		t.metaparam("dollar", boolNode(t.at, true))
	}
}

// row carries a row of the table out.
func (t *translation) row(a *attribute, p *param) {
	switch {
	case a.do != nil:
		a.do(t, p)
	case a.how == same && a.name == "name":
		t.naming(p)
	case a.how == same:
		t.set(a.name, p.value, p)
	case a.how == rename:
		t.set(a.to, p.value, p)
	case a.how == refused:
		t.refuse(a.name, a.note, a.whole)
	}
}

// copied sets a parameter of a kind of the registry under its own name.
func (t *translation) copied(p *param) {
	if p.name == "name" {
		t.naming(p)
		return
	}
	t.set(p.name, p.value, p)
}

// naming takes the name from a parameter.
func (t *translation) naming(p *param) {
	switch {
	case p.secret:
		t.refuse(p.name, "a name can't be a secret: it is shown everywhere", true)
	case !isScalar(p.value):
		t.bad(p, "it must be text, not %s", describe(p.value))
	default:
		t.name = p.value.Text
	}
}

// set sets a parameter of our kind; from is where its value comes from, nil for a
// default.
// Each value goes through here or put; only set looks whether the kind has the parameter, and
// hides secrets.
func (t *translation) set(key string, v *schema.Node, from *param) {
	attr, secret := key, false
	if from != nil {
		attr, secret = from.name, from.secret
	}
	f := t.kind.Type.Field(key)
	switch {
	case f == nil: // of a type without a row of ours, we don't know what it is for
		t.refuse(attr, fmt.Sprintf("the kind %s of this program has no %s", t.kind.Name, key), t.typ.how == same)
	case secret:
		t.setSecret(f, v, from)
	default:
		t.put(key, v)
	}
}

// put sets a parameter, in the place of an earlier value: later rows of a table may
// correct earlier ones.
// A secret in the value has to be one by its type: see setSecret.
func (t *translation) put(key string, v *schema.Node) {
	for i := range t.value.Pairs {
		if t.value.Pairs[i].Key == key {
			t.value.Pairs[i].Value = v
			return
		}
	}
	t.value.Pairs = append(t.value.Pairs, schema.Pair{Key: key, Pos: t.at, Value: v})
}

// metaparam sets a metaparameter.
func (t *translation) metaparam(key string, v *schema.Node) {
	t.meta = append(t.meta, schema.Pair{Key: key, Pos: t.at, Value: v})
}

// noop sets the metaparameter, also where it is false: that wins over the flag
// --noop=default, as in Puppet.
func (t *translation) noop(p *param) {
	if yes, ok := t.boolean(p); ok {
		t.metaparam("noop", boolNode(t.at, yes))
	}
}

// bad reports a value that nothing can be made of. It never shows a secret.
// It is an error also with Options.Lenient, since the catalog itself is at fault.
func (t *translation) bad(p *param, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.secret {
		text = "its value, which is sensitive, does not fit"
	}
	t.found.Add(t.finding(schema.Error, p.name, text))
	t.out = true
}

// refuse reports values that can't be expressed. The reason must not hold a value
// that may be a secret. With whole the resource would do something else without it,
// so lenient leaves it out.
func (t *translation) refuse(attr, reason string, whole bool) {
	sev := schema.Error
	if t.lenient {
		sev = schema.Warning
		if whole || attr == "" {
			reason += "; the resource is left out"
		} else {
			reason += "; it is left out"
		}
	}
	// Where it is an error, the rest is declared for what else may be wrong with it.
	t.out = t.out || whole && (t.lenient || attr == "")
	t.found.Add(t.finding(sev, attr, reason))
}

// declare adds the declaration.
func (tr *translator) declare(t *translation) {
	d := gapi.Declaration{
		Kind: t.typ.kind, Name: t.name, Pos: t.at, Value: t.value, Recv: t.recv,
	}
	if len(t.meta) > 0 {
		d.Meta = &schema.Node{Kind: schema.NodeMap, Pos: t.at, Pairs: t.meta}
	}
	tr.decls = append(append(tr.decls, t.helpers...), d)
	// The helpers stand before the declaration, whose edges from them Build adds (law 8).
	tr.outcome[t.resource] = outcome{schema.Ref{Kind: d.Kind, Name: d.Name}, t.typ.refreshes, !t.typ.silent}
}

// selected reports whether the tags that are asked for are among those of a
// resource.
// Without tags all are selected. Tags are compared in lower case.
func (tr *translator) selected(r *resource) bool {
	return len(tr.opts.Tags) == 0 || slices.ContainsFunc(tr.opts.Tags, func(tag string) bool {
		return slices.Contains(r.tags, strings.ToLower(tag))
	})
}

// standIn declares a vertex that never runs, for the order that leads through it.
func (tr *translator) standIn(r *resource) {
	tr.outcome[r] = outcome{ref: tr.point(r.ref(), r.at, true)}
}

// point declares a vertex that does nothing. A hidden one does not even run.
// It is never grouped with others, since order leads through it.
func (tr *translator) point(name string, at schema.Pos, hidden bool) schema.Ref {
	meta := []schema.Pair{{Key: "autogroup", Pos: at, Value: boolNode(at, false)}}
	if hidden {
		meta = append(meta, schema.Pair{Key: "hidden", Pos: at, Value: boolNode(at, true)})
	}
	tr.decls = append(tr.decls, gapi.Declaration{
		Kind: "noop", Name: name, Pos: at, Meta: &schema.Node{Kind: schema.NodeMap, Pos: at, Pairs: meta},
	})
	return schema.Ref{Kind: "noop", Name: name}
}
