package yaml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
	"github.com/reactivegraph/mgmt/gapi/words"
)

// part is what one file says.
// It is made by one reading and belongs to its goroutine. The cache may keep it for the next
// reading, so its kept lists are never altered in place: compute and cutEdges copy them.
type part struct {
	file    string
	name    string
	comment string
	noop    bool
	// The tree of the document, while it is read; nil after that, so that its memory is free.
	root      *schema.Node
	includes  []include
	kinds     []gapi.KindDecl
	resources []gapi.Declaration
	edges     []gapi.EdgeDecl
	collects  []gapi.CollectDecl
	items     []*schema.Node   // of the resources, for the next reading; of a file that computes
	before    *readItems       // of the reading before; nil for none
	graph     *expand.Graph    // that has computed it; nil for a file that does not compute
	rest      []byte           // of a text that was parsed in pieces: see outline
	pieces    cuts             // of the same
	doc       *expand.Document // of a file that computes, which has nothing else but problems

	// The findings, while it is read; problems has them all in the end.
	found      schema.Findings
	problems   schema.Diagnostics
	unreadable bool // problems say why there is nothing else
}

// include is one entry of the key include.
// The path is as it was written, relative to the folder of the file.
type include struct {
	path string
	pos  schema.Pos
}

// readPart makes a part of a source that may have so many resources. No finding shows the text
// of a private file without the form of a graph. The resources are counted before the text is
// parsed. So a graph with far too many is refused at the cost of its text.
func readPart(file string, src []byte, most int, private bool) *part {
	if at := overfull(src, most); at >= 0 {
		return &part{file: file, problems: schema.Diagnostics{gapi.TooMany(posAt(file, src, at), most)}, unreadable: true}
	}
	p := read(file, src, marksOf(most))
	switch {
	case !private:
	case p.root == nil:
		p.problems = discreet(p.problems)
	case !isGraph(p.root):
		p = &part{file: file, problems: gapi.Unshown(file, "graph"), unreadable: true}
	}
	p.root = nil
	return p
}

// discreet returns the parser's findings about a private file that it could not read. An anchor
// is all that it repeats of a text.
func discreet(ds schema.Diagnostics) schema.Diagnostics {
	for i := range ds {
		if strings.HasPrefix(ds[i].Message, noAnchor) {
			ds[i].Message = "no anchor of this name stands before this alias"
		}
	}
	return ds
}

// read makes a part of a source that may have so many marks.
func read(file string, src []byte, marks int) *part {
	p := &part{file: file}
	// A second try, after the pieces did not fit, begins with an empty part: see parseGraph.
	edges := func() taker { p = &part{file: file}; return p }
	if mayCompute(src) {
		edges = func() taker { return nil } // they may have expressions
	}
	root, bad := parseGraph(file, src, marks, edges)
	if root == nil {
		p.problems, p.unreadable = bad, true
		return p
	}
	p.root = root
	// A module and a file of tests are recognised before their keys are taken for unknown ones.
	if said := mistaken(file, root); said != "" {
		p.errorf(root.Pos, "%s", said)
		p.problems, p.unreadable = append(bad, p.found.All()...), true
		return p
	}
	if root.Kind == schema.NodeMap && computes(src, root) {
		// Such a document is read once more when its expressions have values: see compute.
		p.doc = &expand.Document{File: file, Src: src, Root: root}
		p.problems = bad
		return p
	}
	p.document(root)
	var all schema.Findings
	all.Add(bad...)
	all.Add(beyond(bad, p.found.All())...)
	p.problems = all.All()
	return p
}

// beyond returns the findings at other places than those before.
// One fault often makes others at its place, and the first finding is the cause. A finding that
// stands for many others stays.
func beyond(before, found schema.Diagnostics) schema.Diagnostics {
	at := make(map[schema.Pos]bool, len(before))
	for _, d := range before {
		at[d.Pos] = true
	}
	return slices.DeleteFunc(found, func(d schema.Diagnostic) bool { return d.More == 0 && at[d.Pos] })
}

func (p *part) errorf(pos schema.Pos, format string, args ...any) {
	p.found.Errorf(pos, format, args...)
}

// unknown reports a key that is none of those known.
func (p *part) unknown(pair schema.Pair, where string, known ...string) {
	p.found.Add(schema.Diagnostic{
		Pos: pair.Pos, Message: fmt.Sprintf("unknown key %q%s", schema.Shorten(pair.Key), where),
		Suggestion: schema.Nearest(pair.Key, known),
	})
}

// isGraph recognises a graph.
var isGraph = gapi.HasKey(topKeys...)

var topKeys = []string{"graph", "comment", "noop", "include", "resources", "edges", "collect"}

// document reads the top of a graph file. A file of another tool is recognised and named,
// since a list of unknown keys would help its author less.
// Each key is read, whatever the faults of the others are.
func (p *part) document(root *schema.Node) {
	if root.Kind == schema.NodeList && slices.ContainsFunc(root.Items, isPlay) {
		p.errorf(root.Pos, "a graph is a map with the key resources, not a playbook of Ansible: each task is a resource there")
		p.unreadable = true
		return
	}
	if root.Kind != schema.NodeMap {
		p.errorf(root.Pos, "a graph is a map with the key resources, not %s", root.Describe())
		p.unreadable = true
		return
	}
	for _, pair := range root.Pairs {
		v := pair.Value
		switch pair.Key {
		case "graph":
			p.name = p.text(v, "graph")
		case "comment":
			p.comment = p.remark(v)
		case "noop":
			p.noop = p.boolean(v, "noop")
		case "include":
			p.includeList(v)
		case "resources":
			p.kindMap(v)
		case "edges":
			p.edgeList(v)
		case "collect":
			p.collectList(v)
		default:
			p.foreign(pair)
		}
	}
}

// foreign reports a key at the top that is none of ours. What another tool means by it is
// said, where the table of words has it.
func (p *part) foreign(pair schema.Pair) {
	const where = " at the top of a graph"
	if w := words.Top(pair.Key); w != nil {
		p.errorf(pair.Pos, "unknown key %q%s: %s", schema.Shorten(pair.Key), where, w.Note)
		return
	}
	if state := saltState(pair.Value); state != "" {
		p.errorf(pair.Pos, "unknown key %q%s: a state of Salt is a resource, below resources: %s: [{name: ...}]", schema.Shorten(pair.Key), where, state)
		return
	}
	p.unknown(pair, where, topKeys...)
}

// isPlay reports whether an item is a play, or a task, of Ansible.
// A word of the table counts if its Tools have an a, which stands for Ansible.
func isPlay(n *schema.Node) bool {
	return n.Get("hosts") != nil || n.Get("tasks") != nil || slices.ContainsFunc(n.Pairs, func(p schema.Pair) bool {
		w := words.Kind(p.Key)
		return w != nil && strings.Contains(w.Tools, "a")
	})
}

// saltState returns the function of Salt that a value names, as in nginx: {pkg.installed: []}.
func saltState(n *schema.Node) string {
	var names []string
	for _, p := range n.Pairs {
		names = append(names, p.Key)
	}
	for _, i := range n.Items {
		names = append(names, i.Text)
	}
	for _, name := range names {
		if w := words.Kind(name); w != nil && strings.Contains(name, ".") && !w.Refused() {
			return w.Name()
		}
	}
	return ""
}

// text reads a name. Whatever is written there is the name, as in every text:
// true, 1.10 and 0644 too.
func (p *part) text(n *schema.Node, what string) string {
	switch n.Kind {
	case schema.NodeList, schema.NodeMap:
		p.errorf(n.Pos, "%s must be text, not %s", what, n.Describe())
	case schema.NodeNull:
		hint := ""
		if n.Text != "" {
			hint = "; if " + n.Text + " is the text, put it in quotes"
		}
		p.errorf(n.Pos, "%s must be text, there is nothing%s", what, hint)
	default:
		return n.Text
	}
	return ""
}

// remark reads a comment, which may be nothing.
func (p *part) remark(n *schema.Node) string {
	if n.Kind == schema.NodeNull {
		return ""
	}
	return p.text(n, "a comment")
}

// boolean reads the values of a boolean parameter: yes and no, too.
// It is false after a finding.
func (p *part) boolean(n *schema.Node, what string) (yes bool) {
	if schema.Decode(n, &yes).Err() != nil {
		hint := ""
		if n.Quoted {
			hint = "; leave out the quotes"
		}
		p.errorf(n.Pos, "%s must be true or false, not %s%s", what, n.Describe(), hint)
	}
	return yes
}

// listOf returns the items of a list; null is an empty one.
func (p *part) listOf(n *schema.Node, what string) []*schema.Node {
	switch n.Kind {
	case schema.NodeList:
		return n.Items
	case schema.NodeNull:
	default:
		p.errorf(n.Pos, "%s, not %s", what, n.Describe())
	}
	return nil
}

// mapOf returns the pairs of a map; null is an empty one.
func (p *part) mapOf(n *schema.Node, what string) []schema.Pair {
	switch n.Kind {
	case schema.NodeMap:
		return n.Pairs
	case schema.NodeNull:
	default:
		p.errorf(n.Pos, "%s, not %s", what, n.Describe())
	}
	return nil
}

// includeList reads one path or a list of them.
// Whether a path exists is not looked at here.
func (p *part) includeList(n *schema.Node) {
	items := []*schema.Node{n}
	if n.Kind != schema.NodeString {
		items = p.listOf(n, "include must be a list of paths")
	}
	for _, item := range items {
		if item.Kind != schema.NodeString || item.Text == "" {
			p.errorf(item.Pos, "include takes paths, not %s", item.Describe())
			continue
		}
		p.includes = append(p.includes, include{item.Text, item.Pos})
	}
}

// kindMap reads the resources of each kind. A broken one is a finding, and the others are
// read.
func (p *part) kindMap(n *schema.Node) {
	for _, pair := range p.mapOf(n, "resources must be a map from kinds to lists of resources") {
		p.kinds = append(p.kinds, gapi.KindDecl{Kind: pair.Key, Pos: pair.Pos})
		items := p.listOf(pair.Value, pair.Key+" must be a list of resources, each beginning with \"- name:\"")
		p.resources = slices.Grow(p.resources, len(items))
		// The nodes are kept for the next reading: see keep.
		if p.graph != nil {
			p.items = slices.Grow(p.items, len(items))
		}
		for _, item := range items {
			p.resource(pair, item)
		}
	}
}
