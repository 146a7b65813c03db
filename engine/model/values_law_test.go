package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// one returns a model with the field v, which a description in JSON declares.
func one(t testing.TB, field string) *model.Model {
	t.Helper()
	r := model.NewRegistry(nil)
	loaded(t, r, `{"model": "Inner", "fields": {"mac": {"type": "mac"}, "size": {"type": "int", "default": 5}, "up": {"type": "string", "ref": "One"}}}`,
		`{"model": "Flat", "plain": true, "fields": {"a": {"type": "string", "required": true}}}`,
		`{"model": "One", "table": "one", "fields": {"v": `+field+`}}`)
	m, err := r.Model("One")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// loaded loads descriptions that have no fault.
func loaded(t testing.TB, r *model.Registry, texts ...string) {
	t.Helper()
	if ds := r.Load(trees(t, texts...)); ds.Err() != nil {
		t.Fatal(ds)
	}
}

// forms has, for each type of a field, texts and the form in which an object keeps them. A form that begins with ! is the class
// of the error and the path of the field, which each line of the error has.
var forms = []struct {
	field string
	forms map[string]string
}{
	{`{"type": "string"}`, map[string]string{
		`"x"`: `"x"`, `""`: `""`, `"5"`: `"5"`, `"é\u0000"`: `"é\u0000"`, `"<&>"`: `"<&>"`,
		`5`: `!validation v`, `true`: `!validation v`, `[]`: `!validation v`, `{}`: `!validation v`, `1.5`: `!validation v`,
	}},
	{`{"type": "string", "values": ["up", "down"]}`, map[string]string{`"up"`: `"up"`, `"Up"`: `!validation v`, `""`: `!validation v`, `1`: `!validation v`}},
	{`{"type": "string", "pattern": "^a+$"}`, map[string]string{`"aa"`: `"aa"`, `"ab"`: `!validation v`, `""`: `!validation v`}},
	{`{"type": "string", "min": 2, "max": 3}`, map[string]string{`"ab"`: `"ab"`, `"abc"`: `"abc"`, `"a"`: `!validation v`, `"abcd"`: `!validation v`, `"éé"`: `"éé"`}},
	{`{"type": "int"}`, map[string]string{
		`5`: `5`, `"5"`: `5`, `"-5"`: `-5`, `0`: `0`, `9223372036854775807`: `9223372036854775807`, `-9223372036854775808`: `-9223372036854775808`,
		`9223372036854775808`: `!bad_value v`, `1.5`: `!bad_value v`, `"1.5"`: `!bad_value v`, `"x"`: `!bad_value v`, `""`: `!bad_value v`,
		`"0x10"`: `!bad_value v`, `"1_000"`: `1000`, `" 5"`: `!bad_value v`, `true`: `!bad_value v`, `[5]`: `!bad_value v`, `{}`: `!bad_value v`,
	}},
	{`{"type": "int", "min": 1, "max": 3}`, map[string]string{`1`: `1`, `3`: `3`, `"2"`: `2`, `0`: `!bad_value v`, `4`: `!bad_value v`, `"4"`: `!bad_value v`}},
	{`{"type": "float"}`, map[string]string{
		`1.5`: `1.5`, `"1.5"`: `1.5`, `2`: `2`, `"2"`: `2`, `-0.25`: `-0.25`, `1e3`: `1000`,
		`"NaN"`: `!bad_value v`, `"Inf"`: `!bad_value v`, `"-inf"`: `!bad_value v`, `1e400`: `!bad_value v`, `"1e400"`: `!bad_value v`, `"x"`: `!bad_value v`, `false`: `!bad_value v`,
	}},
	{`{"type": "bool"}`, map[string]string{`true`: `true`, `false`: `false`, `1`: `!bad_value v`, `"yes"`: `true`, `"maybe"`: `!bad_value v`, `""`: `!bad_value v`, `[]`: `!bad_value v`}},
	{`{"type": "duration"}`, map[string]string{
		`"1m"`: `"1m"`, `"60s"`: `"1m"`, `"1h0m0s"`: `"1h"`, `90`: `"1m30s"`, `"x"`: `!bad_value v`, `"1y"`: `!bad_value v`, `true`: `!bad_value v`, `[]`: `!bad_value v`,
	}},
	{`{"type": "size"}`, map[string]string{`"1KiB"`: `"1KiB"`, `1024`: `"1KiB"`, `"x"`: `!bad_value v`, `"1 parsec"`: `!bad_value v`, `{}`: `!bad_value v`}},
	{`{"type": "secret"}`, map[string]string{`"canary"`: `"(secret)"`, `5`: `!validation v`, `["canary"]`: `!validation v`}},
	{`{"type": "secret", "min": 8}`, map[string]string{`"long enough"`: `"(secret)"`, `"canary"`: `!validation v`}},
	{`{"type": "ip"}`, map[string]string{
		`"10.0.0.1"`: `"10.0.0.1"`, `"2001:DB8:0::1"`: `"2001:db8::1"`, `"10.0.0"`: `!bad_value v`, `"010.0.0.1"`: `!bad_value v`, `""`: `!bad_value v`, `10`: `!validation v`,
	}},
	{`{"type": "cidr"}`, map[string]string{`"10.0.0.0/8"`: `"10.0.0.0/8"`, `"2001:DB8::/32"`: `"2001:db8::/32"`, `"10.0.0.0"`: `!bad_value v`, `"10.0.0.0/33"`: `!bad_value v`}},
	{`{"type": "mac"}`, map[string]string{
		`"52:54:00:12:34:AB"`: `"52:54:00:12:34:ab"`, `"52-54-00-12-34-ab"`: `"52:54:00:12:34:ab"`, `"52:54:00-12:34:ab"`: `!bad_value v`, `"zz"`: `!bad_value v`,
	}},
	{`{"type": "portrange"}`, map[string]string{`"80"`: `"80"`, `"80-90"`: `"80-90"`, `"90-80"`: `!bad_value v`, `"70000"`: `!bad_value v`, `80`: `!validation v`}},
	{`{"type": "email"}`, map[string]string{`"a@example.com"`: `"a@example.com"`, `"a"`: `!bad_value v`, `"@"`: `!bad_value v`}},
	{`{"type": "semver"}`, map[string]string{`"1.2.3"`: `"1.2.3"`, `"1.2"`: `!bad_value v`, `"v1"`: `!bad_value v`}},
	{`{"type": "uri"}`, map[string]string{`"https://example.com/a"`: `"https://example.com/a"`, `"a b"`: `!bad_value v`}},
	{`{"type": "any"}`, map[string]string{`"x"`: `"x"`, `5`: `5`, `[1, {"a": null}]`: `[1,{"a":null}]`, `{"b": [true]}`: `{"b":[true]}`}},
	{`{"type": "list", "of": {"type": "string"}}`, map[string]string{
		`["b", "a", "b"]`: `["b","a","b"]`, `[]`: `[]`, `[5]`: `!validation v[0]`, `["a", 5, true]`: `!validation v[1] !validation v[2]`, `"x"`: `!bad_value v`, `{}`: `!bad_value v`,
	}},
	{`{"type": "list", "of": {"type": "int"}, "max": 2}`, map[string]string{`["1", 2]`: `[1,2]`, `[1, 2, 3]`: `!bad_value v`, `[1, "x"]`: `!bad_value v[1]`}},
	{`{"type": "list", "of": {"type": "list", "of": {"type": "mac"}}}`, map[string]string{
		`[["52-54-00-12-34-AB"], []]`: `[["52:54:00:12:34:ab"],[]]`, `[["52-54-00-12-34-AB", "x"]]`: `!bad_value v[0][1]`,
	}},
	{`{"type": "map", "of": {"type": "mac"}}`, map[string]string{`{"eth0": "52-54-00-12-34-AB"}`: `{"eth0":"52:54:00:12:34:ab"}`, `{"eth0": 5}`: `!validation v.eth0`, `[]`: `!validation v`}},
	{`{"type": "map", "of": {"type": "int"}}`, map[string]string{`{"a": 1, "b": "2"}`: `{"a":1,"b":2}`, `{"a": "x"}`: `!bad_value v.a`}},
	{`{"type": "map", "of": {"type": "list", "of": {"type": "ip"}}}`, map[string]string{`{"a": ["2001:DB8:0::1"]}`: `{"a":["2001:db8::1"]}`}},
	{`{"type": "set", "of": {"type": "string"}}`, map[string]string{`["b", "a", "b"]`: `["a","b"]`, `[]`: `[]`, `[1]`: `!validation v[0]`}},
	{`{"type": "set", "of": {"type": "int"}}`, map[string]string{`[10, 9, "9"]`: `[9,10]`}},
	{`{"type": "set", "of": {"type": "ip"}}`, map[string]string{`["2001:DB8:0::1", "2001:db8::1"]`: `["2001:db8::1"]`}},
	{`{"type": "set", "of": {"type": "list", "of": {"type": "string"}}}`, map[string]string{`[["b", "a"], ["a b"], ["b", "a"]]`: `[["a b"],["b","a"]]`}},
	{`{"type": "list", "of": {"type": "set", "of": {"type": "string"}}}`, map[string]string{`[["b", "a", "b"], ["a"]]`: `[["a","b"],["a"]]`}},
	{`{"type": "set", "of": {"type": "set", "of": {"type": "int"}}}`, map[string]string{`[[2, 1], [1], [1, 2]]`: `[[1],[1,2]]`}},
	{`{"type": "map", "of": {"type": "set", "of": {"type": "int"}}}`, map[string]string{`{"a": [2, "1", 2]}`: `{"a":[1,2]}`}},
	{`{"type": "set", "of": {"type": "any"}}`, map[string]string{`[{"a": 1}, {"a": "1"}, {"a": 1}]`: `[{"a":1},{"a":"1"}]`, `["1", 1, true, "1"]`: `[true,1,"1"]`}},
	{`{"type": "object", "model": "Inner"}`, map[string]string{
		`{"id": "a", "mac": "52-54-00-12-34-AB"}`: `{"id":"a","mac":"52:54:00:12:34:ab","size":5}`, `{"id": "a", "mac": "x", "size": "y"}`: `!bad_value v.mac !bad_value v.size`,
		`{"id": "a", "mak": 1}`: `!unknown_field v.mak`, `"a"`: `!validation v`, `[]`: `!validation v`, `{"id": "a", "up": 5}`: `!bad_value v.up`, `{"id": "a", "up": "b"}`: `{"id":"a","size":5,"up":"b"}`,
	}},
	{`{"type": "list", "of": {"type": "object", "model": "Inner"}}`, map[string]string{
		`[{"id": "a", "size": 7}, {"id": "b"}]`: `[{"id":"a","size":7},{"id":"b","size":5}]`, `[{"id": "a"}, 5, null]`: `!validation v[1] !validation v[2]`, `{}`: `!validation v`,
	}},
	{`{"type": "map", "of": {"type": "object", "model": "Flat"}}`, map[string]string{`{"x": {"a": "b"}}`: `{"x":{"a":"b"}}`, `{"x": {"id": "b"}}`: `!unknown_field v.x.id`, `[1]`: `!validation v`}},
	{`{"type": "string", "ref": "One"}`, map[string]string{`"a"`: `"a"`, `5`: `!bad_value v`, `{}`: `!bad_value v`, `null`: ``}},
	{`{"type": "list", "of": {"type": "string", "ref": "One"}}`, map[string]string{`["a", "b"]`: `["a","b"]`, `["a", 5]`: `!validation v[1]`}},
}

// TestFormsOfValues: a value has one form, however it was written. What was taken once is taken again, and is the same. No error
// shows a secret.
func TestFormsOfValues(t *testing.T) {
	for _, c := range forms {
		m := one(t, c.field)
		for in, want := range c.forms {
			o, err := m.Parse("one.json", []byte(`{"id": "o", "v": `+in+`}`))
			if err != nil {
				checkFaults(t, c.field+" "+in, err, want)
				continue
			}
			text, err := o.MarshalJSON()
			if shown := `{"id":"o"` + map[bool]string{true: `,"v":` + want}[want != ""] + `}`; err != nil || string(text) != shown {
				t.Errorf("%s of %s is %s, %v; want %s", in, c.field, text, err, shown)
			}
			kept, err := o.Stored()
			if err != nil {
				t.Errorf("%s of %s: %v", in, c.field, err)
			}
			if again, err := m.Parse("", kept); err != nil || !again.Equal(o) {
				t.Errorf("%s of %s is kept as %s, which is read as %v, %v", in, c.field, kept, again, err)
			}
		}
	}
}

// checkFaults compares the errors with a text such as "!validation v[1] !bad_value v[2]".
func checkFaults(t *testing.T, what string, err error, want string) {
	t.Helper()
	var got []string
	for _, e := range model.Faults(err) {
		got = append(got, "!"+string(e.Code)+" "+e.Field)
		if e.Pos.Line != 1 || e.Pos.File != "one.json" || e.ID != "o" && !strings.Contains(e.Field, ".") {
			t.Errorf("%s: the fault is of %q at %s: %v", what, e.ID, e.Pos, e)
		}
	}
	if strings.Join(got, " ") != want || strings.Contains(err.Error(), "canary") {
		t.Errorf("%s: %v\nhas the faults %s, want %s", what, err, got, want)
	}
}

// TestSetsKeepAllSecrets: two secrets look alike and are not the same.
func TestSetsKeepAllSecrets(t *testing.T) {
	m := one(t, `{"type": "set", "of": {"type": "secret"}}`)
	o := object(t, m, map[string]any{"id": "o", "v": []any{"tea", "salt", "tea"}})
	if got, _ := o.Stored(); string(got) != `{"id":"o","v":["salt","tea"]}` {
		t.Errorf("the set of two secrets is %s", got)
	}
	if got := fmt.Sprint(model.Compare(schema.NewSecret("a"), schema.NewSecret("b")), model.Compare(schema.NewSecret("a"), schema.NewSecret("a"))); got != "-1 0" {
		t.Error("secrets compare as", got)
	}
}

// plainValue draws a scalar, or a list or a map of such.
func plainValue() *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just(model.Missing), rapid.Map(rapid.Bool(), asAny), rapid.Map(rapid.Int64Range(-2, 2), asAny), rapid.Map(rapid.Uint64Max(2), asAny),
		rapid.Map(rapid.SampledFrom([]float64{-1.5, 0, 2}), asAny), rapid.Map(rapid.SampledFrom([]string{"", "a", "b", "1", "a b"}), asAny),
		rapid.Map(rapid.SampledFrom([]string{"", "a", "b"}), func(s string) any { return schema.NewSecret(s) }),
	)
	list := rapid.Map(rapid.SliceOfN(scalar, 0, 2), func(l []any) any { return l })
	dict := rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), scalar, 0, 2), func(m map[string]any) any { return m })
	return rapid.OneOf(scalar, list, dict)
}

func asAny[T any](v T) any { return v }

// TestCompareIsAnOrder: the order is total and says 0 for equal values alone, also where they are written alike.
func TestCompareIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := plainValue().Draw(t, "a"), plainValue().Draw(t, "b"), plainValue().Draw(t, "c")
		ab, ba, bc, ac := model.Compare(a, b), model.Compare(b, a), model.Compare(b, c), model.Compare(a, c)
		if ab != -ba || model.Compare(a, a) != 0 {
			t.Fatalf("%#v and %#v: %d there, %d back", a, b, ab, ba)
		}
		if ab <= 0 && bc <= 0 && ac > 0 {
			t.Fatalf("%#v <= %#v <= %#v, and the first is above the last", a, b, c)
		}
		if same := deepSame(a, b); (ab == 0) != same {
			t.Fatalf("%#v and %#v compare as %d, and same is %t", a, b, ab, same)
		}
	})
}

// deepSame reports whether two plain values have the same types and parts.
func deepSame(a, b any) bool { return wordOf(a) == wordOf(b) }

// wordOf writes a value with its types and with quotes, so that two texts are the same for the same values only.
func wordOf(v any) string {
	switch v := v.(type) {
	case schema.Secret:
		return fmt.Sprintf("secret %q", v.Reveal())
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, wordOf(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for key, item := range v {
			parts = append(parts, fmt.Sprintf("%q: ", key)+wordOf(item))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprintf("%T %#v", v, v)
}

// TestOneFormOfAQuestion: an index finds an address however the question writes it.
func TestOneFormOfAQuestion(t *testing.T) {
	r := model.NewRegistry(nil)
	loaded(t, r, `{"model": "Card", "table": "card", "fields": {"mac": {"type": "mac"}, "ip": {"type": "ip"}, "nets": {"type": "list", "of": {"type": "cidr"}},
		"named": {"type": "map", "of": {"type": "mac"}}, "up": {"type": "string", "ref": "Card"}, "n": {"type": "int"}, "on": {"type": "bool"}, "wait": {"type": "duration"}},
		"indexes": {"mac": ["mac"], "ip": ["ip"], "nets": ["nets"], "named": ["named"], "up": ["up.mac"], "n": ["n"], "on": ["on"], "wait": ["wait"]}}`)
	m, err := r.Model("card")
	if err != nil {
		t.Fatal(err)
	}
	o := object(t, m, map[string]any{
		"id": "c", "mac": "52-54-00-12-34-AB", "ip": "2001:DB8:0::1", "nets": []any{"2001:DB8::/32"}, "named": map[string]any{"a": "52-54-00-12-34-AB"},
		"up": "c", "n": "5", "on": true, "wait": "60s",
	})
	look := func(string, string) *model.Object { return o }
	for path, texts := range map[string][]string{
		"mac": {"52-54-00-12-34-AB", "52:54:00:12:34:ab"}, "ip": {"2001:DB8:0::1", "2001:db8::1"}, "nets": {"2001:DB8::/32"}, "named": {"52-54-00-12-34-AB"},
		"up.mac": {"52-54-00-12-34-AB"}, "n": {"5"}, "on": {"true"}, "wait": {"1m", "60s"},
	} {
		for _, text := range texts {
			want, err := r.Want(m, path, text)
			if err != nil || !slices.Contains(o.At(path, look), want) {
				t.Errorf("%s %q: %v, %v; the object has %v", path, text, want, err, o.At(path, look))
			}
		}
	}
	for path, code := range map[string]model.Code{"n": model.BadValue, "on": model.BadValue, "wait": model.BadValue, "nope": model.UnknownField, "up.nope": model.UnknownField, "n.x": model.UnknownField} {
		if v, err := r.Want(m, path, "soon"); model.CodeOf(err) != code {
			t.Errorf("%s: %v, %v; want %s", path, v, err, code)
		}
	}
}
