package schema

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// maxDepth bounds how deep a value may nest where no type bounds it.
const maxDepth = 256

// NodeOf returns a value as a Node without positions: a plain value, or anything that
// EncodeAll takes. A Secret stays one: the Node prints redacted. Such a Node remembers
// the kind that each value had. So Decode does not take a number for text, as it does
// for a Node that a frontend read. Keys of maps are sorted, so equal values give equal
// nodes.
func NodeOf(v any) (*Node, error) {
	p, err := plain(v, true, 0)
	if err != nil {
		return nil, err
	}
	return nodeOf(p), nil
}

// nodeOf takes plain values only. Any other Go type panics: plain has let none through.
func nodeOf(v any) *Node {
	n := &Node{typed: true}
	switch v := v.(type) {
	case nil:
		n.typed = false
	case bool:
		n.Kind, n.of, n.Text = NodeBool, KindBool, strconv.FormatBool(v)
	case int64:
		n.Kind, n.of, n.Text = NodeInt, KindInt, strconv.FormatInt(v, 10)
	case uint64:
		n.Kind, n.of, n.Text = NodeInt, KindInt, strconv.FormatUint(v, 10)
	case float64:
		n.Kind, n.of, n.Text = NodeFloat, KindFloat, formatFloat(v)
	case string:
		n.Kind, n.of, n.Text = NodeString, KindString, v
	case Secret:
		text := v.Reveal()
		n.Kind, n.of, n.Text, n.hidden = NodeString, KindString, Redacted, &text
	case time.Duration:
		n.Kind, n.of, n.Text = NodeString, KindDuration, FormatDuration(v)
	case Size:
		n.Kind, n.of, n.Text = NodeString, KindSize, v.String()
	case Mode:
		n.Kind, n.of, n.Text = NodeString, KindMode, string(v)
	case Ref:
		n.Kind, n.of, n.Text = NodeString, KindRef, v.String()
	case []any:
		n.Kind, n.of, n.Items = NodeList, KindList, make([]*Node, len(v))
		for i, item := range v {
			n.Items[i] = nodeOf(item)
		}
	case map[string]any:
		n.Kind, n.of, n.Pairs = NodeMap, KindMap, make([]Pair, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			n.Pairs = append(n.Pairs, Pair{Key: key, Value: nodeOf(v[key])})
		}
	default:
		panic(fmt.Sprintf("schema: %T is no plain value", v))
	}
	return n
}

// formatFloat writes what parseFloat reads, in the notation of YAML. The shortest text
// is taken that reads back as the same number.
func formatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// remembered returns the value that nodeOf made n from, where the shape of n does not
// say it. It is for KindAny, where a length of time would become a text otherwise.
func (n *Node) remembered() (any, bool) {
	var v any
	var err error
	switch {
	case n.hidden != nil:
		return NewSecret(*n.hidden), true
	case !n.typed:
		return nil, false
	case n.of == KindDuration:
		v, err = ParseDuration(n.Text, "")
	case n.of == KindSize:
		v, err = ParseSize(n.Text)
	case n.of == KindMode:
		v = Mode(n.Text)
	case n.of == KindRef:
		var r Ref
		err = r.UnmarshalText([]byte(n.Text))
		v = r
	default:
		return nil, false
	}
	return v, err == nil
}
