package collect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/gapi"
)

// Options say for whom exports are collected.
type Options struct {
	Host     string           // this host, whose own exports are not read from the store
	Registry *engine.Registry // the kinds of the graph
	Accept   []string         // the kinds that may come from other hosts; nil for those that run no programs
}

// Collected is a resource of another host.
type Collected struct {
	gapi.Declaration
	ID    string // kind[name]
	From  string
	Print string // tells declarations apart
}

// LeftOut is the warning about a resource that is not taken over.
func (c *Collected) LeftOut(why string) schema.Diagnostic {
	return schema.Diagnostic{Severity: schema.Warning, Pos: c.Pos, Resource: c.ID, Message: c.ID + " of the host " + c.From + " is left out: " + why}
}

// Fits reports whether a pattern fits a text; * stands for any characters.
func Fits(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok || last == 0 {
		return ok && rest == ""
	}
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}

// Wanted returns the first of the wishes that an export fits; nil for none.
func Wanted(list []gapi.CollectDecl, x hosts.Export) *gapi.CollectDecl {
	for i := range list {
		c := &list[i]
		if c.Kind == x.Kind && Fits(c.Name, x.Name) && Fits(c.From, x.From) {
			return c
		}
	}
	return nil
}

// Declare returns the declarations for the wanted ones of the exports, sorted by kind and name. taken
// reports whether this host declares a resource of that id itself. The notes are warnings, each at the
// place of the wish.
func Declare(o Options, list []gapi.CollectDecl, exports []hosts.Export, taken func(id string) bool) (out []Collected, notes schema.Diagnostics) {
	sorted := make([]*hosts.Export, len(exports))
	for i := range exports {
		sorted[i] = &exports[i]
	}
	slices.SortFunc(sorted, func(a, b *hosts.Export) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.From, b.From), cmp.Compare(a.Topic, b.Topic))
	})
	for _, x := range sorted {
		c := Wanted(list, *x)
		if c == nil || x.From == o.Host {
			continue
		}
		id := schema.Ref{Kind: x.Kind, Name: x.Name}.ID()
		note := func(format string, args ...any) {
			notes = append(notes, schema.Diagnostic{Severity: schema.Warning, Pos: c.Pos, Resource: id,
				Message: fmt.Sprintf("%s of the host %s is left out: ", id, x.From) + fmt.Sprintf(format, args...)})
		}
		if last := len(out) - 1; last >= 0 && out[last].ID == id {
			if out[last].From != x.From {
				note("the host %s exports it, too", out[last].From)
			}
			continue
		}
		if taken(id) {
			note("this host declares it itself")
			continue
		}
		d, err := o.declare(c, *x)
		if err != nil {
			note("%v", err)
			continue
		}
		out = append(out, Collected{Declaration: d, ID: id, From: x.From, Print: string(x.Value) + "\x00" + string(x.Meta) + "\x00" + fmt.Sprint(c.Pos)})
	}
	return out, notes
}

// declare makes the declaration of one export.
func (o *Options) declare(c *gapi.CollectDecl, x hosts.Export) (gapi.Declaration, error) {
	d := gapi.Declaration{Kind: x.Kind, Name: x.Name, Pos: c.Pos, KindPos: c.Pos, NamePos: c.Pos, Optional: true, Collected: true}
	value, err := parse(x.Value, c.Pos)
	if err != nil {
		return d, err
	}
	if err := Accepted(o.Registry, o.Accept, x.Kind, value); err != nil {
		return d, err
	}
	d.Value = merged(value, c.Set)
	if len(x.Meta) > 0 {
		d.Meta, err = parse(x.Meta, c.Pos)
	}
	return d, err
}

// NotAcceptedError tells that other hosts may not have this host run a resource.
type NotAcceptedError struct {
	Kind   string
	Accept []string // the kinds of the setting; nil where it is not set, so that the resource could run a program
}

// Error implements error.
func (e *NotAcceptedError) Error() string {
	if e.Accept == nil {
		return fmt.Sprintf("it could run a program, and the setting accept does not name the kind %s", e.Kind)
	}
	return fmt.Sprintf("this host takes over the kinds %s (setting accept)", strings.Join(e.Accept, ", "))
}

// Accepted returns a *NotAcceptedError for a resource that other hosts may not have this host run. accept are the kinds of the
// setting; nil stands for resources that run no program. The value decides, too: a file with a command to validate it runs one.
func Accepted(kinds *engine.Registry, accept []string, kind string, value *schema.Node) error {
	refused := &NotAcceptedError{Kind: kind, Accept: accept}
	if accept != nil {
		if slices.Contains(accept, kind) {
			return nil
		}
		return refused
	}
	collects := false
	_, err := lifecycle.Make(kinds, lifecycle.Wanted{Kind: kind}, func(res engine.Res) error {
		schema.Decode(value, res) // a fault is found when the graph is built
		a, err := engine.AbilitiesOf(res)
		collects = err == nil && a.Collectable
		return nil
	})
	if err == nil && !collects {
		err = refused
	}
	return err
}

// parse reads a part of a record. Every value stands at the place of the wish.
func parse(text []byte, pos schema.Pos) (*schema.Node, error) {
	n, ds := jsonnode.Parse(text, jsonnode.Options{What: "its record can't be read", Nowhere: true, Quiet: true})
	if err := ds.Err(); err != nil {
		return nil, err
	}
	if n == nil || n.Kind != schema.NodeMap {
		return nil, errors.New("its record is no map")
	}
	place(n, pos)
	return n, nil
}

// place puts a tree of its own at a place.
func place(n *schema.Node, pos schema.Pos) {
	n.Pos = pos
	for _, item := range n.Items {
		place(item, pos)
	}
	for i := range n.Pairs {
		n.Pairs[i].Pos = pos
		place(n.Pairs[i].Value, pos)
	}
}

// merged returns a map with the keys of another one in the place of its own.
func merged(n, set *schema.Node) *schema.Node {
	if set == nil {
		return n
	}
	out := *n
	out.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(p schema.Pair) bool { return set.Get(p.Key) != nil })
	out.Pairs = append(out.Pairs, set.Pairs...)
	return &out
}

// Own returns the graph with the hidden exports of this host that it collects itself: they are no longer
// hidden. They are as they are declared, so that a wish alters nothing that the other hosts get.
func Own(host string, d *gapi.Declared) *gapi.Declared {
	if len(d.Collects) == 0 {
		return d
	}
	out := d
	for i := range d.Resources {
		r := &d.Resources[i]
		kind, name := r.Kind, r.Name
		if r.Res != nil {
			kind, name = cmp.Or(kind, r.Res.Kind()), cmp.Or(name, r.Res.Name())
		}
		if Wanted(d.Collects, hosts.Export{From: host, Kind: strings.ToLower(kind), Name: name}) == nil || !hiddenExport(r) {
			continue
		}
		if out == d {
			c := *d
			c.Resources = slices.Clone(d.Resources)
			out = &c
		}
		out.Resources[i].Meta = shown(r.Meta, r.Pos)
	}
	return out
}

// hiddenExport reports whether a declaration is exported and hidden.
func hiddenExport(r *gapi.Declaration) bool {
	m := engine.DefaultMetaParams()
	if r.Res != nil {
		c := *engine.MetaOf(r.Res)
		m = &c
	}
	engine.DecodeMeta(r.Meta, m)
	return m.Hidden && len(m.Export) > 0
}

// shown returns metaparameters that do not hide.
func shown(meta *schema.Node, pos schema.Pos) *schema.Node {
	if meta == nil {
		meta = &schema.Node{Kind: schema.NodeMap, Pos: pos}
	}
	no := &schema.Node{Kind: schema.NodeBool, Pos: pos, Text: "false"}
	return merged(meta, &schema.Node{Kind: schema.NodeMap, Pos: pos, Pairs: []schema.Pair{{Key: "hidden", Pos: pos, Value: no}}})
}
