package model_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/model"
)

// wide returns a model with a field of each shape.
func wide(t testing.TB) *model.Model {
	t.Helper()
	r := model.NewRegistry(nil)
	loaded(t, r, `{"model": "Card", "fields": {"mac": {"type": "mac"}, "key": {"type": "secret"}}}`,
		`{"model": "Wide", "table": "wide", "mixins": ["version"], "fields": {
			"label": {"type": "string"}, "size": {"type": "int", "default": 5}, "wait": {"type": "duration", "default": "1m"}, "on": {"type": "bool"},
			"tags": {"type": "set", "of": {"type": "string"}}, "key": {"type": "secret"}, "up": {"type": "string", "ref": "Wide"},
			"cards": {"type": "list", "of": {"type": "object", "model": "Card"}}, "any": {"type": "any"}, "meta": {"type": "any"}},
			"operations": {"rename": {"set": "label"}, "plug": {"add": "cards"}, "pull": {"remove": "cards"}, "tag": {"add": "tags"}}}`)
	m, err := r.Model("wide")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wideFields draws some fields of wide, with null among the values.
func wideFields(t *rapid.T, label string) map[string]any {
	word := rapid.SampledFrom([]string{"", "a", "b", "c d"})
	some := map[string]*rapid.Generator[any]{
		"label": rapid.Map(word, asAny), "size": rapid.Map(rapid.IntRange(4, 6), asAny), "on": rapid.Map(rapid.Bool(), asAny),
		"wait": rapid.Map(rapid.SampledFrom([]string{"1m", "60s", "2m"}), asAny), "tags": rapid.Map(rapid.SliceOfN(word, 0, 3), func(l []string) any { return anys(l) }),
		"key": rapid.Map(word, asAny), "up": rapid.Map(rapid.SampledFrom([]string{"x", "y"}), asAny),
		"cards": rapid.Map(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p", "q"}), 0, 2, rapid.ID), func(ids []string) any {
			var list []any
			for _, id := range ids {
				list = append(list, map[string]any{"id": id, "mac": "52:54:00:00:00:01"})
			}
			return append([]any{}, list...)
		}),
		"any": rapid.SampledFrom([]any{int64(1), "1", []any{true}, map[string]any{"a": "b"}}),
	}
	fields := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(some)) {
		switch rapid.IntRange(0, 3).Draw(t, label+" has "+key) {
		case 0:
			fields[key] = nil
		case 1, 2:
			fields[key] = some[key].Draw(t, label+" "+key)
		}
	}
	return fields
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// TestObjectLaws: what Merge, Changed, Equal, With and Without say about each other.
func TestObjectLaws(t *testing.T) {
	m := wide(t)
	drawn := func(t *rapid.T, label string) *model.Object {
		fields := wideFields(t, label)
		fields["id"] = "o"
		o, err := m.New(fields)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	rapid.Check(t, func(t *rapid.T) {
		o, p := drawn(t, "o"), drawn(t, "p")
		before, _ := o.Stored()
		merged, changed := o.Merge(p)
		if again, more := merged.Merge(p); len(more) > 0 || again != merged {
			t.Fatalf("a second merge changes %v", more)
		}
		for _, key := range p.Mask() {
			switch v := p.Values()[key]; {
			case v == nil && merged.Has(key) && slices.Contains(changed, key), v == nil && o.Values()[key] != nil && merged.Has(key):
				t.Fatalf("null leaves %s at %v", key, merged.Get(key))
			case v != nil && model.Compare(merged.Get(key), v) != 0:
				t.Fatalf("%s is %v after a merge with %v", key, merged.Get(key), v)
			}
		}
		for _, key := range o.Mask() {
			if !p.Has(key) && model.Compare(merged.Get(key), o.Get(key)) != 0 {
				t.Fatalf("%s is changed by a merge without it", key)
			}
		}
		for _, key := range model.Changed(o, merged) {
			if !slices.Contains(changed, key) {
				t.Fatalf("%s is changed, and Merge says %v", key, changed)
			}
		}
		if !slices.IsSorted(changed) || len(changed) > 0 == o.Equal(merged) {
			t.Fatalf("changed %v, and equal %t", changed, o.Equal(merged))
		}
		if there, back := model.Changed(o, p), model.Changed(p, o); !slices.Equal(there, back) || len(there) == 0 != o.Equal(p) || o.Equal(p) != p.Equal(o) {
			t.Fatalf("there %v, back %v, equal %t and %t", there, back, o.Equal(p), p.Equal(o))
		}
		copied := o
		for key, v := range p.Values() {
			next, err := copied.With(key, v)
			if err != nil || next.Without(key).Has(key) || !next.Has(key) {
				t.Fatalf("with %s: %v", key, err)
			}
			copied = next
		}
		for key, v := range p.Values() {
			if model.Compare(copied.Get(key), v) != 0 {
				t.Fatalf("%s is %v, and With was given %v", key, copied.Get(key), v)
			}
		}
		if after, _ := o.Stored(); string(after) != string(before) {
			t.Fatalf("an object was changed in place: %s, before %s", after, before)
		}
	})
}

// TestNoObject: the comparison of two snapshots of which one or both are absent.
func TestNoObject(t *testing.T) {
	m := wide(t)
	o := object(t, m, map[string]any{"id": "o", "label": "x", "on": nil})
	var none *model.Object
	if none.Equal(o) || o.Equal(nil) || !none.Equal(nil) || !o.Equal(o) {
		t.Error("an object equals none, or not itself")
	}
	for _, got := range [][]string{model.Changed(nil, o), model.Changed(o, nil)} {
		if !slices.Equal(got, []string{"id", "label"}) {
			t.Errorf("made and gone change %v", got)
		}
	}
	if got := model.Changed(nil, nil); len(got) > 0 {
		t.Error(got)
	}
	if named, err := o.With("id", "p"); err != nil || named.ID() != "p" || o.ID() != "o" {
		t.Errorf("%v with another id: %v", named, err)
	}
	if bare := o.Without("id"); bare.ID() != "" || o.ID() != "o" {
		t.Errorf("%q without an id, and %q with it", bare.ID(), o.ID())
	}
}

// TestOperationsOfLists: operations in, objects out. The object of before stays, and one that changes nothing is the same object.
func TestOperationsOfLists(t *testing.T) {
	m := wide(t)
	card := func(id string) map[string]any { return map[string]any{"id": id, "mac": "52:54:00:00:00:01"} }
	start := object(t, m, map[string]any{"id": "o", "label": "x", "tags": []any{"a", "b"}, "cards": []any{card("p"), card("q")}})
	for _, c := range []struct {
		op   string
		args map[string]any
		want string // the label, the tags and the ids of the cards; or the code and the field of the error
	}{
		{"rename", map[string]any{"label": "y"}, "y [a b] p q"},
		{"rename", map[string]any{"label": 5}, "validation label"},
		{"rename", map[string]any{"value": "y"}, "validation label"},
		{"rename", map[string]any{"label": "y", "more": 1}, "unknown_field more"},
		{"rename", nil, "validation label"},
		{"renmae", map[string]any{"label": "y"}, "unknown_operation renmae"},
		{"tag", map[string]any{"value": "c"}, "x [a b c] p q"},
		{"tag", map[string]any{"value": "b"}, "same"},
		{"tag", map[string]any{"value": []any{"b"}}, "validation tags[0]"},
		{"add", map[string]any{"field": "tags", "value": "0"}, "x [0 a b] p q"},
		{"add", map[string]any{"field": "label", "value": "0"}, "unknown_field label"},
		{"add", map[string]any{"field": "nope", "value": "0"}, "unknown_field nope"},
		{"add", map[string]any{"field": 5, "value": "0"}, "unknown_field 5"},
		{"remove", map[string]any{"field": "tags", "value": "a"}, "x [b] p q"},
		{"remove", map[string]any{"field": "tags", "value": "z"}, "same"},
		{"plug", map[string]any{"value": card("r")}, "x [a b] p q r"},
		{"plug", map[string]any{"value": card("q")}, "same"},
		{"plug", map[string]any{"value": map[string]any{"id": "r", "mac": "x"}}, "bad_value cards[0].mac"},
		{"pull", map[string]any{"value": "p"}, "x [a b] q"},
		{"pull", map[string]any{"value": map[string]any{"id": "q"}}, "x [a b] p"},
		{"pull", map[string]any{"value": card("q")}, "x [a b] p"},
		{"pull", map[string]any{"value": map[string]any{"id": "q", "mac": "52:54:00:00:00:02"}}, "same"},
		{"pull", map[string]any{"value": "z"}, "same"},
		{"pull", map[string]any{"value": map[string]any{"id": "z"}}, "same"},
		{"pull", map[string]any{"value": nil}, "validation value"},
		{"pull", map[string]any{"value": 5}, "validation cards[0]"},
	} {
		next, err := start.Do(c.op, c.args)
		got := outline(next)
		switch {
		case err != nil:
			e := model.Faults(err)[0]
			got = string(e.Code) + " " + e.Field
		case next == start:
			got = "same"
		}
		if got != c.want {
			t.Errorf("%s %v: %s, %v; want %s", c.op, c.args, got, err, c.want)
		}
		if got := outline(start); got != "x [a b] p q" {
			t.Fatalf("%s %v changed the object of before to %s", c.op, c.args, got)
		}
	}
	if _, err := start.Do("renmae", nil); !strings.Contains(err.Error(), `did you mean "rename"`) || !strings.Contains(err.Error(), "add, plug, pull, remove, rename, tag") {
		t.Errorf("an unknown operation: %v", err)
	}
}

// outline writes the fields that TestOperationsOfLists is about.
func outline(o *model.Object) string {
	if o == nil {
		return "none"
	}
	words := []string{fmt.Sprint(o.Get("label")), fmt.Sprint(o.Get("tags"))}
	for _, c := range o.Get("cards").([]any) {
		words = append(words, fmt.Sprint(c.(map[string]any)["id"]))
	}
	return strings.Join(words, " ")
}

// TestHiddenAndUnsealed: what meta.secret names is hidden from people, stays in the record, and is opened for a host alone.
func TestHiddenAndUnsealed(t *testing.T) {
	m := wide(t)
	for names, want := range map[any]string{
		"any": "any", "any.TOKEN": "any", "ANY": "any", "label": "label", "id": "", "meta": "", "other": "", 5: "",
	} {
		o := object(t, m, map[string]any{"id": "o", "label": "canary", "any": map[string]any{"TOKEN": "canary", "n": 1}, "meta": map[string]any{"secret": []any{names}}})
		for _, key := range []string{"id", "label", "any", "meta", "none"} {
			if o.Hidden(key) != (key == want) {
				t.Errorf("secret %v: %s is hidden: %t", names, key, o.Hidden(key))
			}
		}
	}
	o := object(t, m, map[string]any{
		"id": "o", "label": "sealed:l", "key": "sealed:k", "any": map[string]any{"TOKEN": "sealed:t", "n": 1, "list": []any{"sealed:x"}}, "cards": []any{map[string]any{"id": "p", "key": "sealed:c"}},
		"meta": map[string]any{"secret": "any"},
	})
	text, err := o.MarshalJSON()
	if err != nil || !strings.Contains(string(text), `"any":"(secret)"`) || strings.Contains(string(text), "sealed:k") || strings.Contains(string(text), "sealed:c") {
		t.Errorf("%s, %v", text, err)
	}
	clear, err := o.Unseal(func(s string) (string, error) { return strings.TrimPrefix(s, "sealed:"), nil })
	if err != nil {
		t.Fatal(err)
	}
	kept, _ := clear.Stored()
	want := `{"any":{"TOKEN":"t","list":["x"],"n":1},"cards":[{"id":"p","key":"c"}],"id":"o","key":"k","label":"sealed:l","meta":{"secret":"any"}}`
	if string(kept) != want {
		t.Errorf("opened it is %s, want %s", kept, want)
	}
	if kept, _ := o.Stored(); !strings.Contains(string(kept), "sealed:k") {
		t.Errorf("Unseal changed the object itself: %s", kept)
	}
	_, err = o.Unseal(func(s string) (string, error) {
		if s == "sealed:c" {
			return "", errors.New("no key fits")
		}
		return s, nil
	})
	if e := model.Faults(err); len(e) != 1 || e[0].Code != model.SecretRefused || e[0].Field != "cards" || e[0].ID != "o" || strings.Contains(err.Error(), "sealed:") {
		t.Errorf("a secret that no key opens: %v", err)
	}
}

// TestReferencesInsideOfNestedObjects: an *Object stands for its id wherever a reference is.
func TestReferencesInsideOfNestedObjects(t *testing.T) {
	r := model.NewRegistry(nil)
	loaded(t, r, `{"model": "Port", "fields": {"net": {"type": "string", "ref": "net"}, "nets": {"type": "map", "of": {"type": "string", "ref": "Net"}}}}`,
		`{"model": "Net", "table": "net"}`, `{"model": "Host", "table": "host", "fields": {"port": {"type": "object", "model": "Port"},
			"ports": {"type": "list", "of": {"type": "object", "model": "Port"}}, "named": {"type": "map", "of": {"type": "object", "model": "Port"}}}}`)
	m, _ := r.Model("host")
	nets, _ := r.Model("net")
	ports, _ := r.Model("Port")
	n := object(t, nets, map[string]any{"id": "n"})
	inner := map[string]any{"id": "p", "net": n, "nets": map[string]any{"a": n}}
	whole := object(t, ports, inner)
	for _, port := range []any{inner, whole} {
		o, err := m.New(map[string]any{"id": "h", "port": port, "ports": []any{port}, "named": map[string]any{"x": port}})
		if err != nil {
			t.Errorf("%T: %v", port, err)
			continue
		}
		text, _ := o.MarshalJSON()
		if want := `{"id":"h","named":{"x":P},"port":P,"ports":[P]}`; string(text) != strings.ReplaceAll(want, "P", `{"id":"p","net":"n","nets":{"a":"n"}}`) {
			t.Errorf("%s", text)
		}
	}
	for want, fields := range map[string]map[string]any{
		"bad_value port.net":        {"port": map[string]any{"net": whole}},
		"bad_value ports[1].nets.a": {"ports": []any{inner, map[string]any{"nets": map[string]any{"a": whole}}}},
		"validation named.x":        {"named": map[string]any{"x": n}},
		"validation port":           {"port": n},
	} {
		_, err := m.New(fields)
		if e := model.Faults(err); len(e) != 1 || string(e[0].Code)+" "+e[0].Field != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestDurationsAndDefaultsInAStruct: an object and a struct hold the same, in both directions.
func TestDurationsAndDefaultsInAStruct(t *testing.T) {
	type shelf struct {
		ID   string         `yaml:"id"`
		Wait time.Duration  `yaml:"wait"`
		Rows map[string]int `yaml:"rows"`
		Tags []string       `yaml:"tags" model:"set"`
	}
	m, err := model.Of(shelf{Wait: time.Minute}, model.Spec{Table: "shelf"})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		in := shelf{
			ID: "s", Wait: time.Duration(rapid.IntRange(1, 1000).Draw(t, "wait")) * time.Second,
			Rows: rapid.MapOf(rapid.StringMatching(`[a-z]{1,3}`), rapid.IntRange(1, 9)).Draw(t, "rows"), Tags: rapid.SliceOf(rapid.StringMatching(`[a-c]`)).Draw(t, "tags"),
		}
		o, err := model.From(m, in)
		if err != nil {
			t.Fatal(err)
		}
		out, err := model.As[shelf](o)
		slices.Sort(in.Tags)
		in.Tags = slices.Compact(in.Tags)
		if err != nil || out.Wait != in.Wait || !maps.Equal(out.Rows, in.Rows) || !slices.Equal(out.Tags, in.Tags) {
			t.Fatalf("%+v came back as %+v, %v", in, out, err)
		}
	})
}
