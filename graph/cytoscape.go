package graph

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/graph/formats/cytoscapejs"
)

// WriteCytoscape draws the graph as the JSON document that Cytoscape.js loads and
// gonum's cytoscapejs.GraphNodeEdge decodes. A node's id is "n:" and the
// vertex's id, an edge's "e:" and the ids of its ends, quoted, with a
// comma between: they stay the same while the graph around them changes, and no two
// are equal. (An id that is not UTF-8, which JSON can't carry, is "q:" and the id
// quoted.) The data has label, and for edges pos where it is known. It returns the
// first error of w, or of encoding.
func (g *Graph[V]) WriteCytoscape(w io.Writer, o DrawOptions) error {
	doc := cytoscapejs.GraphNodeEdge{Style: cytoscapeStyle(&o)}
	doc.Elements.Nodes = make([]cytoscapejs.Node, 0, len(g.ids))
	doc.Elements.Edges = make([]cytoscapejs.Edge, 0)
	for i, id := range g.ids {
		doc.Elements.Nodes = append(doc.Elements.Nodes, cytoscapeNode(id, o.style(i, id)))
	}
	for e := range drawn(g, &o) {
		doc.Elements.Edges = append(doc.Elements.Edges, g.cytoscapeEdge(e))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(&doc)
}

func cytoscapeNode(id string, s Style) cytoscapejs.Node {
	data := map[string]any{}
	for key, value := range s.Attributes {
		data[key] = value
	}
	data["label"] = s.Label
	return cytoscapejs.Node{
		Data:       cytoscapejs.NodeData{ID: nodeID(id), Attributes: data},
		Selectable: true,
		Classes:    strings.Join(s.Classes, " "),
	}
}

func (g *Graph[V]) cytoscapeEdge(e Edge) cytoscapejs.Edge {
	from, to := g.ids[e.From], g.ids[e.To]
	data := map[string]any{}
	if e.Name != "" {
		data["label"] = visible(e.Name)
	}
	if place := e.Place(); place != "" {
		data["pos"] = visible(place)
	}
	return cytoscapejs.Edge{
		Data: cytoscapejs.EdgeData{
			ID:         "e:" + strconv.Quote(from) + "," + strconv.Quote(to),
			Source:     nodeID(from),
			Target:     nodeID(to),
			Attributes: data,
		},
		Selectable: true,
		Classes:    edgeClass(e),
	}
}

func nodeID(id string) string {
	if utf8.ValidString(id) {
		return "n:" + id
	}
	return "q:" + strconv.Quote(id)
}

// rule is one entry of a Cytoscape style sheet.
type rule struct {
	Selector string            `json:"selector"`
	Style    map[string]string `json:"style"`
}

// cytoscapeStyle returns the style sheet: the common part, then the edges' kinds,
// then the looks.
func cytoscapeStyle(o *DrawOptions) []any {
	sheet := []any{
		rule{"node", map[string]string{
			"label": "data(label)", "shape": "round-rectangle", "text-wrap": "wrap", "text-valign": "center",
			"width": "label", "height": "label", "padding": "8px",
			"background-color": "white", "border-width": "1px",
		}},
		rule{"edge", map[string]string{"curve-style": "bezier", "target-arrow-shape": "triangle", "width": "1px"}},
		rule{"edge[label]", map[string]string{"label": "data(label)"}},
		rule{"edge." + notifyClass, map[string]string{
			"width": "3px", "line-color": notifyColor, "target-arrow-color": notifyColor,
		}},
		rule{"edge." + impliedClass, map[string]string{
			"line-style": "dashed", "line-color": impliedColor, "target-arrow-color": impliedColor,
		}},
	}
	for class, l := range o.looks() {
		style := map[string]string{}
		for key, value := range map[string]string{"background-color": l.Fill, "border-color": l.Stroke, "color": l.Text} {
			if value != "" {
				style[key] = value
			}
		}
		sheet = append(sheet, rule{"node." + class, style})
	}
	return sheet
}
