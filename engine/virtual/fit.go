package virtual

import (
	"fmt"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// adapts says how values of one type become those of another, where the one is a map of values and the other a
// single one; empty where they do not, or need not.
func adapts(have, want *schema.Type) string {
	switch {
	case have == nil || want == nil || have.Kind == want.Kind || !single(have) && !single(want):
		return ""
	case want.Kind == schema.KindMap && stated(want.Elem) && misfit(have, want.Elem, "") == "":
		return "one value becomes a map"
	case have.Kind == schema.KindMap && stated(have.Elem) && misfit(have.Elem, want, "") == "":
		return "a map becomes one value"
	}
	return ""
}

// single reports whether a value of a type can be the value of a map.
func single(t *schema.Type) bool {
	switch t.Kind {
	case schema.KindBool, schema.KindInt, schema.KindFloat, schema.KindString, schema.KindDuration, schema.KindSize, schema.KindList:
		return true
	}
	return false
}

func stated(t *schema.Type) bool { return t != nil && t.Kind != schema.KindAny }

// fit turns the result of a backend into the declared one, where the backend states one value for a map of them,
// or a map for one. about is what the call is about, empty for nothing or for several things. A map becomes the
// value of the thing that the call is about, or its only value; of true and false it is true if all are. The
// whole map is then an extra.
func (v *Verdict) fit(value any, about string) (fitted any, extra map[string]any) {
	if v.have == nil || v.have.Returns == nil || adapts(v.have.Returns, v.want.Returns) == "" {
		return value, nil
	}
	all, isMap := value.(map[string]any)
	switch {
	case v.want.Returns.Kind == schema.KindMap && (isMap || value == nil || about == ""):
		return value, nil
	case v.want.Returns.Kind == schema.KindMap:
		return map[string]any{about: value}, nil
	case !isMap:
		return value, nil
	}
	if one, there := all[about]; there && about != "" {
		return one, all
	}
	if one, alike := agreed(v.want.Returns, all); alike {
		return one, all
	}
	return value, nil
}

// whole returns the result of a function that is Alone as a map, where a backend has given the value of the one thing that the call is about.
// Empty text stands for nothing.
func (f *Function) whole(value any, about string) any {
	if _, isMap := value.(map[string]any); f == nil || !f.Alone || isMap || value == nil || about == "" {
		return value
	}
	if value == "" {
		return map[string]any{}
	}
	return map[string]any{about: value}
}

// alone puts the value of the one thing that a call is about in the place of the map, where f says so.
func (f *Function) alone(r *Result, about string) {
	all, isMap := r.Common.(map[string]any)
	if f == nil || !f.Alone || !isMap {
		return
	}
	one, there := all[about]
	if !there {
		one = zero(f.Returns.Elem)
	}
	r.Common = one
}

// suit adapts what is handed over, where the backend states one value for a map of them, or a map for one. One value
// becomes a map of the thing that the call is about. A map of that thing alone, or of one thing if the call is about
// several or none, becomes its value. Another map is a problem. An empty one says nothing, and is left out.
func (v *Verdict) suit(h *handed) {
	about := v.want.about(h.passed)
	for i := range v.want.Params {
		p := &v.want.Params[i]
		q := v.have.param(p.Name)
		value, given := h.passed[p.Name]
		if i == 0 || q == nil || !given || value == nil || adapts(p.Type, q.Type) == "" {
			continue
		}
		all, isMap := value.(map[string]any)
		one, there := all[about]
		switch {
		case !isMap && about == "":
			h.problems = append(h.problems, fmt.Sprintf("%s: the backend takes a map of values, and the call is not about one thing", p.Name))
		case !isMap:
			h.passed[p.Name] = map[string]any{about: value}
		case len(all) == 0 && q.Optional:
			delete(h.passed, p.Name)
		case len(all) == 1 && about == "":
			h.passed[p.Name] = slices.Collect(maps.Values(all))[0]
		case len(all) == 1 && there:
			h.passed[p.Name] = one
		default:
			h.problems = append(h.problems, fmt.Sprintf("%s: the backend takes one value, for what the call is about", p.Name))
		}
	}
}

// agreed returns the one value that a map stands for.
func agreed(t *schema.Type, all map[string]any) (any, bool) {
	values := slices.Collect(maps.Values(all))
	switch {
	case len(values) == 1:
		return values[0], true
	case t.Kind == schema.KindBool && len(values) > 0:
		return !slices.ContainsFunc(values, func(v any) bool { return v != true }), !slices.ContainsFunc(values, notBool)
	}
	return nil, false
}

func notBool(v any) bool { _, is := v.(bool); return !is }

// about returns the one thing that a call is about: its first argument, if that is one text.
func (f *Function) about(passed map[string]any) string {
	if f == nil || len(f.Params) == 0 {
		return ""
	}
	switch v := passed[f.Params[0].Name].(type) {
	case string:
		return v
	case []any:
		if len(v) == 1 {
			return fmt.Sprint(v[0])
		}
	case map[string]any:
		for name := range v {
			if len(v) == 1 {
				return name
			}
		}
	}
	return ""
}
