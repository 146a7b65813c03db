package expand

import (
	"maps"
	"path/filepath"
	"slices"

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

// Source is a value of data in one layer.
type Source struct {
	Path    string
	Missing bool       // there is no such file
	Pos     schema.Pos // of the key; zero where the layer does not have it
	Value   any
}

// DataKeys returns the keys of the data, in order. It is called after Start.
func (g *Graph) DataKeys() []string { return sortedKeys(g.names["data"].(map[string]any)) }

// ExplainData returns what each layer says of a key, the most exact first, how the layers are merged there, and the value that comes of it.
// It is called after Start. Modules have data of their own, which are not asked.
func (g *Graph) ExplainData(key string) (sources []Source, how string, value any) {
	for _, l := range g.read {
		s := Source{Path: l.path, Missing: l.root == nil}
		if l.root != nil && l.root.Kind == schema.NodeMap {
			for _, p := range l.root.Pairs {
				if p.Key == key {
					s.Pos, s.Value = p.Pos, g.literal(p.Value, "a file of data")
				}
			}
		}
		sources = append(sources, s)
	}
	if how = g.merge[key]; how == "" {
		how = merges[0]
	}
	return sources, how, g.names["data"].(map[string]any)[key]
}

// merges are the ways in which a key of several layers becomes one value.
var merges = []string{"first", "deep", "append"}

// declareData reads the key data of a document.
func (g *Graph) declareData(d *Document, n *schema.Node) {
	for _, p := range g.pairs(n, "data must be a map with the key files") {
		switch p.Key {
		case "files":
			if p.Value.Kind != schema.NodeList {
				g.errorf(p.Value.Pos, "files must be a list of paths, the most exact first")
				continue
			}
			for _, item := range p.Value.Items {
				g.layers = append(g.layers, layer{d, item})
			}
		case "merge":
			for _, q := range g.pairs(p.Value, "merge must be a map from keys to first, deep or append") {
				if !slices.Contains(merges, q.Value.Text) {
					g.add(schema.Diagnostic{Pos: q.Value.Pos, Message: "a key is merged as first, deep or append", Suggestion: schema.Nearest(q.Value.Text, merges)})
				}
				g.merge[q.Key] = q.Value.Text
			}
		default:
			g.add(schema.Diagnostic{Pos: p.Pos, Message: "unknown key \"" + p.Key + "\" in data", Suggestion: schema.Nearest(p.Key, []string{"files", "merge"})})
		}
	}
}

// readData reads the layers and merges them. A file that is not there is an empty layer.
func (g *Graph) readData() map[string]any {
	// The first layer that has a key decides, unless the key is merged.
	data := map[string]any{}
	for _, l := range g.layers {
		n, ok := g.top().needed(l.path, "a path of data.files")
		if !ok {
			g.Lacking = true
			continue
		}
		path := n.Text
		if !filepath.IsAbs(path) {
			path = filepath.Join(l.doc.Dir, path)
		}
		root := g.yaml(path, l.path.Pos, true)
		g.read = append(g.read, readLayer{path, root})
		if root == nil {
			continue
		}
		for _, p := range g.pairs(root, "a file of data is a map") {
			v := g.literal(p.Value, "a file of data")
			if below, there := data[p.Key]; !there {
				data[p.Key] = v
			} else {
				data[p.Key] = mergeValues(g.merge[p.Key], below, v)
			}
		}
	}
	return data
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
