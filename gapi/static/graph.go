package static

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Graph declares a graph in Go: resources are Go values, and edges and wiring name them as such.
//
//	g := static.NewGraph("web")
//	key := g.Add("password", "app", &password.Res{Length: 24})
//	conf := &file.Res{Mode: "0600"}
//	f := g.Add("file", "/etc/app.key", conf)
//	f.Recv(&conf.Content, key.Sent("password"))
//	f.Notify(g.Add("exec", "restart", &exec.Res{Cmd: "app-restart", RefreshOnly: true}))
//	verdict, err := e.Apply(ctx, g.Declared())
//
// No method returns an error. Whatever is wrong is found when the graph is built, all at once, and
// each finding has the file and the line of the call that declared it. A Graph is for one goroutine.
type Graph struct {
	name     string
	list     []*Resource
	collects []gapi.CollectDecl
	owners   map[engine.Res]*Resource
	problems schema.Diagnostics
	places   map[uintptr]schema.Pos
}

// Resource is one resource of a Graph. Its methods return it, so that calls can be chained.
type Resource struct {
	g    *Graph
	decl gapi.Declaration
	runs bool // it is not declared; see Running
}

// Output is a value that a resource sends; make it with Sent or SentField.
type Output struct {
	from *Resource
	key  string
	err  string
}

// NewGraph returns an empty graph.
func NewGraph(name string) *Graph {
	return &Graph{name: name, owners: map[engine.Res]*Resource{}, places: map[uintptr]schema.Pos{}}
}

// Add declares a resource. The kind and the name are set on it. It belongs to the graph, and after
// Declared to the engine; the caller may set its fields until then.
func (g *Graph) Add(kind, name string, res engine.Res) *Resource {
	r := g.add(kind, name)
	switch first := g.owners[res]; {
	case res == nil:
		g.wrong(r, r.decl.Pos, "the resource is nil")
	case first != nil:
		g.wrong(r, r.decl.Pos, "the same Go value is %s already, declared at %s; make another one", first, first.decl.Pos)
	default:
		g.owners[res] = r
	}
	r.decl.Res = res
	return r
}

// AddValues declares a resource by its parameters, as a graph file does. It is for kinds that have no
// Go type, and for those whose Go type is not to be imported. The map is read at once.
func (g *Graph) AddValues(kind, name string, values map[string]any) *Resource {
	r := g.add(kind, name)
	r.decl.Value = g.node(r, r.decl.Pos, values)
	return r
}

// Running names a resource that runs already and is not declared in this graph, for a part that Engine.Patch puts into effect.
// Resources of the part may come before it, depend on it, or receive from it. Nothing can be declared of it: its own methods but
// Ref, Sent and String are errors.
func (g *Graph) Running(kind, name string) *Resource {
	return &Resource{g: g, decl: gapi.Declaration{Kind: kind, Name: name}, runs: true}
}

// Collect takes over the resources of a kind that other hosts export. In the patterns of their names and of
// the hosts, * stands for any characters. The parameters in set take the place of the exported ones; nil for none. fields are
// parameters that the other host decides, besides those that the kind lends; * for all.
func (g *Graph) Collect(kind, name, from string, set map[string]any, fields ...string) {
	r := &Resource{g: g, decl: gapi.Declaration{Kind: kind, Name: name}}
	r.decl.Pos = r.place()
	c := gapi.CollectDecl{Kind: strings.ToLower(kind), Name: name, From: from, Fields: slices.Clone(fields), Pos: r.decl.Pos}
	if set != nil {
		c.Set = g.node(r, r.decl.Pos, set)
	}
	g.collects = append(g.collects, c)
}

// add is called by a method that the program calls.
func (g *Graph) add(kind, name string) *Resource {
	r := &Resource{g: g, decl: gapi.Declaration{Kind: kind, Name: name, Pos: g.place()}}
	g.list = append(g.list, r)
	return r
}

// node turns a map into a node, every value of which stands at pos.
func (g *Graph) node(r *Resource, pos schema.Pos, values map[string]any) *schema.Node {
	n, err := schema.NodeOf(values)
	if err != nil {
		g.wrong(r, pos, "%v", err)
		return nil
	}
	return placed(n, pos)
}

// placed returns a copy of a node, which is never altered, in which all nodes stand at pos.
func placed(n *schema.Node, pos schema.Pos) *schema.Node {
	c := *n
	c.Pos = pos
	c.Items = slices.Clone(n.Items)
	for i, item := range c.Items {
		c.Items[i] = placed(item, pos)
	}
	c.Pairs = slices.Clone(n.Pairs)
	for i, p := range c.Pairs {
		c.Pairs[i].Pos, c.Pairs[i].Value = pos, placed(p.Value, pos)
	}
	return &c
}

// Declared returns the graph, for Engine.Apply, for New and Chan, or for gapi.Build, which return what is
// wrong with it. The Graph is not to be used after that: its resources belong to the graph that is built.
func (g *Graph) Declared() *gapi.Declared {
	d := &gapi.Declared{Name: g.name, Resources: make([]gapi.Declaration, 0, len(g.list)), Problems: g.problems, Collects: g.collects}
	for _, r := range g.list {
		if r.decl.Res == nil && r.decl.Value == nil {
			d.Partial = true // it was wrong, and a reference to it is not wrong as well
			continue
		}
		d.Resources = append(d.Resources, r.decl)
	}
	return d
}

// place returns the place of the caller's caller's caller: the call of the program.
func (g *Graph) place() schema.Pos {
	var pc [1]uintptr
	runtime.Callers(4, pc[:])
	pos, known := g.places[pc[0]]
	if !known {
		f, _ := runtime.CallersFrames(pc[:]).Next()
		pos = schema.Pos{File: f.File, Line: int32(f.Line)}
		g.places[pc[0]] = pos
	}
	return pos
}

// wrong notes an error.
func (g *Graph) wrong(r *Resource, pos schema.Pos, format string, args ...any) {
	g.problems = append(g.problems, schema.Diagnostic{
		Severity: schema.Error, Pos: pos, Resource: r.String(), Message: fmt.Sprintf(format, args...),
	})
}

// Ref returns a reference to the resource, for parameters that are one.
func (r *Resource) Ref() schema.Ref { return schema.Ref{Kind: r.decl.Kind, Name: r.decl.Name} }

// String returns kind[name].
func (r *Resource) String() string { return r.Ref().ID() }

// Before has the others run after this resource.
func (r *Resource) Before(others ...*Resource) *Resource {
	r.decl.Before = r.refs("Before", r.decl.Before, others)
	return r
}

// Depend has this resource run after the others.
func (r *Resource) Depend(others ...*Resource) *Resource {
	r.decl.Depend = r.refs("Depend", r.decl.Depend, others)
	return r
}

// Notify is Before, and has the others refresh whenever this resource has changed something.
func (r *Resource) Notify(others ...*Resource) *Resource {
	r.decl.Notify = r.refs("Notify", r.decl.Notify, others)
	return r
}

// Listen is Depend, and has this resource refresh whenever one of the others has changed something.
func (r *Resource) Listen(others ...*Resource) *Resource {
	r.decl.Listen = r.refs("Listen", r.decl.Listen, others)
	return r
}

// refs adds references to other resources of the same graph.
func (r *Resource) refs(word string, list []gapi.RefDecl, others []*Resource) []gapi.RefDecl {
	pos := r.g.place()
	if !r.declares(word, pos) {
		return list
	}
	for _, o := range others {
		if r.mine(word, pos, o) {
			list = append(list, gapi.RefDecl{Ref: o.Ref(), Pos: pos})
		}
	}
	return list
}

// declares reports whether the resource is declared in the graph, and notes an error if not.
func (r *Resource) declares(word string, pos schema.Pos) bool {
	if r.runs {
		r.g.wrong(r, pos, "%s: %s is not declared in this graph; declare it, or name it in a call of another resource", word, r)
	}
	return !r.runs
}

// mine reports whether another resource is one of the same graph, and notes an error if not.
func (r *Resource) mine(word string, pos schema.Pos, o *Resource) bool {
	switch {
	case o == nil:
		r.g.wrong(r, pos, "%s: the other resource is nil", word)
	case o.g != r.g:
		r.g.wrong(r, pos, "%s: %s is a resource of another graph", word, o)
	default:
		return true
	}
	return false
}

// Meta sets metaparameters by the names that they have in a graph file, such as "retry". It replaces
// those of an earlier call.
func (r *Resource) Meta(values map[string]any) *Resource {
	if pos := r.place(); r.declares("Meta", pos) {
		r.decl.Meta = r.g.node(r, pos, values)
	}
	return r
}

// Recv has a parameter receive what another resource sends. The field is a pointer to a field of the
// Go value of this resource, such as &conf.Content, or the path of a parameter as text. Whether the other
// resource sends such a value, and of a fitting type, is checked when the graph is built.
func (r *Resource) Recv(field any, from Output) *Resource {
	pos := r.place()
	if !r.declares("Recv", pos) {
		return r
	}
	if from.err != "" {
		r.g.wrong(r, pos, "Recv: %s", from.err)
		return r
	}
	if !r.mine("Recv", pos, from.from) {
		return r
	}
	path, ok := field.(string)
	if !ok {
		if path = keyAt(r.decl.Res, field); path == "" {
			r.g.wrong(r, pos, "Recv: the field is a %T, want a pointer to a parameter of the Go value of %s, or the key of one", field, r)
			return r
		}
	}
	ref := from.from.Ref()
	ref.Key = from.key
	r.decl.Recv = append(r.decl.Recv, gapi.RecvDecl{Field: path, From: ref, Pos: pos})
	return r
}

// place is that of the graph, for a method that does not call another one.
func (r *Resource) place() schema.Pos { return r.g.place() }

// Sent returns the value that the resource sends under a key.
func (r *Resource) Sent(key string) Output { return Output{from: r, key: key} }

// SentField is Resource.Sent with the key of a field of the struct that the resource sends. The
// compiler checks the field:
//
//	static.SentField(key, func(s *password.Sends) any { return &s.Password })
func SentField[S any](r *Resource, field func(*S) any) Output {
	if r == nil {
		return Output{err: "the sender is nil"}
	}
	sender, ok := engine.As[engine.SendableRes](r.decl.Res)
	if !ok {
		return Output{err: fmt.Sprintf("%s sends nothing", r)}
	}
	sends, ok := sender.Sends().(*S)
	if v, plain := sender.Sends().(S); plain {
		sends, ok = &v, true
	}
	if !ok {
		return Output{err: fmt.Sprintf("%s sends a %T, not a %T", r, sender.Sends(), new(S))}
	}
	key := keyAt(sends, field(sends))
	if key == "" {
		return Output{err: fmt.Sprintf("the function returns no pointer to a field of %T", sends)}
	}
	return r.Sent(key)
}

// keyAt returns the key of the field of v, a pointer to a struct, that a pointer points to; empty if
// there is none.
func keyAt(v, pointer any) string {
	t, err := schema.TypeOf(v)
	to, of := reflect.ValueOf(pointer), reflect.ValueOf(v)
	if err != nil || to.Kind() != reflect.Pointer || of.Kind() != reflect.Pointer || of.IsNil() {
		return ""
	}
	for _, f := range t.Fields {
		at, err := of.Elem().FieldByIndexErr(f.Index)
		if err == nil && at.CanAddr() && at.Addr().Pointer() == to.Pointer() && at.Addr().Type() == to.Type() {
			return f.Key
		}
	}
	return ""
}
