// Package strictjson reads JSON that programs write, and refuses what encoding/json would
// put right without a word. It keeps no state and does no I/O.
package strictjson

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
)

// Parse reads a text that is one JSON value: an int64 or a float64 for a number, and
// else as encoding/json has it. All that it would put right without a word, so that two
// names become one or a value another, is an error: text that is no UTF-8, half of a
// surrogate pair, a key that is there twice. Errors repeat nothing of the text: it may
// hold what is secret.
// The text may have any length and any depth that jsonnode takes. Callers give it the
// output of a program that they have run.
func Parse(text []byte) (any, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is no UTF-8")
	}
	n, found := jsonnode.Parse(text, jsonnode.Options{Strict: true, Quiet: true, Rest: "it is more than one value", Values: len(text)})
	if len(found) > 0 {
		return nil, errors.New(found[0].Message)
	}
	return value(n)
}

// value returns what a tree says.
// Numbers beyond 64 bits are an error, since they would lose digits.
func value(n *schema.Node) (any, error) {
	switch n.Kind {
	case schema.NodeBool:
		return n.Text == "true", nil
	case schema.NodeInt, schema.NodeFloat:
		return number(json.Number(n.Text))
	case schema.NodeString:
		return n.Text, nil
	case schema.NodeList:
		return list(n)
	case schema.NodeMap:
		return object(n)
	}
	return nil, nil
}

// An empty list is an empty slice and not nil, so it stays a list when it is written
// again.
func list(n *schema.Node) (any, error) {
	out := make([]any, len(n.Items))
	for i, item := range n.Items {
		var err error
		if out[i], err = value(item); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Keys are there once: the parser has refused a second one.
func object(n *schema.Node) (any, error) {
	out := make(map[string]any, len(n.Pairs))
	for _, p := range n.Pairs {
		var err error
		if out[p.Key], err = value(p.Value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A whole number beyond 64 bits would lose digits as a float, so it is an error. A number
// with a point or an exponent is a float.
func number(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil || !strings.ContainsAny(n.String(), ".eE") {
		return nil, errors.New("a number is too large")
	}
	return f, nil
}

// IsText reports whether all text in a value that JSON has a form for is UTF-8.
func IsText(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !IsText(x) })
	case map[string]any:
		for k, x := range v {
			if !IsText(k) || !IsText(x) {
				return false
			}
		}
	}
	return true
}
