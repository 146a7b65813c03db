package plain_test

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/internal/plain"
	"github.com/reactivegraph/mgmt/engine/schema"
	"pgregory.net/rapid"
)

// plainValues generates every kind of plain value, texts that are no text among
// them.
func plainValues() *rapid.Generator[any] {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	leaf := rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(v bool) any { return v }),
		rapid.Map(rapid.Int64(), func(v int64) any { return v }),
		rapid.Map(rapid.Uint64(), func(v uint64) any { return v }),
		rapid.Map(rapid.Float64(), func(v float64) any { return v }),
		rapid.Map(text, func(v string) any { return v }),
		rapid.Map(text, func(v string) any { return schema.NewSecret(v) }),
		rapid.Map(rapid.Int64(), func(v int64) any { return time.Duration(v) }),
		rapid.Map(rapid.Int64(), func(v int64) any { return schema.Size(v) }),
		rapid.Map(text, func(v string) any { return schema.Mode(v) }),
		rapid.Map(text, func(v string) any { return schema.Ref{Kind: v, Name: v + "n", Key: v} }),
	)
	node := rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(leaf, 0, 4), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(text, leaf, 0, 4), func(v map[string]any) any { return v }),
	)
	return rapid.OneOf(node,
		rapid.Map(rapid.SliceOfN(node, 0, 4), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(text, node, 0, 4), func(v map[string]any) any { return v }),
	)
}

// bare is a plain value with its secrets in clear, to be compared.
func bare(v any) any {
	switch v := v.(type) {
	case schema.Secret:
		return [1]string{v.Reveal()}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = bare(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = bare(v[k])
		}
		return out
	}
	return v
}

// TestPlainRoundTrip: what was written is read, with its kinds, and equal values
// give equal bytes.
func TestPlainRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := plainValues().Draw(t, "v")
		data, err := plain.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := plain.Unmarshal(data)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(bare(got), bare(v)) {
			t.Fatalf("got %#v, want %#v", bare(got), bare(v))
		}
		if again, err := plain.Marshal(got); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("written again it differs: %v", err)
		}
	})
}

// TestPlainNaN: what is not equal to itself is kept as well.
func TestPlainNaN(t *testing.T) {
	data, err := plain.Marshal(math.NaN())
	if err != nil {
		t.Fatal(err)
	}
	if v, err := plain.Unmarshal(data); err != nil || !math.IsNaN(v.(float64)) {
		t.Errorf("%v, %v", v, err)
	}
}

// TestPlainDamaged: no bytes make it panic, and a part of a value is none.
func TestPlainDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, err := plain.Marshal(plainValues().Draw(t, "v"))
		if err != nil {
			t.Fatal(err)
		}
		cut := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
		if v, err := plain.Unmarshal(data[:cut]); err == nil {
			t.Fatalf("a part was read as %v", v)
		}
		if v, err := plain.Unmarshal(append(data, 0)); err == nil {
			t.Fatalf("with something behind it was read as %v", v)
		}
		_, _ = plain.Unmarshal(append([]byte{1}, rapid.SliceOf(rapid.Byte()).Draw(t, "noise")...))
	})
}

// TestPlainRefuses: other versions, deep values and what is not plain.
func TestPlainRefuses(t *testing.T) {
	if _, err := plain.Unmarshal([]byte{9, 0}); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("another version: %v", err)
	}
	if _, err := plain.Marshal(map[string]any{"a": []any{struct{}{}}}); err == nil || !strings.Contains(err.Error(), "a: [0]: a struct {}") {
		t.Errorf("no plain value: %v", err)
	}
	var deep any
	for range 300 {
		deep = []any{deep}
	}
	if _, err := plain.Marshal(deep); err == nil {
		t.Error("a deep value was taken")
	}
	nested := append([]byte{1}, bytes.Repeat([]byte{12, 1}, 5000)...)
	if _, err := plain.Unmarshal(append(nested, 0)); err == nil {
		t.Error("deep data was taken")
	}
	if _, err := plain.Unmarshal([]byte{1, 12, 0xff, 0xff, 0xff, 0xff, 0x0f}); err == nil {
		t.Error("a list that is longer than its data was taken")
	}
}
