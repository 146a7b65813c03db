package puppet

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Makers of nodes.

// textNode makes a text with the position of the resource, which findings about it show.
func textNode(pos schema.Pos, s string) *schema.Node {
	return &schema.Node{Kind: schema.NodeString, Pos: pos, Text: s}
}

// boolNode makes a boolean.
// The text is true or false.
func boolNode(pos schema.Pos, b bool) *schema.Node {
	return &schema.Node{Kind: schema.NodeBool, Pos: pos, Text: strconv.FormatBool(b)}
}

// intNode makes a whole number.
func intNode(pos schema.Pos, i int) *schema.Node { return numberNode(pos, strconv.Itoa(i)) }

// numberNode makes a node of digits.
func numberNode(pos schema.Pos, digits string) *schema.Node {
	return &schema.Node{Kind: schema.NodeInt, Pos: pos, Text: digits}
}

// textsNode makes a list of texts.
// The order stays.
func textsNode(pos schema.Pos, texts []string) *schema.Node {
	n := &schema.Node{Kind: schema.NodeList, Pos: pos}
	for _, s := range texts {
		n.Items = append(n.Items, textNode(pos, s))
	}
	return n
}

// isScalar reports whether a node is text, a number or a boolean.
func isScalar(n *schema.Node) bool {
	switch n.Kind {
	case schema.NodeString, schema.NodeInt, schema.NodeFloat, schema.NodeBool:
		return true
	default:
		return false
	}
}

// asList returns the items of a list, or a value as the only one. An undef is none,
// and an undef in a list is left out, as Puppet does.
func asList(n *schema.Node) []*schema.Node {
	switch n.Kind {
	case schema.NodeNull:
		return nil
	case schema.NodeList:
		var all []*schema.Node
		for _, item := range n.Items {
			all = append(all, asList(item)...)
		}
		return all
	default:
		return []*schema.Node{n}
	}
}

// jsonOf writes a value as JSON.
// It has a blank behind commas and colons, as people write it. Keys keep their order.
func jsonOf(n *schema.Node) string {
	switch n.Kind {
	case schema.NodeNull:
		return "null"
	case schema.NodeString:
		return jsonText(n.Text)
	case schema.NodeList:
		items := make([]string, len(n.Items))
		for i, item := range n.Items {
			items[i] = jsonOf(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case schema.NodeMap:
		pairs := make([]string, len(n.Pairs))
		for i, p := range n.Pairs {
			pairs[i] = jsonText(p.Key) + ": " + jsonOf(p.Value)
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	default:
		return n.Text
	}
}

// jsonText writes a text as JSON, with < and & as they are.
func jsonText(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // text can be written
	return strings.TrimSuffix(b.String(), "\n")
}

// describe names a value in a message, in the words of Puppet.
func describe(n *schema.Node) string {
	if n.Kind == schema.NodeMap {
		return "a hash"
	}
	return n.Describe()
}

// quote shows a text in a message, cut to a bounded length.
// Control characters are escaped, so that a value can't write lines of its own.
func quote(s string) string { return strconv.Quote(schema.Shorten(s)) }

// oneOf lists words for a message.
func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}
