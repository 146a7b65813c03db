package secrets

import (
	"errors"
	"iter"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Learn keeps out all text in v that is wrapped, by schema.Secret or by anything else
// that has Reveal; with all, every text there is but the keys of maps. It looks into
// lists, maps and whatever yields pairs by All.
func (t *Texts) Learn(v any, all bool) {
	switch v := v.(type) {
	case string:
		if all {
			t.Add(v)
		}
	case []byte:
		if all {
			t.Add(string(v))
		}
	case schema.Secret:
		t.Add(v.Reveal())
	case interface{ Reveal() any }:
		t.Learn(v.Reveal(), true)
	case []any:
		for _, x := range v {
			t.Learn(x, all)
		}
	case map[string]any:
		for _, x := range v {
			t.Learn(x, all)
		}
	case interface{ All() iter.Seq2[any, any] }:
		for k, x := range v.All() {
			t.Learn(k, all)
			t.Learn(x, all)
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
