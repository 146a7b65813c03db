package model

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"pgregory.net/rapid"
)

// TestQuickNodeAgrees: quickNode gives the tree of jsonnode, or none, for good texts and for damaged ones.
func TestQuickNodeAgrees(t *testing.T) {
	plain := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.Map(rapid.Float64Range(-1e30, 1e30), func(f float64) any { return f }), rapid.SampledFrom([]any{nil, true, false}),
	)
	values := rapid.OneOf(plain, rapid.Map(rapid.MapOf(rapid.String(), rapid.SliceOf(plain)), func(m map[string][]any) any { return m }))
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(map[string]any{"a": values.Draw(t, "a"), "b": values.Draw(t, "b")})
		if err != nil {
			t.Fatal(err)
		}
		damaged := rapid.Bool().Draw(t, "damaged")
		if damaged {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			switch bad := rapid.Byte().Draw(t, "byte"); {
			case rapid.Bool().Draw(t, "cut"):
				text = text[:at]
			default:
				text[at] = bad
			}
		}
		want, found := jsonnode.Parse(text, jsonnode.Options{Nowhere: true})
		got := quickNode(text)
		switch {
		case got == nil && !damaged:
			t.Fatalf("%s is right, and was not read", text)
		case got != nil && (found.Err() != nil || !reflect.DeepEqual(got, want)):
			t.Fatalf("%s: %+v, and jsonnode: %+v, %v", text, got, want, found)
		}
	})
}
