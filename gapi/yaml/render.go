package yaml

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Rendering says how Render writes a graph.
type Rendering struct {
	// IsSecret reports whether the type of a parameter is a secret, or has one in it; nil where types are not known. Values that were
	// computed from a secret, and parameters that are marked as one, are hidden without it.
	IsSecret func(d *gapi.Declaration, key string) bool

	Positions bool // each resource has a comment with its place
	Whole     bool // nothing is hidden: the document stands for the graph elsewhere
}

// Render writes a graph as a document without expressions that New reads as the same graph. The kinds come in the order in which they first
// appear. A secret is left out, and a comment says so; so such a document is another graph. It is called by a verb.
// The texts are escaped, so characters that begin an expression stay characters. It holds the
// text of one resource at a time, and returns the errors of w.
func Render(w io.Writer, d *gapi.Declared, o Rendering) error {
	top := &yaml.Node{Kind: yaml.MappingNode}
	for _, p := range []struct{ key, text string }{{"graph", d.Name}, {"comment", d.Comment}} {
		if p.text != "" {
			top.Content = append(top.Content, textNode(p.key), textNode(escaped(p.text)))
		}
	}
	if d.Noop {
		top.Content = append(top.Content, textNode("noop"), scalar("!!bool", "true"))
	}
	if err := writeNode(w, top); err != nil {
		return err
	}
	if err := o.resources(w, d); err != nil {
		return err
	}
	rest := &yaml.Node{Kind: yaml.MappingNode}
	if len(d.Edges) > 0 {
		rest.Content = append(rest.Content, textNode("edges"), edgesNode(d.Edges))
	}
	if len(d.Collects) > 0 {
		rest.Content = append(rest.Content, textNode("collect"), collectsNode(d.Collects))
	}
	return writeNode(w, rest)
}

// writeNode writes a map with anything in it.
func writeNode(w io.Writer, n *yaml.Node) error {
	if len(n.Content) == 0 {
		return nil
	}
	text, err := visibly(n)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return err
}

// resources writes the resources, by their kinds.
// Resources of one kind are written together, in their order.
func (o Rendering) resources(w io.Writer, d *gapi.Declared) error {
	var kinds []string
	byKind := map[string][]*gapi.Declaration{}
	for i := range d.Resources {
		r := &d.Resources[i]
		if byKind[r.Kind] == nil {
			kinds = append(kinds, r.Kind)
		}
		byKind[r.Kind] = append(byKind[r.Kind], r)
	}
	out := NewWriter(w)
	for _, kind := range kinds {
		for _, r := range byKind[kind] {
			item, hidden := o.item(r)
			text, err := visibly(mapping("resources", mapping(kind, &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{item}})))
			if err != nil {
				return err
			}
			if _, err := io.WriteString(w, out.place(kind, o.comments(r, hidden), text)); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

// comments says about a resource the things that its item can't.
func (o Rendering) comments(r *gapi.Declaration, hidden []string) string {
	text := ""
	if o.Positions && !r.Pos.IsZero() {
		text = fmt.Sprintf("  # %s\n", strings.ReplaceAll(r.Pos.String(), "\n", " "))
	}
	if len(hidden) > 0 {
		text += "  # secret, and left out of the next one: " + strings.Join(hidden, ", ") + "\n"
	}
	return escapeMarks(text)
}

// item returns the item of a resource, and the parameters that it leaves out.
// Three things hide a parameter: the metaparameter secret, a value that was already redacted,
// and the type by IsSecret.
func (o Rendering) item(r *gapi.Declaration) (item *yaml.Node, hidden []string) {
	item = mapping("name", textNode(escaped(r.Name)))
	add := func(key string, v *yaml.Node) { item.Content = append(item.Content, textNode(key), v) }
	if r.Value != nil {
		marks := markedKeys(r.Meta)
		for _, p := range r.Value.Pairs {
			if !o.Whole && (slices.Contains(marks, paramOf(p.Key)) || isHidden(p.Value) || o.IsSecret != nil && o.IsSecret(r, p.Key)) {
				hidden = append(hidden, p.Key)
				continue
			}
			add(p.Key, blockOf(p.Value))
		}
	}
	if r.Meta != nil && len(r.Meta.Pairs) > 0 {
		add("meta", blockOf(r.Meta))
	}
	for i, w := range r.Recv { // the wires of a formula stand one after the other
		switch {
		case w.Formula == nil || i > 0 && r.Recv[i-1].Formula == w.Formula:
		case !o.Whole && (slices.Contains(markedKeys(r.Meta), paramOf(w.Field)) || o.IsSecret != nil && o.IsSecret(r, paramOf(w.Field))):
			hidden = append(hidden, w.Field)
		case w.Source == nil:
			item.HeadComment = strings.TrimPrefix(item.HeadComment+"\n", "\n") + "# " + w.Field + " is computed when it is sent, and left out here: " + oneLine(w.Formula.Text)
		default:
			add(w.Field, written(w.Source))
		}
	}
	if slices.ContainsFunc(r.Recv, func(w gapi.RecvDecl) bool { return w.Formula == nil }) {
		recv := &yaml.Node{Kind: yaml.MappingNode}
		for _, w := range r.Recv {
			if w.Formula != nil {
				continue
			}
			recv.Content = append(recv.Content, textNode(w.Field), textNode(escaped(w.From.String())))
		}
		add("recv", recv)
	}
	for _, l := range []struct {
		key  string
		refs []gapi.RefDecl
	}{{"before", r.Before}, {"depend", r.Depend}, {"notify", r.Notify}, {"listen", r.Listen}} {
		if len(l.refs) > 0 {
			list := &yaml.Node{Kind: yaml.SequenceNode}
			for _, ref := range l.refs {
				list.Content = append(list.Content, textNode(escaped(ref.Ref.String())))
			}
			add(l.key, list)
		}
	}
	return item, hidden
}

// oneLine writes a text on one line, for a comment of YAML: a second line would be no comment.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\\n")
}

// written returns a parameter with sent values in block style. Its expressions stay, so a rendered graph computes it, too.
func written(n *schema.Node) *yaml.Node {
	out := nodeOf(n)
	blocks(out)
	return out
}

// blocks has a tree written in block style.
func blocks(n *yaml.Node) {
	for _, c := range n.Content {
		blocks(c)
	}
	if len(n.Content) > 0 {
		n.Style = 0
	}
}

// paramOf returns the parameter that a path such as env.PASSWORD begins with.
func paramOf(path string) string {
	if i := strings.IndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return path
}

// markedKeys returns the parameters that the metaparameter secret names, as one text or as a
// list. Without metaparameters it returns nothing.
func markedKeys(meta *schema.Node) (keys []string) {
	n := meta.Get("secret")
	if n == nil {
		return nil
	}
	for _, item := range append(slices.Clone(n.Items), n) {
		if item.Kind == schema.NodeString {
			keys = append(keys, paramOf(item.Text))
		}
	}
	return keys
}

// isHidden reports whether a value has a text that is not shown.
func isHidden(n *schema.Node) bool {
	return n.Text == schema.Redacted || slices.ContainsFunc(n.Items, isHidden) ||
		slices.ContainsFunc(n.Pairs, func(p schema.Pair) bool { return isHidden(p.Value) })
}

// blockOf returns a node of the library in block style. An empty list and an empty map have no such style.
func blockOf(n *schema.Node) *yaml.Node {
	out := nodeOf(n)
	inBlocks(out)
	return out
}

func inBlocks(n *yaml.Node) {
	for _, c := range n.Content {
		inBlocks(c)
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!str":
		n.Value = escaped(n.Value)
	case len(n.Content) > 0:
		n.Style = 0
	}
}

// escaped writes characters that begin an expression so that they do not.
func escaped(text string) string { return strings.ReplaceAll(text, expr.Open, expr.Escaped) }

// edgesNode returns the list of edges.
func edgesNode(edges []gapi.EdgeDecl) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, e := range edges {
		n := &yaml.Node{Kind: yaml.MappingNode}
		if e.Name != "" {
			n.Content = append(n.Content, textNode("name"), textNode(escaped(e.Name)))
		}
		n.Content = append(n.Content, textNode("from"), textNode(escaped(e.From.Ref().String())), textNode("to"), textNode(escaped(e.To.Ref().String())))
		if e.Notify {
			n.Content = append(n.Content, textNode("notify"), scalar("!!bool", "true"))
		}
		list.Content = append(list.Content, n)
	}
	return list
}

// collectsNode returns the list of the resources that a graph takes over from other hosts. A rendered graph takes them over, too.
func collectsNode(collects []gapi.CollectDecl) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, c := range collects {
		n := mapping("kind", textNode(c.Kind))
		for _, p := range []struct{ key, text string }{{"name", c.Name}, {"from", c.From}} {
			if p.text != "" {
				n.Content = append(n.Content, textNode(p.key), textNode(escaped(p.text)))
			}
		}
		if c.Set != nil {
			n.Content = append(n.Content, textNode("set"), blockOf(c.Set))
		}
		if len(c.Fields) > 0 {
			fields := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, key := range c.Fields {
				fields.Content = append(fields.Content, textNode(escaped(key)))
			}
			n.Content = append(n.Content, textNode("fields"), fields)
		}
		list.Content = append(list.Content, n)
	}
	return list
}
