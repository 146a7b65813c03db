package modeltest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// mixins are the bases that the format has built in. All other bases are models of the scenario.
var mixins = map[string]model.Mixin{
	"Topic": model.Topic, "Version": model.Version, "Name": model.Name, "UniqueKey": model.UniqueKey, "BasicEvents": model.BasicEvents,
}

// models makes the models of a scenario.
type models struct {
	defs map[string]*definition
	made map[string]*model.Model
	log  func(entry ...any) // takes an entry of a hook
}

// get defines a model, after the models that it is made from.
func (ms *models) get(name string) (*model.Model, error) {
	if m := ms.made[name]; m != nil {
		return m, nil
	}
	def := ms.defs[name]
	if def == nil {
		return nil, &model.Error{Code: model.UnknownModel, Message: fmt.Sprintf("the scenario has no model %q", name)}
	}
	s := model.Spec{
		Name: name, Table: def.Table, Plain: def.Plain || def.Mixin, Events: def.Events, Indexes: map[string][]string{},
		Schema: def.Schema, Operations: map[string]model.Operation{}, Hooks: ms.hooks(def),
	}
	for _, base := range def.Bases {
		if x, ok := mixins[base]; ok {
			s.Mixins = append(s.Mixins, x)
			continue
		}
		b, err := ms.get(base)
		if err != nil {
			return nil, err
		}
		s.Bases = append(s.Bases, b)
	}
	if err := ms.parts(&s, def); err != nil {
		return nil, err
	}
	m, err := model.Define(s)
	ms.made[name] = m
	return m, err
}

// parts fills the fields, indexes, operations and migrations of a Spec.
func (ms *models) parts(s *model.Spec, def *definition) error {
	for _, key := range slices.Sorted(maps.Keys(def.Fields)) {
		f, err := ms.field(key, def.Fields[key])
		if err != nil {
			return err
		}
		s.Fields = append(s.Fields, f)
	}
	for name, paths := range def.Indexes {
		for _, p := range asList(paths) {
			s.Indexes[name] = append(s.Indexes[name], fmt.Sprint(p))
		}
	}
	for name, how := range def.Methods {
		switch {
		case how.Add != "":
			s.Operations[name] = model.AddTo(how.Add)
		case how.Remove != "":
			s.Operations[name] = model.RemoveFrom(how.Remove)
		default:
			s.Operations[name] = model.SetField(how.Set)
		}
	}
	for _, step := range def.Migrations {
		s.Migrations = append(s.Migrations, model.Migration{From: int(asInt(step["from"])), Up: migration(step)})
	}
	return nil
}

// asList makes a list of one value.
func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// migration makes a step of its words.
func migration(step map[string]any) func(map[string]any) error {
	return func(fields map[string]any) error {
		for from, to := range asMap(step["rename"]) {
			if v, ok := fields[from]; ok {
				delete(fields, from)
				fields[fmt.Sprint(to)] = v
			}
		}
		for key, v := range asMap(step["default"]) {
			if _, ok := fields[key]; !ok {
				fields[key] = lower(v)
			}
		}
		for _, key := range asStrings(step["drop"]) {
			delete(fields, key)
		}
		if on, ok := step["fail_on"]; ok && fields["id"] == on {
			return errors.New("the step was told to fail")
		}
		return nil
	}
}

// field makes a field of its description.
func (ms *models) field(key string, d *field) (model.Field, error) {
	f := model.Field{Key: key, Required: d.Required, Eager: d.Lazy != nil && !*d.Lazy}
	t, err := ms.kind(&f, d)
	if err != nil {
		return f, fmt.Errorf("field %s: %w", key, err)
	}
	f.Type = t
	switch {
	case d.Default != nil:
		f.Default = lower(d.Default)
	case d.Type == "list" || d.Type == "reflist" || d.Type == "enumlist":
		f.Default = []any{}
	}
	return f, nil
}

// kind returns the type of a field, and notes its target or its nested model.
func (ms *models) kind(f *model.Field, d *field) (*schema.Type, error) {
	text := &schema.Type{Kind: schema.KindString}
	switch d.Type {
	case "string":
		return text, nil
	case "int":
		return &schema.Type{Kind: schema.KindInt, Bits: 64}, nil
	case "float":
		return &schema.Type{Kind: schema.KindFloat, Bits: 64}, nil
	case "bool":
		return &schema.Type{Kind: schema.KindBool}, nil
	case "enum":
		return &schema.Type{Kind: schema.KindString, Enum: d.Values}, nil
	case "enumlist":
		return &schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindString, Enum: d.Values}}, nil
	case "ip", "cidr", "mac", "portrange":
		return &schema.Type{Kind: schema.KindString, Format: d.Type}, nil
	case "ref":
		f.Target = d.Model
		return text, nil
	case "reflist":
		f.Target = d.Model
		return &schema.Type{Kind: schema.KindList, Elem: text}, nil
	case "nested":
		inner, err := ms.get(d.Model)
		f.Nested = inner
		return nil, err
	case "list", "set", "dict":
		if d.Of == nil {
			d.Of = &field{Type: "string"}
		}
		elem, err := ms.kind(f, d.Of)
		if err != nil {
			return nil, err
		}
		if f.Set = d.Type == "set"; d.Type == "dict" {
			return &schema.Type{Kind: schema.KindMap, Elem: elem}, nil
		}
		return &schema.Type{Kind: schema.KindList, Elem: elem}, nil
	}
	return nil, fmt.Errorf("the format has no type %q", d.Type)
}

// hooks makes the hooks of a definition. A hook without actions stays nil.
func (ms *models) hooks(def *definition) model.Hooks {
	var h model.Hooks
	if acts := def.Hooks["on_create_pre"]; acts != nil {
		h.CreatePre = func(_ context.Context, _ *model.Tx, o *model.Object) (*model.Object, error) {
			return ms.act(acts, o, nil)
		}
	}
	if acts := def.Hooks["on_update_pre"]; acts != nil {
		h.UpdatePre = func(_ context.Context, _ *model.Tx, o, was *model.Object) (*model.Object, error) {
			return ms.act(acts, o, was)
		}
	}
	if acts := def.Hooks["on_delete_pre"]; acts != nil {
		h.DeletePre = func(_ context.Context, _ *model.Tx, was *model.Object) error {
			_, err := ms.act(acts, was, nil)
			return err
		}
	}
	if acts := def.Hooks["on_get_all_post"]; acts != nil {
		h.ListPost = func(_ context.Context, list []*model.Object) ([]*model.Object, error) {
			for _, a := range acts {
				if key, ok := a["keep_if"].(string); ok {
					list = slices.DeleteFunc(slices.Clone(list), func(o *model.Object) bool {
						return !schema.Equal(o.Get(key), lower(a["equals"]))
					})
				}
				if name, ok := a["log"]; ok {
					ms.log(name)
				}
			}
			return list, nil
		}
	}
	return h
}

// act does the actions of a hook. chain has nothing to do: the hooks of bases have run.
func (ms *models) act(acts []action, o, was *model.Object) (*model.Object, error) {
	for _, a := range acts {
		switch {
		case a["fail"] != nil:
			return nil, fmt.Errorf("%v", a["fail"])
		case a["log"] != nil && a["orig"] == true && was != nil:
			ms.log(a["log"], o.ID(), was.ID())
		case a["log"] != nil:
			ms.log(a["log"], o.ID())
		case a["log_orig"] != nil && was != nil:
			ms.log("orig", was.Get(fmt.Sprint(a["log_orig"])))
		case a["set"] != nil:
			next, err := o.With(fmt.Sprint(a["set"]), lower(a["value"]))
			if err != nil {
				return nil, err
			}
			o = next
		}
	}
	return o, nil
}

// lower turns what encoding/json gives into plain values.
func lower(v any) any {
	switch x := v.(type) {
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return i
		}
		f, _ := x.Float64()
		return f
	case []any:
		out := make([]any, len(x))
		for i, item := range x {
			out[i] = lower(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for key, item := range x {
			out[key] = lower(item)
		}
		return out
	}
	return v
}

// decodeNumbers keeps whole numbers whole.
func decodeNumbers(text []byte, into any) error {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	return d.Decode(into)
}

// asInt, asMap, asStrings and asText read parts of a step; another shape is the zero value.
func asInt(v any) int64 {
	i, _ := lower(v).(int64)
	return i
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func asStrings(v any) (out []string) {
	list, _ := v.([]any)
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

func asText(v any) string {
	s, _ := v.(string)
	return s
}

// order returns the names of the models, sorted; get defines bases before the models that need them.
func (ms *models) order() []string {
	return slices.SortedFunc(maps.Keys(ms.defs), func(a, b string) int { return cmp.Compare(a, b) })
}

// Models makes the models of a scenario from its member models, in the order of their names, for a test that plays steps of its own.
// Those that the scenario does not register are left out. A member that the format does not have is an error.
func Models(text []byte) ([]*model.Model, error) {
	ms := &models{made: map[string]*model.Model{}, log: func(...any) {}}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(&ms.defs); err != nil {
		return nil, err
	}
	var all []*model.Model
	for _, name := range slices.Sorted(maps.Keys(ms.defs)) {
		m, err := ms.get(name)
		if err != nil {
			return nil, fmt.Errorf("the model %s: %w", name, err)
		}
		if def := ms.defs[name]; (def.Register == nil || *def.Register) && !def.Mixin {
			all = append(all, m)
		}
	}
	return all, nil
}
