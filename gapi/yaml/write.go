package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt/gapi"
)

// Writer writes resources as a graph that New reads, each as soon as it comes, in
// the form of Format. Those of one kind must follow each other. A hidden, read-only
// or absent value is a comment. It is called by the verbs resource and import.
// It is for one goroutine. An error of w is returned as it is, and leaves a part of a resource
// behind.
type Writer struct {
	w     io.Writer
	kind  string // of the last one
	begun bool
}

// NewWriter returns a Writer. It neither keeps more than one resource nor closes w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Add writes a resource.
// The values are those of schema.Encode. A resource is one call of w.Write.
func (w *Writer) Add(s gapi.Shown) error {
	text := notes(s)
	if !s.Absent {
		item, err := itemText(s)
		if err != nil {
			return err
		}
		text = w.place(s.Kind, text, item)
	}
	_, err := io.WriteString(w.w, text)
	return err
}

// place joins comments and an item of a graph, and leaves out lines that were
// written before.
// The head of a kind is written once, so the kinds have to come one after the other.
func (w *Writer) place(kind, comments, item string) string {
	lines := strings.SplitAfterN(item, "\n", 3) // resources:, the kind, the rest
	text := comments + lines[2]
	if !w.begun || kind != w.kind {
		text = lines[1] + text
	}
	if !w.begun {
		text = lines[0] + text
	}
	w.begun, w.kind = true, kind
	return text
}

// Close writes the one key that a graph without a resource needs. It must be called at the end.
// An empty output would not be a graph.
func (w *Writer) Close() error {
	if w.begun {
		return nil
	}
	_, err := io.WriteString(w.w, "resources: {}\n")
	return err
}

// notes tells, as comments, the values that an item can't have.
func notes(s gapi.Shown) string {
	if s.Absent {
		return fmt.Sprintf("  # %s %s is absent\n", s.Kind, strconv.Quote(s.Name))
	}
	var secret, readOnly []string
	for _, a := range s.Attrs {
		switch {
		case a.Hidden:
			secret = append(secret, a.Key)
		case a.ReadOnly:
			readOnly = append(readOnly, a.Key)
		}
	}
	text := ""
	if len(secret) > 0 {
		text = "  # secret, and left out of the next one: " + escapeMarks(strings.Join(secret, ", ")) + "\n"
	}
	if len(readOnly) > 0 {
		text += "  # read-only, and left out of the next one: " + strings.Join(readOnly, ", ") + "\n"
	}
	return text
}

// itemText writes a graph with one resource.
// Secrets and read-only values are left out, as neither can be given back.
func itemText(s gapi.Shown) (string, error) {
	item := mapping("name", textNode(s.Name))
	for _, a := range s.Attrs {
		if !a.Hidden && !a.ReadOnly {
			item.Content = append(item.Content, textNode(a.Key), node(a.Value))
		}
	}
	if meta := metaOf(s); len(meta) > 0 {
		item.Content = append(item.Content, textNode("meta"), &yaml.Node{Kind: yaml.MappingNode, Content: meta})
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{item}}
	return visibly(mapping("resources", mapping(s.Kind, list)))
}

// visibly is dumped for a reader at a terminal. The library writes the marks of direction as they are, by which a text of
// another host may read as another one: they are escaped, in double quotes.
func visibly(n *yaml.Node) (string, error) {
	quoteMarks(n)
	text, err := dumped(n)
	return escapeMarks(text), err
}

// escapeMarks escapes what could do something to a terminal, or turn a line. In a document such characters stand in double
// quotes, where the escape means the same, or in a comment.
func escapeMarks(text string) string {
	if !strings.ContainsFunc(text, isMark) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isMark(r) {
			fmt.Fprintf(&b, `\u%04X`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isMark(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// quoteMarks has the texts with a mark written in double quotes.
func quoteMarks(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && strings.ContainsFunc(n.Value, isMark) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		quoteMarks(c)
	}
}

// dumped writes a document as mgmt writes all of them.
// Lines are never folded, so a long text stays on one line, and lists stand as far in as their
// key.
func dumped(n *yaml.Node) (string, error) {
	var buf bytes.Buffer
	d, err := yaml.NewDumper(&buf, yaml.WithIndent(2), yaml.WithCompactSeqIndent(), yaml.WithLineWidth(-1))
	if err != nil {
		return "", err
	}
	err = errors.Join(d.Dump(n), d.Close())
	return buf.String(), err
}

// metaOf returns the metaparameters that give the same resource again.
// A name that begins with a dollar needs the metaparameter dollar: Build takes it for a
// forgotten variable.
func metaOf(s gapi.Shown) (meta []*yaml.Node) {
	if s.Backend != "" {
		meta = append(meta, textNode("backend"), textNode(s.Backend))
	}
	if strings.HasPrefix(s.Name, "$") {
		meta = append(meta, textNode("dollar"), scalar("!!bool", "true"))
	}
	return meta
}

// It has one pair.
func mapping(key string, value *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{textNode(key), value}}
}

func scalar(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

// textNode returns a text; the library writes text outside of UTF-8 in base64.
func textNode(s string) *yaml.Node { return scalar("!!str", s) }

// node returns a plain value. A value with a notation in text is text. The values come from
// schema.Encode; any other type is written by its notation.
func node(v any) *yaml.Node {
	switch v := v.(type) {
	case nil:
		return scalar("!!null", "null")
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	case int64:
		return scalar("!!int", strconv.FormatInt(v, 10))
	case uint64:
		return scalar("!!int", strconv.FormatUint(v, 10))
	case float64:
		return scalar("!!float", gapi.FloatText(v))
	case string:
		return textNode(v)
	case []any:
		return listNode(v)
	case map[string]any:
		return mapNode(v)
	default:
		text, _ := gapi.NotationText(v)
		return textNode(text)
	}
}

func listNode(list []any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for _, v := range list {
		n.Content = append(n.Content, node(v))
	}
	if len(list) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

// mapNode writes a map in the order of its keys, so that equal graphs give equal files.
func mapNode(m map[string]any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		n.Content = append(n.Content, textNode(key), node(m[key]))
	}
	if len(m) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}
