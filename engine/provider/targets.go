package provider

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// Target is one machine or device, by the transport that reaches it. It is immutable.
type Target struct {
	Name      string
	Transport string
	Pos       schema.Pos

	over *transport
	info Record
}

// Targets are the targets that resources may name, with their connections. It is safe for concurrent use. A connection is
// opened at the first call of a provider that needs it, shared by all types, and closed with the last
// controller that uses it.
type Targets struct {
	mu    sync.Mutex
	lines map[string]*line
}

// NewTargets returns an empty set.
func NewTargets() *Targets { return &Targets{lines: map[string]*line{}} }

// Names returns the names, sorted.
func (ts *Targets) Names() []string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var names []string
	for name, l := range ts.lines {
		if l.declared() != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Get returns a target, nil if there is none of that name.
func (ts *Targets) Get(name string) *Target {
	if l := ts.line(name); l != nil {
		return l.declared()
	}
	return nil
}

func (ts *Targets) line(name string) *line {
	if ts == nil {
		return nil
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.lines[name]
}

// Replace has these targets in the place of the old ones. A connection whose target has another transport or other
// connection info is closed, and opened anew by the next call that needs it.
func (ts *Targets) Replace(with []*Target) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	left := maps.Clone(ts.lines)
	for _, t := range with {
		delete(left, t.Name)
		if l := ts.lines[t.Name]; l != nil {
			l.declare(t)
		} else {
			ts.lines[t.Name] = newLine(t)
		}
	}
	for _, l := range left {
		l.declare(nil)
	}
}

// TargetFile is a file with targets: a map from their names to the targets.
type TargetFile struct {
	Node *schema.Node
	Mode fs.FileMode // of the file: other users must not be able to read a file with secrets
}

// DecodeTargets reads the targets of files. Each is a map with the name of its transport and its connection info:
//
//	web1:
//	  transport: ssh
//	  host: 192.0.2.7
//	  password: {file: /etc/mgmt/keys/web1}   # of a sensitive attribute: what is in a file, read at each connect
//
// Everything that is wrong is returned at once, each finding with its place. A sensitive value stands only in a file
// that other users can't read.
func DecodeTargets(files []TargetFile, known *Transports) ([]*Target, schema.Diagnostics) {
	d := &targetDecoder{known: known, first: map[string]schema.Pos{}}
	for _, f := range files {
		d.file(f)
	}
	return d.out, d.found.All()
}

type targetDecoder struct {
	known *Transports
	first map[string]schema.Pos
	out   []*Target
	found schema.Findings
}

func (d *targetDecoder) file(f TargetFile) {
	if f.Node == nil || f.Node.Kind != schema.NodeMap {
		var pos schema.Pos
		if f.Node != nil {
			pos = f.Node.Pos
		}
		d.found.Errorf(pos, "a file of targets is a map from their names to what they are, not %s", shape(f.Node))
		return
	}
	for _, p := range f.Node.Pairs {
		at, twice := d.first[p.Key]
		switch {
		case twice:
			d.found.Add(schema.Diagnostic{Pos: p.Pos, Message: fmt.Sprintf("the target %q is there twice", shorten(p.Key)),
				Related: []schema.Related{{Pos: at, Message: "first here"}}})
		case !isTargetName(p.Key):
			d.found.Errorf(p.Pos, "the name of a target is %s, not %q", targetRule, shorten(p.Key))
		default:
			d.first[p.Key] = p.Pos
			if t := d.target(p, f.Mode); t != nil {
				d.out = append(d.out, t)
			}
		}
	}
}

const targetRule = "letters, digits, dots, - and _, at most 253 of them, and begins with a letter or digit"

func isTargetName(s string) bool {
	if s == "" || len(s) > 253 || strings.ContainsAny(s[:1], ".-_") {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == ""
}

func (d *targetDecoder) target(p schema.Pair, mode fs.FileMode) *Target {
	if p.Value == nil || p.Value.Kind != schema.NodeMap {
		d.found.Errorf(p.Pos, "the target %s must be a map with the key transport, not %s", p.Key, shape(p.Value))
		return nil
	}
	word := p.Value.Get(transportKey)
	if word == nil {
		d.found.Errorf(p.Pos, "the target %s has no transport: one of %s", p.Key, list(d.known.Names()))
		return nil
	}
	over := d.known.find(word.Text)
	if word.Kind != schema.NodeString || over == nil {
		d.found.Add(schema.Diagnostic{Pos: word.Pos, Suggestion: schema.Nearest(word.Text, d.known.Names()),
			Message: fmt.Sprintf("the target %s: there is no transport %s: there are %s", p.Key, shape(word), list(d.known.Names()))})
		return nil
	}
	info, ok := d.info(over, p, mode)
	if !ok {
		return nil
	}
	return &Target{Name: p.Key, Transport: word.Text, Pos: p.Pos, over: over, info: info}
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// info reads the connection info.
func (d *targetDecoder) info(over *transport, p schema.Pair, mode fs.FileMode) (Record, bool) {
	plain := &schema.Node{Kind: schema.NodeMap, Pos: p.Value.Pos}
	info, before := Record{}, d.found.Errors()
	for _, pair := range p.Value.Pairs {
		a := over.byName[pair.Key]
		switch {
		case pair.Key == transportKey:
		case a != nil && a.secret && pair.Value.Kind == schema.NodeMap:
			info[a.Name] = d.secretFile(p.Key, a.Name, pair.Value)
		case a != nil && a.secret && mode&0o077 != 0:
			d.found.Errorf(pair.Pos, "%s.%s is a secret, and other users can read this file (mode %04o): chmod 600, or put it into a file of its own: {file: PATH}", p.Key, a.Name, mode.Perm())
		default:
			plain.Pairs = append(plain.Pairs, pair)
		}
	}
	to := schema.Data{Type: over.params, Value: over.fresh()}
	for _, f := range schema.Decode(plain, to) {
		f.Message = fmt.Sprintf("the target %s: %s", p.Key, f.Message)
		d.found.Add(f)
	}
	broken := d.found.Errors() > before
	for i := range over.attrs {
		if a := &over.attrs[i]; !broken || p.Value.Get(a.Name) == nil {
			d.value(a, to, p, info)
		}
	}
	return info, d.found.Errors() == before
}

// value takes one attribute.
func (d *targetDecoder) value(a *compiled, from schema.Data, p schema.Pair, info Record) {
	if info[a.Name] != nil {
		return
	}
	plain, err := schema.Get(from, a.Name)
	if plain == nil && err == nil {
		if !a.optional {
			d.found.Errorf(p.Pos, "the target %s has no %s, which the transport needs: %s", p.Key, a.Name, a.typ)
		}
		return
	}
	if err == nil {
		info[a.Name], err = a.typ.Lift(p.Key+"."+a.Name, plain)
	}
	if err != nil {
		pos := p.Pos
		if n := p.Value.Get(a.Name); n != nil {
			pos = n.Pos
		}
		d.found.Errorf(pos, "%v", err)
	}
}

// secretFile is a sensitive value that is in a file.
type secretFile struct {
	path string
	pos  schema.Pos
}

func (d *targetDecoder) secretFile(target, name string, n *schema.Node) any {
	path := n.Get("file")
	if path == nil || len(n.Pairs) != 1 || path.Kind != schema.NodeString || !strings.HasPrefix(path.Text, "/") {
		d.found.Errorf(n.Pos, "%s.%s is text, or {file: PATH} with an absolute path", target, name)
		return nil
	}
	return secretFile{path.Text, n.Pos}
}

// equal reports whether two targets are connected to alike.
func (t *Target) equal(o *Target) bool {
	return t != nil && o != nil && t.over == o.over && maps.EqualFunc(t.info, o.info, func(a, b any) bool {
		fa, ok := a.(secretFile)
		fb, too := b.(secretFile)
		if ok || too {
			return ok && too && fa.path == fb.path
		}
		return equal(a, b)
	})
}

// revealed returns the connection info with the present content of the files of secrets, and its
// secrets. A content that does not fit the type of its attribute is an error, which shows nothing of it.
func (t *Target) revealed(read func(path string) (string, error)) (Record, *secrets.Texts, error) {
	info, hidden := Record{}, &secrets.Texts{}
	for name, v := range t.info {
		a := t.over.byName[name]
		if f, ok := v.(secretFile); ok {
			text, err := read(f.path)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
			if v, err = a.typ.Lift(name, schema.NewSecret(strings.TrimSuffix(text, "\n"))); err != nil {
				return nil, nil, fmt.Errorf("%w, in %s", err, f.path)
			}
		}
		if s, ok := v.(puppettype.Sensitive); ok {
			hidden.Learn(s, true)
		} else {
			hidden.Learn(v, a.secret)
		}
		info[name] = clone(v)
	}
	return info, hidden, nil
}

// BindTargets has the kinds of a registry that are made of data, and have the feature remote_resource, take
// the targets. It returns a layer over that registry: kinds without targets come and go with it.
func BindTargets(r *engine.Registry, ts *Targets) (*engine.Registry, error) {
	bound := r.Layer()
	for _, name := range r.Kinds() {
		res, err := r.New(name)
		if err != nil {
			return nil, err
		}
		made := resOf(res)
		if made == nil || !made.kind.has(RemoteResource) {
			continue
		}
		k := *made.kind
		k.targets = ts
		k.id = fmt.Sprintf("provider %s %p", k.def.Name, &k)
		if err := bound.Register(name, k.New); err != nil {
			return nil, err
		}
	}
	return bound, nil
}
