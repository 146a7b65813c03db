package schema_test

import (
	"fmt"
	"math/big"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// user is a type as data, as a provider states it, with no Go type behind it.
func user() *schema.Type {
	text := &schema.Type{Kind: schema.KindString}
	return &schema.Type{Kind: schema.KindStruct, Name: "user", Fields: []*schema.Field{
		{Key: "title", Type: text, Role: schema.RoleIdentity, Required: true},
		{Key: "uid", Type: &schema.Type{Kind: schema.KindInt, Unsigned: true, Max: new(int64(65535))}},
		{Key: "ensure", Type: &schema.Type{Kind: schema.KindString, Enum: []string{"present", "absent"}}},
		{Key: "groups", Type: &schema.Type{Kind: schema.KindList, Elem: text}},
		{Key: "password", Type: &schema.Type{Kind: schema.KindString, Secret: true}, Role: schema.RoleWriteOnly},
		{Key: "expires", Type: &schema.Type{Kind: schema.KindDuration, Unit: "h"}},
		{Key: "shell", Type: &schema.Type{Kind: schema.KindString, Optional: true}},
	}}
}

func TestTypeWithoutGo(t *testing.T) {
	ty := user()
	v, ds := schema.Value(ty, dict("title", str("joe"), "uid", num("1000"), "groups", list(str("a")), "password", str("hush"), "expires", num("2"), "shell", null()))
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	m := v.(map[string]any)
	if s, ok := m["password"].(schema.Secret); !ok || s.Reveal() != "hush" {
		t.Error("the password is no secret")
	}
	delete(m, "password")
	want := map[string]any{"title": "joe", "uid": int64(1000), "groups": []any{"a"}, "expires": 2 * time.Hour, "shell": nil}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	_, ds = schema.Value(ty, dict("uid", num("70000"), "ensure", str("presnt"), "gruops", list()))
	wantLines := []string{
		"g:1:9: uid must be a whole number from 0 to 65535, not 70000",
		`g:2:9: ensure must be one of present, absent, not "presnt" (did you mean "present"?)`,
		`g:3:1: unknown key "gruops" (did you mean "groups"?)`,
		"g:1:1: title is required: text",
	}
	if diff := cmp.Diff(wantLines, lines(ds)); diff != "" {
		t.Error(diff)
	}
}

func TestCheckTypeWithoutGo(t *testing.T) {
	good := map[string]any{"title": "joe", "uid": 5, "groups": []string{}, "password": "plain", "expires": time.Hour}
	if ds := schema.Check(user(), good); len(ds) > 0 {
		t.Error(ds)
	}
	ds := schema.Check(user(), map[string]any{"title": "joe", "uid": -1, "groups": "a", "expires": 1.5})
	want := []string{
		"expires must be a length of time such as 500ms or 1h30m, not 1.5",
		`groups must be a list of text, not the text "a"`,
		"uid must be a whole number from 0 to 65535, not -1",
	}
	if diff := cmp.Diff(want, lines(ds)); diff != "" {
		t.Error(diff)
	}
}

func TestDiffTypeWithoutGo(t *testing.T) {
	is := map[string]any{"title": "joe", "uid": 5, "groups": nil, "password": "canary"}
	should := map[string]any{"title": "joe", "uid": int8(5), "groups": []string{}, "password": schema.NewSecret("other"), "shell": "/bin/sh"}
	var got []string
	for _, d := range schema.Diff(user(), is, should) {
		got = append(got, d.String())
	}
	if diff := cmp.Diff([]string{"password: (secret) -> (secret)", "shell: <nil> -> /bin/sh"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestIntegersAgreeWithBig holds each Go integer type against numbers of any size.
func TestIntegersAgreeWithBig(t *testing.T) {
	type ints struct {
		I   int
		I8  int8
		I16 int16
		I32 int32
		I64 int64
		U   uint
		U8  uint8
		U16 uint16
		U32 uint32
		U64 uint64
	}
	ty := typeOf[ints](t)
	rapid.Check(t, func(rt *rapid.T) {
		f := rapid.SampledFrom(ty.Fields).Draw(rt, "field")
		n := new(big.Int).Lsh(big.NewInt(1), uint(rapid.IntRange(0, 66).Draw(rt, "bits")))
		n.Add(n, big.NewInt(rapid.Int64Range(-2, 2).Draw(rt, "near")))
		if rapid.Bool().Draw(rt, "negative") {
			n.Neg(n)
		}
		text := rapid.SampledFrom([]string{"%d", "%#x", "%#o", "%#b", "%O"}).Draw(rt, "base")
		var v ints
		written := fmt.Sprintf(text, n)
		err := schema.Decode(dict(f.Key, num(written)), &v).Err()
		rv := reflect.ValueOf(v).FieldByIndex(f.Index)
		fits := f.Type.Unsigned && n.Sign() >= 0 && n.BitLen() <= f.Type.Bits
		if !f.Type.Unsigned {
			lo := new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), uint(f.Type.Bits-1)))
			fits = n.Cmp(lo) >= 0 && n.Cmp(new(big.Int).Neg(new(big.Int).Add(lo, big.NewInt(1)))) <= 0
		}
		if (err == nil) != fits || fits && fmt.Sprint(rv) != n.String() {
			rt.Fatalf("%s into %s: %v, %v", written, rv.Type(), rv, err)
		}
		if fits {
			var w ints
			if err := schema.Set(&w, f.GoName, rv.Interface()); err != nil || w != v {
				rt.Fatalf("Set: %v, %v", w, err)
			}
		}
	})
}

// TestConcurrentUse runs everything that reads a shared type at once; it is for the
// race detector.
func TestConcurrentUse(t *testing.T) {
	n := dict("path", str("/x"), "env", dict("A", str("b")), "maybe", dict("name", str("m")), "free", list(num("1")), "token", str("s"))
	def := setTarget()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			k := *def // shares its lists and maps with all others
			if ds := schema.Decode(n, &k); len(ds) > 0 {
				t.Error(ds)
			}
			if err := schema.Set(&k, "env.B", "x"); err != nil {
				t.Error(err)
			}
			if err := schema.Set(&k, "args[0]", "x"); err != nil {
				t.Error(err)
			}
			ty, err := schema.Of(&k)
			if err != nil {
				t.Error(err)
				return
			}
			_ = schema.Diff(ty, &k, def)
			_, _ = schema.EncodeAll(&k)
			_, _, _ = ty.At("items[0].name")
			_ = ty.String()
		})
	}
	wg.Wait()
	if def.Args[0] != "a" || len(def.Env) != 1 {
		t.Error("what all share was altered")
	}
}
