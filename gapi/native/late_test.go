package native

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// TestLateChange: topics are told of one after another, so an older change of a moved object may come last. The newer one
// stays, while both wait and after the newer one was taken over.
func TestLateChange(t *testing.T) {
	m, err := model.Define(model.Spec{Name: "Lamp", Table: "lamp", Kind: "lamp", Fields: []model.Field{{Key: "topic", Type: &schema.Type{Kind: schema.KindString}}}})
	if err != nil {
		t.Fatal(err)
	}
	change := func(topic string, revision int64) model.Change {
		o, err := m.Parse("", []byte(`{"id": "a", "topic": "`+topic+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		return model.Change{Action: model.Update, Model: m, ID: "a", Topic: topic, Revision: revision, Object: o}
	}
	f := New(model.Open(nil, model.NewRegistry(engine.NewRegistry()), model.Options{}), Options{})
	p := newPump(f, gapi.Env{})
	p.put(false, []model.Change{change("all", 10)})
	p.put(false, []model.Change{change("host:a", 8)})
	if _, list := p.take(); len(list) != 1 || list[0].Revision != 10 {
		t.Errorf("%v waits", list)
	}
	p.put(false, []model.Change{change("host:a", 8)})
	p.put(false, []model.Change{change("all", 12)})
	if _, list := p.take(); len(list) != 1 || list[0].Revision != 12 {
		t.Errorf("%v waits", list)
	}
	r := &reader{Frontend: f, set: newSet()}
	r.set.Set(&entry{ident: ident{"lamp", "a"}, revision: 10})
	if moved := r.take([]model.Change{change("host:a", 8)}, false); len(moved) != 0 {
		t.Errorf("the older change replaces the newer one: %v", moved)
	}
}
