package model

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
)

// quickNode is jsonnode.Parse without positions, for records, which mostly are what encode wrote: a list of many objects
// spends most of its time here. It returns nil for every text that is not plainly right; jsonnode judges those.
func quickNode(text []byte) *schema.Node {
	if !utf8.Valid(text) {
		return nil
	}
	q := quick{text: text}
	n := q.value(0)
	if q.space(); n == nil || q.at != len(text) {
		return nil
	}
	return n
}

// quick reads on at a place in a text. It has no messages: a failure is nil, and jsonnode finds the fault and its place.
// It copies all that it keeps, so that the text of a World can be reused.
type quick struct {
	text []byte
	at   int
}

// space skips white space, and returns the next byte, 0 at the end.
func (q *quick) space() byte {
	for ; q.at < len(q.text); q.at++ {
		if c := q.text[q.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

// value reads one value; nil is a failure. Numbers keep their notation, and json.Valid judges it.
func (q *quick) value(depth int) *schema.Node {
	switch c := q.space(); {
	case depth > jsonnode.MaxLevels-1:
		return nil
	case c == '{':
		return q.object(depth)
	case c == '[':
		return q.list(depth)
	case c == '"':
		if s, ok := q.str(); ok {
			return &schema.Node{Kind: schema.NodeString, Text: s}
		}
		return nil
	}
	begin := q.at
	for q.at < len(q.text) && bytes.IndexByte([]byte(",]} \t\r\n"), q.text[q.at]) < 0 {
		q.at++
	}
	word := q.text[begin:q.at]
	if !json.Valid(word) {
		return nil
	}
	n := &schema.Node{Kind: schema.NodeInt, Text: string(word)}
	switch {
	case word[0] == 'n':
		return &schema.Node{}
	case word[0] == 't' || word[0] == 'f':
		n.Kind = schema.NodeBool
	case bytes.ContainsAny(word, ".eE"):
		n.Kind = schema.NodeFloat
	}
	return n
}

// str reads a text. One with an escape goes through encoding/json.
func (q *quick) str() (string, bool) {
	begin, escaped := q.at, false
	for q.at++; q.at < len(q.text); q.at++ {
		switch c := q.text[q.at]; {
		case c == '"':
			q.at++
			if !escaped {
				return string(q.text[begin+1 : q.at-1]), true
			}
			var s string
			err := json.Unmarshal(q.text[begin:q.at], &s)
			return s, err == nil
		case c == '\\':
			escaped = true
			q.at++
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

// object reads an object. A key that comes twice is a failure.
func (q *quick) object(depth int) *schema.Node {
	n := &schema.Node{Kind: schema.NodeMap}
	q.at++
	if q.space() == '}' {
		q.at++
		return n
	}
	for {
		if q.space() != '"' {
			return nil
		}
		key, ok := q.str()
		if !ok || n.Get(key) != nil || q.space() != ':' {
			return nil
		}
		q.at++
		v := q.value(depth + 1)
		if v == nil {
			return nil
		}
		n.Pairs = append(n.Pairs, schema.Pair{Key: key, Value: v})
		switch q.space() {
		case '}':
			q.at++
			return n
		case ',':
			q.at++
		default:
			return nil
		}
	}
}

// list reads an array.
func (q *quick) list(depth int) *schema.Node {
	n := &schema.Node{Kind: schema.NodeList}
	q.at++
	if q.space() == ']' {
		q.at++
		return n
	}
	for {
		v := q.value(depth + 1)
		if v == nil {
			return nil
		}
		n.Items = append(n.Items, v)
		switch q.space() {
		case ']':
			q.at++
			return n
		case ',':
			q.at++
		default:
			return nil
		}
	}
}
