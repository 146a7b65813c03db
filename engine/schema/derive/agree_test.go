package derive_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

// node builds what a frontend makes of JSON.
func node(v any) *schema.Node {
	switch v := v.(type) {
	case nil:
		return &schema.Node{}
	case bool:
		return &schema.Node{Kind: schema.NodeBool, Text: fmt.Sprint(v)}
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return &schema.Node{Kind: schema.NodeFloat, Text: string(v)}
		}
		return &schema.Node{Kind: schema.NodeInt, Text: string(v)}
	case string:
		return &schema.Node{Kind: schema.NodeString, Text: v}
	case []any:
		n := &schema.Node{Kind: schema.NodeList}
		for _, item := range v {
			n.Items = append(n.Items, node(item))
		}
		return n
	case map[string]any:
		n := &schema.Node{Kind: schema.NodeMap}
		for key, item := range v {
			n.Pairs = append(n.Pairs, schema.Pair{Key: key, Value: node(item)})
		}
		slices.SortFunc(n.Pairs, func(a, b schema.Pair) int { return strings.Compare(a.Key, b.Key) })
		return n
	}
	panic(fmt.Sprintf("%T", v))
}

// words are texts that one notation or another takes, and near misses.
var words = []string{
	"", "a", "exists", "absent", "b", "true", "no", "0", "1", "-1", "+5", "64k", "1.5G", "10MiB", "10 MiB", "10Mb", "1.5", "1.k", "KiB",
	"500ms", "1h30m", "2d", "1.5d12h", "1d-1h", "d", "1h2d", "-3s", "+3s", ".5h", "5.s", "1x", "1 s",
	"0644", "644", "0o755", "04755", "99", "64", "00", "888", "07777", "17777", "u=rwX,go=rX", "g+w", "+t", "u=gr", "a", "u+", "=", "u", "x+r", "u+r,", "o=u-w",
	"file[x]", "file[]", "file[a[b]].c", "file[x].", "[x]", "file[x]y", "file[x].a]", "file[x\ny]",
	"2026-01-02T03:04:05Z", "now", "\x00", "é",
}

var numbers = []string{
	"0", "1", "-1", "5", "100", "101", "127", "128", "-128", "-129", "255", "256", "4294967295", "4294967296",
	"9223372036854775807", "-9223372036854775808", "644", "0.5", "1.0", "-0.5", "1.5", "3600", "3601", "-3600", "3e38", "4e38", "1e2", "1073741824", "1073741825", "7777", "7778",
}

// anyJSON draws a JSON value.
func anyJSON(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.SampledFrom(words), func(s string) any { return s }),
		rapid.Map(rapid.StringMatching(`[-+0-9a-dhikmMGnsu.=rwxX,\[\]]{0,8}`), func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom(numbers), func(s string) any { return json.Number(s) }),
		rapid.Map(rapid.Int16(), func(i int16) any { return json.Number(fmt.Sprint(i)) }),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := anyJSON(depth - 1)
	keys := rapid.SampledFrom([]string{"name", "port", "for", "a", "b", "c"})
	return rapid.OneOf(append(scalars,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(s []any) any { return s }),
		rapid.Map(rapid.MapOfN(keys, inner, 0, 3), func(m map[string]any) any { return m }),
	)...)
}

// TestSchemaAgreesWithDecode draws values for single fields and compares what
// the JSON Schema and Decode think of them.
func TestSchemaAgreesWithDecode(t *testing.T) {
	ty := of[thing](t)
	doc, err := derive.JSONSchema(ty)
	if err != nil {
		t.Fatal(err)
	}
	s := compile(t, doc)
	var both, none int
	rapid.Check(t, func(rt *rapid.T) {
		f := rapid.SampledFrom(ty.Fields).Draw(rt, "field")
		v := anyJSON(2).Draw(rt, "value")
		if documented(f.Type, v) {
			rt.Skip("one of the documented differences")
		}
		in := map[string]any{f.Key: v}
		schemaErr := s.Validate(in)
		decodeErr := schema.Decode(node(in), &thing{}).Err()
		if (schemaErr == nil) != (decodeErr == nil) {
			rt.Fatalf("%s: %#v\nschema: %v\nDecode: %v", f.Key, v, schemaErr, decodeErr)
		}
		if schemaErr == nil {
			both++
		} else {
			none++
		}
	})
	if !testing.Short() && (both < 10 || none < 10) {
		t.Errorf("%d values were accepted and %d refused: the test says little", both, none)
	}
}

// TestEveryWordAndNumber goes through all fields and all sample values.
func TestEveryWordAndNumber(t *testing.T) {
	ty := of[thing](t)
	doc, err := derive.JSONSchema(ty)
	if err != nil {
		t.Fatal(err)
	}
	s := compile(t, doc)
	var values []any
	for _, w := range words {
		values = append(values, w)
	}
	for _, n := range numbers {
		values = append(values, json.Number(n))
	}
	for _, f := range ty.Fields {
		for _, v := range values {
			for _, v := range []any{v, []any{v}, map[string]any{"a": v}} {
				in := map[string]any{f.Key: v}
				schemaErr, decodeErr := s.Validate(in), schema.Decode(node(in), &thing{}).Err()
				if (schemaErr == nil) != (decodeErr == nil) && !documented(f.Type, v) {
					t.Errorf("%s: %#v\nschema: %v\nDecode: %v", f.Key, v, schemaErr, decodeErr)
				}
			}
		}
	}
}

// documented reports whether a value falls under the differences that doc.go
// lists.
func documented(t *schema.Type, v any) bool {
	switch v := v.(type) {
	case []any:
		return t.Elem != nil && slices.ContainsFunc(v, func(item any) bool { return documented(t.Elem, item) })
	case map[string]any:
		for key, item := range v {
			if f := t.Field(key); f != nil && documented(f.Type, item) || t.Kind == schema.KindMap && documented(t.Elem, item) {
				return true
			}
		}
		return false
	case json.Number:
		return documentedNumber(t, string(v))
	case string:
		return documentedText(t, v)
	}
	return false
}

func documentedNumber(t *schema.Type, s string) bool {
	f, _, err := big.ParseFloat(s, 10, 200, big.ToNearestEven)
	if err != nil {
		return false
	}
	switch t.Kind {
	case schema.KindInt:
		_, acc := f.Int64()
		return acc != big.Exact && f.IsInt() && t.Bits == 64 || strings.ContainsAny(s, ".e") && f.IsInt() && f.MantExp(nil) > 53
	case schema.KindDuration:
		return f.IsInt() && f.MantExp(nil) > 30 || strings.ContainsAny(s, ".e")
	case schema.KindSize:
		return strings.ContainsAny(s, ".e")
	case schema.KindMode:
		return strings.ContainsAny(s, "89.e") || len(s) < 3
	case schema.KindString:
		return len(t.Enum) == 0 && (t.Min != nil || t.Max != nil) || t.Go == reflect.TypeFor[time.Time]() || len(t.Enum) > 0 && f.IsInt()
	}
	return false
}

func documentedText(t *schema.Type, s string) bool {
	switch t.Kind {
	case schema.KindBool:
		return slices.Contains([]string{"yes", "no", "on", "off", "y", "n"}, strings.ToLower(s))
	case schema.KindDuration:
		d, err := schema.ParseDuration(s, t.Unit)
		outside := err == nil && (t.Min != nil && int64(d) < *t.Min || t.Max != nil && int64(d) > *t.Max)
		tooLong := err != nil && strings.Contains(err.Error(), "too long")
		return outside && (d >= 0 || *t.Min < 0) || tooLong || err == nil && d == 0 && s[0] == '-'
	case schema.KindSize:
		n, err := schema.ParseSize(s)
		outside := err == nil && (t.Min != nil && int64(n) < *t.Min || t.Max != nil && int64(n) > *t.Max)
		return outside && n >= 0 || err != nil && (strings.Contains(err.Error(), "too large") || strings.Contains(err.Error(), "whole number")) ||
			err == nil && n == 0 && s[0] == '-'
	}
	return false
}
