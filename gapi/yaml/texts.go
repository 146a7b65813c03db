package yaml

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// MapTexts returns a document in which each scalar has the text that a function returns for it. The function gets the keys on the way
// to the scalar, with numbers for the items of lists, and the text. It must not keep the list of keys. A scalar that is neither text nor
// null comes as it is written. Keys, comments and the order stay; the rest has the form that Format gives it. An equal
// text leaves the scalar as it is. The errors of the function come together, each with its place.
//
// It is called by the verbs that encrypt and decrypt files of secrets. It blocks on nothing but the function.
func MapTexts(src []byte, each func(path []string, text string) (string, error)) ([]byte, error) {
	doc, err := document(src)
	if err != nil {
		return nil, err
	}
	var ds schema.Diagnostics
	mapTexts(doc, nil, each, &ds)
	if ds.Err() != nil {
		return nil, ds
	}
	text, err := dumped(doc)
	if err != nil {
		return nil, err
	}
	out := []byte(text)
	again, err := document(out)
	if err != nil {
		return nil, err
	}
	return arranged(src, doc, out, again), nil
}

// AppendTexts returns a document with more texts in the list at a key of its map. Keys, comments and the order stay, as with MapTexts. A document
// without such a list is an error. It is called by the verb that gives files of secrets to a new host.
func AppendTexts(src []byte, key string, more ...string) ([]byte, error) {
	doc, err := document(src)
	if err != nil {
		return nil, err
	}
	list := listAt(doc, key)
	if list == nil {
		return nil, fmt.Errorf("there is no list %s", key)
	}
	for _, text := range more {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text})
	}
	text, err := dumped(doc)
	if err != nil {
		return nil, err
	}
	out := []byte(text)
	again, err := document(out)
	if err != nil {
		return nil, err
	}
	list.Content = list.Content[:len(list.Content)-len(more)] // the trees need one shape, and the new texts have no lines in src
	if at := listAt(again, key); at != nil {
		at.Content = at.Content[:len(list.Content)]
	}
	return arranged(src, doc, out, again), nil
}

// listAt returns the list at a key of the map that a document is, nil for none.
// A node of a file is a document, whose one child is the map.
func listAt(doc *yaml.Node, key string) *yaml.Node {
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i].Value == key && pairs[i+1].Kind == yaml.SequenceNode {
			return pairs[i+1]
		}
	}
	return nil
}

// mapTexts is MapTexts below a node. The loader has bounded the levels, so the recursion is bounded, too. An alias is left alone: its anchor is seen once.
func mapTexts(n *yaml.Node, path []string, each func(path []string, text string) (string, error), ds *schema.Diagnostics) {
	switch n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			mapTexts(c, path, each, ds)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			mapTexts(n.Content[i+1], append(path, n.Content[i].Value), each, ds)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			mapTexts(c, append(path, strconv.Itoa(i)), each, ds)
		}
	case yaml.ScalarNode:
		mapText(n, path, each, ds)
	}
}

// mapText is MapTexts of one scalar.
// Null has no text, so a key without a value is left alone. A faulty !!binary is an error with
// its place.
func mapText(n *yaml.Node, path []string, each func(path []string, text string) (string, error), ds *schema.Diagnostics) {
	text, fits := n.Value, true
	switch n.Tag {
	case "!!null":
		return
	case "!!binary":
		text, fits = binaryText(n)
	}
	var now string
	err := fmt.Errorf("%q does not fit its tag %s", schema.Shorten(n.Value), n.Tag)
	if fits {
		now, err = each(path, text)
	}
	switch {
	case err != nil:
		*ds = append(*ds, schema.Diagnostic{Pos: schema.Pos{Line: int32(n.Line), Col: int32(n.Column)}, Message: err.Error()})
	case now != text:
		rewrite(n, now)
	}
}

// rewrite gives a scalar another text. The tag becomes that of text: the function secret
// gives nothing else. The quotes are double, which stand in flow style, too. Several lines are easiest to edit in a block. Bytes that are
// not UTF-8 have a notation of their own.
func rewrite(n *yaml.Node, text string) {
	n.Value, n.Tag, n.Style = text, "!!str", yaml.DoubleQuotedStyle
	switch {
	case !utf8.ValidString(text):
		n.Value, n.Tag, n.Style = base64.StdEncoding.EncodeToString([]byte(text)), "!!binary", yaml.TaggedStyle
	case strings.Contains(strings.TrimRight(text, "\n"), "\n") && !strings.ContainsFunc(text, needsQuotes):
		n.Style = yaml.LiteralStyle
	}
}

// needsQuotes reports whether a block would alter a character: YAML has other ends of lines
// than \n.
func needsQuotes(r rune) bool {
	return r != '\n' && r != '\t' && r != ' ' && (unicode.IsSpace(r) || unicode.IsControl(r) || r == '\ufeff')
}
