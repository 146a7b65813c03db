package wire_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
)

// drawer draws types that Build takes.
type drawer struct {
	*rapid.T
	open []*schema.Type // the structs around that may be linked to
	n    int
}

func draw[T any](d *drawer, g *rapid.Generator[T]) T {
	d.n++
	return g.Draw(d.T, fmt.Sprint(d.n))
}

func (d *drawer) flag() bool { return draw(d, rapid.Bool()) }

// maybe returns a number or nil.
func maybe[T any](d *drawer, g *rapid.Generator[T]) *T {
	if d.flag() {
		return nil
	}
	return new(draw(d, g))
}

// bounds sets bounds that are not crossed.
func (d *drawer) bounds(t *schema.Type, g *rapid.Generator[int64]) {
	if t.Min, t.Max = maybe(d, g), maybe(d, g); t.Min != nil && t.Max != nil && *t.Min > *t.Max {
		t.Min, t.Max = t.Max, t.Min
	}
}

// typ draws a type. ends says that a struct around may stand here: a list or a map is between.
func (d *drawer) typ(depth int, ends bool) *schema.Type {
	kinds := schema.NumKinds
	if depth > 3 {
		kinds = int(schema.KindList)
	}
	t := &schema.Type{Kind: schema.Kind(draw(d, rapid.IntRange(0, kinds-1))), Doc: draw(d, rapid.String()), Optional: d.flag(), Opaque: d.flag()}
	switch t.Kind {
	case schema.KindInt:
		t.Bits, t.Unsigned = draw(d, rapid.SampledFrom([]int{0, 8, 16, 32, 64})), d.flag()
		d.bounds(t, rapid.Int64())
	case schema.KindFloat:
		t.Bits = draw(d, rapid.SampledFrom([]int{0, 32, 64}))
		if t.FloatMin = maybe(d, rapid.Float64Range(-1e300, 0)); d.flag() {
			t.FloatMax = new(draw(d, rapid.Float64Range(0, 1e300)))
		}
	case schema.KindString:
		d.text(t)
	case schema.KindDuration:
		t.Unit = draw(d, rapid.SampledFrom([]string{"", "ns", "us", "ms", "s", "m", "h"}))
		d.bounds(t, rapid.Int64())
		if t.Min == nil && t.Max != nil { // the least is 0 then
			t.Max = new(max(*t.Max, 0))
		}
	case schema.KindSize:
		d.bounds(t, rapid.Int64Range(0, 1<<62))
	case schema.KindRef:
		t.Target = draw(d, rapid.SampledFrom([]string{"", "file", "aws:ec2:vpc"}))
	case schema.KindList, schema.KindMap:
		d.bounds(t, rapid.Int64Range(0, 100))
		t.Elem = d.typ(depth+1, true)
	case schema.KindStruct:
		d.structure(t, depth, ends || t.Optional)
	}
	return t
}

func (d *drawer) text(t *schema.Type) {
	switch draw(d, rapid.IntRange(0, 4)) {
	case 0:
		t.Secret = true
	case 1:
		t.Enum = draw(d, rapid.SliceOfNDistinct(rapid.String(), 1, 4, rapid.ID))
		for range t.Enum[:d.pick(len(t.Enum))] {
			t.EnumNames = append(t.EnumNames, draw(d, rapid.String()))
		}
		return
	case 2:
		t.Pattern = draw(d, rapid.SampledFrom([]string{"^a$", `[\]"\\]+`, "a|b", `^\x41(?:b){2}`}))
	case 3:
		t.Format = draw(d, rapid.SampledFrom([]string{"ip", "cidr", "mac", "portrange", "uri", "email", "semver"}))
	}
	d.bounds(t, rapid.Int64Range(0, 1000))
}

// pick returns none or all.
func (d *drawer) pick(all int) int {
	if d.flag() {
		return 0
	}
	return all
}

func (d *drawer) structure(t *schema.Type, depth int, ends bool) {
	if len(d.open) > 0 && ends && d.flag() {
		t.Link = draw(d, rapid.SampledFrom(d.open))
		return
	}
	t.Name = fmt.Sprintf("T%d", d.n)
	d.open = append(d.open, t)
	defer func() { d.open = d.open[:len(d.open)-1] }()
	for _, key := range draw(d, rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9_-]{1,6}`), 0, 5, rapid.ID)) {
		t.Fields = append(t.Fields, d.field(key, depth))
	}
}

func (d *drawer) field(key string, depth int) *schema.Field {
	f := &schema.Field{
		Key: key, Doc: draw(d, rapid.String()), Role: schema.Role(draw(d, rapid.IntRange(0, int(schema.RoleWriteOnly)))),
		Required: d.flag(), NoWatch: d.flag(), NoSecret: d.flag(), Replaces: d.flag(), Deprecated: draw(d, rapid.String()),
		Alias: draw(d, rapid.StringMatching(`[a-z]{0,3}`)), Manifest: draw(d, rapid.StringMatching(`[a-z]{0,3}`)),
		Instead: draw(d, rapid.SliceOfN(rapid.String(), 0, 2)), Type: d.typ(depth+1, false),
	}
	if depth == 0 {
		f.Default = d.value(f.Type, 0)
		if schema.Check(f.Type, f.Default).Err() != nil {
			f.Default = nil
		}
	}
	return f
}

// value draws a default for some types; it may be a wrong one.
func (d *drawer) value(t *schema.Type, depth int) any {
	if t.Some(func(t *schema.Type) bool { return t.Link != nil || t.Kind == schema.KindStruct }) {
		return nil
	}
	switch t.Kind {
	case schema.KindBool:
		return d.flag()
	case schema.KindInt:
		return draw(d, rapid.Int64())
	case schema.KindFloat:
		return draw(d, rapid.Float64Range(-1e9, 1e9))
	case schema.KindString:
		if !t.Secret {
			return draw(d, rapid.SampledFrom(append([]string{"a", "::1", "80", `"<&>\u2028`}, t.Enum...)))
		}
	case schema.KindDuration:
		return draw(d, rapid.SampledFrom([]any{"1h30m", "5ms", int64(90)}))
	case schema.KindSize:
		return draw(d, rapid.SampledFrom([]any{"10MiB", int64(7)}))
	case schema.KindMode:
		return draw(d, rapid.SampledFrom([]any{"0644", "u=rwX,go=rX"}))
	case schema.KindRef:
		return draw(d, rapid.SampledFrom([]any{"file[/x]", "aws:ec2:vpc[a].b"}))
	case schema.KindAny:
		return draw(d, rapid.SampledFrom([]any{nil, true, int64(1), 1.0, 1e30, "x", []any{int64(1), "a", nil}, map[string]any{"b": 2.5, "a": []any{}}}))
	case schema.KindList:
		if depth < 2 {
			return []any{d.value(t.Elem, depth+1)} // null is an empty element, where it may be empty
		}
	case schema.KindMap:
		if depth < 2 {
			return map[string]any{"k": d.value(t.Elem, depth+1)}
		}
	}
	return nil
}

// TestRandomTypes: a type that is drawn at random comes back as what Build makes of it, and its bytes
// do not depend on the way.
func TestRandomTypes(t *testing.T) {
	var read, links int
	rapid.Check(t, func(rt *rapid.T) {
		d := &drawer{T: rt}
		ty := &schema.Type{Kind: schema.KindStruct}
		d.structure(ty, 0, false)
		if d.flag() { // a key that no other field can have
			again := &schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindStruct, Link: ty}}
			ty.Fields = append(ty.Fields, &schema.Field{Key: "children", Type: again})
		}
		built, err := schema.Build(ty)
		if err != nil {
			rt.Skip(err)
		}
		read++
		if built.Some(func(t *schema.Type) bool { return t.Elem != nil && t.Elem.Link != nil }) {
			links++
		}
		text, err := wire.Encode(ty)
		if err != nil {
			rt.Fatal(err)
		}
		back, found := wire.Decode("", text)
		if len(found) > 0 {
			rt.Fatalf("%v\n%s", found, text)
		}
		if !back.Equal(built) {
			rt.Fatalf("another type came back from %s", text)
		}
		for _, other := range []*schema.Type{built, back} {
			if again, err := wire.Encode(other); err != nil || !bytes.Equal(again, text) {
				rt.Fatalf("%v\n%s\n%s", err, text, again)
			}
		}
	})
	if read < 20 || links == 0 {
		t.Errorf("%d types were read, %d with a link: the test says little", read, links)
	}
}

// FuzzDecode: no text makes Decode panic; its findings have places in the text; what it takes is written
// canonically, and the canonical text is read as the same type.
func FuzzDecode(f *testing.F) {
	f.Add(encode(f, wire.Form()))
	f.Add(encode(f, everyType(f)))
	f.Add([]byte(`{"version":1,"type":{"kind":"struct","name":"T","fields":[{"key":"a","default":[{}],"type":{"kind":"list","of":{"kind":"struct","link":"T"}}}]}}`))
	f.Add([]byte(`{"version":1,"type":{"kind":"float","min":-0.5,"max":1e9,"bits":32}}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		ty, found := wire.Decode("", text)
		if ty == nil {
			if found.Err() == nil {
				t.Fatal("neither a type nor an error")
			}
			for _, d := range found {
				if d.Pos.IsZero() {
					t.Fatalf("a finding without a place: %v", d)
				}
			}
			return
		}
		canonical, err := wire.Encode(ty)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		back, found := wire.Decode("", canonical)
		if back == nil || !back.Equal(ty) {
			t.Fatalf("%v\n%s\n%s", found, text, canonical)
		}
		if again, err := wire.Encode(back); err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("%v\n%s\n%s", err, canonical, again)
		}
	})
}
