package model_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestMergeAndChanged: a merge tells the fields that it alters, and Changed those that differ; null is as unset.
func TestMergeAndChanged(t *testing.T) {
	m := port(t)
	mac := func(id string) map[string]any { return map[string]any{"id": id, "mac": "02:00:00:00:00:01"} }
	base := map[string]any{"id": "p", "label": "x", "net": nil, "tags": []any{"a", "b"}, "macs": []any{mac("a")}}
	for _, c := range []struct {
		name            string
		part            map[string]any
		merged, differs string
	}{
		{"nothing", map[string]any{}, "", "id label macs tags"},
		{"the same", map[string]any{"id": "p", "label": "x", "tags": []any{"b", "a", "a"}, "macs": []any{mac("a")}}, "", ""},
		{"null of an unset field", map[string]any{"size": nil}, "", "id label macs tags"},
		{"null of null", map[string]any{"net": nil}, "", "id label macs tags"},
		{"null of a set field", map[string]any{"label": nil, "tags": nil}, "label tags", "id label macs tags"},
		{"the default", map[string]any{"size": 7}, "", "id label macs size tags"},
		{"another value", map[string]any{"size": 8, "label": "y", "id": "p"}, "label size", "label macs size tags"},
		{"an empty list", map[string]any{"tags": []any{}}, "tags", "id label macs tags"},
		{"a list is replaced whole", map[string]any{"macs": []any{mac("b")}}, "macs", "id label macs tags"},
		{"another id", map[string]any{"id": "q"}, "id", "id label macs tags"},
	} {
		o, part := object(t, m, base), object(t, m, c.part)
		got, changed := o.Merge(part)
		if strings.Join(changed, " ") != c.merged || (got == o) != (c.merged == "") {
			t.Errorf("%s: changed %v, want %q", c.name, changed, c.merged)
		}
		if !slices.Equal(model.Changed(o, got), changed) {
			t.Errorf("%s: the merge says %v, and Changed %v", c.name, changed, model.Changed(o, got))
		}
		if got.Equal(o) != (c.merged == "") || !o.Equal(object(t, m, base)) {
			t.Errorf("%s: equal %t, and the old object stays", c.name, got.Equal(o))
		}
		if there, back := model.Changed(o, part), model.Changed(part, o); strings.Join(there, " ") != c.differs || !slices.Equal(there, back) {
			t.Errorf("%s: differs in %v and %v, want %q", c.name, there, back, c.differs)
		}
		if got.ID() != got.Get("id") {
			t.Errorf("%s: the id is %q", c.name, got.ID())
		}
	}
	o := object(t, m, base)
	if got := model.Changed(nil, o); strings.Join(got, " ") != "id label macs tags" || len(model.Changed(nil, nil)) != 0 {
		t.Errorf("a new object changes %v", got)
	}
	var none *model.Object
	if none.Equal(o) || o.Equal(none) || !none.Equal(nil) {
		t.Error("no object is equal to no object alone")
	}
}

// TestWithAndWithout: each makes another object, and reads the id anew.
func TestWithAndWithout(t *testing.T) {
	m := port(t)
	o := object(t, m, map[string]any{"id": "p", "label": "x", "net": nil})
	for key, want := range map[string]string{"id": "", "label": "p", "nowhere": "p"} {
		if got := o.Without(key); got.ID() != want || got.Has(key) || !o.Has("id") {
			t.Errorf("without %s: %q", key, got.ID())
		}
	}
	if got, err := o.With("id", "q"); err != nil || got.ID() != "q" || o.ID() != "p" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := o.With("label", nil); err != nil || !got.Has("label") || got.Get("label") != nil {
		t.Errorf("null is a value: %v, %v", got, err)
	}
	for key, code := range map[string]model.Code{"lable": model.UnknownField, "size": model.BadValue} {
		if got, err := o.With(key, "many"); got != nil || model.CodeOf(err) != code {
			t.Errorf("%s: %v, %v", key, got, err)
		}
	}
	if !o.Has("net") || o.Get("net") != nil || o.Get("nowhere") != nil || o.Has("size") {
		t.Error("null is set, and a default is not")
	}
	if got := o.Values(); len(got) != 2 || got["net"] != nil {
		t.Errorf("the values are %v", got)
	}
}

// TestCheckAndNested: a required field, an empty id, and a nested object without an id are told, each with its path.
func TestCheckAndNested(t *testing.T) {
	m := port(t)
	for _, c := range []struct {
		fields        map[string]any
		check, nested string
	}{
		{map[string]any{"id": "p", "topic": "t"}, "", ""},
		{map[string]any{"topic": "t"}, "id", ""},
		{map[string]any{"id": "", "topic": "t"}, "id", ""},
		{map[string]any{"id": "p"}, "topic", ""},
		{map[string]any{"id": "p", "topic": "t", "macs": []any{map[string]any{"id": "a"}}}, "macs.mac", ""},
		{map[string]any{"id": "p", "topic": "t", "macs": []any{map[string]any{"mac": "02:00:00:00:00:01"}}}, "macs.id", "macs"},
		{map[string]any{"macs": []any{map[string]any{}, map[string]any{"id": "a"}}}, "id macs.id macs.mac macs.mac topic", "macs"},
	} {
		o := object(t, m, c.fields)
		_, nested := o.Nested()
		for _, x := range []struct {
			err  error
			want string
		}{{o.Check(), c.check}, {nested, c.nested}} {
			var got []string
			for _, f := range model.Faults(x.err) {
				if got = append(got, f.Field); f.Code != model.Validation || f.ID != o.ID() {
					t.Errorf("%v: %v", c.fields, f)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != x.want {
				t.Errorf("%v: %v, want %q", c.fields, got, x.want)
			}
		}
		if plain, err := o.Plain(); (err == nil) != (c.check == "") || (plain == nil) != (c.check != "") {
			t.Errorf("%v: the plain form is %v: %v", c.fields, plain, err)
		}
	}
}

// TestFormsOfAnObject: people see defaults and no secret, and a record has what is set, secrets too.
func TestFormsOfAnObject(t *testing.T) {
	secret := &schema.Type{Kind: schema.KindString, Secret: true}
	inner := define(t, model.Spec{Name: "Inner", Plain: true, Fields: []model.Field{{Key: "key", Type: secret}, {Key: "n", Type: number, Default: int64(3)}}})
	m := define(t, model.Spec{Name: "Vault", Table: "vault", Fields: []model.Field{
		{Key: "key", Type: secret}, {Key: "keys", Type: &schema.Type{Kind: schema.KindMap, Elem: secret}}, {Key: "in", Nested: inner}, {Key: "label", Type: text}, {Key: "size", Type: number, Default: int64(7)},
	}})
	o := object(t, m, map[string]any{"id": "v", "key": "canary", "keys": map[string]any{"a": "canary"}, "in": map[string]any{"key": "canary"}, "label": "<&>"})
	shown, err := o.MarshalJSON()
	if err != nil || strings.Contains(string(shown), "canary") || !strings.Contains(string(shown), `"label":"<&>"`) || !strings.Contains(string(shown), `"n":3`) || !strings.Contains(string(shown), `"size":7`) {
		t.Errorf("%s, %v", shown, err)
	}
	stored, err := o.Stored()
	if want := `{"id":"v","in":{"key":"canary"},"key":"canary","keys":{"a":"canary"},"label":"<&>"}`; err != nil || string(stored) != want {
		t.Errorf("%s, want %s: %v", stored, want, err)
	}
	back, err := m.Parse("stored", stored)
	if err != nil || !back.Equal(o) {
		t.Errorf("the record is another object: %v", err)
	}
	plain, err := o.Plain()
	if text, bad := json.Marshal(plain); err != nil || bad != nil || strings.Contains(string(text), "canary") || plain["key"] != schema.Redacted {
		t.Errorf("%s, %v", text, err)
	}
}
