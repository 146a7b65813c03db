package model

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// isMarked reports whether an object of a kind names a parameter in meta.secret. A name of one entry, such as env.TOKEN, stands for
// the whole parameter: more is hidden than asked for, and never less.
func isMarked(fields map[string]any, f *Field) bool {
	if f.Key == "meta" || f.Key == "id" || f.Key == "topic" {
		return false // the API finds objects by these
	}
	meta, _ := fields["meta"].(map[string]any)
	var names []string
	switch list := meta["secret"].(type) {
	case []any:
		for _, item := range list {
			if name, ok := item.(string); ok {
				names = append(names, name)
			}
		}
	case []string:
		names = list
	case string:
		names = []string{list}
	}
	return slices.ContainsFunc(names, func(name string) bool {
		first, _, _ := strings.Cut(name, ".")
		return strings.EqualFold(first, f.Key) || f.Param != "" && strings.EqualFold(first, f.Param)
	})
}

// indexOn returns the name of an index with a path through a field, "" for none.
func (m *Model) indexOn(key string) string {
	for _, i := range m.indexes {
		for _, path := range i.Paths {
			if first, _, _ := strings.Cut(path, "."); first == key {
				return i.Name
			}
		}
	}
	return ""
}

// Hidden reports whether an object names a field in meta.secret, so that it is stored encrypted and answers redact it.
func (o *Object) Hidden(key string) bool {
	f := o.model.byKey[key]
	return f != nil && isMarked(o.fields, f)
}

// isText reports whether a value of a type can be a cipher text.
func isText(t *schema.Type) bool {
	return t.Kind == schema.KindAny || t.Kind == schema.KindString && len(t.Enum) == 0
}

// asSecret returns a value with a Secret in the place of each text.
func asSecret(v any) any { return texts(v, func(s string) any { return schema.NewSecret(s) }) }

// asText is the inverse of asSecret: the fields of a record are plain.
func asText(v any) any {
	if s, ok := v.(schema.Secret); ok {
		return s.Reveal()
	}
	return parts(v, asText)
}

// texts returns a value with each text replaced. Keys of maps stay: they are names.
func texts(v any, replace func(string) any) any {
	if s, ok := v.(string); ok {
		return replace(s)
	}
	return parts(v, func(v any) any { return texts(v, replace) })
}

// parts applies a function to the parts of a list or a map, and returns a copy. Another value stays as it is.
func parts(v any, do func(any) any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = do(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = do(item)
		}
		return out
	}
	return v
}

// unsealed refuses a cipher text in a parameter that is no secret: its mark was taken away, and a host would use the cipher text.
func (nb *NB) unsealed(o *Object, path string, v any) (err error) {
	if nb.o.Sealed == nil || v == nil {
		return nil
	}
	texts(v, func(s string) any {
		if nb.o.Sealed(s) {
			err = o.model.fault(SecretRefused, o.id, path, "%s is stored encrypted, and meta.secret no longer names it: give its value anew, or name it", path)
		}
		return s
	})
	return err
}

// Unseal returns a copy of an object in which open has turned each cipher text into clear text. The texts of meta.secret become
// plain ones. It is called for the graph of a host, and never for an answer.
func (o *Object) Unseal(open func(string) (string, error)) (*Object, error) {
	var bad error
	clear := func(s string) string {
		out, err := open(s)
		if err != nil {
			bad = err
		}
		return out
	}
	var walk func(v any, marked bool) any
	walk = func(v any, marked bool) any {
		switch v := v.(type) {
		case schema.Secret:
			return schema.NewSecret(clear(v.Reveal()))
		case string:
			if marked {
				return clear(v)
			}
		}
		return parts(v, func(v any) any { return walk(v, marked) })
	}
	c := o.copy()
	for _, f := range o.model.fields {
		if v, set := o.fields[f.Key]; set && v != nil {
			c.fields[f.Key] = walk(v, isMarked(o.fields, f))
		}
		if bad != nil {
			return nil, o.model.wrap(f.Key, bad, o.id)
		}
	}
	return c, nil
}

// wrap makes the fault of a secret that cannot be read here. The cause says how to go on, and has no part of the text. It becomes
// the status of the object on this host.
func (m *Model) wrap(key string, err error, id string) error {
	return m.fault(SecretRefused, id, key, "the secret %s cannot be read on this host: %v", key, err)
}
