package puppet

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// The keys of rich data: a value that JSON has no form for is a hash with them.
const (
	// They are those of Puppet's rich data in catalogs.
	richType  = "__ptype"
	richValue = "__pvalue"
)

// richReader turns one parameter into a plain value.
// It is for one parameter. The first fault stays, and later ones are not told.
type richReader struct {
	at     schema.Pos // where the value is said to be
	secret bool       // some of it is sensitive

	// The obstacle, if there is one: that it is broken, or why it can't be
	// expressed.
	err     error
	foreign string
}

// plain returns a value without rich data. It takes the tree over: places in it
// become that of the resource.
// The tree's depth is bounded by the reader of JSON.
func (r *richReader) plain(n *schema.Node) *schema.Node {
	n.Pos = r.at
	switch {
	case n.Kind == schema.NodeList:
		for i, item := range n.Items {
			n.Items[i] = r.plain(item)
		}
	case n.Kind == schema.NodeMap && n.Get(richType) != nil:
		return r.rich(n.Get(richType), n.Get(richValue))
	case n.Kind == schema.NodeMap:
		for i := range n.Pairs {
			n.Pairs[i].Pos = r.at
			n.Pairs[i].Value = r.plain(n.Pairs[i].Value)
		}
	}
	return n
}

// rich returns the plain form of a value of some type.
// A value with a text of its own, such as a Regexp or a Timestamp, becomes that text. A value
// that only Puppet can compute is foreign.
func (r *richReader) rich(typ, v *schema.Node) *schema.Node {
	if v == nil {
		v = &schema.Node{}
	}
	switch typ.Text {
	case "Sensitive":
		r.secret = true
		return r.plain(v)
	case "Binary":
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(v.Text), ""))
		if err != nil {
			r.fail(errors.New("a Binary that is not base64"))
		}
		return textNode(r.at, string(raw))
	case "Hash":
		return r.hash(v)
	case "Default":
		return textNode(r.at, "default")
	case "Regexp", "Timespan", "Timestamp", "SemVer", "SemVerRange", "URI", "Symbol":
		if v.Kind != schema.NodeString {
			r.fail(fmt.Errorf("a %s is text, not %s", typ.Text, describe(v)))
		}
		return textNode(r.at, v.Text)
	case "Deferred":
		r.foreign = "a Deferred value is what a function of Puppet returns when the catalog is applied, and mgmt has none of them"
	case "LocalRef":
		r.foreign = "a reference to another part of the value (LocalRef) is not supported"
	default:
		r.foreign = fmt.Sprintf("a value of the type %s has no meaning here", schema.Shorten(typ.Text))
	}
	return &schema.Node{Pos: r.at}
}

// hash reads a hash with keys of any type: a list of keys and values.
// Keys become texts, so 1 and '1' are one key, which is a fault.
func (r *richReader) hash(v *schema.Node) *schema.Node {
	n := &schema.Node{Kind: schema.NodeMap, Pos: r.at}
	if v.Kind != schema.NodeList || len(v.Items)%2 != 0 {
		r.fail(errors.New("a Hash must be a list of keys and values"))
		return n
	}
	seen := make(map[string]bool, len(v.Items)/2)
	for i := 0; i < len(v.Items); i += 2 {
		key := r.plain(v.Items[i])
		if !isScalar(key) {
			r.fail(fmt.Errorf("a key must be text or a number, not %s", describe(key)))
			return n
		}
		if seen[key.Text] {
			r.fail(errors.New("a Hash has a key twice"))
			return n
		}
		seen[key.Text] = true
		n.Pairs = append(n.Pairs, schema.Pair{Key: key.Text, Pos: r.at, Value: r.plain(v.Items[i+1])})
	}
	return n
}

// fail keeps the first error: the later ones follow from it.
func (r *richReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
