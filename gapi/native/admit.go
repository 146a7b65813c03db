package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Graph is the graph that runs, for Admission. A part of it may change while Admission looks at it.
type Graph interface {
	gapi.Running
	// After yields the ids of the vertices that a declared edge leads to, each with the id of the vertex that has declared the edge.
	After(id string) iter.Seq2[string, string]
}

// Admission judges changes of objects before they are written. It takes each object as it would be declared, with its references,
// with the resources that it would clash with, and with the edges that would make a circle. It looks at the changed objects and at
// objects that these name, never at all. Its fields are not altered after its first use. Many goroutines may use it at once.
//
// Law: an error of the store is the answer alone. It says nothing about the objects, and they have no fault because of it.
//
// An object of another host's topics is judged by itself, since the graph of that host is not known here. Two writers at once may each
// write half of a fault; the hosts put such objects aside.
type Admission struct {
	Kinds  func() *engine.Registry
	Topics []string // of this host, as in Options
	// Graph calls f with the graph that runs. nil stands for an empty graph. Its error ErrBusy says that no graph can be looked at, and
	// that f was not called: then references may lead to resources that are not seen.
	Graph func(ctx context.Context, f func(Graph) error) error
	// Sealed reports whether the text of a secret is encrypted, as in model.Options. The clear text of such a parameter is not known
	// here, so no fault of the parameter counts. nil stands for a store without secrets.
	Sealed func(text string) bool
}

// ErrBusy says that no graph can be looked at, since none runs yet, or none any more.
var ErrBusy = errors.New("no graph runs that could be looked at")

// Admit is for model.Options.Admit. Its error joins a model.Error for each fault, with the path of the field.
func (a *Admission) Admit(ctx context.Context, tx *model.Tx, changes []model.Altered) error {
	var own, others []model.Altered
	for _, c := range changes {
		switch {
		case c.Now == nil || c.Now.Model().Kind() == "":
		case a.Topics == nil || slices.Contains(a.Topics, c.Now.Topic()):
			own = append(own, c)
		default:
			others = append(others, c)
		}
	}
	elsewhere := &judge{reg: a.Kinds(), tx: tx, sealed: a.Sealed, partial: true}
	err := elsewhere.judge(others)
	if len(own) == 0 || elsewhere.lost != nil {
		return err
	}
	here := &judge{reg: a.Kinds(), tx: tx, sealed: a.Sealed}
	found := a.judgeHere(ctx, here, own)
	if here.lost != nil {
		return found
	}
	return errors.Join(err, found)
}

// judgeHere judges objects of this host, with the graph that runs here.
func (a *Admission) judgeHere(ctx context.Context, here *judge, own []model.Altered) error {
	if a.Graph == nil {
		return here.judge(own)
	}
	found := a.Graph(ctx, func(g Graph) error {
		here.graph = g
		return here.judge(own)
	})
	if errors.Is(found, ErrBusy) {
		here.partial = true
		found = here.judge(own)
	}
	return found
}

// judge judges some objects against the store, and against the graph that runs. The store is newer, so it comes first.
type judge struct {
	reg     *engine.Registry
	tx      *model.Tx
	graph   Graph // nil for none
	sealed  func(text string) bool
	partial bool  // references may lead to unknown resources
	lost    error // of the store; nothing is read after it
}

// judge returns all faults of the objects, or the error of the store alone. Nothing is kept for the next transaction, since the
// store and the graph may be others then.
func (j *judge) judge(changes []model.Altered) error {
	err := j.faults(changes)
	return cmp.Or(j.lost, err)
}

// faults judges the objects as a part of the graph that runs: each alone, then all together, and the circles that they close last, since
// a circle can only be looked for among objects without another fault.
func (j *judge) faults(changes []model.Altered) error {
	part := &gapi.Declared{Partial: j.partial}
	objects := map[string]*model.Object{}
	var errs []error
	for _, c := range changes {
		d, err := Declaration(c.Now)
		if err != nil {
			errs = append(errs, undeclared(c.Now, err))
			continue
		}
		if err := hosts.CheckTopic(c.Now.Topic()); err != nil && (c.Was == nil || c.Was.Topic() != c.Now.Topic()) {
			errs = append(errs, fault(c.Now, "topic", err.Error(), "")) // no host would ever read it
		}
		id := idOf(c.Now)
		objects[id] = c.Now
		part.Resources = append(part.Resources, *d)
		if v := j.inGraph(id); c.Was == nil && v != nil && !v.Special().Collected {
			errs = append(errs, fault(c.Now, "id", fmt.Sprintf("%s is declared at %s already", id, cmp.Or(v.Pos.String(), "another place")), ""))
		}
	}
	if len(part.Resources) == 0 {
		return errors.Join(errs...)
	}
	g, found := gapi.NewPart(j.reg, part, j).Check(func(int) bool { return false })
	for _, d := range found {
		d.Message = strings.TrimPrefix(d.Message, d.Resource+": ") // the fault names its object
		if d.Suggestion == d.Resource {
			d.Suggestion = "" // the part knows few names, and its own helps no one
		}
		if o := objects[d.Resource]; o != nil && d.Severity == schema.Error {
			if field := fieldOf(o.Model(), d); !j.isSealed(o, field) {
				errs = append(errs, fault(o, field, d.Message, d.Suggestion))
			}
		} else if d.Severity == schema.Error {
			errs = append(errs, fault(changes[0].Now, "id", d.Message, d.Suggestion))
		}
	}
	if err := errors.Join(errs...); err != nil || g == nil {
		return err
	}
	return j.circles(g, objects)
}

// idOf names an object as a resource, as findings and edges do.
func idOf(o *model.Object) string { return ident{o.Model().Table(), o.ID()}.String() }

// fault is the error for a field of an object. The API adds the place of the field in the body.
func fault(o *model.Object, field, message, suggestion string) error {
	return &model.Error{Code: model.Validation, Table: o.Model().Label(), ID: o.ID(), Field: field, Message: message, Suggestion: suggestion}
}

// undeclared is a fault of an object that makes no declaration. Its text begins with the field.
func undeclared(o *model.Object, err error) error {
	field, _, _ := strings.Cut(err.Error(), ":")
	if o.Model().Field(field) == nil {
		field = "id"
	}
	return fault(o, field, err.Error(), "")
}

// fieldOf returns the field of an object that a finding is about: by its path, or by the first word of its text.
func fieldOf(m *model.Model, d schema.Diagnostic) string {
	path := d.Path
	if path == "" {
		path, _, _ = strings.Cut(d.Message, ":")
	}
	end := strings.IndexAny(path+".", ".[ ")
	for _, f := range m.Fields() {
		if f.Key == path[:end] && f.Param == "" || f.Param != "" && f.Param == path[:end] {
			return f.Key + strings.TrimSuffix(path[end:], " ")
		}
	}
	return "id"
}

// isSealed reports whether a field, or the field around it, has a cipher text.
func (j *judge) isSealed(o *model.Object, field string) bool {
	return j.sealed != nil && j.anySealed(o.Get(field[:strings.IndexAny(field+".", ".[")]))
}

// anySealed reports whether a value has a cipher text.
func (j *judge) anySealed(v any) bool {
	switch v := v.(type) {
	case string:
		return j.sealed(v)
	case schema.Secret:
		return j.sealed(v.Reveal())
	case []any:
		return slices.ContainsFunc(v, j.anySealed)
	case map[string]any:
		for _, item := range v {
			if j.anySealed(item) {
				return true
			}
		}
	}
	return false
}

// inGraph returns a running vertex that is of no object, nil for none. A vertex that only undoes something is about to leave the
// graph, so it counts as none.
func (j *judge) inGraph(id string) *resgraph.Vertex {
	if j.graph == nil {
		return nil
	}
	if v := j.graph.Find(id); v != nil && !v.Special().Once && !strings.HasPrefix(v.Pos.File, "store:") {
		return v
	}
	return nil
}

// Find implements gapi.Running: an object of the store as it will be, or a resource that runs and does not come from the store.
func (j *judge) Find(id string) *resgraph.Vertex {
	ref, err := schema.ParseRef(id)
	if err != nil {
		return nil
	}
	if o := j.object(ref); o != nil {
		return j.built(o)
	}
	return j.inGraph(id)
}

// built makes the vertex of a stored object, nil where it cannot be made. The clear text of a secret is not known here. So the
// vertex of an object with secrets lacks them, and is not checked: the object was checked when it was written.
func (j *judge) built(o *model.Object) *resgraph.Vertex {
	open, sealed := o, false
	for _, key := range o.Mask() {
		if j.isSealed(o, key) {
			open, sealed = open.Without(key), true
		}
	}
	d, err := Declaration(open)
	if err != nil {
		return nil
	}
	if sealed {
		return j.unchecked(d)
	}
	g, _ := gapi.Build(j.reg, &gapi.Declared{Resources: []gapi.Declaration{*d}, Partial: true})
	if g == nil || g.Len() == 0 {
		return nil
	}
	return g.Value(0)
}

// unchecked makes the vertex of a declaration that lacks some of its parameters.
func (j *judge) unchecked(d *gapi.Declaration) *resgraph.Vertex {
	res, err := lifecycle.Make(j.reg, lifecycle.Wanted{Kind: d.Kind, Name: d.Name}, func(res engine.Res) error {
		schema.Decode(d.Value, res) // a missing parameter was there when the object was checked
		return nil
	})
	if err != nil {
		return nil
	}
	engine.DecodeMeta(d.Meta, res.MetaParams())
	v := &resgraph.Vertex{Res: res, Pos: d.Pos}
	for _, r := range d.Recv {
		v.Recv = append(v.Recv, resgraph.Wire{Field: r.Field, From: r.From, Pos: r.Pos, Formula: r.Formula})
	}
	return v
}

// object returns a stored object, nil for none, for a record that cannot be read, and where the store is lost.
func (j *judge) object(ref schema.Ref) *model.Object {
	m, err := j.tx.Registry().Model(ref.Kind)
	if err != nil || m.Kind() == "" || j.lost != nil {
		return nil
	}
	o, err := j.tx.Peek(m, ref.Name)
	if err != nil {
		if model.CodeOf(err) == "" {
			j.lost = err
		}
		return nil
	}
	return o
}

// Receivers implements gapi.Running.
func (j *judge) Receivers(id string) []string {
	if j.graph == nil {
		return nil
	}
	return j.graph.Receivers(id)
}

// Sharing implements gapi.Running.
func (j *judge) Sharing(u autoedge.UID) iter.Seq[string] {
	if j.graph == nil {
		return func(func(string) bool) {}
	}
	return j.graph.Sharing(u)
}

// circles returns a fault for each changed object whose edges close a circle. It walks over the resources that come after the object.
func (j *judge) circles(g *resgraph.Graph, objects map[string]*model.Object) error {
	var errs []error
	w := &walk{judge: j, g: g, objects: objects, stored: j.stored(objects)}
	for i := range g.Len() {
		o := objects[g.ID(i)]
		if o == nil {
			continue
		}
		if path := w.circle(g.ID(i)); path != nil {
			errs = append(errs, fault(o, edgeOf(o), "the edges make a circle: "+strings.Join(path, " -> "), ""))
		}
	}
	return errors.Join(errs...)
}

// edgeOf returns a field of an object that has edges, or the id, for the place of a fault.
func edgeOf(o *model.Object) string {
	for _, key := range append([]string{"recv"}, model.Edges...) {
		if o.Get(key) != nil {
			return key
		}
	}
	return "id"
}

// walk follows the edges from changed objects.
type walk struct {
	*judge
	g       *resgraph.Graph // of the changed objects, with their references
	objects map[string]*model.Object
	stored  map[string][]string // edges of objects that do not run yet
}

// circle returns a way from a resource back to it, nil for none.
func (w *walk) circle(from string) []string {
	came := map[string]string{} // from where each was reached
	for todo := []string{from}; len(todo) > 0; todo = todo[1:] {
		for next := range w.after(todo[0]) {
			if next == from {
				path := []string{from}
				for at := todo[0]; at != from; at = came[at] {
					path = append(path, at)
				}
				path = append(path, from)
				slices.Reverse(path)
				return path
			}
			if _, seen := came[next]; !seen {
				came[next] = todo[0]
				todo = append(todo, next)
			}
		}
	}
	return nil
}

// after yields the resources that come after one: by the changed objects, by stored ones, and by the graph that runs. A resource may
// come twice.
func (w *walk) after(id string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if i, ok := w.g.Index(id); ok {
			for _, to := range w.g.Succ(i) {
				if !yield(w.g.ID(int(to))) {
					return
				}
			}
		}
		for _, next := range w.stored[id] {
			if !yield(next) {
				return
			}
		}
		if w.graph == nil {
			return
		}
		for next, owner := range w.graph.After(id) {
			if w.objects[owner] == nil && !yield(next) {
				return
			}
		}
	}
}

// maxStored bounds how many objects that do not run yet are read for their edges.
const maxStored = 1000

// stored returns the edges of the objects that the changed ones name, near or far, and that the running graph does not know.
func (j *judge) stored(objects map[string]*model.Object) map[string][]string {
	edges, seen := map[string][]string{}, map[string]bool{}
	var todo []schema.Ref
	name := func(o *model.Object, note bool) {
		id := idOf(o)
		for _, key := range model.Edges {
			list, _ := o.Get(key).([]any)
			for _, item := range list {
				ref, err := reference(item)
				if err != nil {
					continue
				}
				todo = append(todo, ref)
				switch other := ref.ID(); {
				case !note:
				case key == "before" || key == "notify":
					edges[id] = append(edges[id], other)
				default:
					edges[other] = append(edges[other], id)
				}
			}
		}
	}
	for _, o := range objects {
		name(o, false)
	}
	for ; len(todo) > 0 && len(seen) < maxStored; todo = todo[1:] {
		id := todo[0].ID()
		if seen[id] || objects[id] != nil || j.graph != nil && j.graph.Find(id) != nil {
			continue
		}
		seen[id] = true
		if o := j.object(todo[0]); o != nil {
			name(o, true)
		}
	}
	return edges
}
