package typescript

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/gapi"
)

// version is that of the requests and answers of the helper.
const version = 2

// answer is the first line of the answer of the helper, which its package typescript describes.
type answer struct {
	Version  int               `json:"version"`
	Files    map[string]string `json:"files"`
	Graph    *graphNote        `json:"graph"`
	Problems []problem         `json:"problems"`

	sums  map[string]string // Files
	lines [][]byte          // each is a resource
}

// graphNote is what the program says of the graph as a whole.
type graphNote struct {
	Name    string `json:"name"`
	Comment string `json:"comment"`
	Noop    bool   `json:"noop"`
}

// resource is one resource, in the order in which the program made it.
type resource struct {
	Kind   string            `json:"kind"`
	Name   string            `json:"name"`
	At     place             `json:"at"`
	Value  json.RawMessage   `json:"value"`
	Meta   []json.RawMessage `json:"meta"`
	Recv   []received        `json:"recv"`
	Before []string          `json:"before"`
	Depend []string          `json:"depend"`
	Notify []string          `json:"notify"`
	Listen []string          `json:"listen"`
	Calls  []place           `json:"calls"` // of a resource that another one has the kind and the name of
}

// id is the kind and the name of a resource.
func (r *resource) id() string { return r.Kind + "[" + r.Name + "]" }

// received is the wiring of an output to a parameter.
type received struct {
	Field string `json:"field"`
	From  string `json:"from"`
}

// place is a position in a file, whose path is absolute. Line and column count from 1.
type place struct {
	File string `json:"file"`
	Line int32  `json:"line"`
	Col  int32  `json:"col"`
}

// problem is a finding of the helper.
type problem struct {
	place
	Resource string  `json:"resource"`
	Number   *int    `json:"number"`
	Code     string  `json:"code"`
	Path     string  `json:"path"`
	Message  string  `json:"message"`
	Warning  bool    `json:"warning"`
	Calls    []place `json:"calls"`
}

// unread says that an answer has another form than it should.
func unread(err error) error { return fmt.Errorf("the answer of %s can't be read: %w", Helper, err) }

// decode reads the first line, and parts the others.
func decode(text []byte) (*answer, error) {
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	var a answer
	if err := json.Unmarshal(head, &a); err != nil {
		return nil, unread(err)
	}
	if a.Version != version {
		return nil, fmt.Errorf("%s speaks version %d, and this program version %d: install both from one release", Helper, a.Version, version)
	}
	a.sums = a.Files
	for line := range bytes.Lines(rest) {
		a.lines = append(a.lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	return &a, nil
}

// files returns the paths of all files that the helper has read, sorted.
func (a *answer) files() []string { return slices.Sorted(maps.Keys(a.Files)) }

// reading turns an answer into a declared graph.
type reading struct {
	a     *answer
	path  string // of the program, as its user names it
	main  string // the same, absolute
	d     *gapi.Declared
	found schema.Findings
}

// digest returns the digest of all files that the program is made of.
func (a *answer) digest() string {
	h := sha256.New()
	for _, file := range a.files() {
		fmt.Fprintf(h, "%s  %s\n", a.Files[file], file)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// declarations are the resources of a graph without a fault, by the lines that they were made of.
type declarations map[string]gapi.Declaration

// declared returns the graph of an answer, or the findings if it has none. The findings of the check of types come first. Known are the
// declarations of the graph before, which an edit leaves as they are but for a few.
func (a *answer) declared(path, main string, most int, types schema.Diagnostics, known declarations) (*gapi.Declared, declarations, error) {
	r := &reading{a: a, path: path, main: main, d: &gapi.Declared{Pos: schema.Pos{File: path}, Origin: provenance.Origin{Path: main, Digest: a.digest()}}}
	r.d.Name = strings.TrimSuffix(filepath.Base(main), filepath.Ext(main))
	if g := a.Graph; g != nil {
		r.d.Comment, r.d.Noop = g.Comment, g.Noop
		if g.Name != "" {
			r.d.Name = g.Name
		}
	}
	r.found.Add(types...)
	wrong := map[int]bool{}
	for _, p := range a.Problems {
		r.problem(p)
		if p.Number != nil {
			wrong[*p.Number] = true
		}
	}
	made, now := make(map[string]int, len(a.lines)), make(declarations, len(a.lines))
	r.d.Resources = make([]gapi.Declaration, 0, len(a.lines))
	for i, line := range a.lines {
		d, same := known[string(line)]
		var from resource
		if same = same && !wrong[i] && i != most; !same {
			if err := json.Unmarshal(line, &from); err != nil {
				return nil, nil, schema.Diagnostics{{Pos: schema.Pos{File: path}, Message: unread(err).Error()}}
			}
			d.Kind, d.Name = from.Kind, from.Name
		}
		if i == most {
			r.found.Add(gapi.TooMany(r.pos(from.At), most))
			r.d.Partial = true
			break
		}
		id := d.ID()
		if first, ok := made[id]; ok {
			r.twice(first, i)
			continue
		}
		made[id] = i
		if !same {
			d = r.resource(&from, wrong[i])
		}
		now[string(line)] = d
		r.d.Resources = append(r.d.Resources, d)
	}
	r.d.Problems = r.found.All()
	switch {
	case r.d.Partial && len(r.d.Resources) == 0:
		return nil, nil, r.d.Problems
	case r.d.Problems.Err() != nil:
		now = nil
	}
	return r.d, now, nil
}

// problem takes a finding over. A program that failed as a whole has made a part of its graph only, so Build does not
// report references to missing resources then.
func (r *reading) problem(p problem) {
	d := schema.Diagnostic{Pos: r.pos(p.place), Resource: p.Resource, Path: p.Path, Message: p.Message}
	if p.Path != "" {
		d.Message = p.Path + ": " + d.Message
	}
	if p.Resource != "" {
		d.Message = p.Resource + ": " + d.Message
	}
	if p.Code != "" {
		d.Message += " [" + p.Code + "]"
	}
	if p.Warning {
		d.Severity = schema.Warning
	} else if p.Resource == "" {
		r.d.Partial = true
	}
	d.Related = r.calls(p.Calls)
	r.found.Add(d)
}

// calls are the calls that led to a place, innermost first.
func (r *reading) calls(list []place) (related []schema.Related) {
	for _, at := range list {
		related = append(related, schema.Related{Pos: r.pos(at), Message: "called from here"})
	}
	return related
}

// twice reports a resource whose kind and name another one has, by their lines. A function makes both at one place, so each has its calls.
func (r *reading) twice(i, j int) {
	var first, second resource
	if err := errors.Join(json.Unmarshal(r.a.lines[i], &first), json.Unmarshal(r.a.lines[j], &second)); err != nil {
		r.found.Errorf(schema.Pos{File: r.path}, "%v", unread(err))
		return
	}
	d := schema.Diagnostic{Pos: r.pos(second.At), Resource: second.id(), Message: second.id() + " is declared twice", Related: r.calls(second.Calls)}
	d.Related = append(d.Related, schema.Related{Pos: r.pos(first.At), Message: "first declared here"})
	d.Related = append(d.Related, r.calls(first.Calls)...)
	r.found.Add(d)
}

// pos is a place with the path as the user of the program would write it.
func (r *reading) pos(p place) schema.Pos {
	return schema.Pos{File: asNamed(r.path, r.main, p.File), Line: p.Line, Col: p.Col}
}

// asNamed returns the path of a file as a user would write it who has named the program by a path.
func asNamed(path, main, file string) string {
	if rel, err := filepath.Rel(filepath.Dir(main), file); err == nil && filepath.IsAbs(file) && !filepath.IsAbs(path) {
		return filepath.Join(filepath.Dir(path), rel)
	}
	return file
}

// resource turns one resource into a declaration. All its parts have the place where the program made the resource,
// since the program may have computed them anywhere.
func (r *reading) resource(from *resource, wrong bool) gapi.Declaration {
	pos := r.pos(from.At)
	d := gapi.Declaration{Kind: from.Kind, Name: from.Name, Pos: pos, KindPos: pos, NamePos: pos, Wrong: wrong}
	d.Value = r.value(pos, from.Value)
	r.later(&d)
	for _, m := range from.Meta {
		d.Meta = merged(d.Meta, r.value(pos, m))
	}
	for _, v := range from.Recv {
		ref, err := schema.ParseRef(v.From)
		if err != nil {
			r.found.Errorf(pos, "%v", err)
			continue
		}
		d.Recv = append(d.Recv, gapi.RecvDecl{Field: v.Field, From: ref, Pos: pos})
	}
	d.Before, d.Depend = r.refs(pos, from.Before), r.refs(pos, from.Depend)
	d.Notify, d.Listen = r.refs(pos, from.Notify), r.refs(pos, from.Listen)
	return d
}

// refs reads references to resources. A bad one is a finding, and the others count.
func (r *reading) refs(pos schema.Pos, list []string) []gapi.RefDecl {
	var refs []gapi.RefDecl
	for _, text := range list {
		ref, err := schema.ParseRef(text)
		if err == nil && ref.Key != "" {
			err = fmt.Errorf("%s names a value, a reference to a resource is %s", ref, ref.ID())
		}
		if err != nil {
			r.found.Errorf(pos, "%v", err)
			continue
		}
		refs = append(refs, gapi.RefDecl{Ref: ref, Pos: pos})
	}
	return refs
}

// value reads a value. All of it has the place of its resource.
func (r *reading) value(pos schema.Pos, text json.RawMessage) *schema.Node {
	n, found := jsonnode.Parse(text, jsonnode.Options{Nowhere: true})
	if n == nil {
		r.found.Errorf(pos, "a value can't be read: %v", found)
		return &schema.Node{Kind: schema.NodeMap, Pos: pos}
	}
	put(n, pos)
	return n
}

// put gives a new tree its place.
func put(n *schema.Node, pos schema.Pos) {
	n.Pos = pos
	for _, item := range n.Items {
		put(item, pos)
	}
	for i := range n.Pairs {
		n.Pairs[i].Pos = pos
		put(n.Pairs[i].Value, pos)
	}
}

// merged returns a map with the pairs of both. The later ones win.
func merged(a, b *schema.Node) *schema.Node {
	if a == nil || b.Kind != schema.NodeMap {
		return b
	}
	all := &schema.Node{Kind: schema.NodeMap, Pos: b.Pos}
	for _, p := range a.Pairs {
		if b.Get(p.Key) == nil {
			all.Pairs = append(all.Pairs, p)
		}
	}
	all.Pairs = append(all.Pairs, b.Pairs...)
	return all
}
