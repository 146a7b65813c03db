package secrets

import (
	"errors"
	"iter"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Learn keeps out all text in v that Each yields.
func (t *Texts) Learn(v any, all bool) { Each(v, all, t.Add) }

// Holds reports whether Each, without all, yields something: whether there is a secret in v.
func Holds(v any) (found bool) {
	Each(v, false, func(string) { found = true })
	return found
}

// Each calls do for all text in v that is wrapped, by schema.Secret or by anything else that has
// Reveal; with all, for every text there is but the keys of maps. It looks into lists, maps and
// whatever yields pairs by All.
func Each(v any, all bool, do func(string)) {
	switch v := v.(type) {
	case string:
		if all {
			do(v)
		}
	case []byte:
		if all {
			do(string(v))
		}
	case schema.Secret:
		do(v.Reveal())
	case interface{ Reveal() any }:
		Each(v.Reveal(), true, do)
	case []any:
		for _, x := range v {
			Each(x, all, do)
		}
	case map[string]any:
		for _, x := range v {
			Each(x, all, do)
		}
	case interface{ All() iter.Seq2[any, any] }:
		for k, x := range v.All() {
			Each(k, all, do)
			Each(x, all, do)
		}
	}
}

// Value returns a copy of a plain value whose texts, but for the keys of maps, hold no
// secret.
func (t *Texts) Value(v any) any {
	switch v := v.(type) {
	case string:
		return t.Clean(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = t.Value(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = t.Value(v[k])
		}
		return out
	}
	return v
}

// Error returns an error whose text has no secret in it: the same one where it had none.
func (t *Texts) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := t.Clean(text); clean != text {
		return errors.New(clean)
	}
	return err
}
