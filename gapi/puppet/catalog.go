package puppet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// catalog is what one source says, references not yet looked up.
// It is made by one reading. Later steps add parameters to its resources and mark its
// containers.
type catalog struct {
	name      string
	resources []*resource
	contains  []containment
}

// containment is an edge of the catalog: source contains target.
// Edges of a catalog hold containment alone; relations are in the parameters.
type containment struct {
	source, target string
	pos            schema.Pos
}

// resource is one resource of a catalog, which may be a container.
type resource struct {
	typ, title string
	at         schema.Pos // in the manifest where that is known, else in the JSON
	kind       string     // what the catalog says that it is; may be empty
	tags       []string
	params     []param // in the order of the catalog, without undefs
	index      int     // among the resources
	container  bool
	// The containers that it is in, the direct ones only; see relations.contain.
	parents []*resource
	// It is a container with something in it.
	holds bool
}

// param is one parameter of a resource. An undef is left out, as if it was not given.
type param struct {
	name string
	// The plain value, without rich data. Its place is that of the resource.
	value *schema.Node
	// It was Sensitive, or the catalog lists it in sensitive_parameters. Its text is then in no
	// finding.
	secret bool
	made   bool // it is in no catalog, but made of other resources

	// value is nothing where one of these says why:
	err     error  // it is broken
	foreign string // it can't be expressed
}

// unread reports whether it has no value that makes sense.
// A resource with such a parameter is not declared: it would do something else without it.
func (p param) unread() bool { return p.err != nil || p.foreign != "" }

// ref is how messages name a resource.
// The title is as it is in the catalog, also where it is long.
func (r *resource) ref() string { return r.typ + "[" + r.title + "]" }

// param returns a parameter, or nil.
// The search is linear, as a resource has few parameters.
func (r *resource) param(name string) *param {
	for i := range r.params {
		if r.params[i].name == name {
			return &r.params[i]
		}
	}
	return nil
}

// text returns the text of a parameter that is one and no secret, else nothing.
// Callers can't tell an absent parameter from an empty or a secret one.
func (r *resource) text(name string) string {
	p := r.param(name)
	if p == nil || p.secret || !isScalar(p.value) {
		return ""
	}
	return p.value.Text
}

// reader makes a catalog of a tree.
// Each fault is a finding in found, and the reading goes on.
type reader struct {
	cat   catalog
	found *schema.Findings
}

// readCatalog returns the catalog in a source, nil where there is none.
// The format is that of puppet catalog compile. Keys that are not read here, such as classes
// and version, have no effect.
func readCatalog(file string, src []byte, most int, found *schema.Findings) *catalog {
	root := parseJSON(file, src, most, found)
	if root == nil {
		return nil
	}
	// Catalogs of old versions are wrapped.
	if data := root.Get("data"); data != nil && root.Get("document_type") != nil {
		root = data
	}
	if root.Kind != schema.NodeMap || root.Get("resources") == nil {
		found.Errorf(root.Pos, `this is no catalog: it has no key "resources"`)
		return nil
	}
	r := &reader{found: found}
	r.read(root)
	return &r.cat
}

// read reads the catalog from its root. A broken resource is a finding and the reading
// goes on, so a user sees all faults of the catalog at once.
func (r *reader) read(root *schema.Node) {
	r.cat.name = r.text(root, "name", "the catalog")
	for _, n := range r.list(root, "resources", "the catalog") {
		if res := r.resource(n); res != nil {
			// The place in the catalog is that in the manifest, and so the order of everything
			// that nothing else orders.
			res.index = len(r.cat.resources)
			r.cat.resources = append(r.cat.resources, res)
		}
	}
	for _, n := range r.list(root, "edges", "the catalog") {
		if n.Kind != schema.NodeMap {
			r.found.Errorf(n.Pos, "an edge is a hash with source and target, not %s", describe(n))
			continue
		}
		e := containment{r.text(n, "source", "an edge"), r.text(n, "target", "an edge"), n.Pos}
		if e.source == "" || e.target == "" {
			r.found.Errorf(n.Pos, "an edge needs a source and a target")
			continue
		}
		r.cat.contains = append(r.cat.contains, e)
	}
}

// list returns the items of a list below a key.
// An absent key and null are an empty list.
func (r *reader) list(n *schema.Node, key, what string) []*schema.Node {
	v := n.Get(key)
	switch {
	case v == nil, v.Kind == schema.NodeNull:
	case v.Kind == schema.NodeList:
		return v.Items
	default:
		r.found.Errorf(v.Pos, "%s of %s must be a list, not %s", key, what, describe(v))
	}
	return nil
}

// text returns the text below a key.
// An absent key and null are empty.
func (r *reader) text(n *schema.Node, key, what string) string {
	v := n.Get(key)
	switch {
	case v == nil, v.Kind == schema.NodeNull:
	case v.Kind == schema.NodeString:
		return v.Text
	default:
		r.found.Errorf(v.Pos, "%s of %s must be text, not %s", key, what, describe(v))
	}
	return ""
}

// resource reads one entry of resources.
// It is nil after a finding.
func (r *reader) resource(n *schema.Node) *resource {
	if n.Kind != schema.NodeMap {
		r.found.Errorf(n.Pos, "a resource is a hash with type and title, not %s", describe(n))
		return nil
	}
	res := &resource{
		typ: r.text(n, "type", "a resource"), title: r.text(n, "title", "a resource"),
		kind: r.text(n, "kind", "a resource"), at: r.place(n),
	}
	if res.typ == "" || res.title == "" {
		r.found.Errorf(res.at, "a resource needs a type and a title")
		return nil
	}
	for _, tag := range r.list(n, "tags", res.ref()) {
		// Tags are compared in lower case, as Puppet writes them.
		res.tags = append(res.tags, strings.ToLower(tag.Text))
	}
	var sensitive []string
	for _, s := range r.list(n, "sensitive_parameters", res.ref()) {
		sensitive = append(sensitive, s.Text)
	}
	r.params(res, n.Get("parameters"), sensitive)
	return res
}

// place returns where a resource is in its manifest, else in the JSON.
// Findings then lead to the line that an author can change. A manifest tells no column.
func (r *reader) place(n *schema.Node) schema.Pos {
	file, line := r.text(n, "file", "a resource"), n.Get("line")
	if file == "" || line == nil || line.Kind != schema.NodeInt {
		return n.Pos
	}
	at, err := strconv.ParseInt(line.Text, 10, 32)
	if err != nil || at < 1 {
		return n.Pos
	}
	return schema.Pos{File: file, Line: int32(at)}
}

// params reads the parameters; an undef counts as not given. An unreadable value is kept with
// its reason, so that the finding comes with the type's own words.
func (r *reader) params(res *resource, n *schema.Node, sensitive []string) {
	switch {
	case n == nil, n.Kind == schema.NodeNull:
		return
	case n.Kind != schema.NodeMap:
		r.problem(res, "", "the parameters must be a hash, not %s", describe(n))
		return
	}
	for _, pair := range n.Pairs {
		p := param{name: pair.Key, secret: slices.Contains(sensitive, pair.Key)}
		rich := richReader{at: res.at}
		p.value = rich.plain(pair.Value)
		p.secret, p.err, p.foreign = p.secret || rich.secret, rich.err, rich.foreign
		if p.unread() || p.value.Kind != schema.NodeNull {
			res.params = append(res.params, p)
		}
	}
}

// problem reports an error about a parameter of a resource, or about all of it.
func (r *reader) problem(res *resource, attr, format string, args ...any) {
	r.found.Add(res.finding(schema.Error, attr, fmt.Sprintf(format, args...)))
}

// finding is something about a parameter of a resource, or about all of it. It
// names the resource: there may be many of one place in a manifest.
func (r *resource) finding(sev schema.Severity, attr, text string) schema.Diagnostic {
	where := r.ref()
	if attr != "" {
		where += ": " + attr
	}
	return schema.Diagnostic{Severity: sev, Pos: r.at, Resource: r.ref(), Path: attr, Message: where + ": " + text}
}
