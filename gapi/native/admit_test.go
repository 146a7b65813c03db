package native_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi/native"
	"github.com/reactivegraph/mgmt/traits"
)

// locked is a kind whose secret has a form.
type locked struct {
	thing
	traits.Recvable
	Note string        `yaml:"note" doc:"A text."`
	Key  schema.Secret `yaml:"key" mgmt:"required" doc:"A secret that begins with a k."`
}

// Sends implements engine.SendableRes.
func (x *locked) Sends() any {
	return struct {
		Out string `yaml:"out" doc:"A text."`
	}{}
}

func (x *locked) Default() engine.Res { return &locked{} }

// Validate refuses a key of another form.
func (x *locked) Validate() error {
	if !strings.HasPrefix(x.Key.Reveal(), "k") {
		return errors.New("key: it does not begin with a k")
	}
	return nil
}

// TestAdmitSealed: a secret is judged in clear where the writer gives it, and not at all where it was stored before.
func TestAdmitSealed(t *testing.T) {
	kinds := engine.NewRegistry()
	if err := kinds.Register("locked", func() engine.Res { return &locked{} }); err != nil {
		t.Fatal(err)
	}
	w := memory.New()
	defer w.Close()
	is := func(text string) bool { return strings.HasPrefix(text, "sealed:") }
	admission := &native.Admission{Kinds: func() *engine.Registry { return kinds }, Sealed: is}
	nb := model.Open(w, model.NewRegistry(kinds), model.Options{Sealed: is, Admit: admission.Admit,
		Seal: func(_ context.Context, _ string, clear schema.Secret) (string, error) {
			return "sealed:" + clear.Reveal(), nil
		}})
	m, err := nb.Registry().Model("locked")
	if err != nil {
		t.Fatal(err)
	}
	object := func(text string) *model.Object {
		t.Helper()
		o, err := m.Parse("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if _, err := nb.Create(t.Context(), object(`{"id":"a","key":"wrong"}`), model.Write{}); model.CodeOf(err) != model.Validation {
		t.Errorf("a wrong secret: %v", err)
	}
	if _, err := nb.Create(t.Context(), object(`{"id":"a","key":"k1"}`), model.Write{}); err != nil {
		t.Errorf("a good secret: %v", err)
	}
	if _, err := nb.Update(t.Context(), object(`{"id":"a","note":"more"}`), model.Write{}); err != nil {
		t.Errorf("a change beside a stored secret: %v", err)
	}
	if _, err := nb.Update(t.Context(), object(`{"id":"a","key":"wrong"}`), model.Write{}); model.CodeOf(err) != model.Validation {
		t.Errorf("a wrong secret in the place of a stored one: %v", err)
	}
	// Another object may name the one with the stored secret.
	for _, text := range []string{`{"id":"b","key":"k2","depend":["locked[a]"]}`, `{"id":"c","key":"k3","recv":{"note":"locked[a].out"}}`} {
		if _, err := nb.Create(t.Context(), object(text), model.Write{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := nb.Create(t.Context(), object(`{"id":"d","key":"k4","recv":{"note":"locked[a].none"}}`), model.Write{}); model.CodeOf(err) != model.Validation {
		t.Errorf("a value that is not sent: %v", err)
	}
}

// oneVertex is a running graph of one vertex.
type oneVertex struct{ v *resgraph.Vertex }

func (o oneVertex) Find(id string) *resgraph.Vertex {
	if id == o.v.Res.String() {
		return o.v
	}
	return nil
}
func (oneVertex) Receivers(string) []string              { return nil }
func (oneVertex) Sharing(autoedge.UID) iter.Seq[string]  { return func(func(string) bool) {} }
func (oneVertex) After(string) iter.Seq2[string, string] { return func(func(string, string) bool) {} }

// beside returns a rig whose admission looks at a graph of one vertex, thing[a].
func beside(t *testing.T) (*rig, *oneVertex) {
	t.Helper()
	r := newRig(t)
	kinds := engine.NewRegistry()
	if err := kinds.Register("thing", func() engine.Res { return &thing{} }); err != nil {
		t.Fatal(err)
	}
	res := &thing{}
	res.SetKind("thing")
	res.SetName("a")
	one := &oneVertex{v: &resgraph.Vertex{Res: res}}
	admission := &native.Admission{Kinds: func() *engine.Registry { return kinds }, Graph: func(_ context.Context, f func(native.Graph) error) error {
		return f(one)
	}}
	r.nb = model.Open(r.w, model.NewRegistry(kinds), model.Options{Admit: admission.Admit})
	return r, one
}

// TestAdmitBesideUndone: a resource that has left a file, and is only undone, does not clash with an object of its name, and is no
// target of an edge.
func TestAdmitBesideUndone(t *testing.T) {
	r, one := beside(t)
	if _, err := r.nb.Create(t.Context(), r.object(`{"id":"a"}`), model.Write{}); model.CodeOf(err) != model.Validation {
		t.Errorf("a clash: %v", err)
	}
	one.v.Alter(func(s *resgraph.Special) { s.Once = true })
	r.create(`{"id":"a"}`)
	r.create(`{"id":"b"}`)
	if _, err := r.nb.Delete(t.Context(), r.object(`{"id":"a"}`).Model(), "a", model.Write{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.nb.Update(t.Context(), r.object(`{"id":"b","depend":["thing[a]"]}`), model.Write{}); model.CodeOf(err) != model.Validation {
		t.Errorf("an edge to a resource that is undone: %v", err)
	}
}

// TestAdmitBesideCollected: a resource of another host gives way to an object of its name.
func TestAdmitBesideCollected(t *testing.T) {
	r, one := beside(t)
	one.v.Alter(func(s *resgraph.Special) { s.Collected = true })
	r.create(`{"id":"b","depend":["thing[a]"]}`)
	r.create(`{"id":"a"}`)
}

// TestAdmitNamesTheField: a fault of an edge has the field that declares the edge, and its text does not repeat the object.
func TestAdmitNamesTheField(t *testing.T) {
	r, _ := beside(t)
	for _, field := range []string{"depend", "before", "notify", "listen"} {
		_, err := r.nb.Create(t.Context(), r.object(`{"id":"b","`+field+`":["thing[none]"]}`), model.Write{})
		faults := model.Faults(err)
		if len(faults) != 1 || faults[0].Field != field || faults[0].Message != field+": thing[none] is not in the graph" {
			t.Errorf("%s: %+v", field, err)
		}
	}
	_, err := r.nb.Create(t.Context(), r.object(`{"id":"b","meta":{"nope":1}}`), model.Write{})
	if faults := model.Faults(err); len(faults) != 1 || faults[0].Field != "meta.nope" || strings.Contains(faults[0].Message, "thing[b]") {
		t.Errorf("an unknown key of meta: %+v", err)
	}
	m, err := r.nb.Registry().Model("thing")
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Parse("", []byte(`{"id":"b","depend":["thing[a]","nonsense"]}`))
	if faults := model.Faults(err); len(faults) != 1 || faults[0].Field != "depend[1]" || !strings.HasPrefix(faults[0].Message, `depend[1]: "nonsense" is not a reference`) {
		t.Errorf("a wrong reference: %+v", err)
	}
}

// TestAdmitStoreLost: a store that is lost during admission is no fault of the object, and is asked no more.
func TestAdmitStoreLost(t *testing.T) {
	r, _ := beside(t)
	r.create(`{"id":"x1"}`)
	r.create(`{"id":"x2"}`)
	r.create(`{"id":"x3"}`)
	r.w.lost.Store(new("/x"))
	before := r.w.gets.Load()
	_, err := r.nb.Create(t.Context(), r.object(`{"id":"b","depend":["thing[x1]","thing[x2]","thing[x3]"],"meta":{"noop":true}}`), model.Write{})
	if !errors.Is(err, world.ErrUnavailable) || model.CodeOf(err) != "" {
		t.Errorf("the error is %v", err)
	}
	if n := r.w.gets.Load() - before; n > 3 { // the new object, and the first target
		t.Errorf("the lost store was asked %d times", n)
	}
}

// TestAdmitTopics: a topic that no host can have is refused, since the object would wait for ever and nobody would learn of it. An object that has
// such a topic already can be altered and deleted, and data that is no resource has topics of its own.
func TestAdmitTopics(t *testing.T) {
	kinds := engine.NewRegistry()
	if err := kinds.Register("locked", func() engine.Res { return &locked{} }); err != nil {
		t.Fatal(err)
	}
	w := memory.New()
	defer w.Close()
	reg := model.NewRegistry(kinds)
	plain, err := model.Define(model.Spec{Name: "Plain", Table: "plain", Fields: []model.Field{{Key: "topic", Type: &schema.Type{Kind: schema.KindString}}}})
	if err == nil {
		err = reg.Add(plain)
	}
	if err != nil {
		t.Fatal(err)
	}
	seal := func(_ context.Context, _ string, clear schema.Secret) (string, error) {
		return "sealed:" + clear.Reveal(), nil
	}
	is := func(text string) bool { return strings.HasPrefix(text, "sealed:") }
	admission := &native.Admission{Kinds: func() *engine.Registry { return kinds }, Sealed: is, Topics: []string{"", "all"}}
	nb := model.Open(w, reg, model.Options{Seal: seal, Sealed: is, Admit: admission.Admit})
	m, err := reg.Model("locked")
	if err != nil {
		t.Fatal(err)
	}
	create := func(m *model.Model, id, topic string, nb *model.NB) error {
		fields := map[string]any{"id": id, "topic": topic}
		if m != plain {
			fields["key"] = "k"
		}
		o, err := m.New(fields)
		if err == nil {
			_, err = nb.Create(t.Context(), o, model.Write{})
		}
		return err
	}
	for topic, good := range map[string]bool{"": true, "all": true, "host:a": true, "group:web": true, "host:a/b:c": true, "nonsense": false, "host:": false, "group:": false, "grp:web": false, "All": false, " all": false} {
		err := create(m, "of "+topic, topic, nb)
		if fault := model.Faults(err); good != (err == nil) || !good && (len(fault) != 1 || fault[0].Code != model.Validation || fault[0].Field != "topic") {
			t.Errorf("the topic %q: %v", topic, err)
		}
		if err := create(plain, "of "+topic, topic, nb); err != nil {
			t.Errorf("data of the topic %q: %v", topic, err)
		}
	}
	if err := create(m, "old", "old words", model.Open(w, reg, model.Options{Seal: seal, Sealed: is})); err != nil {
		t.Fatal(err)
	}
	o, err := m.New(map[string]any{"id": "old", "note": "more"})
	if err == nil {
		_, err = nb.Update(t.Context(), o, model.Write{})
	}
	if err == nil {
		_, err = nb.Delete(t.Context(), m, "old", model.Write{})
	}
	if err != nil {
		t.Error(err)
	}
}
