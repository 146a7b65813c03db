package expand

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// layer is one entry of data.files.
type layer struct {
	doc  *Document
	path *schema.Node
}

// readLayer is a file of data that the data of a graph were made of.
type readLayer struct {
	path string
	root *schema.Node // nil where there is no file
}

// data are the layers of one graph. A module has data of its own.
//
// # Laws
//
//   - The most exact layer comes first. The first layer that has a key decides, unless the key is merged.
//   - A file that is not there is an empty layer. The inputs have it, so the graph is made anew when it comes.
//   - Values of different shapes are not merged: the more exact one counts.
type data struct {
	layers []layer
	read   []readLayer       // the files of layers, in the same order
	merge  map[string]string // by key: how several layers become one value; nil for none
}

// Source is a value of data in one layer.
type Source struct {
	Path    string
	Missing bool       // there is no such file
	Pos     schema.Pos // of the key; zero where the layer does not have it
	Value   any
}

// DataKeys returns the keys of the data, in order. It is called after Start.
func (g *Graph) DataKeys() []string { return sortedKeys(g.names["data"].(map[string]any)) }

// ExplainData returns the value of a key in each layer, the most exact first, how the layers are merged, and the value of the data. A key in a map
// is named by its path, as in users.ann.shell. ok is false for a key that the data do not have. It is called after Start. Modules have data of
// their own, which are not asked.
func (g *Graph) ExplainData(key string) (sources []Source, how string, value any, ok bool) {
	all := g.names["data"].(map[string]any)
	path := []string{key}
	if _, whole := all[key]; !whole {
		path = strings.Split(key, ".")
	}
	sources, how = g.data.explain(path, g.found)
	value = all
	for _, name := range path {
		m, _ := value.(map[string]any)
		if value, ok = m[name]; !ok {
			return sources, how, nil, false
		}
	}
	return sources, how, value, true
}

// explain returns the value at a path of keys in each layer, and how the layers are merged there.
func (d *data) explain(path []string, found *findings) (sources []Source, how string) {
	for _, l := range d.read {
		s := Source{Path: l.path, Missing: l.root == nil}
		if p := pairAt(l.root, path); p != nil {
			s.Pos, s.Value = p.Pos, found.literal(p.Value, "a file of data")
		}
		sources = append(sources, s)
	}
	return sources, cmp.Or(d.merge[path[0]], merges[0])
}

// pairAt returns the pair at a path of keys, nil for none.
func pairAt(n *schema.Node, path []string) (at *schema.Pair) {
	for _, name := range path {
		if n == nil || n.Kind != schema.NodeMap {
			return nil
		}
		i := slices.IndexFunc(n.Pairs, func(p schema.Pair) bool { return p.Key == name })
		if i < 0 {
			return nil
		}
		at = &n.Pairs[i]
		n = at.Value
	}
	return at
}

// NearData returns the key of the data that was probably meant, empty for none. The key is a path, as for ExplainData.
func (g *Graph) NearData(key string) string {
	prefix, m := "", g.names["data"].(map[string]any)
	for {
		name, rest, deeper := strings.Cut(key, ".")
		below, isMap := m[name].(map[string]any)
		if deeper && isMap {
			prefix, m, key = prefix+name+".", below, rest
			continue
		}
		if near := schema.Nearest(name, sortedKeys(m)); near != "" {
			return prefix + near
		}
		return ""
	}
}

// merges are the ways in which a key of several layers becomes one value.
var merges = []string{"first", "deep", "append"}

// declare reads the key data of a document.
func (d *data) declare(doc *Document, n *schema.Node, found *findings) {
	for _, p := range found.pairs(n, "data must be a map with the key files") {
		switch p.Key {
		case "files":
			if p.Value.Kind != schema.NodeList {
				found.errorf(p.Value.Pos, "files must be a list of paths, the most exact first")
				continue
			}
			for _, item := range p.Value.Items {
				d.layers = append(d.layers, layer{doc, item})
			}
		case "merge":
			for _, q := range found.pairs(p.Value, "merge must be a map from keys to first, deep or append") {
				if !slices.Contains(merges, q.Value.Text) {
					found.once(schema.Diagnostic{Pos: q.Value.Pos, Message: "a key is merged as first, deep or append", Suggestion: schema.Nearest(q.Value.Text, merges)})
				}
				if d.merge == nil {
					d.merge = map[string]string{}
				}
				d.merge[q.Key] = q.Value.Text
			}
		default:
			found.once(schema.Diagnostic{Pos: p.Pos, Message: "unknown key \"" + p.Key + "\" in data", Suggestion: schema.Nearest(p.Key, []string{"files", "merge"})})
		}
	}
}

// load reads the layers and merges them. ok is false where the path of a layer has a fault, or its file can't be read.
func (d *data) load(in *inputs, found *findings, pathOf func(layer) (string, bool)) (values map[string]any, ok bool) {
	values, ok = map[string]any{}, true
	for _, l := range d.layers {
		path, is := pathOf(l)
		if !is {
			ok = false
			continue
		}
		root, is := in.document(path, l.path.Pos, true, found)
		ok = ok && is
		d.read = append(d.read, readLayer{path, root})
		if root == nil {
			continue
		}
		for _, p := range found.pairs(root, "a file of data is a map") {
			v := found.literal(p.Value, "a file of data")
			if exact, there := values[p.Key]; there {
				v = mergeValues(d.merge[p.Key], exact, v)
			}
			values[p.Key] = v
		}
	}
	return values, ok
}

// mergeValues returns the value of a key that a more exact layer and a more general one have.
func mergeValues(how string, exact, general any) any {
	// Values of different shapes can't be merged: the more exact one counts.
	switch how {
	case "append":
		a, ok1 := exact.([]any)
		b, ok2 := general.([]any)
		if ok1 && ok2 {
			return append(slices.Clone(a), b...)
		}
	case "deep":
		a, ok1 := exact.(map[string]any)
		b, ok2 := general.(map[string]any)
		if ok1 && ok2 {
			out := map[string]any{}
			maps.Copy(out, b)
			for k, v := range a {
				if w, both := b[k]; both {
					v = mergeValues(how, v, w)
				}
				out[k] = v
			}
			return out
		}
	}
	return exact
}

// yaml reads a document of values, nil where there is none. optional says that a missing file is as good as an empty one.
func (g *Graph) yaml(path string, from schema.Pos, optional bool) *schema.Node {
	root, ok := g.inputs.document(path, from, optional, g.found)
	g.Lacking = g.Lacking || !ok
	return root
}
