package schema_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// treeData is the type of tree, described as data.
func treeData() *schema.Type {
	t := &schema.Type{Kind: schema.KindStruct, Name: "tree"}
	link := schema.Type{Kind: schema.KindStruct, Link: t}
	maybe := link
	maybe.Optional = true
	t.Fields = []*schema.Field{
		{Key: "kids", Type: &schema.Type{Kind: schema.KindList, Elem: &link}},
		{Key: "next", Type: &maybe},
		{Key: "by", Type: &schema.Type{Kind: schema.KindMap, Elem: &maybe}},
		{Key: "n", Type: &schema.Type{Kind: schema.KindInt, Max: new(int64(9))}},
		{Key: "key", Type: &schema.Type{Kind: schema.KindString, Secret: true}},
	}
	return t
}

func forest() *schema.Node {
	return dict("n", num("1"), "kids", list(dict("n", num("2"), "kids", list(dict("n", num("3"))), "next", dict("n", num("4")))),
		"by", dict("a", dict("key", str("hush"))))
}

// TestRecursive: a struct that contains itself, as one in Go and as data, is read, written,
// compared and altered in the same way.
func TestRecursive(t *testing.T) {
	goType := typeOf[tree](t)
	built := build(t, treeData())
	if !built.Equal(goType) || !goType.Equal(built) {
		t.Fatal("the types differ")
	}
	a, b := schema.Data{Type: goType, Value: &tree{}}, built.New()
	for _, v := range []schema.Data{a, b} {
		if ds := schema.Decode(forest(), v); len(ds) > 0 {
			t.Fatal(ds)
		}
	}
	for _, encode := range []func(any) (any, error){schema.Encode, schema.EncodeAll} {
		x, errx := encode(a)
		y, erry := encode(b)
		if diff := cmp.Diff(said(x, errx), said(y, erry)); diff != "" {
			t.Error(diff)
		}
	}
	if !schema.Equal(a, b) {
		t.Error("they differ")
	}
	if err := schema.Set(b, "kids[0].next.n", 5); err != nil {
		t.Fatal(err)
	}
	if d := schema.Diff(built, b, built.New()); len(d) == 0 {
		t.Error("no difference")
	}
	got, err := schema.Get(b, "kids[0].next.n")
	if err != nil || got != int64(5) {
		t.Error(got, err)
	}
	if _, err := schema.Get(b, "by.a.key"); err != nil {
		t.Error(err)
	}
	for _, v := range []any{a, b} {
		ds := schema.Decode(dict("kids", list(dict("next", dict("n", num("10")), "zzz", num("1")))), v)
		want := []string{"kids[0].next.n", "kids[0].zzz"}
		if len(ds) != 2 || ds[0].Path != want[0] || ds[1].Path != want[1] {
			t.Error(ds)
		}
	}
}

// TestRecursiveSharesNothing: what Set and Decode alter is not seen by a copy that was made before.
func TestRecursiveSharesNothing(t *testing.T) {
	v := build(t, treeData()).New()
	if ds := schema.Decode(forest(), v); len(ds) > 0 {
		t.Fatal(ds)
	}
	before := schema.Snapshot(v)
	if err := schema.Set(v, "kids[0].kids[0].n", 7); err != nil {
		t.Fatal(err)
	}
	if ds := schema.Decode(dict("next", dict("n", num("8"))), v); len(ds) > 0 {
		t.Fatal(ds)
	}
	if n, err := schema.Get(before, "kids[0].kids[0].n"); err != nil || n != int64(3) {
		t.Error("the copy was altered", n, err)
	}
}

func TestRecursiveEnds(t *testing.T) {
	deep := dict()
	for range 1000 {
		deep = dict("next", deep)
	}
	for _, v := range []any{&tree{}, build(t, treeData()).New()} {
		if ds := schema.Decode(deep, v); ds.Err() == nil || !strings.HasSuffix(ds[0].Message, "nests too deeply") {
			t.Error(ds)
		}
	}
	if _, ds := schema.Value(typeOf[tree](t), deep); ds.Err() == nil {
		t.Error("Value has no limit")
	}
}

// TestRecursiveSecrets: who asks for secrets finds those of a struct that contains itself, wherever
// the question begins.
func TestRecursiveSecrets(t *testing.T) {
	for _, ty := range []*schema.Type{typeOf[tree](t), build(t, treeData())} {
		for _, path := range []string{"kids", "kids[0]", "next", "by.a.next"} {
			at, _, err := ty.At(path)
			if err != nil || !at.HoldsSecret() {
				t.Errorf("%s: no secret, %v", path, err)
			}
		}
		for _, f := range ty.Fields[:3] {
			if !f.Type.HoldsSecret() {
				t.Errorf("%s: no secret", f.Key)
			}
		}
		if ty.Field("n").Type.HoldsSecret() {
			t.Error("a number is a secret")
		}
	}
}

func TestRecursiveAssignable(t *testing.T) {
	built, other := build(t, treeData()), treeData()
	other.Fields[3].Type = &schema.Type{Kind: schema.KindString}
	if err := schema.Assignable(built, typeOf[tree](t)); err != nil {
		t.Error(err)
	}
	if err := schema.Assignable(built, build(t, other)); err == nil {
		t.Error("a number may be sent for text")
	}
	if built.Equal(build(t, other)) {
		t.Error("they are equal")
	}
}

func TestBadLinks(t *testing.T) {
	end := &schema.Type{Kind: schema.KindStruct, Name: "end"}
	end.Fields = []*schema.Field{{Key: "x", Type: &schema.Type{Kind: schema.KindStruct, Link: end}}}
	nameless := treeData()
	nameless.Name = ""
	stranger := &schema.Type{Kind: schema.KindStruct, Name: "s", Fields: []*schema.Field{{Key: "x", Type: &schema.Type{Kind: schema.KindStruct, Link: end}}}}
	between := treeData()
	between.Fields[1].Type = &schema.Type{Kind: schema.KindStruct, Name: "tree", Optional: true, Fields: []*schema.Field{{Key: "x", Type: between.Fields[1].Type}}}
	valued := treeData()
	valued.Fields[0].Default = []any{map[string]any{"n": 1}}
	for want, ty := range map[string]*schema.Type{
		"end.x: it contains itself without an end; make it optional, or an element of a list or a map": end,
		"the type.kids[]: it links to a struct without a name":                                         nameless,
		"s.x: it links to what is no struct around it":                                                 stranger,
		"tree.next.x: it links to tree, and another struct of that name is between":                    between,
		"tree.kids: default: what contains itself has none":                                            valued,
	} {
		_, err := schema.Build(ty)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %s\ngot %v", want, err)
		}
	}
	var fault *schema.Fault
	_, err := schema.Build(end)
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		fault = e.(*schema.Fault)
	}
	if fault == nil || fault.Type != end.Fields[0].Type {
		t.Error("the fault does not say its place")
	}
}

// TestNamedLoop: a type that points to itself is one that links to itself.
func TestNamedLoop(t *testing.T) {
	ty := &schema.Type{Kind: schema.KindStruct, Name: "loop"}
	ty.Fields = []*schema.Field{{Key: "kids", Type: &schema.Type{Kind: schema.KindList, Elem: ty}}}
	built := build(t, ty)
	if built.Fields[0].Type.Elem.Link != built {
		t.Error("it is no link")
	}
	if ds := schema.Decode(dict("kids", list(dict("kids", list(dict())))), built.New()); len(ds) > 0 {
		t.Error(ds)
	}
	if got := built.Fields[0].Type.String(); got != "a list of maps" {
		t.Error(got)
	}
	if reflect.TypeFor[schema.Data]() != built.Fields[0].Type.Elem.Go {
		t.Error("the Go side is another one")
	}
}
