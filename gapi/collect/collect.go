package collect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/gapi"
)

// Options say for whom exports are collected.
type Options struct {
	Host     string           // this host, whose own exports are not read from the store
	Registry *engine.Registry // the kinds of the graph
	Accept   *lend.Rules      // what may come from other hosts; nil for the default
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

// Wanted reports whether an export may fit one of the wishes: its kind and its host do. Whether its identity does shows when it is decoded.
func Wanted(list []gapi.CollectDecl, x hosts.Export) bool {
	return slices.ContainsFunc(list, func(c gapi.CollectDecl) bool { return c.Kind == x.Kind && lend.Fits(c.From, x.From) })
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
		if x.From == o.Host || !Wanted(list, *x) {
			continue
		}
		c, d, err := o.declare(list, *x)
		if c == nil {
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
		if err != nil {
			note("%v", err)
			continue
		}
		if keys := dropped(x, d); len(keys) > 0 {
			notes = append(notes, schema.Diagnostic{Severity: schema.Warning, Pos: c.Pos, Resource: id,
				Message: fmt.Sprintf("%s of the host %s comes without its metaparameters %s: they count on that host alone; give yours by fields: [meta] or declare it here", id, x.From, strings.Join(keys, ", "))})
		}
		out = append(out, Collected{Declaration: d, ID: id, From: x.From, Print: string(x.Value) + "\x00" + string(x.Meta) + "\x00" + fmt.Sprint(c.Pos)})
	}
	return out, notes
}

// declare makes the declaration of one export, by the first wish that its identity fits. The wish is nil where it fits none. An export whose
// name fits, and whose identity does not, is an error: one of the two was meant.
func (o *Options) declare(list []gapi.CollectDecl, x hosts.Export) (by *gapi.CollectDecl, d gapi.Declaration, _ error) {
	var named *gapi.CollectDecl
	var elsewhere error
	for i := range list {
		c := &list[i]
		if c.Kind != x.Kind || !lend.Fits(c.From, x.From) {
			continue
		}
		d, err := o.judge(c, x)
		if _, other := errors.AsType[*lend.ElsewhereError](err); !other {
			return c, d, err
		}
		if named == nil && lend.Fits(c.Name, x.Name) {
			named, elsewhere = c, err
		}
	}
	return named, d, elsewhere
}

// judge makes the declaration of one export by one wish.
func (o *Options) judge(c *gapi.CollectDecl, x hosts.Export) (gapi.Declaration, error) {
	d := gapi.Declaration{Kind: x.Kind, Name: x.Name, Pos: c.Pos, KindPos: c.Pos, NamePos: c.Pos, Optional: true, Collected: true}
	f := lend.Foreign{Kind: x.Kind, Name: x.Name, Pattern: c.Name, Set: c.Set, Fields: c.Fields}
	var err error
	if f.Value, err = parse(x.Value, c.Pos); err != nil {
		return d, named(c, x, err)
	}
	if len(x.Meta) > 0 {
		if f.Meta, err = parse(x.Meta, c.Pos); err != nil {
			return d, named(c, x, err)
		}
	}
	t, err := o.Accept.Judge(o.Registry, f)
	d.Value, d.Meta = t.Value, t.Meta
	return d, err
}

// dropped returns the keys of the metaparameters of an export that do not count here.
func dropped(x *hosts.Export, d gapi.Declaration) []string {
	given, _ := jsonnode.Parse(x.Meta, jsonnode.Options{Nowhere: true, Quiet: true})
	return lend.Dropped(given, d.Meta)
}

// named is the error of an export that can't be decoded. Its name alone tells whether it is meant.
func named(c *gapi.CollectDecl, x hosts.Export, err error) error {
	if !lend.Fits(c.Name, x.Name) {
		return &lend.ElsewhereError{Key: "name", Value: x.Name, Pattern: c.Name}
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
		if !wished(d.Collects, host, strings.ToLower(kind), name) || !hiddenExport(r) {
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

// wished reports whether a wish names a resource of this host.
func wished(list []gapi.CollectDecl, host, kind, name string) bool {
	return slices.ContainsFunc(list, func(c gapi.CollectDecl) bool {
		return c.Kind == kind && lend.Fits(c.Name, name) && lend.Fits(c.From, host)
	})
}

// hiddenExport reports whether a declaration is exported and hidden.
func hiddenExport(r *gapi.Declaration) bool {
	m := new(engine.MetaParams)
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
