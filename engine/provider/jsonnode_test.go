package provider_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// jsonNode reads JSON as a tree with positions, as a frontend would.
func jsonNode(file, src string) (*schema.Node, error) {
	r := &jsonReader{file: file, src: src, dec: json.NewDecoder(strings.NewReader(src))}
	r.dec.UseNumber()
	return r.value(0)
}

type jsonReader struct {
	file, src string
	dec       *json.Decoder
}

func (r *jsonReader) next() (json.Token, schema.Pos, error) {
	at := int(r.dec.InputOffset())
	for at < len(r.src) && strings.IndexByte(" \t\r\n,:", r.src[at]) >= 0 {
		at++
	}
	tok, err := r.dec.Token()
	line := strings.Count(r.src[:at], "\n")
	col := at - strings.LastIndexByte(r.src[:at], '\n')
	return tok, schema.Pos{File: r.file, Line: int32(line + 1), Col: int32(col)}, err
}

func (r *jsonReader) value(depth int) (*schema.Node, error) {
	tok, pos, err := r.next()
	if err != nil || depth > 50 {
		return nil, fmt.Errorf("at %s: %v", pos, err)
	}
	n := &schema.Node{Pos: pos, Text: fmt.Sprint(tok)}
	switch tok := tok.(type) {
	case json.Delim:
		return n, r.inside(n, tok, depth)
	case string:
		n.Kind = schema.NodeString
	case bool:
		n.Kind = schema.NodeBool
	case json.Number:
		n.Kind = schema.NodeInt
		if bytes.ContainsAny([]byte(tok), ".eE") {
			n.Kind = schema.NodeFloat
		}
	default:
		n.Text = ""
	}
	return n, nil
}

func (r *jsonReader) inside(n *schema.Node, open json.Delim, depth int) error {
	n.Kind, n.Text = schema.NodeList, ""
	if open == '{' {
		n.Kind = schema.NodeMap
	}
	for r.dec.More() {
		var pair schema.Pair
		if open == '{' {
			tok, pos, err := r.next()
			if err != nil {
				return err
			}
			pair.Key, pair.Pos = tok.(string), pos
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		switch pair.Value = v; {
		case open == '[':
			n.Items = append(n.Items, v)
		case n.Get(pair.Key) != nil:
			return fmt.Errorf("%s: the key %q is there twice", pair.Pos, pair.Key)
		default:
			n.Pairs = append(n.Pairs, pair)
		}
	}
	_, _, err := r.next()
	return err
}
