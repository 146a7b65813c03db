package puppettype_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
)

// seeds are the types of the cases seen on Puppet.
func seeds(f *testing.F) []string {
	f.Helper()
	var out []string
	for _, r := range runners {
		vectors, err := readVectors("testdata/puppet/" + r.name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		for _, v := range vectors {
			out = append(out, v.Expr, v.Type, v.General, v.Specific)
		}
	}
	return out
}

// FuzzParse holds that no text panics or prints without bound, and that what is a type
// reads back.
func FuzzParse(f *testing.F) {
	for _, text := range append(seeds(f), leafTypes()...) {
		f.Add(text)
	}
	f.Add(strings.Repeat("Array[", 200))
	f.Fuzz(func(t *testing.T, text string) {
		ty, err := puppettype.Parse(text)
		if err != nil {
			e, ok := errors.AsType[*puppettype.Error](err)
			if !ok || e.Line < 1 || e.Col < 1 || e.Line > 1+strings.Count(text, "\n") || len(e.Error()) > 10_000 {
				t.Fatalf("%#v", err)
			}
			return
		}
		back, err := puppettype.Parse(ty.String())
		if err != nil || !back.Equal(ty) || !ty.Assignable(back) {
			t.Fatalf("%q: %s reads back as %v, %v", text, ty, back, err)
		}
		_ = ty.Lower().String()
	})
}

// FuzzCheck holds that checking, cleaning and lifting any JSON never panics, and that
// they agree.
func FuzzCheck(f *testing.F) {
	vectors, err := readVectors("testdata/puppet/datatypes_instance.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range vectors {
		f.Add(v.Type, string(v.Value))
	}
	f.Fuzz(func(t *testing.T, text, raw string) {
		ty, err := puppettype.Parse(text)
		var v any
		if err != nil || json.Unmarshal([]byte(raw), &v) != nil {
			return
		}
		checked := ty.Check("k.a", v)
		if (checked == nil) != ty.Accepts(v) || (ty.CheckSecret("k.a", v) == nil) != ty.Accepts(v) {
			t.Fatalf("%s and %s: %v", ty, raw, checked)
		}
		if checked != nil && checked.Error() == "" {
			t.Fatal("no words")
		}
		if !puppettype.Infer(v).Accepts(v) || !puppettype.InferEach(v).Accepts(v) {
			t.Fatalf("%s does not accept %s", puppettype.InferEach(v), raw)
		}
		for _, read := range []func(string, any) (any, error){ty.CleanText, ty.Clean, ty.Lift} {
			if got, err := read("k.a", v); err == nil && !ty.Accepts(got) {
				t.Fatalf("%s reads %s as %#v", ty, raw, got)
			}
		}
	})
}
