package schema_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func typeOf[T any](t testing.TB) *schema.Type {
	t.Helper()
	ty, err := schema.OfType(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return ty
}

func TestOfTypeKeys(t *testing.T) {
	got := typeOf[kitchen](t).Keys()
	want := strings.Fields(`owner group path state content langkey force small port huge ratio thin delay shift
		limit mode after token when raw args env items sub maybe free`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOfTypeIsShared(t *testing.T) {
	var wg sync.WaitGroup
	got := make([]*schema.Type, 16)
	type fresh struct{ A, B, C string }
	for i := range got {
		wg.Go(func() { got[i], _ = schema.OfType(reflect.TypeFor[*fresh]()) })
	}
	wg.Wait()
	for _, ty := range got {
		if ty == nil || ty != got[0] {
			t.Fatal("one Go type was read into several types")
		}
	}
}

func TestFieldAliases(t *testing.T) {
	type aliased struct {
		A string `yaml:"b"`
		B string `yaml:"c"`
		C int    `yaml:"C"`
	}
	ty := typeOf[aliased](t)
	for name, want := range map[string]string{"b": "b", "c": "c", "C": "C", "A": "b", "B": "c", "a": "", "": ""} {
		f := ty.Field(name)
		if want == "" && f != nil || want != "" && (f == nil || f.Key != want) {
			t.Errorf("Field(%q) is %v, want key %q", name, f, want)
		}
	}
	bare := &schema.Type{Kind: schema.KindStruct, Fields: ty.Fields} // made by hand, as a provider does
	if f := bare.Field("A"); f == nil || f.Key != "b" {
		t.Error("a type made by hand does not find its fields")
	}
	if (*schema.Type)(nil).Field("a") != nil || (*schema.Type)(nil).Keys() != nil {
		t.Error("a nil type has fields")
	}
}

func TestOfTypeRolesAndDoc(t *testing.T) {
	type roles struct {
		A int           `yaml:"a" mgmt:"identity,required" doc:"The a."`
		B int           `yaml:"b" mgmt:"param,nowatch,nosecret=a|c"`
		C int           `yaml:"c" mgmt:"init,nosecret"`
		D int           `yaml:"d" mgmt:"readonly"`
		E int           `yaml:"e" mgmt:"writeonly, min=-5, max=7"`
		F time.Duration `yaml:"f" mgmt:"min=100,unit=ms,max=2d"`
		G []string      `yaml:"g" mgmt:"enum=x|y,min=1"`
		H schema.Size   `yaml:"h" mgmt:"max=1MiB"`
	}
	ty := typeOf[roles](t)
	want := []schema.Role{schema.RoleIdentity, schema.RoleParam, schema.RoleInit, schema.RoleReadOnly, schema.RoleWriteOnly,
		schema.RoleState, schema.RoleState, schema.RoleState}
	for i, f := range ty.Fields {
		if f.Role != want[i] {
			t.Errorf("%s has the role %d, want %d", f.Key, f.Role, want[i])
		}
	}
	if f := ty.Field("a"); !f.Required || f.Doc != "The a." || f.NoWatch || !ty.Field("b").NoWatch {
		t.Error("required, doc or nowatch is wrong")
	}
	if a, b, c := ty.Field("a"), ty.Field("b"), ty.Field("c"); a.NoSecret || !b.NoSecret || !c.NoSecret ||
		len(b.Instead) != 2 || b.Instead[1] != "c" || c.Instead != nil {
		t.Error("nosecret is wrong")
	}
	for key, want := range map[string]string{
		"e": "a whole number from -5 to 7",
		"f": "a length of time such as 500ms or 1h30m from 100ms to 2d",
		"g": "a list of x, y of at least 1 element",
		"h": "a size such as 64k or 10MiB of at most 1MiB",
	} {
		if got := ty.Field(key).Type.String(); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

type tree struct {
	Kids []tree           `yaml:"kids"`
	Next *tree            `yaml:"next"`
	By   map[string]*tree `yaml:"by"`
	N    int              `yaml:"n" mgmt:"max=9"`
	Key  schema.Secret    `yaml:"key"`
}

type halfText struct{}

func (*halfText) UnmarshalText([]byte) error { return nil }

type reserving struct {
	base
	Notify string `yaml:"notify"`
	Name   string `yaml:"name"`
}

type named struct {
	base
	Name string `yaml:"name" mgmt:"identity"`
}

func TestOfTypeErrors(t *testing.T) {
	type broken struct {
		Ch    chan int
		Fn    func()            `yaml:"fn"`
		C     complex128        `yaml:"c"`
		Face  interface{ M() }  `yaml:"face"`
		Arr   [2]int            `yaml:"arr"`
		Map   map[int]string    `yaml:"map"`
		PP    **int             `yaml:"pp"`
		Half  halfText          `yaml:"half"`
		Dup   int               `yaml:"dup"`
		Dup2  int               `yaml:"dup"`
		Dot   int               `yaml:"a.b"`
		Tag   int               `yaml:"tag" mgmt:"wat"`
		Roles int               `yaml:"roles" mgmt:"param,init"`
		Enum  int               `yaml:"enum" mgmt:"enum=1|2"`
		Twice string            `yaml:"twice" mgmt:"enum=a|a"`
		Unit  string            `yaml:"unit" mgmt:"unit=s"`
		Unit2 time.Duration     `yaml:"unit2" mgmt:"unit=y"`
		Min   int               `yaml:"min" mgmt:"min=x"`
		Bool  bool              `yaml:"bool" mgmt:"min=1"`
		Cross int               `yaml:"cross" mgmt:"min=2,max=1"`
		In    map[string]string `yaml:",inline"`
	}
	_, err := schema.OfType(reflect.TypeFor[broken]())
	if err == nil {
		t.Fatal("no error")
	}
	want := strings.Split(strings.TrimSpace(`
schema_test.broken.Ch: the type chan int is not supported; give the field the tag `+"`yaml:\"-\"`"+` if it is no key
schema_test.broken.Fn: the type func() is not supported; give the field the tag `+"`yaml:\"-\"`"+` if it is no key
schema_test.broken.C: the type complex128 is not supported; give the field the tag `+"`yaml:\"-\"`"+` if it is no key
schema_test.broken.Face: the type interface { M() } is not supported; give the field the tag `+"`yaml:\"-\"`"+` if it is no key
schema_test.broken.Arr: the type [2]int is not supported; give the field the tag `+"`yaml:\"-\"`"+` if it is no key
schema_test.broken.Map: the keys of a map must be strings, not int
schema_test.broken.PP: a pointer to a pointer is not supported
schema_test.broken.Half: the type schema_test.halfText has UnmarshalText but no MarshalText
schema_test.broken.Dup2: the key "dup" belongs to the field Dup already
schema_test.broken.Dot: the key "a.b" may hold only letters, digits, _ and -
schema_test.broken.Tag: tag mgmt:"wat": "wat" is not known
schema_test.broken.Roles: tag mgmt:"param,init": "init" is a second role
schema_test.broken.Enum: tag mgmt:"enum=1|2": enum is for text, not for a whole number
schema_test.broken.Twice: tag mgmt:"enum=a|a": enum has "a" twice
schema_test.broken.Unit: tag mgmt:"unit=s": unit is for a duration, not for text
schema_test.broken.Unit2: tag mgmt:"unit=y": unit "y" is not one of ns, us, ms, s, m, h
schema_test.broken.Min: tag mgmt:"min=x": bound "x": strconv.ParseInt: parsing "x": invalid syntax
schema_test.broken.Bool: tag mgmt:"min=1": bound "1": bounds are not for true or false
schema_test.broken.Cross: tag mgmt:"min=2,max=1": min is above max
schema_test.broken.In: only a struct can be inlined, not map[string]string
`), "\n")
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
	if _, again := schema.OfType(reflect.TypeFor[broken]()); again != err {
		t.Error("the error is not remembered")
	}
	if ds := schema.Decode(dict(), &broken{}); ds.Err() == nil {
		t.Error("Decode into a broken type gives no error")
	}
}

func TestOfTypeReserved(t *testing.T) {
	_, err := schema.OfType(reflect.TypeFor[reserving]())
	want := `schema_test.reserving: field Notify: the key "notify" is reserved for the declaration of a resource
field Name: the key "name" is reserved for the name of the resource, unless the field is tagged mgmt:"identity"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	typeOf[named](t)
	type noResource struct {
		Notify string
		Name   string
	}
	if err := typeOf[noResource](t).CheckReserved(); err == nil {
		t.Error("CheckReserved sees nothing")
	}
	if _, err := schema.OfType(nil); err == nil {
		t.Error("nil has a type")
	}
}

func TestOf(t *testing.T) {
	content := "x"
	ty, err := schema.Of(&kitchen{
		State:   "exists",
		Content: &content,
		Delay:   time.Second,
		Args:    []string{"a"},
		Items:   []item{},
		Token:   schema.NewSecret("s"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"state": "exists", "content": "x", "delay": time.Second, "args": []any{"a"}}
	for _, f := range ty.Fields {
		if f.Key == "token" {
			if s, ok := f.Default.(schema.Secret); !ok || s.Reveal() != "s" {
				t.Error("the default of the secret is wrong")
			}
			continue
		}
		if diff := cmp.Diff(want[f.Key], f.Default); diff != "" || f.HasDefault != (f.Default != nil) {
			t.Errorf("%s: %s", f.Key, diff)
		}
	}
	if shared := typeOf[kitchen](t); shared.Field("state").HasDefault || !shared.Field("state").Type.Equal(ty.Field("state").Type) {
		t.Error("Of altered the shared type")
	}
	if ty.Field("State") != ty.Field("state") || typeOf[kitchen](t).Equal(ty) {
		t.Error("the type with defaults is not one of its own")
	}
	for _, bad := range []any{nil, 1, kitchen{}, (*kitchen)(nil), new(int)} {
		if _, err := schema.Of(bad); err == nil {
			t.Errorf("Of(%T) gives no error", bad)
		}
	}
}

func TestTypeString(t *testing.T) {
	for _, tc := range []struct {
		t    *schema.Type
		want string
	}{
		{nil, "nothing"},
		{typeOf[any](t), "any value"},
		{typeOf[bool](t), "true or false"},
		{typeOf[int](t), "a whole number"},
		{typeOf[float64](t), "a number"},
		{typeOf[string](t), "text"},
		{typeOf[schema.Secret](t), "secret text"},
		{typeOf[time.Time](t), "text"},
		{typeOf[schema.Mode](t), `a mode such as "0644" or u=rwX,go=rX`},
		{typeOf[schema.Ref](t), "a reference such as file[/etc/motd]"},
		{typeOf[[]any](t), "a list"},
		{typeOf[[]string](t), "a list of text"},
		{typeOf[[][]int](t), "a list of lists of whole numbers"},
		{typeOf[map[string]bool](t), "a map of true or false"},
		{typeOf[map[string]any](t), "a map"},
		{typeOf[map[string]schema.Secret](t), "a map of secret text"},
		{typeOf[item](t), "a map with the keys name, count"},
		{typeOf[struct{}](t), "a map"},
		{typeOf[kitchen](t), "a map with the keys owner, group, path, state, content, langkey, force, small ..."},
		{typeOf[kitchen](t).Field("content").Type, "text or null"},
		{typeOf[kitchen](t).Field("state").Type, "one of exists, absent, undefined"},
		{typeOf[kitchen](t).Field("small").Type, "a whole number"},
		{typeOf[kitchen](t).Field("port").Type, "a whole number from 1 to 65000"},
		{&schema.Type{Kind: schema.KindString, Min: new(int64(1))}, "text of at least 1 character"},
		{&schema.Type{Kind: schema.KindString, Min: new(int64(2)), Max: new(int64(8))}, "text of 2 to 8 characters"},
		{&schema.Type{Kind: schema.KindInt, Min: new(int64(0))}, "a whole number of at least 0"},
		{&schema.Type{Kind: 99}, "an unknown type"},
	} {
		if got := tc.t.String(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestTypeEqual(t *testing.T) {
	types := []*schema.Type{
		typeOf[bool](t), typeOf[int](t), typeOf[int8](t), typeOf[uint8](t), typeOf[string](t), typeOf[schema.Secret](t), typeOf[[]string](t),
		typeOf[map[string]string](t), typeOf[item](t), typeOf[kitchen](t), typeOf[tidy](t), typeOf[kitchen](t).Field("content").Type,
		typeOf[kitchen](t).Field("state").Type, typeOf[kitchen](t).Field("delay").Type, typeOf[time.Duration](t), typeOf[kitchen](t).Field("shift").Type, nil,
		&schema.Type{Kind: schema.KindString, Max: new(int64(1))},
		&schema.Type{Kind: schema.KindString, Max: new(int64(2))},
		&schema.Type{Kind: schema.KindString, Min: new(int64(1))},
	}
	for i, a := range types {
		for j, b := range types {
			if a.Equal(b) != (i == j) {
				t.Errorf("%s and %s: Equal is %v", a, b, a.Equal(b))
			}
		}
	}
	type item2 struct {
		N string `yaml:"name" mgmt:"required" doc:"other words"`
		C int8   `yaml:"count" mgmt:"max=100"`
	}
	if !typeOf[item](t).Equal(typeOf[item2](t)) {
		t.Error("the words and the Go names count")
	}
}

// TestInlineDeep reads fields through several levels of inlined structs.
func TestInlineDeep(t *testing.T) {
	type d struct{ D1, D2, D3 string }
	type c struct {
		C1 string
		D  d `yaml:",inline"`
		C2 string
	}
	type b struct {
		C  c `yaml:",inline"`
		B2 string
	}
	type a struct {
		B  b `yaml:",inline"`
		A2 string
	}
	type top struct {
		A  a `yaml:",inline"`
		T2 string
	}
	keys := strings.Fields("c1 d1 d2 d3 c2 b2 a2 t2")
	if got := typeOf[top](t).Keys(); !slices.Equal(got, keys) {
		t.Fatal(got)
	}
	var v top
	for _, key := range keys {
		if err := schema.Set(&v, key, key); err != nil {
			t.Error(err)
		}
	}
	for _, key := range keys {
		if got, err := schema.Get(&v, key); err != nil || got != key {
			t.Errorf("%s: %v, %v", key, got, err)
		}
	}
}

// TestManyFields goes beyond the 64 fields that fit one word.
func TestManyFields(t *testing.T) {
	var fields []reflect.StructField
	for i := range 100 {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[string](), Tag: `mgmt:"required"`})
	}
	v := reflect.New(reflect.StructOf(fields)).Interface()
	ds := schema.Decode(dict("f0", str(""), "f63", str(""), "f64", str("x"), "f99", str(""), "f64", str("y"), "f63", str("")), v)
	if len(ds) != 2+96 || ds[0].Message != "f64 is given twice" || ds[1].Message != "f63 is given twice" || ds[2].Message != "f1 is required: text" {
		t.Errorf("%d findings: %v", len(ds), ds)
	}
	if got, _ := schema.Get(v, "f64"); got != "x" {
		t.Errorf("got %v, the first is to stay", got)
	}
}

// tidy is item without the bound.
type tidy struct {
	Name  string `yaml:"name" mgmt:"required"`
	Count int8   `yaml:"count"`
}

func TestAt(t *testing.T) {
	ty := typeOf[kitchen](t)
	for path, want := range map[string]string{
		"content":        "text or null",
		"Content":        "text or null",
		"env.TOKEN":      "text",
		`env["a.b"]`:     "text",
		`["env"].x`:      "text",
		"items[3].count": "a whole number of at most 100",
		"maybe.name":     "text",
		"free":           "any value",
		"free.a[0].b":    "any value",
		"sub":            "a map with the keys name, count",
	} {
		got, f, err := ty.At(path)
		top := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(`.["]`, r) })[0]
		if err != nil || got.String() != want || f == nil || !strings.EqualFold(f.Key, top) {
			t.Errorf("%s: %s, %v, %v", path, got, f, err)
		}
	}
	for path, want := range map[string]string{
		"":               "an empty path names nothing",
		"contnet":        `unknown key "contnet" (did you mean "content"?)`,
		"zzz":            `unknown key "zzz"`,
		"items[0].cont":  `items[0]: unknown key "cont" (did you mean "count"?)`,
		"items.name":     `items: a list of maps has no keys, so none named "name"`,
		"sub[0]":         "sub: [0] needs a list, this is a map with the keys name, count",
		"force.x":        `force: true or false has no keys, so none named "x"`,
		"a..b":           `"a..b" is not a path, write it as a.b[0].c`,
		"a[":             `"a[" is not a path, write it as a.b[0].c`,
		"a[x]":           `"a[x]" is not a path, write it as a.b[0].c`,
		"a[-1]":          `"a[-1]" is not a path, write it as a.b[0].c`,
		"a[99999999999]": `"a[99999999999]" is not a path, write it as a.b[0].c`,
		".a":             `".a" is not a path, write it as a.b[0].c`,
		"a.":             `"a." is not a path, write it as a.b[0].c`,
		"a[0]b":          `"a[0]b" is not a path: a dot is missing before "b"`,
	} {
		if _, _, err := ty.At(path); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", path, err, want)
		}
	}
}

func TestAssignable(t *testing.T) {
	type sent struct {
		A string        `yaml:"a"`
		B schema.Secret `yaml:"b"`
	}
	type wider struct {
		A schema.Secret `yaml:"a"`
		B string        `yaml:"b"`
		C int           `yaml:"c"`
	}
	type needs struct {
		A string `yaml:"a"`
		B string `yaml:"b"`
		C int    `yaml:"c" mgmt:"required"`
	}
	yes := [][2]*schema.Type{
		{typeOf[string](t), typeOf[schema.Secret](t)}, {typeOf[schema.Secret](t), typeOf[string](t)},
		{typeOf[int8](t), typeOf[uint64](t)},
		{typeOf[any](t), typeOf[int](t)},
		{typeOf[[]int](t), typeOf[any](t)},
		{typeOf[[]any](t), typeOf[[]int](t)},
		{typeOf[map[string]string](t), typeOf[map[string]schema.Secret](t)},
		{typeOf[*string](t), typeOf[string](t)},
		{typeOf[sent](t), typeOf[wider](t)},
		{typeOf[[]byte](t), typeOf[string](t)},
	}
	for _, p := range yes {
		if err := schema.Assignable(p[0], p[1]); err != nil {
			t.Error(err)
		}
	}
	no := map[string][2]*schema.Type{
		"a whole number cannot be sent where text is needed":                                  {typeOf[int](t), typeOf[string](t)},
		"a list of text cannot be sent where a list of whole numbers is needed":               {typeOf[[]string](t), typeOf[[]int](t)},
		"a whole number cannot be sent where a number is needed":                              {typeOf[int](t), typeOf[float64](t)},
		"text cannot be sent where a mode is needed":                                          {typeOf[string](t), typeOf[schema.Mode](t)},
		"a length of time cannot be sent where a size is needed":                              {typeOf[time.Duration](t), typeOf[schema.Size](t)},
		"a reference cannot be sent where true or false is needed":                            {typeOf[schema.Ref](t), typeOf[bool](t)},
		"a map with the keys a, b, c cannot be sent where a map with the keys a, b is needed": {typeOf[wider](t), typeOf[sent](t)},
		"a map with the keys a, b cannot be sent where a map with the keys a, b, c is needed": {typeOf[sent](t), typeOf[needs](t)},
		"a map of text cannot be sent where a map with the keys a, b is needed":               {typeOf[map[string]string](t), typeOf[sent](t)},
		"nothing cannot be sent where text is needed":                                         {nil, typeOf[string](t)},
	}
	for want, p := range no {
		if err := schema.Assignable(p[0], p[1]); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestNearest(t *testing.T) {
	among := []string{"state", "content", "owner", "group", "mode", "recurse", "x"}
	for word, want := range map[string]string{
		"stat":                   "state",
		"sttae":                  "state",
		"STATE":                  "state",
		"Content":                "content",
		"contnet":                "content",
		"recursive":              "recurse",
		"onwer":                  "owner",
		"mod":                    "mode",
		"y":                      "",
		"":                       "",
		"zzzz":                   "",
		"statement":              "",
		strings.Repeat("x", 100): "",
		"é":                      "",
	} {
		if got := schema.Nearest(word, among); got != want {
			t.Errorf("Nearest(%q) is %q, want %q", word, got, want)
		}
	}
	a := []string{"bat", "cat", "hat"}
	for range 3 {
		if got := schema.Nearest("rat", a); got != "bat" {
			t.Errorf("of equals %q won", got)
		}
		a = append(a[1:], a[0])
	}
	slices.Sort(a)
	if schema.Nearest("x", nil) != "" || schema.Nearest("abc", []string{"", strings.Repeat("abc", 50)}) != "" {
		t.Error("an odd list has a near word")
	}
}
