package model_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/model"
)

// rack is a model as an embedding program writes it.
type rack struct {
	ID     string        `yaml:"id"`
	Topic  string        `yaml:"topic"`
	Room   string        `yaml:"room" mgmt:"required" doc:"Where it stands."`
	State  string        `yaml:"state" mgmt:"enum=up|down"`
	Height int           `yaml:"height" mgmt:"min=1,max=60"`
	Up     string        `yaml:"up" model:"ref=rack"`
	Tags   []string      `yaml:"tags" model:"set"`
	Wait   time.Duration `yaml:"wait"`
	Note   *string       `yaml:"note"`
}

func TestModelOfAStruct(t *testing.T) {
	m, err := model.Of(rack{State: "up", Wait: time.Minute}, model.Spec{
		Table: "rack", Mixins: []model.Mixin{model.Topic, model.Version}, Indexes: map[string][]string{"place": {"room", "tags"}, "up": {"up.room"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != "rack" || !m.Field("topic").Required || m.Field("room").Doc != "Where it stands." {
		t.Errorf("%s, %+v", m.Name(), m.Field("topic"))
	}
	note := "new"
	o, err := model.From(m, rack{ID: "r1", Topic: "all", Room: "a", Tags: []string{"y", "x", "y"}, Note: &note})
	if err != nil || !slices.Equal(o.Mask(), []string{"id", "note", "room", "tags", "topic"}) {
		t.Fatal(o.Mask(), err)
	}
	v, err := model.As[rack](o)
	if err != nil || v.State != "up" || v.Wait != time.Minute || !slices.Equal(v.Tags, []string{"x", "y"}) || *v.Note != "new" || v.ID != "r1" {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := model.From(m, rack{ID: "r1", State: "sideways", Height: 99}); len(model.Faults(err)) != 2 {
		t.Errorf("two faults: %v", err)
	}
	r := model.NewRegistry(nil)
	if err := errors.Join(r.Add(m), r.Check()); err != nil {
		t.Error(err)
	}
}

func TestStructsThatAreNoModels(t *testing.T) {
	type bad struct {
		A int    `yaml:"a" model:"ref=rack"`
		B string `yaml:"b" model:"set"`
		C string `yaml:"c" model:"nonsense"`
	}
	_, err := model.Of(bad{}, model.Spec{Table: "bad"})
	if len(model.Faults(err)) != 3 || !strings.Contains(err.Error(), `no word "nonsense"`) {
		t.Error(err)
	}
	if _, err := model.Of(struct{ C chan int }{}, model.Spec{Name: "Bad", Table: "bad"}); !errors.Is(err, model.Registration) {
		t.Error(err)
	}
	type lost struct {
		A string `yaml:"a" model:"ref=nowhere"`
	}
	m, err := model.Of(lost{}, model.Spec{Table: "lost"})
	r := model.NewRegistry(nil)
	if err := errors.Join(err, r.Add(m)); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); !errors.Is(err, model.Registration) || !strings.Contains(err.Error(), `"nowhere"`) {
		t.Error(err)
	}
}
