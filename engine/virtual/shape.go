package virtual

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// misfit says why no value of a type is of a shape, or nothing: unknown parts of either are not a reason. A record
// may have more keys than declared.
func misfit(have, want *schema.Type, path string) string {
	say := func(format string, args ...any) string {
		return cmp.Or(path, "the result") + " " + fmt.Sprintf(format, args...)
	}
	switch {
	case have == nil || want == nil || have.Kind == schema.KindAny || want.Kind == schema.KindAny:
		return ""
	case have.Kind == schema.KindInt && want.Kind == schema.KindFloat:
		return ""
	case have.Kind != want.Kind:
		return say("is %s, and not %s", have, want)
	case want.Kind == schema.KindList:
		return misfit(have.Elem, want.Elem, path+"[]")
	case want.Kind == schema.KindMap:
		return misfit(have.Elem, want.Elem, join(path, "*"))
	}
	for _, f := range want.Fields {
		g := have.Field(f.Key)
		if g == nil || g.Key != f.Key {
			if !f.Type.Optional {
				return say("has no key %s, which should be %s", f.Key, f.Type)
			}
			continue
		}
		if why := misfit(g.Type, f.Type, join(path, f.Key)); why != "" {
			return why
		}
	}
	return ""
}

// split checks a plain value against a shape, and parts declared values from others.
// extra holds the undeclared keys of records, at the paths of those records (a
// record in a map gives a map of extras under its key). The error names each part
// that is wrong. t nil is anything.
func split(t *schema.Type, v any) (common any, extra map[string]any, err error) {
	var s splitter
	common, more := s.value(t, v, "")
	extra, _ = more.(map[string]any)
	return common, extra, errors.Join(s.errs...)
}

type splitter struct{ errs []error }

func (s *splitter) fail(path, format string, args ...any) {
	if path == "" {
		path = "the result"
	}
	s.errs = append(s.errs, fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...)))
}

// value returns v without what t does not declare, and that.
func (s *splitter) value(t *schema.Type, v any, path string) (common, extra any) {
	switch {
	case t == nil || t.Kind == schema.KindAny:
		return v, nil
	case v == nil && t.Optional:
		return nil, nil
	case v == nil:
		s.fail(path, "it is null, and not %s", t)
		return nil, nil
	}
	switch t.Kind {
	case schema.KindStruct:
		return s.record(t, v, path)
	case schema.KindMap:
		return s.mapping(t, v, path)
	case schema.KindList:
		return s.list(t, v, path)
	}
	for _, d := range schema.Check(t, v) {
		if d.Severity == schema.Error {
			s.fail(path, "%s", d.Message)
		}
	}
	return v, nil
}

// conceal returns a plain value in which text is a secret where a shape says so. A
// value that does not fit the shape is left as it is.
func conceal(t *schema.Type, v any) any {
	if !t.HoldsSecret() {
		return v
	}
	switch v := v.(type) {
	case string:
		if t.Secret {
			return schema.NewSecret(v)
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = conceal(t.Elem, v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			part := t.Elem
			if f := t.Field(key); f != nil && f.Key == key {
				part = f.Type
			}
			out[key] = conceal(part, v[key])
		}
		return out
	}
	return v
}

func (s *splitter) record(t *schema.Type, v any, path string) (any, any) {
	m, ok := v.(map[string]any)
	if !ok {
		s.fail(path, "it is %s, and not %s", called(v), t)
		return nil, nil
	}
	common, extra := map[string]any{}, map[string]any{}
	for _, f := range t.Fields {
		part, there := m[f.Key]
		switch {
		case there:
			var more any
			common[f.Key], more = s.value(f.Type, part, join(path, f.Key))
			keep(extra, f.Key, more)
		case !f.Type.Optional:
			s.fail(join(path, f.Key), "it is not there, and should be %s", f.Type)
		}
	}
	for key, part := range m {
		if f := t.Field(key); f == nil || f.Key != key {
			extra[key] = part
		}
	}
	return common, extra
}

func (s *splitter) mapping(t *schema.Type, v any, path string) (any, any) {
	m, ok := v.(map[string]any)
	if !ok {
		s.fail(path, "it is %s, and not %s", called(v), t)
		return nil, nil
	}
	common, extra := make(map[string]any, len(m)), map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		var more any
		common[key], more = s.value(t.Elem, m[key], join(path, key))
		keep(extra, key, more)
	}
	return common, extra
}

func (s *splitter) list(t *schema.Type, v any, path string) (any, any) {
	items, ok := v.([]any)
	if !ok {
		s.fail(path, "it is %s, and not %s", called(v), t)
		return nil, nil
	}
	common, extra := make([]any, len(items)), map[string]any{}
	for i, item := range items {
		var more any
		common[i], more = s.value(t.Elem, item, fmt.Sprintf("%s[%d]", path, i))
		keep(extra, fmt.Sprint(i), more)
	}
	return common, extra
}

// keep sets extra[key], unless there is nothing to keep.
func keep(extra map[string]any, key string, more any) {
	if m, ok := more.(map[string]any); ok && len(m) > 0 {
		extra[key] = m
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// called names the sort of a plain value without showing it.
func called(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string, schema.Secret:
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	if _, ok := number(v); ok {
		return "a number"
	}
	return fmt.Sprintf("a %T", v)
}

// zero returns the least value of a shape: a record with the zero values of its
// declared keys.
func zero(t *schema.Type) any {
	if t == nil || t.Optional || t.Kind == schema.KindAny {
		return nil
	}
	switch t.Kind {
	case schema.KindStruct:
		m := map[string]any{}
		for _, f := range t.Fields {
			if !f.Type.Optional {
				m[f.Key] = zero(f.Type)
			}
		}
		return m
	case schema.KindMap:
		return map[string]any{}
	case schema.KindList:
		return []any{}
	case schema.KindBool:
		return false
	case schema.KindInt:
		return int64(0)
	case schema.KindFloat:
		return float64(0)
	case schema.KindDuration:
		return time.Duration(0)
	case schema.KindSize:
		return schema.Size(0)
	}
	return ""
}

// answer returns the result of f where it is not applicable: a fresh value.
func (f *Function) answer() any {
	if f.Default != nil {
		return schema.Clone(f.Default)
	}
	return zero(f.Returns)
}
