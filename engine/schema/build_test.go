package schema_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// strip returns a type as if nobody had read it from a struct: without the Go side,
// but for parts that convert themselves.
func strip(t *schema.Type) *schema.Type {
	if t == nil || t.Go == reflect.TypeFor[time.Time]() || t.Go == reflect.TypeFor[[]byte]() {
		return t
	}
	c := schema.Type{
		Kind: t.Kind, Name: t.Name, Doc: t.Doc, Secret: t.Secret, Optional: t.Optional, Enum: t.Enum, Unit: t.Unit,
		Bits: t.Bits, Unsigned: t.Unsigned, Min: t.Min, Max: t.Max, FloatMin: t.FloatMin, FloatMax: t.FloatMax, Elem: strip(t.Elem),
	}
	for _, f := range t.Fields {
		c.Fields = append(c.Fields, &schema.Field{
			Key: f.Key, GoName: f.GoName, Type: strip(f.Type), Role: f.Role, Doc: f.Doc, Required: f.Required,
			NoWatch: f.NoWatch, NoSecret: f.NoSecret, Instead: f.Instead,
		})
	}
	return &c
}

func build(t testing.TB, ty *schema.Type) *schema.Type {
	t.Helper()
	built, err := schema.Build(ty)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// texts are the scalars that nodeFor takes, right and wrong ones.
var texts = []*schema.Node{
	null(), boo("true"), boo("false"), num("0"), num("1"), num("-1"), num("300"), num("99999999999999999999"), flt("0.5"), flt("1e300"),
	str(""), str("a"), str("yes"), str("absent"), str("exists"), str("5m"), str("-2s"), str("10k"), str("0644"), str("u=rw"),
	str("file[/a].b"), str("2026-01-02T03:04:05Z"), str("hush"),
}

// nodeFor draws a node for a type: of its shape as a rule, sometimes of none.
func nodeFor(rt *rapid.T, t *schema.Type, depth int) *schema.Node {
	pick := rapid.IntRange(0, 9).Draw(rt, "shape")
	switch {
	case pick == 0 || depth > 4:
	case t.Kind == schema.KindList || t.Kind == schema.KindAny && pick == 1:
		n := &schema.Node{Kind: schema.NodeList}
		for range rapid.IntRange(0, 3).Draw(rt, "items") {
			n.Items = append(n.Items, nodeFor(rt, elemOf(t), depth+1))
		}
		return n
	case t.Kind == schema.KindMap || t.Kind == schema.KindAny && pick == 2:
		n := &schema.Node{Kind: schema.NodeMap}
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "A.b", "name"}), 0, 3, rapid.ID).Draw(rt, "keys") {
			n.Pairs = append(n.Pairs, schema.Pair{Key: key, Value: nodeFor(rt, elemOf(t), depth+1)})
		}
		return n
	case t.Kind == schema.KindStruct:
		n := &schema.Node{Kind: schema.NodeMap}
		for _, f := range t.Fields {
			if rapid.IntRange(0, 3).Draw(rt, f.Key) > 0 {
				n.Pairs = append(n.Pairs, schema.Pair{Key: f.Key, Value: nodeFor(rt, f.Type, depth+1)})
			}
		}
		if pick == 1 {
			n.Pairs = append(n.Pairs, schema.Pair{Key: rapid.SampledFrom([]string{"pat", "Path", "path", "zzz"}).Draw(rt, "odd"), Value: str("a")})
		}
		return n
	}
	return rapid.SampledFrom(texts).Draw(rt, "scalar")
}

func elemOf(t *schema.Type) *schema.Type {
	if t.Elem != nil {
		return t.Elem
	}
	return &schema.Type{}
}

var paths = []string{
	"owner", "Owner", "path", "state", "content", "langkey", "Lang", "small", "port", "huge", "ratio", "thin", "delay", "limit", "mode", "after",
	"token", "when", "raw", "args", "args[0]", "args[7]", "env", "env.a", `env["A.b"]`, "items", "items[0].name", "items[0].Count", "sub", "sub.name",
	"maybe", "maybe.name", "free", "free.a", "free[0]", "nothing", "path.x", "",
}

// said is what a function has answered, as text that can be compared.
func said(v any, err error) string { return fmt.Sprintf("%#v, %v", reveal(v), err) }

// reveal shows what is in secrets, which all look alike.
func reveal(v any) any {
	switch x := v.(type) {
	case schema.Secret:
		return "secret " + x.Reveal()
	case []any:
		for i := range x {
			x[i] = reveal(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = reveal(x[k])
		}
	}
	return v
}

// TestBuiltBehavesAsStruct: what Build makes of the description of a struct reads,
// writes and compares as the struct does.
func TestBuiltBehavesAsStruct(t *testing.T) {
	ty := typeOf[kitchen](t)
	built := build(t, strip(ty))
	if !built.Equal(ty) {
		t.Fatal("what Build made is another type")
	}
	rapid.Check(t, func(rt *rapid.T) {
		gos := [2]any{&kitchen{}, &kitchen{}}
		data := [2]any{built.New(), built.New()}
		for i := range gos {
			for range rapid.IntRange(1, 2).Draw(rt, "times") {
				n := nodeFor(rt, ty, 0)
				sameSaid(rt, "Decode", lines(schema.Decode(n, gos[i])), lines(schema.Decode(n, data[i])))
			}
		}
		path := rapid.SampledFrom(paths).Draw(rt, "path")
		sameSaid(rt, "Get", said(schema.Get(gos[0], path)), said(schema.Get(data[0], path)))
		value, _ := schema.Get(gos[1], rapid.SampledFrom(paths).Draw(rt, "other"))
		restoreGo, err := schema.Save(gos[0], path)
		restore, err2 := schema.Save(data[0], path)
		if (err == nil) != (err2 == nil) {
			rt.Fatalf("Save: %v, and %v", err, err2)
		}
		before := encoded(data[0])
		sameSaid(rt, "Set", fmt.Sprint(schema.Set(gos[0], path, value)), fmt.Sprint(schema.Set(data[0], path, value)))
		sameValues(rt, gos, data)
		sameSaid(rt, "Diff", fmt.Sprint(schema.Diff(ty, gos[0], gos[1])), fmt.Sprint(schema.Diff(built, data[0], data[1])))
		sameSaid(rt, "Equal", schema.Equal(gos[0], gos[1]), schema.Equal(data[0], data[1]))
		if !schema.Equal(gos[0], data[0]) || len(schema.Diff(ty, gos[0], data[0])) > 0 || len(schema.Diff(built, data[0], gos[0])) > 0 {
			rt.Fatal("the struct and the data differ")
		}
		if err == nil {
			restore()
			restoreGo()
			sameSaid(rt, "what Save kept", before, encoded(data[0]))
			sameSaid(rt, "what Save kept in Go", before, encoded(gos[0]))
		}
	})
}

func sameSaid[T any](rt *rapid.T, what string, want, got T) {
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("%s: %s", what, diff)
	}
}

func encoded(v any) string { return said(schema.EncodeAll(v)) }

func sameValues(rt *rapid.T, gos, data [2]any) {
	for i := range gos {
		sameSaid(rt, "EncodeAll", encoded(gos[i]), encoded(data[i]))
		sameSaid(rt, "Encode", said(schema.Encode(gos[i])), said(schema.Encode(data[i])))
		j := 1 - i
		want, err := schema.EncodeChanged(gos[i], gos[j])
		got, err2 := schema.EncodeChanged(data[i], data[j])
		sameSaid(rt, "EncodeChanged", said(want, err), said(got, err2))
	}
	want, err := schema.Of(gos[0])
	got, err2 := schema.Of(data[0])
	if err != nil || err2 != nil || !want.Equal(got) {
		rt.Fatalf("Of: %v, %v", err, err2)
	}
}

func TestBuildCopies(t *testing.T) {
	given := user()
	given.Fields[2].Default = "present"
	given.Fields[3].Default = []string{"a"}
	built := build(t, given)
	for i, f := range built.Fields {
		if f == given.Fields[i] || f.Type == given.Fields[i].Type {
			t.Errorf("%s is shared", f.Key)
		}
		if f.GoName == "" || f.Type.Go == nil || len(f.Index) != 1 {
			t.Errorf("%s has no Go side", f.Key)
		}
	}
	if given.Go != nil || given.Fields[0].GoName != "" || given.Fields[5].Type.Min != nil || given.Fields[1].Type.Bits != 0 {
		t.Error("Build altered what it was given")
	}
	given.Fields[2].Type.Enum[0] = "altered"
	*given.Fields[1].Type.Max = 1
	if built.Fields[2].Type.Enum[0] != "present" || *built.Fields[1].Type.Max != 65535 {
		t.Error("what Build made shares an enumeration or a bound")
	}
	again := build(t, built)
	if !again.Equal(built) || again.Go != built.Go {
		t.Error("built again it is another type")
	}
}

// TestBuildZeroDefaults: a default that is the zero value of its type is the same as none, whatever the kind and its bounds.
func TestBuildZeroDefaults(t *testing.T) {
	for _, c := range []struct {
		typ  schema.Type
		zero any
		bad  any // a default that the bounds refuse
	}{
		{schema.Type{Kind: schema.KindInt, Max: new(int64(9))}, 0, 10},
		{schema.Type{Kind: schema.KindInt}, 0, "x"},
		{schema.Type{Kind: schema.KindFloat, FloatMax: new(1.5)}, 0.0, 2},
		{schema.Type{Kind: schema.KindBool}, false, 1},
		{schema.Type{Kind: schema.KindString}, "", []any{}},
		{schema.Type{Kind: schema.KindDuration}, "0s", "x"},
		{schema.Type{Kind: schema.KindSize}, "0", "1.5"},
		{schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindBool}}, []any{}, []any{1}},
		{schema.Type{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindBool}}, map[string]any{}, map[string]any{"a": "x"}},
	} {
		of := func(value any) *schema.Type {
			ty := c.typ
			return &schema.Type{Kind: schema.KindStruct, Name: "t", Fields: []*schema.Field{{Key: "k", Type: &ty, Default: value, HasDefault: value != nil}}}
		}
		zero, err := schema.Build(of(c.zero))
		if err != nil {
			t.Errorf("%v of %s: %v", c.zero, &c.typ, err)
			continue
		}
		if none := build(t, of(nil)); !zero.Equal(none) || zero.Field("k").HasDefault {
			t.Errorf("%v of %s is another default than none: %v", c.zero, &c.typ, zero.Field("k").Default)
		}
		if _, err := schema.Build(of(c.bad)); err == nil || !strings.Contains(err.Error(), "default: ") {
			t.Errorf("%v of %s: %v", c.bad, &c.typ, err)
		}
	}
}

func TestBuildDefaults(t *testing.T) {
	given := user()
	given.Fields[1].Default = 7
	given.Fields[2].Default = "present"
	given.Fields[3].Default = []string{"a"}
	given.Fields[5].Default = "2h"
	given.Fields[6].Default, given.Fields[6].HasDefault = "", true
	built := build(t, given)
	a, b := built.New(), built.New()
	of, err := schema.Of(a)
	if err != nil || !of.Equal(built) {
		t.Errorf("the defaults of a new value are others: %v", err)
	}
	want := map[string]any{"title": "", "uid": int64(7), "ensure": "present", "groups": []any{"a"}, "password": "secret ",
		"expires": 2 * time.Hour, "shell": ""}
	got, err := schema.EncodeAll(a)
	if diff := cmp.Diff(want, reveal(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if err := schema.Set(a, "groups[0]", "b"); err != nil {
		t.Fatal(err)
	}
	if v, _ := schema.Get(b, "groups[0]"); v != "a" {
		t.Error("two new values share a list")
	}
	if reflect.ValueOf(typeOf[item](t).New().Value).Type() != reflect.TypeFor[*item]() {
		t.Error("New of a type that was read from a struct makes something else")
	}
}

func TestBuildGoNames(t *testing.T) {
	text := &schema.Type{Kind: schema.KindString}
	var given schema.Type
	given.Kind = schema.KindStruct
	keys := []string{"ensure", "user_name", "user-name", "UserName", "9lives", "_", "-", "a1", "X"}
	for _, key := range keys {
		given.Fields = append(given.Fields, &schema.Field{Key: key, Type: text})
	}
	built := build(t, &given)
	var names []string
	for _, f := range built.Fields {
		names = append(names, f.GoName)
	}
	want := []string{"Ensure", "UserName", "UserNameX", "UserNameXX", "X9lives", "X", "XX", "A1", "XXX"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	d := built.New()
	for _, key := range keys {
		if err := schema.Set(d, key, "of "+key); err != nil {
			t.Error(err)
		}
	}
	for _, key := range keys {
		if v, err := schema.Get(d, key); v != "of "+key {
			t.Errorf("%s is %v, %v", key, v, err)
		}
	}
}

func TestBuildErrors(t *testing.T) {
	text := schema.Type{Kind: schema.KindString}
	loop := &schema.Type{Kind: schema.KindStruct}
	loop.Fields = []*schema.Field{{Key: "kids", Type: &schema.Type{Kind: schema.KindList, Elem: loop}}}
	f := func(key string, t *schema.Type) *schema.Field { return &schema.Field{Key: key, Type: t} }
	with := func(f *schema.Field, do func(*schema.Field)) *schema.Field { do(f); return f }
	given := &schema.Type{Kind: schema.KindStruct, Name: "key", Fields: []*schema.Field{
		nil,
		f("none", nil),
		f("a.b", &text),
		f("twice", &text), f("twice", &text),
		f("loop", loop),
		f("list", &schema.Type{Kind: schema.KindList}),
		f("kind", &schema.Type{Kind: 99}),
		f("role", &text),
		f("secret", &schema.Type{Kind: schema.KindInt, Secret: true}),
		f("enum", &schema.Type{Kind: schema.KindInt, Enum: []string{"1"}}),
		f("words", &schema.Type{Kind: schema.KindString, Enum: []string{"a", "a"}}),
		f("unit", &schema.Type{Kind: schema.KindString, Unit: "s"}),
		f("unit2", &schema.Type{Kind: schema.KindDuration, Unit: "y"}),
		f("bits", &schema.Type{Kind: schema.KindInt, Bits: 7}),
		f("wide", &schema.Type{Kind: schema.KindBool, Bits: 8}),
		f("sign", &schema.Type{Kind: schema.KindFloat, Unsigned: true}),
		f("bool", &schema.Type{Kind: schema.KindBool, Min: new(int64(1))}),
		f("cross", &schema.Type{Kind: schema.KindInt, Min: new(int64(2)), Max: new(int64(1))}),
		f("below", &schema.Type{Kind: schema.KindList, Elem: &text, Min: new(int64(-1))}),
		f("elem", &schema.Type{Kind: schema.KindString, Elem: &text}),
		f("parts", &schema.Type{Kind: schema.KindMap, Elem: &text, Fields: []*schema.Field{f("x", &text)}}),
		with(f("default", &schema.Type{Kind: schema.KindInt, Max: new(int64(5))}), func(f *schema.Field) { f.Default = 6 }),
		f("deep", &schema.Type{Kind: schema.KindStruct, Fields: []*schema.Field{
			with(f("in", &text), func(f *schema.Field) { f.Default = "x" }),
		}}),
	}}
	given.Fields[8].Role = 77
	got, err := schema.Build(given)
	if err == nil || got != nil {
		t.Fatal("no error, or a type beside it")
	}
	want := strings.Split(strings.TrimSpace(`
key: a field is nil
key.none: it has no type
key.a.b: the key "a.b" may hold only letters, digits, _ and -
key.twice: the key "twice" is there twice
key.loop.kids[]: it contains itself; use a field of any type for a tree
key.list[]: it has no type
key.kind: there is no kind 99 of types
key.role: there is no role 77
key.secret: only text, and any value with its texts, can be secret, not a whole number
key.enum: enum is for text, not for a whole number
key.words: enum has "a" twice
key.unit: unit is for a duration, not for text
key.unit2: unit "y" is not one of ns, us, ms, s, m, h
key.bits: 7 bits are not for a whole number
key.wide: 8 bits are not for true or false
key.sign: only a whole number can be unsigned, not a number
key.bool: bounds are not for true or false
key.cross: min is above max
key.below: a length is never below 0
key.elem: text has no elements
key.parts: a map of text has no fields
key.default: default: default must be a whole number from -9223372036854775808 to 5, not 6
key.deep.in: default: it is given for the whole of the outermost field, not for one within
`), "\n")
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []*schema.Type{nil, &text, {Kind: schema.KindStruct, Optional: true}} {
		if _, err := schema.Build(bad); err == nil {
			t.Errorf("Build of %v gives no error", bad)
		}
	}
}

// thing is a resource as far as this package can see: it has a name.
type thing struct {
	schema.Data
	base
}

// selfish is a Typed that reads itself.
type selfish struct {
	schema.Data
	words string
}

func (s *selfish) UnmarshalYAML(unmarshal func(any) error) error {
	if err := unmarshal(&s.words); err == nil {
		return schema.Set(s, "title", s.words)
	}
	return unmarshal(s)
}

func TestTyped(t *testing.T) {
	built := build(t, user())
	th := &thing{Data: built.New()}
	if ty, err := schema.TypeOf(th); ty != built || err != nil {
		t.Errorf("TypeOf gives %v, %v", ty, err)
	}
	if schema.KeyOf(th) == schema.KeyOf(&thing{Data: build(t, user()).New()}) || schema.KeyOf(th) != schema.KeyOf(&thing{Data: built.New()}) {
		t.Error("KeyOf does not tell by the type")
	}
	if schema.KeyOf((*thing)(nil)).Data != nil {
		t.Error("nil has a type")
	}
	if schema.KeyOf(&item{}) != schema.KeyOf(&item{Name: "x"}) || schema.KeyOf(&item{}) == schema.KeyOf(&common{}) {
		t.Error("KeyOf does not tell by the Go type")
	}
	own := &selfish{Data: built.New()}
	for _, n := range []*schema.Node{str("joe"), dict("title", str("joe"))} {
		if ds := schema.Decode(n, own); len(ds) > 0 {
			t.Error(ds)
		}
		if v, err := schema.Get(own, "title"); v != "joe" {
			t.Errorf("title is %v, %v", v, err)
		}
	}
	if v, err := schema.EncodeAll([]any{th.Data, map[string]any{"x": own}}); err != nil || !schema.Equal(v.([]any)[1].(map[string]any)["x"], own) {
		t.Errorf("within a list it is %v, %v", v, err)
	}
}

func TestTypedErrors(t *testing.T) {
	built := build(t, user())
	reserved := user()
	reserved.Fields[1].Key = "notify"
	for _, bad := range []any{
		&thing{},
		(*thing)(nil),
		&thing{Data: schema.Data{Type: user(), Value: built.New().Value}},
		&thing{Data: schema.Data{Type: built, Value: nil}},
		&thing{Data: schema.Data{Type: built, Value: &item{}}},
		&thing{Data: schema.Data{Type: built, Value: reflect.Zero(reflect.PointerTo(built.Go)).Interface()}},
		&thing{Data: build(t, reserved).New()},
	} {
		_, err := schema.Get(bad, "title")
		errs := []error{err, schema.Set(bad, "title", "x"), schema.Decode(dict("title", str("x")), bad).Err()}
		_, err = schema.Save(bad, "title")
		errs = append(errs, err)
		_, err = schema.Of(bad)
		errs = append(errs, err)
		_, err = schema.EncodeChanged(bad, bad)
		for i, err := range append(errs, err) {
			if err == nil {
				t.Errorf("%+v: function %d gives no error", bad, i)
			}
		}
	}
	if _, err := schema.TypeOf(build(t, reserved).New()); err != nil {
		t.Errorf("a key is reserved in what is no resource: %v", err)
	}
}

func TestSnapshot(t *testing.T) {
	d := build(t, user()).New()
	_ = schema.Set(d, "title", "a")
	kept := schema.Snapshot(d)
	_ = schema.Set(d, "title", "b")
	if v, err := schema.Get(kept, "title"); v != "a" {
		t.Errorf("the snapshot of a Typed has become %v, %v", v, err)
	}
	i := &item{Name: "a"}
	kept = schema.Snapshot(i)
	i.Name = "b"
	if kept != (item{Name: "a"}) {
		t.Errorf("the snapshot of a struct is %v", kept)
	}
	if schema.Snapshot(nil) != nil || schema.Snapshot(5) != 5 {
		t.Error("what is no struct has become something else")
	}
}
