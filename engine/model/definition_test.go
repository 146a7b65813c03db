package model_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestFaultsOfASpec: each fault of a Spec names its part, and all of them are Registrations.
func TestFaultsOfASpec(t *testing.T) {
	inner := define(t, model.Spec{Name: "Inner", Fields: []model.Field{{Key: "a", Type: text}, {Key: "key", Type: &schema.Type{Kind: schema.KindString, Secret: true}}}})
	step := func(map[string]any) error { return nil }
	loose := &schema.Type{Kind: schema.KindStruct, Fields: []*schema.Field{{Key: "x", Type: text}}}
	for _, c := range []struct {
		name, part, says string
		spec             model.Spec
	}{
		{"no name", "model", "needs a name", model.Spec{}},
		{"an unknown mixin", "mixins", "no mixin 99", model.Spec{Mixins: []model.Mixin{99}}},
		{"no key", "fields", `the field ""`, model.Spec{Fields: []model.Field{{Type: text}}}},
		{"a slash", "fields.a/b", "without dots, slashes and spaces", model.Spec{Fields: []model.Field{{Key: "a/b", Type: text}}}},
		{"a space", "fields.a b", "without dots, slashes and spaces", model.Spec{Fields: []model.Field{{Key: "a b", Type: text}}}},
		{"no type", "fields.a", "has no type", model.Spec{Fields: []model.Field{{Key: "a"}}}},
		{"nested in text", "fields.a", `nests model "Inner"`, model.Spec{Fields: []model.Field{{Key: "a", Type: text, Nested: inner}}}},
		{"nested in a list of text", "fields.a", `nests model "Inner"`, model.Spec{Fields: []model.Field{{Key: "a", Type: listOf(text), Nested: inner}}}},
		{"a default of another type", "fields.a", "the default of a", model.Spec{Fields: []model.Field{{Key: "a", Type: number, Default: "x"}}}},
		{"a default of no type", "fields.a", "the default of a", model.Spec{Fields: []model.Field{{Key: "a", Type: number, Default: make(chan int)}}}},
		{"a secret default", "fields.a", "is a secret", model.Spec{Fields: []model.Field{{Key: "a", Type: listOf(&schema.Type{Kind: schema.KindString, Secret: true}), Default: []any{"canary"}}}}},
		{"an empty index", "indexes.i", "has no path", model.Spec{Indexes: map[string][]string{"i": nil}}},
		{"an index on an object", "indexes.i", "ends at the object in", model.Spec{Fields: []model.Field{{Key: "in", Nested: inner}}, Indexes: map[string][]string{"i": {"in"}}}},
		{"an index on a secret inside", "indexes.i", "would show the secret in.key", model.Spec{Fields: []model.Field{{Key: "in", Type: listOf(nil), Nested: inner}}, Indexes: map[string][]string{"i": {"in.key"}}}},
		{"an index behind a field", "indexes.i", "no such field", model.Spec{Fields: []model.Field{{Key: "in", Nested: inner}}, Indexes: map[string][]string{"i": {"in.b"}}}},
		{"an index behind text", "indexes.i", "no such field", model.Spec{Fields: []model.Field{{Key: "a", Type: text}}, Indexes: map[string][]string{"i": {"a.b"}}}},
		{"an index in a struct", "indexes.i", "no such field", model.Spec{Fields: []model.Field{{Key: "a", Type: loose}}, Indexes: map[string][]string{"i": {"a.y"}}}},
		{"a step too many", "migrations", "from version 2", model.Spec{Schema: 2, Migrations: []model.Migration{{From: 1, Up: step}, {From: 2, Up: step}}}},
		{"a step from nowhere", "migrations", "from version 0", model.Spec{Migrations: []model.Migration{{Up: step}}}},
		{"a step without a function", "schema", "no migration from version 1", model.Spec{Schema: 2, Migrations: []model.Migration{{From: 1}}}},
	} {
		if c.part != "model" {
			c.spec.Name = "Bad"
		}
		m, err := model.Define(c.spec)
		fault := model.Faults(err)
		if m != nil || len(fault) != 1 || fault[0].Code != model.Registration || fault[0].Field != c.part || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for path, spec := range map[string]model.Spec{
		"a.x":  {Fields: []model.Field{{Key: "a", Type: listOf(loose)}}},
		"in.a": {Fields: []model.Field{{Key: "in", Type: &schema.Type{Kind: schema.KindMap, Elem: listOf(nil)}, Nested: inner}}},
		"r.q":  {Fields: []model.Field{{Key: "r", Type: text, Target: "Later"}}},
	} {
		spec.Name, spec.Indexes = "Good", map[string][]string{"i": {path}}
		if _, err := model.Define(spec); err != nil {
			t.Errorf("an index on %s: %v", path, err)
		}
	}
}

// TestBasesAndMixins: the first base wins, a field of its own stands in the place of a base's, and events, hooks and operations are joined.
func TestBasesAndMixins(t *testing.T) {
	base := func(name string, more ...model.Mixin) *model.Model {
		return define(t, model.Spec{
			Name: name, Mixins: more, Events: []string{"by_" + name},
			Fields:     []model.Field{{Key: "both", Type: text, Doc: name}, {Key: "of_" + name, Type: text}, {Key: "own", Type: text}},
			Indexes:    map[string][]string{"shared": {"of_" + name}, "of_" + name: {"both"}},
			Operations: map[string]model.Operation{"act": {Doc: name}, "act_" + name: {Doc: name}},
		})
	}
	m := define(t, model.Spec{
		Name: "Both", Table: "both", Doc: "Of two.", Mixins: []model.Mixin{model.Topic, model.UniqueKey}, Bases: []*model.Model{base("first", model.Version), base("second", model.Name, model.BasicEvents)},
		Fields: []model.Field{{Key: "own", Type: number}}, Events: []string{"own", "by_first"}, Operations: map[string]model.Operation{"act_second": {Doc: "own"}},
	})
	for key, doc := range map[string]string{"both": "first", "topic": "Who takes the object over: host:NAME, group:NAME or all."} {
		if f := m.Field(key); f == nil || f.Doc != doc {
			t.Errorf("the field %s is %+v", key, f)
		}
	}
	if m.Field("own").Type != number || m.Field("nowhere") != nil || m.Doc() != "Of two." || m.Kind() != "" || m.Schema() != 1 || m.Label() != "both" {
		t.Errorf("own is %s; %q, kind %q, schema %d", m.Field("own").Type, m.Doc(), m.Kind(), m.Schema())
	}
	for _, x := range []model.Mixin{model.Topic, model.Version, model.Name, model.UniqueKey, model.BasicEvents} {
		if !m.Has(x) {
			t.Errorf("the mixin %d is lost", x)
		}
	}
	if got, want := m.Events(), []string{"by_first", "by_second", model.Created, model.Deleted, "own", model.Updated}; !slices.Equal(got, want) {
		t.Errorf("the events are %v", got)
	}
	var indexes []string
	for _, x := range m.Indexes() {
		indexes = append(indexes, fmt.Sprint(x.Name, x.Paths))
	}
	if want := "id[id] of_first[both] of_second[both] shared[of_first] topic[topic] unique_key[unique_key]"; strings.Join(indexes, " ") != want {
		t.Errorf("the indexes are %v", indexes)
	}
	var operations []string
	for name, op := range m.Operations() {
		operations = append(operations, name+"="+op.Doc)
	}
	slices.Sort(operations)
	if want := "act=first act_first=first act_second=own"; strings.Join(operations, " ") != want {
		t.Errorf("the operations are %v", operations)
	}
	var keys []string
	for _, f := range m.Type().Fields {
		if keys = append(keys, f.Key); f.Required != (f.Key == "id" || f.Key == "topic" || f.Key == "unique_key") {
			t.Errorf("%s is required: %t", f.Key, f.Required)
		}
	}
	if len(keys) != len(m.Fields()) || keys[0] != "id" || m.Type().Doc != m.Doc() {
		t.Errorf("the type has the fields %v", keys)
	}
	plain := define(t, model.Spec{Name: "Plain", Plain: true, Bases: []*model.Model{base("first")}})
	if plain.Field("id") != nil || plain.FirstClass() || plain.Label() != "Plain" {
		t.Error("a plain model has no id and no table")
	}
}

// TestOrderOfModels: a model comes after those that it names; a circle is an error that shows it.
func TestOrderOfModels(t *testing.T) {
	inner := define(t, model.Spec{Name: "Inner", Fields: []model.Field{{Key: "up", Type: text, Target: "b"}}})
	plain := define(t, model.Spec{Name: "Struct", Plain: true, Fields: []model.Field{{Key: "deep", Nested: inner}}})
	a := define(t, model.Spec{Name: "A", Table: "a", Fields: []model.Field{{Key: "in", Nested: plain}, {Key: "lost", Type: text, Target: "nowhere"}}})
	b := define(t, model.Spec{Name: "B", Table: "b", Fields: []model.Field{{Key: "c", Type: &schema.Type{Kind: schema.KindRef, Target: "c"}}}})
	c := define(t, model.Spec{Name: "C", Table: "c"})
	r := model.NewRegistry(nil)
	if err := errors.Join(r.Add(a), r.Add(b), r.Add(c)); err != nil {
		t.Fatal(err)
	}
	names := func(list []*model.Model) string {
		var all []string
		for _, m := range list {
			all = append(all, m.Name())
		}
		return strings.Join(all, " ")
	}
	for nested, want := range map[bool]string{false: "C B A", true: "C B Inner A"} {
		if got, err := r.Order(nested); err != nil || names(got) != want {
			t.Errorf("nested %t: %s, %v; want %s", nested, names(got), err, want)
		}
	}
	for m, want := range map[*model.Model][2]string{a: {"B", "Inner"}, b: {"C", "C"}, c: {"", ""}} {
		if got := [2]string{names(r.Deps(m, false)), names(r.Deps(m, true))}; got != want {
			t.Errorf("%s names %v, want %v", m.Name(), got, want)
		}
	}
	if got := names(a.Embedded()); got != "Struct Inner" {
		t.Errorf("A has %s inside", got)
	}
	if got := names(r.All()); got != "A B C" {
		t.Errorf("the registry has %s", got)
	}
	if err := r.Add(define(t, model.Spec{Name: "D", Table: "d", Fields: []model.Field{{Key: "d", Type: text, Target: "E"}}})); err != nil {
		t.Fatal(err)
	}
	if err := r.Add(define(t, model.Spec{Name: "E", Table: "e", Fields: []model.Field{{Key: "d", Type: text, Target: "d"}}})); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Order(false); got != nil || model.CodeOf(err) != model.Cycle || !strings.Contains(err.Error(), "D -> E -> D") {
		t.Errorf("%v, %v", names(got), err)
	}
}

// TestCheckOfTheRegistry: faults between models come all at once, each with the field or the index that it is about.
func TestCheckOfTheRegistry(t *testing.T) {
	r := model.NewRegistry(nil)
	secret := &schema.Type{Kind: schema.KindString, Secret: true}
	for _, s := range []model.Spec{
		{Name: "Safe", Table: "safe", Fields: []model.Field{{Key: "key", Type: secret}, {Key: "label", Type: text}}},
		{Name: "Lost", Table: "lost", Fields: []model.Field{{Key: "up", Type: text, Target: "sefe"}}},
		{Name: "Show", Table: "show", Fields: []model.Field{{Key: "up", Type: text, Target: "Safe"}}, Indexes: map[string][]string{"key": {"up.key"}, "none": {"up.nowhere"}, "good": {"up.label"}}},
	} {
		if err := r.Add(define(t, s)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, f := range model.Faults(r.Check()) {
		got[f.Field] = f.Suggestion
		if f.Code != model.Registration {
			t.Errorf("%v is a %s", f, f.Code)
		}
	}
	if want := map[string]string{"fields.up": "Safe", "indexes.key": "", "indexes.none": ""}; !maps.Equal(got, want) {
		t.Errorf("the faults are %v, want %v", got, want)
	}
}

// TestFaultsOfOperations: an operation tells of a wrong name, argument and field, and leaves the object as it was.
func TestFaultsOfOperations(t *testing.T) {
	m := define(t, model.Spec{
		Name: "Item", Table: "item", Fields: []model.Field{{Key: "label", Type: text}, {Key: "tags", Type: listOf(text)}},
		Operations: map[string]model.Operation{"name": model.SetField("label"), "tag": model.AddTo("tags"), "untag": model.RemoveFrom("tags"), "wrong": model.AddTo("label")},
	})
	o := object(t, m, map[string]any{"id": "i", "label": "x", "tags": []any{"a"}})
	for _, c := range []struct {
		operation string
		args      map[string]any
		code      model.Code
		field     string
	}{
		{"nmae", nil, model.UnknownCall, "nmae"}, {"name", nil, model.Validation, "label"}, {"name", map[string]any{"label": nil}, model.Validation, "label"},
		{"name", map[string]any{"label": "y", "more": 1}, model.UnknownField, "more"}, {"name", map[string]any{"label": 5}, model.Validation, "label"},
		{"tag", map[string]any{"value": 5}, model.Validation, "tags[0]"}, {"wrong", map[string]any{"value": "x"}, model.UnknownField, "label"},
		{"add", map[string]any{"field": "nowhere", "value": "x"}, model.UnknownField, "nowhere"}, {"remove", map[string]any{"field": "label", "value": "x"}, model.UnknownField, "label"},
	} {
		got, err := o.Do(c.operation, c.args)
		if fault := model.Faults(err); got != nil || len(fault) != 1 || fault[0].Code != c.code || fault[0].Field != c.field {
			t.Errorf("%s %v: %v, %v", c.operation, c.args, got, err)
		}
	}
	if _, err := o.Do("nmae", nil); model.Faults(err)[0].Suggestion != "name" {
		t.Errorf("no suggestion: %v", err)
	}
	for operation, value := range map[string]string{"tag": "a", "untag": "b"} {
		if got, err := o.Do(operation, map[string]any{"value": value}); err != nil || got != o {
			t.Errorf("%s %s has nothing to do: %v, %v", operation, value, got, err)
		}
	}
	if got, err := o.Do("untag", map[string]any{"value": "a"}); err != nil || len(got.Get("tags").([]any)) != 0 || len(o.Get("tags").([]any)) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestParseRefuses: text that is no JSON of an object is a Validation with its place, and each field of a nested object has its path.
func TestParseRefuses(t *testing.T) {
	m := port(t)
	for _, c := range []struct{ text, want string }{
		{`{"id": `, "validation  f.json:1:8"}, {`[]`, "validation  f.json:1:1"}, {`5`, "validation  f.json:1:1"}, {`{"id": "a", "id": "b"}`, "validation  f.json:1:13"},
		{`{"macs": {}}`, "validation macs f.json:1:10"}, {`{"macs": ["x"]}`, "validation macs[0] f.json:1:11"}, {`{"macs": [{"id": "a"}, {"mca": 1}]}`, "unknown_field macs[1].mca f.json:1:25"},
		{`{"tags": "x"}`, "bad_value tags f.json:1:10"}, {`{"tags": [1, "x", 2]}`, "validation tags[0] f.json:1:11,validation tags[2] f.json:1:19"},
	} {
		o, err := m.Parse("f.json", []byte(c.text))
		var got []string
		for _, f := range model.Faults(err) {
			got = append(got, fmt.Sprintf("%s %s %s", f.Code, f.Field, f.Pos))
		}
		if o != nil || strings.Join(got, ",") != c.want {
			t.Errorf("%s: %v, want %s: %v", c.text, got, c.want, err)
		}
	}
	long := `{"id": "` + strings.Repeat("x", model.MaxObject) + `"}`
	if _, err := m.Parse("f.json", []byte(long)); model.CodeOf(err) != model.Validation {
		t.Error("a text above MaxObject:", err)
	}
}

// TestEventsOfAModel: a name that the model has not is an UnknownEvent, both for a subscriber and for an event.
func TestEventsOfAModel(t *testing.T) {
	m := define(t, model.Spec{Name: "Item", Table: "item", Events: []string{"tested"}})
	o := object(t, m, map[string]any{"id": "i"})
	var e model.Events
	var got []string
	hear := func(who string) func() {
		cancel, err := e.On(m, "tested", func(_ context.Context, ev model.Event) error {
			if got = append(got, who+" "+ev.Object.ID()); who == "bad" {
				panic("a fault of the subscriber")
			}
			return errors.New("refused")
		})
		if err != nil {
			t.Fatal(err)
		}
		return cancel
	}
	cancel := hear("bad")
	hear("good")
	for range 2 {
		if err := e.Emit(t.Context(), model.Event{Name: "tested", Object: o}); err != nil {
			t.Error(err)
		}
		cancel()
		cancel()
	}
	e.Clear(m)
	err := e.Emit(t.Context(), model.Event{Name: "tested", Object: o})
	if want := []string{"bad i", "good i", "good i"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v: %v", got, want, err)
	}
	_, err = e.On(m, model.Created, nil)
	for _, err := range []error{err, e.Emit(t.Context(), model.Event{Name: "tset", Object: o})} {
		if model.CodeOf(err) != model.UnknownEvent || !strings.Contains(err.Error(), "tested") {
			t.Errorf("%v", err)
		}
	}
	for action, want := range map[model.Action]string{model.Create: "create", model.Update: "set", model.Delete: "delete"} {
		if action.String() != want {
			t.Errorf("%d is %s", action, action)
		}
	}
}
