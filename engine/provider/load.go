package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Providers are the constructors of the Go providers that a file may name, besides those
// of the kinds that are there: `provider: host` is that of the kind host.
type Providers map[string]func() Provider

// with returns these and those of the kinds of a registry that are made of data, by
// the names of the kinds.
func (ps Providers) with(r *engine.Registry) Providers {
	all := Providers{}
	for _, name := range r.Kinds() {
		if res, err := r.New(name); err == nil {
			if made := resOf(res); made != nil && made.kind.make != nil {
				all[name] = made.kind.make
			}
		}
	}
	maps.Copy(all, ps)
	return all
}

// Load registers the kinds that files define: each node is what one file says, a
// definition or a list of them. Types that dispatch find the others of all files, and
// the kinds that r has already. Everything that is wrong is returned; with an error
// among it, r has some of the kinds and should not be used.
func Load(r *engine.Registry, nodes []*schema.Node, ps Providers) schema.Diagnostics {
	return LoadAll(r, NewTransports(), nodes, ps)
}

// LoadAll is Load for files that may define transports too: a file with the key connection_info is a
// transport, see DecodeTransport. They are added to ts.
func LoadAll(r *engine.Registry, ts *Transports, nodes []*schema.Node, ps Providers) schema.Diagnostics {
	var found schema.Findings
	nodes = definitionNodes(nodes)
	nodes = slices.DeleteFunc(nodes, func(n *schema.Node) bool {
		if n.Get(connectionKey) == nil {
			return false
		}
		def, by, ds := DecodeTransport(n)
		found.Add(ds...)
		if ds.Err() == nil {
			t, err := newTransport(*def, by.named(def.Name), by.Command == nil)
			if err == nil {
				err = ts.add(def.Name, func() *transport { return t })
			}
			found.Add(failed(def.Pos, err)...)
		}
		return true
	})
	var dispatchers []*file
	first := map[string]schema.Pos{}
	for _, n := range nodes {
		def, src, ds := DecodeDefinition(n)
		found.Add(ds...)
		f := &file{def, src}
		at, twice := first[def.Name]
		if !twice {
			first[def.Name] = def.Pos
		}
		switch {
		case ds.Err() != nil:
		case twice:
			found.Add(schema.Diagnostic{Pos: def.Pos, Message: "the type " + def.Name + " is defined twice",
				Related: []schema.Related{{Pos: at, Message: "first defined here"}}})
		case src.Dispatch != nil:
			dispatchers = append(dispatchers, f)
		default:
			found.Add(f.register(r, ps)...)
		}
	}
	for _, f := range dispatchers {
		found.Add(f.dispatch(r)...)
	}
	return found.All()
}

// definitionNodes returns the nodes of single definitions.
func definitionNodes(nodes []*schema.Node) []*schema.Node {
	var out []*schema.Node
	for _, n := range nodes {
		if n != nil && n.Kind == schema.NodeList {
			out = append(out, n.Items...)
		} else {
			out = append(out, n)
		}
	}
	return out
}

// file is a definition with its source.
type file struct {
	def *Definition
	src *Source
}

// register adds the kind.
func (f *file) register(r *engine.Registry, ps Providers) schema.Diagnostics {
	ps = ps.with(r)
	make := ps[f.src.Provider]
	if f.src.External != nil {
		make = f.src.External.New
	}
	if make == nil {
		names := slices.Sorted(maps.Keys(ps))
		known := "there are none here"
		if len(names) > 0 {
			known = "there are " + strings.Join(names, ", ")
		}
		return schema.Diagnostics{{Pos: f.src.Pos, Suggestion: schema.Nearest(f.src.Provider, names),
			Message: fmt.Sprintf("%s: there is no Go provider %q: %s", f.def.Name, shorten(f.src.Provider), known)}}
	}
	kind, err := New(*f.def, make)
	if err == nil {
		err = r.Register(kind.Name(), kind.New)
	}
	return failed(f.def.Pos, err)
}

// failed returns an error as findings at a place, one for each that is joined in it.
func failed(pos schema.Pos, err error) (ds schema.Diagnostics) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			ds = append(ds, failed(pos, err)...)
		}
	} else if err != nil {
		ds.Errorf(pos, "%v", err)
	}
	return ds
}
