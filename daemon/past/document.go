package past

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// document is the content of a kept graph: the graph with its values computed, and what the notation of graphs can't say.
type document struct {
	YAML     string            `json:"yaml"`
	Modules  map[string]string `json:"modules,omitempty"` // of resources, by id
	Optional []string          `json:"optional,omitempty"`
	// Lacks says why this is not the whole graph, so that it can't take effect again; empty where it can.
	Lacks string `json:"lacks,omitempty"`
}

// documentOf returns what is kept of a graph. Secrets are in clear in it.
func documentOf(d *gapi.Declared) (*document, error) {
	doc := &document{Modules: map[string]string{}}
	clear := *d
	clear.Resources = slices.Clone(d.Resources)
	for i := range clear.Resources {
		r := &clear.Resources[i]
		if r.Module != "" {
			doc.Modules[r.ID()] = r.Module
		}
		if r.Optional {
			doc.Optional = append(doc.Optional, r.ID())
		}
		if why := lacks(r); why != "" && doc.Lacks == "" {
			doc.Lacks = r.ID() + " " + why
		}
		reveal(r)
	}
	var text bytes.Buffer
	err := yaml.Render(&text, &clear, yaml.Rendering{Whole: true})
	doc.YAML = text.String()
	return doc, err
}

// lacks returns what a document can't hold of a resource; empty for nothing.
func lacks(r *gapi.Declaration) string {
	switch {
	case r.Res != nil:
		return "was made by a program"
	case len(r.Proofs) > 0:
		return "is on this host by a choice among hosts, which has to be made anew"
	}
	for _, w := range r.Recv {
		if w.Formula != nil && w.Source == nil {
			return "computes " + w.Field + " of a sent value and of variables"
		}
	}
	return ""
}

// reveal writes the concealed parameters of a resource in clear, and marks them as secrets.
func reveal(r *gapi.Declaration) {
	var marked []*schema.Node
	if r.Value != nil {
		value := *r.Value
		value.Pairs = slices.Clone(value.Pairs)
		for i := range value.Pairs {
			p := &value.Pairs[i]
			var secret bool
			if p.Value, secret = clearOf(p.Value); secret {
				marked = append(marked, textNode(p.Key))
			}
		}
		r.Value = &value
	}
	meta := schema.Node{Kind: schema.NodeMap}
	if r.Meta != nil {
		meta = *r.Meta
		meta.Pairs = slices.Clone(meta.Pairs)
	}
	if len(marked) > 0 {
		if n := meta.Get("secret"); n != nil {
			for _, item := range append(slices.Clone(n.Items), n) {
				if item.Kind == schema.NodeString && !slices.ContainsFunc(marked, func(m *schema.Node) bool { return m.Text == item.Text }) {
					marked = append(marked, item)
				}
			}
			meta.Pairs = slices.DeleteFunc(meta.Pairs, func(p schema.Pair) bool { return p.Key == "secret" })
		}
		meta.Pairs = append(meta.Pairs, schema.Pair{Key: "secret", Value: &schema.Node{Kind: schema.NodeList, Items: marked}})
	}
	if r.Leaving != "" && meta.Get("leaving") == nil && meta.Get("reverse") == nil {
		meta.Pairs = append(meta.Pairs, schema.Pair{Key: "leaving", Value: textNode(string(r.Leaving))})
	}
	r.Meta = &meta
}

func textNode(text string) *schema.Node {
	return &schema.Node{Kind: schema.NodeString, Quoted: true, Text: text}
}

// clearOf returns a value in clear, and whether a part of it was concealed.
func clearOf(n *schema.Node) (_ *schema.Node, secret bool) {
	if n == nil {
		return nil, false
	}
	c := &schema.Node{Kind: n.Kind, Quoted: n.Quoted}
	c.Text, secret = n.Reveal()
	for _, item := range n.Items {
		v, s := clearOf(item)
		c.Items, secret = append(c.Items, v), secret || s
	}
	for _, p := range n.Pairs {
		v, s := clearOf(p.Value)
		c.Pairs, secret = append(c.Pairs, schema.Pair{Key: p.Key, Value: v}), secret || s
	}
	return c, secret
}

// read makes the graph again.
func (doc *document) read(name string, o yaml.Options) (*gapi.Declared, error) {
	d, err := yaml.LoadFiles(name, map[string][]byte{name: []byte(doc.YAML)}, o)
	if err != nil {
		return nil, err
	}
	d.Origin.Digest = ""
	for i := range d.Resources {
		r := &d.Resources[i]
		r.Module, r.Optional = doc.Modules[r.ID()], slices.Contains(doc.Optional, r.ID())
	}
	return d, nil
}

func (doc *document) pack() (string, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err = z.Write(text); err == nil {
		err = z.Close()
	}
	return out.String(), err
}

func unpack(packed string) (*document, error) {
	z, err := gzip.NewReader(bytes.NewReader([]byte(packed)))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	doc := &document{}
	return doc, json.Unmarshal(text, doc)
}

// print tells a graph from others by all that it declares, and each resource of it by its id. Places and comments of a file do not count.
type print struct {
	whole string
	each  map[string]string
}

func printOf(d *gapi.Declared) print {
	p := print{each: make(map[string]string, len(d.Resources))}
	all := sha256.New()
	part(all, d.Name, d.Noop, len(d.Resources))
	for i := range d.Resources {
		r := &d.Resources[i]
		h := sha256.New()
		part(h, r.ID(), r.Module, r.Optional, r.Unread, r.Leaving, r.Before, r.Depend, r.Notify, r.Listen)
		node(h, r.Value)
		node(h, r.Meta)
		for _, w := range r.Recv {
			part(h, w.Field, w.From)
			if w.Formula != nil {
				part(h, w.Formula.Sum)
			}
		}
		sum := hex.EncodeToString(h.Sum(nil))
		p.each[r.ID()] = sum
		part(all, sum)
	}
	for _, e := range d.Edges {
		part(all, e.Name, e.From.Ref(), e.To.Ref(), e.Notify)
	}
	for _, c := range d.Collects {
		part(all, c.Kind, c.Name, c.From, c.Fields)
		node(all, c.Set)
	}
	p.whole = hex.EncodeToString(all.Sum(nil))
	return p
}

// part writes values so that no two lists of them are written alike.
func part(h hash.Hash, list ...any) {
	for _, v := range list {
		switch refs := v.(type) {
		case []gapi.RefDecl: // without their places
			for _, r := range refs {
				part(h, r.Ref)
			}
			v = len(refs)
		}
		text := fmt.Sprint(v)
		_, _ = fmt.Fprintf(h, "%d:%s", len(text), text)
	}
}

func node(h hash.Hash, n *schema.Node) {
	if n == nil {
		part(h, "none")
		return
	}
	text, _ := n.Reveal()
	part(h, n.Kind, text, len(n.Items), len(n.Pairs))
	for _, item := range n.Items {
		node(h, item)
	}
	for _, p := range n.Pairs {
		part(h, p.Key)
		node(h, p.Value)
	}
}
