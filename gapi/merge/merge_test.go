package merge_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/merge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is a yield of a scripted frontend.
type step struct {
	d   *gapi.Declared
	err error
}

// scripted yields what a test sends, and answers questions with the same again.
type scripted struct{ steps chan step }

func (s *scripted) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		var last step
		for {
			select {
			case next, ok := <-s.steps:
				if !ok {
					return
				}
				last = next
			case <-env.Reload:
			case <-ctx.Done():
				return
			}
			if !yield(last.d, last.err) {
				return
			}
		}
	}
}

func graph(name string, resources ...string) *gapi.Declared {
	d := &gapi.Declared{Name: name}
	for _, r := range resources {
		d.Resources = append(d.Resources, gapi.Declaration{Kind: "noop", Name: r})
	}
	return d
}

func names(d *gapi.Declared) string {
	var list []string
	for _, r := range d.Resources {
		list = append(list, r.Name)
	}
	return d.Name + ":" + strings.Join(list, ",")
}

// rig is a merge of two scripted frontends.
type rig struct {
	t      *testing.T
	a, b   *scripted
	reload chan struct{}
	next   func() (*gapi.Declared, error, bool)
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, a: &scripted{make(chan step, 10)}, b: &scripted{make(chan step, 10)}, reload: make(chan struct{}, 1)}
	var stop func()
	r.next, stop = iter.Pull2(merge.New(r.a, r.b).Graphs(t.Context(), gapi.Env{Reload: r.reload}))
	t.Cleanup(stop)
	return r
}

func (r *rig) want(want string) {
	r.t.Helper()
	d, err, ok := r.next()
	got := "end"
	switch {
	case err != nil:
		got = err.Error()
	case ok:
		got = names(d)
	}
	if got != want {
		r.t.Fatalf("the next is %q, want %q", got, want)
	}
}

// TestWhole: the first whole waits for both, and each later graph makes another one.
func TestWhole(t *testing.T) {
	r := newRig(t)
	r.b.steps <- step{d: graph("", "b1")}
	r.a.steps <- step{d: graph("first", "a1")}
	r.want("first:a1,b1")
	r.b.steps <- step{d: graph("", "b1", "b2")}
	r.want("first:a1,b1,b2")
	r.b.steps <- step{err: errors.New("bad")}
	r.want("bad")
	r.a.steps <- step{d: graph("first")}
	r.want("first:b1,b2")
	close(r.a.steps)
	r.b.steps <- step{d: graph("", "b3")}
	r.want("first:b3")
	close(r.b.steps)
	r.want("end")
}

// TestOneEndsWithoutAGraph: the other one's graph is the whole.
func TestOneEndsWithoutAGraph(t *testing.T) {
	r := newRig(t)
	close(r.a.steps)
	r.b.steps <- step{d: graph("", "b1")}
	r.want(":b1")
}

// TestReload: one question asks all, and is answered by one whole, or by the error of one.
func TestReload(t *testing.T) {
	r := newRig(t)
	r.a.steps <- step{d: graph("first", "a1")}
	r.b.steps <- step{d: graph("", "b1")}
	r.want("first:a1,b1")
	r.reload <- struct{}{}
	r.want("first:a1,b1")
	r.b.steps <- step{err: errors.New("bad")}
	r.want("bad")
	r.reload <- struct{}{}
	r.want("bad") // the answer of b is the same again
}

// TestDone: the outcome reaches each frontend whose graph is in the whole.
func TestDone(t *testing.T) {
	r := newRig(t)
	var told []string
	a, b := graph("first", "a1"), graph("", "b1")
	a.Done = func(gapi.Outcome) { told = append(told, "a") }
	b.Done = func(gapi.Outcome) { told = append(told, "b") }
	r.a.steps <- step{d: a}
	r.b.steps <- step{d: b}
	d, _, _ := r.next()
	d.Done(gapi.Outcome{})
	if got := strings.Join(told, ""); got != "ab" {
		t.Errorf("told: %s", got)
	}
}

// TestEveryFieldIsMerged: a field of a graph that the whole left out would be ignored in silence.
func TestEveryFieldIsMerged(t *testing.T) {
	full := gapi.Declared{}
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Name == "Part" {
			continue // it takes the place of the other lists; see TestParts
		}
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Func:
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value { return nil }))
		case reflect.Struct:
			f.Field(0).SetString("x")
		case reflect.Interface:
			f.Set(reflect.ValueOf(gapi.OtherTools{}))
		default:
			t.Fatalf("the test does not know how to set %s", v.Type().Field(i).Name)
		}
	}
	r := newRig(t)
	r.a.steps <- step{d: &full}
	close(r.b.steps)
	whole, _, _ := r.next()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Pointer {
			continue
		}
		if reflect.ValueOf(whole).Elem().Field(i).IsZero() {
			t.Errorf("the whole has no %s", v.Type().Field(i).Name)
		}
	}
}

// TestErrorFirst: an error of one frontend does not hold back the graph of another one, in either order.
func TestErrorFirst(t *testing.T) {
	r := newRig(t)
	r.a.steps <- step{d: graph("first", "a1")}
	r.b.steps <- step{err: errors.New("bad")}
	r.want("bad")
	r.want("first:a1")
}

// part is a graph of a frontend that has changed a little.
func part(whole *gapi.Declared, changed []string, removed ...string) *gapi.Declared {
	return &gapi.Declared{Part: &gapi.Part{Resources: graph("", changed...).Resources, Removed: removed, Whole: func() *gapi.Declared { return whole }}}
}

// first is the first graph of a frontend that yields parts.
func first(whole *gapi.Declared) *gapi.Declared {
	d := part(whole, nil)
	d.Name, d.Part.All = whole.Name, true
	return d
}

// TestParts: a part stays a part of the whole, unless it is about something that another frontend names.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		name  string
		other *gapi.Declared
		next  *gapi.Declared
		all   bool
	}{
		{"apart", graph("first", "a1"), part(graph("", "b1", "b2"), []string{"b2"}), false},
		{"two of parts", first(graph("first", "a1")), part(graph("", "b1", "b2"), []string{"b2"}), false},
		{"a clash of two of parts", first(graph("first", "a1", "b2")), part(graph("", "b1", "b2"), []string{"b2"}), true},
		{"an edge of another part", first(&gapi.Declared{Name: "first", Edges: make([]gapi.EdgeDecl, 1)}), part(graph(""), nil, "noop[b1]"), true},
		{"a removal", graph("first", "a1"), part(graph(""), nil, "noop[b1]"), false},
		{"a clash", graph("first", "a1"), part(graph("", "b1", "a1"), []string{"a1"}), true},
		{"a removal of the other's", graph("first", "a1"), part(graph(""), nil, "noop[a1]"), true},
		{"an edge to what goes", &gapi.Declared{Name: "first", Edges: make([]gapi.EdgeDecl, 1)}, part(graph(""), nil, "noop[b1]"), true},
		{"not all is known", &gapi.Declared{Name: "first", Partial: true}, part(graph("", "b2"), []string{"b2"}), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, other := newRig(t), c.other.Complete()
			begin := part(graph("", "b1"), nil)
			begin.Part.All = true
			r.a.steps <- step{d: c.other}
			r.b.steps <- step{d: begin}
			d, _, _ := r.next()
			if d.Part == nil || !d.Part.All || names(d.Complete()) != names(other)+strings.Repeat(",", min(1, len(other.Resources)))+"b1" {
				t.Fatalf("the first whole is %+v", d)
			}
			r.b.steps <- step{d: c.next}
			d, _, _ = r.next()
			if d.Part == nil || d.Part.All != c.all || d.Name != "first" {
				t.Errorf("the part is %+v", d)
			}
			want := len(other.Resources) + len(c.next.Part.Whole().Resources)
			if whole := d.Complete(); len(whole.Resources) != want || len(whole.Edges) != len(other.Edges) {
				t.Errorf("the whole has %d resources and not %d", len(whole.Resources), want)
			}
			r.reload <- struct{}{}
			if d, _, _ = r.next(); d.Part == nil || !d.Part.All {
				t.Errorf("the answer to a question is %+v", d)
			}
		})
	}
}
