package provider

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Source says where the provider of a definition that was read from a file comes
// from. One of Provider, External and Dispatch is set.
type Source struct {
	Provider string    // the name of a Go one
	External *External // two commands
	Dispatch *Dispatch // the resources of other kinds
	Pos      schema.Pos
}

// DecodeDefinition reads a definition of a file, which is YAML or JSON, and checks it.
// All that is wrong is reported at once, each finding with its place. With an error
// among the findings, the result has the readable parts.
//
//	name: apt_key
//	docs: A key that apt trusts.          # or desc
//	attributes:                           # or a list of maps with a name each
//	  ensure: {type: "Enum[present, absent]", docs: ..., default: present}
//	  id: {type: String, docs: ..., kind: namevar}  # or behaviour, behavior
//	autorequire: {file: $source, package: [apt]}    # or autorequires; autobefore, autosubscribe, autonotify
//	features: [canonicalize, noop_handler]          # or supports_noop
//	title_patterns: [{pattern: "^(?<id>.*)$", docs: all of it}]
//	poll: 1m
//	provider: keys                        # a Go one by its name; or:
//	get: [/usr/lib/mgmt/keys, get]        # see External
//	set: [/usr/lib/mgmt/keys, set]
//	env: {LC_ALL: C}
//	timeout: 5m
//
// A key that is none of these is an error, and so is one thing in two spellings.
func DecodeDefinition(n *schema.Node) (*Definition, *Source, schema.Diagnostics) {
	d := &decoder{def: &Definition{}, src: &Source{}, at: places{}}
	if n == nil || n.Kind != schema.NodeMap {
		d.errorf(n, "", "a type is a map with the keys name, docs and attributes, not %s", shape(n))
		return d.def, d.src, d.found.All()
	}
	d.def.Pos, d.src.Pos = n.Pos, n.Pos
	d.fields(n, "", "a type", definitionKeys)
	d.source(n)
	allow := ""
	if d.src.Dispatch != nil {
		allow = "provider" // the usual name of the selector
	}
	for _, f := range d.def.check(d.at, allow) {
		if !d.known(f.Path) {
			d.found.Add(f)
		}
	}
	return d.def, d.src, d.found.All()
}

// decoder reads one definition.
type decoder struct {
	def    *Definition
	src    *Source
	at     places
	broken []string // the paths of unreadable nodes
	found  schema.Findings
}

// key is a key of a map, and the reader of its value.
type key struct {
	names []string // the spellings; paths have the first one
	read  func(d *decoder, n *schema.Node, path string)
}

func (d *decoder) errorf(n *schema.Node, path, format string, args ...any) {
	var pos schema.Pos
	if n != nil {
		pos = n.Pos
	}
	d.spoil(path)
	d.found.Add(schema.Diagnostic{Pos: pos, Path: path, Message: fmt.Sprintf(format, args...)})
}

// spoil notes that the value at a path could not be read.
func (d *decoder) spoil(path string) {
	if len(d.broken) < schema.MaxFindings {
		d.broken = append(d.broken, path)
	}
}

// known reports whether a finding about a path follows from an unreadable value.
func (d *decoder) known(path string) bool {
	for _, b := range d.broken {
		if within(path, b) || within(b, path) {
			return true
		}
	}
	return false
}

// within reports whether a path is at or below another one.
func within(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && path != "" && above != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// fields reads the keys of a map. The path of each is prefix and its first spelling.
func (d *decoder) fields(n *schema.Node, prefix, what string, keys []key) {
	if n.Kind != schema.NodeMap {
		d.errorf(n, strings.TrimSuffix(prefix, "."), "%s must be a map, not %s", what, shape(n))
		return
	}
	seen := make(map[string]schema.Pair, len(n.Pairs))
	for _, pair := range n.Pairs {
		k := keyOf(keys, pair.Key)
		if k == nil {
			d.unknown(pair, what, keys)
			continue
		}
		path := prefix + k.names[0]
		if before, twice := seen[path]; twice {
			d.twice(before, pair, what)
			continue
		}
		seen[path], d.at[path] = pair, pair.Value.Pos
		k.read(d, pair.Value, path)
	}
}

func keyOf(keys []key, name string) *key {
	for i := range keys {
		if slices.Contains(keys[i].names, name) {
			return &keys[i]
		}
	}
	return nil
}

func (d *decoder) unknown(pair schema.Pair, what string, keys []key) {
	var all []string
	for _, k := range keys {
		all = append(all, k.names...)
	}
	f := schema.Diagnostic{Pos: pair.Pos, Message: fmt.Sprintf("unknown key %q of %s", shorten(pair.Key), what), Suggestion: schema.Nearest(pair.Key, all)}
	if f.Suggestion == "" {
		f.Message += "; the keys are " + strings.Join(all, ", ")
	}
	d.found.Add(f)
}

func (d *decoder) twice(before, pair schema.Pair, what string) {
	d.found.Add(schema.Diagnostic{
		Pos:     pair.Pos,
		Message: fmt.Sprintf("%s has both %s and %s, which are the same; use one", what, before.Key, pair.Key),
		Related: []schema.Related{{Pos: before.Pos, Message: before.Key + " is here"}},
	})
}

// text reads text: every scalar is what it was written as.
func (d *decoder) text(n *schema.Node, path string) string {
	switch n.Kind {
	case schema.NodeNull, schema.NodeList, schema.NodeMap:
		d.errorf(n, path, "%s must be text, not %s", path, shape(n))
		return ""
	}
	return n.Text
}

// texts reads a list of text. Text alone is a list of one where that is allowed.
func (d *decoder) texts(n *schema.Node, path string, alone bool) []string {
	items := n.Items
	switch {
	case n.Kind == schema.NodeString && alone:
		items = []*schema.Node{n}
	case n.Kind != schema.NodeList:
		d.errorf(n, path, "%s must be a list of text, not %s", path, shape(n))
		return nil
	}
	out := make([]string, 0, len(items))
	for i, item := range items {
		out = append(out, d.text(item, fmt.Sprintf("%s[%d]", path, i)))
	}
	return out
}

func (d *decoder) truth(n *schema.Node, path string) bool {
	if n.Kind != schema.NodeBool {
		d.errorf(n, path, "%s must be true or false, not %s", path, shape(n))
		return false
	}
	return strings.EqualFold(n.Text, "true")
}

func (d *decoder) duration(n *schema.Node, path string) time.Duration {
	t, err := schema.ParseDuration(d.text(n, path), "s")
	if err != nil && !d.known(path) {
		d.errorf(n, path, "%s: %v", path, err)
	}
	return t
}

// shape names the sort of a node.
func shape(n *schema.Node) string {
	switch {
	case n == nil || n.Kind == schema.NodeNull:
		return "nothing"
	case n.Kind == schema.NodeList:
		return "a list"
	case n.Kind == schema.NodeMap:
		return "a map"
	}
	return fmt.Sprintf("%q", shorten(n.Text))
}
