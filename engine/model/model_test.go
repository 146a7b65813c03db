package model_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

var (
	text   = &schema.Type{Kind: schema.KindString}
	number = &schema.Type{Kind: schema.KindInt, Bits: 64}
)

func listOf(t *schema.Type) *schema.Type { return &schema.Type{Kind: schema.KindList, Elem: t} }

func define(t *testing.T, s model.Spec) *model.Model {
	t.Helper()
	m, err := model.Define(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func object(t *testing.T, m *model.Model, fields map[string]any) *model.Object {
	t.Helper()
	o, err := m.New(fields)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// port is a model with most of what there is.
func port(t *testing.T) *model.Model {
	mac := define(t, model.Spec{Name: "Mac", Fields: []model.Field{{Key: "mac", Type: &schema.Type{Kind: schema.KindString, Format: "mac"}, Required: true}}})
	return define(t, model.Spec{
		Name: "Port", Table: "port", Mixins: []model.Mixin{model.Topic, model.Version},
		Fields: []model.Field{
			{Key: "macs", Type: listOf(nil), Nested: mac},
			{Key: "net", Type: text, Target: "Net"},
			{Key: "size", Type: number, Default: int64(7)},
			{Key: "tags", Type: listOf(text), Set: true},
			{Key: "label", Type: text},
		},
		Indexes: map[string][]string{"mac": {"macs.mac"}, "net_label": {"net.id", "label"}},
	})
}

func TestFaultsComeAtOnceWithPositions(t *testing.T) {
	m := port(t)
	_, err := m.Parse("port.json", []byte(`{"id": "p",
  "lable": "x", "size": "x",
  "macs": [{"id": "a", "mac": "52:54:00:12:34:56"}, {"id": "b", "mac": "zz"}],
  "net": 5, "label": 5}`))
	var got []string
	for _, e := range model.Faults(err) {
		got = append(got, string(e.Code)+" "+e.Field+" "+e.Pos.String()+" "+e.Suggestion)
	}
	want := []string{
		"unknown_field lable port.json:2:3 label", "bad_value size port.json:2:25 ", "bad_value macs[1].mac port.json:3:72 ",
		"bad_value net port.json:4:10 ", "validation label port.json:4:22 ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestUnsetNullAndValueDiffer(t *testing.T) {
	m := port(t)
	o := object(t, m, map[string]any{"id": "p", "topic": "t", "label": "x", "tags": []any{"b", "a", "b"}})
	if got := o.Get("size"); got != int64(7) || o.Has("size") {
		t.Errorf("size is %v, set %v; want the default, unset", got, o.Has("size"))
	}
	if got := o.Get("tags").([]any); !slices.Equal(got, []any{"a", "b"}) {
		t.Errorf("the set is %v", got)
	}
	part := object(t, m, map[string]any{"label": nil, "size": "7", "tags": []any{"b", "a"}})
	merged, changed := o.Merge(part)
	if !slices.Equal(changed, []string{"label"}) || merged.Has("label") || !o.Has("label") {
		t.Errorf("changed %v, label set %v; the old one still has it: %v", changed, merged.Has("label"), o.Has("label"))
	}
	if again, changed := merged.Merge(part); len(changed) > 0 || again != merged {
		t.Errorf("the second merge changed %v", changed)
	}
}

func TestKeysGoThroughAll(t *testing.T) {
	m := port(t)
	o := object(t, m, map[string]any{"id": "p", "net": "n", "macs": []any{
		map[string]any{"id": "a", "mac": "52:54:00:00:00:01"}, map[string]any{"id": "b", "mac": "52:54:00:00:00:02"},
	}})
	for index, want := range map[string][][]any{
		"mac": {{"52:54:00:00:00:01"}, {"52:54:00:00:00:02"}}, "net_label": {{"n", model.Missing}}, "topic": {{model.Missing}},
	} {
		x, err := m.Index(index)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := o.Keys(x, nil)
		if err != nil || !slices.EqualFunc(keys, want, slices.Equal) {
			t.Errorf("index %s: %v, %v; want %v", index, keys, err, want)
		}
	}
	if _, err := m.Index("nett_label"); !errors.Is(err, model.UnknownIndex) || !strings.Contains(err.Error(), `did you mean "net_label"`) {
		t.Errorf("an unknown index: %v", err)
	}
}

func TestSpecFaults(t *testing.T) {
	_, err := model.Define(model.Spec{
		Name: "Bad", Schema: 3, Migrations: []model.Migration{{From: 2, Up: func(map[string]any) error { return nil }}},
		Fields:  []model.Field{{Key: "a.b", Type: text}, {Key: "c"}, {Key: "s", Type: &schema.Type{Kind: schema.KindString, Secret: true}}},
		Indexes: map[string][]string{"none": {"nope"}, "empty": {}, "hidden": {"s"}},
	})
	for _, want := range []string{`field "a.b"`, "field c has no type", "the path nope", "empty has no path", "show the secret s", "from version 1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

func TestRegistry(t *testing.T) {
	kinds := engine.NewRegistry()
	kinds.Register("noop", func() engine.Res { return nil })
	r := model.NewRegistry(kinds)
	m := port(t)
	if err := r.Add(m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Port", "port", "Mac"} {
		if _, err := r.Model(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	mac := define(t, model.Spec{Name: "Mac", Fields: []model.Field{{Key: "other", Type: text}}})
	for _, s := range []model.Spec{
		{Name: "Port", Table: "other"}, {Name: "Other", Table: "port"}, {Name: "None"}, {Name: "Odd", Table: "a/b"},
		{Name: "port", Table: "other"}, {Name: "Other", Table: "Port"}, {Name: "Other", Table: "Mac"}, {Name: "noop", Table: "other"},
		{Name: "Other", Table: "other", Fields: []model.Field{{Key: "mac", Nested: mac}}},
	} {
		if err := r.Add(define(t, s)); !errors.Is(err, model.Registration) {
			t.Errorf("%s at %q: %v", s.Name, s.Table, err)
		}
	}
	if _, err := r.Model("prot"); !errors.Is(err, model.UnknownModel) || !strings.Contains(err.Error(), "port") {
		t.Errorf("an unknown table: %v", err)
	}
	if _, err := r.Want(m, "size", "12"); err != nil {
		t.Error(err)
	}
	if v, err := r.Want(m, "macs.mac", "x"); err != nil || v != "x" {
		t.Errorf("%v, %v", v, err)
	}
}

func TestOperations(t *testing.T) {
	o := object(t, port(t), map[string]any{"id": "p", "macs": []any{map[string]any{"id": "a", "mac": "52:54:00:00:00:01"}}})
	added, err := o.Do("add", map[string]any{"field": "macs", "value": map[string]any{"id": "b", "mac": "52:54:00:00:00:02"}})
	if err != nil || len(added.Get("macs").([]any)) != 2 || len(o.Get("macs").([]any)) != 1 {
		t.Fatalf("%v, %v", added, err)
	}
	gone, err := added.Do("remove", map[string]any{"field": "macs", "value": map[string]any{"id": "a"}})
	if err != nil || len(gone.Get("macs").([]any)) != 1 {
		t.Errorf("%v, %v", gone, err)
	}
	for _, args := range []map[string]any{{"field": "macs"}, {"field": "label", "value": "x"}, {"field": "macs", "value": 1}, {"x": 1, "field": "macs", "value": "a"}} {
		if _, err := o.Do("add", args); model.CodeOf(err) == "" {
			t.Errorf("%v: %v", args, err)
		}
	}
}
