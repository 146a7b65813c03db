package wire_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
)

// TestDefaultWithNull: null in a list is an empty element. A type that allows no empty one is refused before it is
// written, since nobody could read the text.
func TestDefaultWithNull(t *testing.T) {
	for _, c := range []struct {
		inner *schema.Type
		fault string
	}{
		{&schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindString}}, ""},
		{&schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindString}, Min: new(int64(1)), Optional: true}, ""},
		{&schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindString}, Min: new(int64(1))}, "T.a: default: null stands for an empty element"},
		{&schema.Type{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindString}, Min: new(int64(1))}, "T.a: default: null stands for an empty element"},
	} {
		ty := &schema.Type{Kind: schema.KindStruct, Name: "T", Fields: []*schema.Field{{Key: "a", Default: []any{nil}, Type: &schema.Type{Kind: schema.KindList, Elem: c.inner}}}}
		text, err := wire.Encode(ty)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %s, %v", c.inner, text, err)
			}
			continue
		}
		back, found := wire.Decode("", text)
		if built, err := schema.Build(ty); err != nil || len(found) > 0 || !back.Equal(built) {
			t.Errorf("%s: %v, %v", text, found, err)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the golden files")

type rule struct {
	Name string  `yaml:"name" mgmt:"identity,pattern=^[a-z,]+$"`
	Next *rule   `yaml:"next"`
	All  []rule  `yaml:"all"`
	Rate float32 `yaml:"rate" mgmt:"min=0.5,max=1"`
}

type upper string

func (u *upper) UnmarshalText(b []byte) error { *u = upper(bytes.ToUpper(b)); return nil }
func (u upper) MarshalText() ([]byte, error)  { return []byte(u), nil }

type odd struct{ A string }

func (o *odd) UnmarshalYAML(unmarshal func(any) error) error { return unmarshal(&o.A) }

type everything struct {
	Path  string                `yaml:"path" mgmt:"identity,required" doc:"Where it is, with \"quotes\" & <signs>."`
	State string                `yaml:"state" mgmt:"enum=exists|absent"`
	Force *bool                 `yaml:"force" mgmt:"param"`
	Small int8                  `yaml:"small" mgmt:"min=-5,max=100,init,replaces,absent=-5"`
	Big   uint64                `yaml:"big" mgmt:"nowatch"`
	Delay time.Duration         `yaml:"delay" mgmt:"unit=ms,min=-1h30m"`
	Wait  []time.Duration       `yaml:"wait" mgmt:"max=4"`
	Limit schema.Size           `yaml:"limit" mgmt:"max=10MiB"`
	Mode  schema.Mode           `yaml:"mode" deprecated:"use nothing"`
	After schema.Ref            `yaml:"after" mgmt:"target=file"`
	Token schema.Secret         `yaml:"token" mgmt:"writeonly"`
	Env   map[string]*string    `yaml:"env" mgmt:"nosecret=token|raw"`
	Raw   []byte                `yaml:"raw" mgmt:"readonly,max=9"`
	Up    upper                 `yaml:"up"`
	Odd   odd                   `yaml:"odd"`
	IPs   []string              `yaml:"ips" mgmt:"format=ip"`
	Free  any                   `yaml:"free"`
	Rules []rule                `yaml:"rules"`
	Deep  map[string][]struct{} `yaml:"deep"`
}

func everyType(t testing.TB) *schema.Type {
	t.Helper()
	ty, err := schema.Of(&everything{
		State: "exists", Delay: 1500 * time.Millisecond, Limit: 1 << 20, Mode: "0644", Big: math.MaxUint64,
		Wait: []time.Duration{time.Second, 0}, After: schema.Ref{Kind: "file", Name: "/x"}, Up: "A",
		Free:  map[string]any{"f": 1.0, "i": 1, "l": []any{"<", nil, true}},
		Rules: []rule{{Name: "a", Rate: 0.75}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ty.Fields[1].Alias, ty.Fields[1].Manifest, ty.Fields[1].Type.EnumNames = "present", "ensure", []string{"Exists", "Absent"}
	t.Cleanup(func() { ty.Fields[1].Type.EnumNames = nil }) // the type of a field is shared
	return ty
}

func encode(t testing.TB, ty *schema.Type) []byte {
	t.Helper()
	text, err := wire.Encode(ty)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decode(t testing.TB, text []byte) *schema.Type {
	t.Helper()
	ty, found := wire.Decode("t.json", text)
	if len(found) > 0 {
		t.Fatalf("%v\n%s", found, text)
	}
	return ty
}

// golden compares a text with a file, which is indented for people.
func golden(t *testing.T, file string, text []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s, which -update writes: %s", file, diff)
	}
}

// TestGolden: everything that a type can say is written as it was in the first version, and the
// form is described by its own type.
func TestGolden(t *testing.T) {
	golden(t, "testdata/everything.json", encode(t, everyType(t)))
	golden(t, "testdata/form.json", encode(t, wire.Form()))
}

// ofGo are the names of Go's own types, which are not written.
var ofGo = []string{"", "string", "bool", "int", "int8", "uint8", "uint64", "float32", "float64", "Duration", "Size", "Mode", "Ref", "Secret"}

// sayings returns all that a type says, as a tree that can be compared: its exported parts without the
// Go side. A link is the path of what it links to.
func sayings(t *schema.Type) any {
	seen := map[*schema.Type]string{}
	var of func(v reflect.Value, at string) any
	of = func(v reflect.Value, at string) any {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return nil
		}
		if p, ok := v.Interface().(*schema.Type); ok {
			seen[p] = at
		}
		v = reflect.Indirect(v)
		out := map[string]any{}
		for i := range v.NumField() {
			f, val := v.Type().Field(i), v.Field(i)
			switch {
			case !f.IsExported() || f.Name == "Go" || f.Name == "Index":
			case f.Name == "Link":
				out["Link"] = ""
				if !val.IsNil() {
					out["Link"] = "links to " + val.Interface().(*schema.Type).Name
				}
			case f.Type == reflect.TypeFor[*schema.Type]():
				out[f.Name] = of(val, at+"/"+f.Name)
			case f.Name == "Fields":
				for j := range val.Len() {
					out[f.Name+val.Index(j).Interface().(*schema.Field).Key] = of(val.Index(j), at)
				}
			case val.Kind() == reflect.Slice && val.Len() == 0:
			case f.Name == "Name" && slices.Contains(ofGo, val.String()):
			default:
				out[f.Name] = val.Interface()
			}
		}
		return out
	}
	return of(reflect.ValueOf(t), "")
}

func roundTrip(t testing.TB, ty *schema.Type) {
	t.Helper()
	text := encode(t, ty)
	back := decode(t, text)
	if !back.Equal(ty) || !ty.Equal(back) {
		t.Errorf("another type came back from %s", text)
	}
	if diff := cmp.Diff(sayings(ty), sayings(back)); diff != "" {
		t.Errorf("it lost something: %s", diff)
	}
	if again := encode(t, back); !bytes.Equal(text, again) {
		t.Errorf("the bytes differ:\n%s\n%s", text, again)
	}
}

func TestRoundTrip(t *testing.T) {
	roundTrip(t, everyType(t))
	roundTrip(t, wire.Form())
	for k := range schema.NumKinds {
		ty := &schema.Type{Kind: schema.Kind(k), Optional: true}
		if ty.Elem = nil; ty.Kind == schema.KindList || ty.Kind == schema.KindMap {
			ty.Elem = &schema.Type{}
		}
		text := encode(t, ty)
		roundTrip(t, decode(t, text))
	}
}

// TestBuilt: a type that was read takes the same values as the one that was written.
func TestBuilt(t *testing.T) {
	v := decode(t, encode(t, everyType(t))).New()
	for path, want := range map[string]any{"state": "exists", "delay": 1500 * time.Millisecond, "free.f": 1.0, "rules[0].rate": 0.75, "after": schema.Ref{Kind: "file", Name: "/x"}} {
		if got, err := schema.Get(v, path); err != nil || got != want {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if err := schema.Set(v, "rules[0].next", map[string]any{"name": "b,c", "all": []any{map[string]any{"rate": 0.5}}}); err != nil {
		t.Error(err)
	}
	if err := schema.Set(v, "rules[0].next.all[0].rate", 0.25); err == nil {
		t.Error("a bound was lost")
	}
}

// TestHash: the digest follows from what the type says, and not from when it was asked for.
func TestHash(t *testing.T) {
	a, err := wire.Hash(everyType(t))
	b, _ := wire.Hash(decode(t, encode(t, everyType(t))))
	c, _ := wire.Hash(wire.Form())
	if err != nil || a != b || a == c || !strings.HasPrefix(a, "sha256:") || len(a) != 7+64 {
		t.Error(a, b, c, err)
	}
}

func TestEncodeAs(t *testing.T) {
	tree := &schema.Type{Kind: schema.KindStruct, Name: "Tree"}
	tree.Fields = []*schema.Field{{Key: "kids", Type: &schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindStruct, Link: tree}}}}
	text, err := wire.EncodeAs("tree", tree)
	want := `{"version":1,"type":{"kind":"struct","name":"tree","fields":[{"key":"kids","go":"Kids","type":{"kind":"list","of":{"kind":"struct","link":"tree"}}}]}}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

func TestRefused(t *testing.T) {
	text := &schema.Type{Kind: schema.KindString}
	shared := text
	for range 20 {
		shared = &schema.Type{Kind: schema.KindStruct, Fields: []*schema.Field{{Key: "a", Type: shared}, {Key: "b", Type: shared}}}
	}
	deep := text
	for range wire.MaxLevels {
		deep = &schema.Type{Kind: schema.KindList, Elem: deep}
	}
	field := func(v any, t *schema.Type) *schema.Type {
		return &schema.Type{Kind: schema.KindStruct, Name: "x", Fields: []*schema.Field{{Key: "f", Type: t, Default: v, HasDefault: true}}}
	}
	infinite, err := schema.Of(&struct{ F float64 }{math.Inf(1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		t    *schema.Type
		want string
	}{
		{nil, "there is no type"},
		{deep, "more than 200 levels"},
		{&schema.Type{Kind: schema.KindList}, "type.value[]: it has no type"},
		{&schema.Type{Kind: schema.KindString, Doc: "\xff"}, "the type: a text is no UTF-8"},
		{field(schema.NewSecret("canary"), &schema.Type{Kind: schema.KindString, Secret: true}), "x.f: default: it is a secret"},
		{field(map[string]any{"k": schema.NewSecret("canary")}, &schema.Type{}), "x.f: default: it is a secret"},
		{field(time.Second, &schema.Type{}), "x.f: default: a time.Duration has no form where any value may stand"},
		{infinite, "f: default: JSON has no +Inf"},
		{field("\xff", text), "no UTF-8"},
	} {
		got, err := wire.Encode(c.t)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("want %s, got %v %.80s", c.want, err, got)
		}
	}
	if _, err := wire.Encode(&schema.Type{Kind: schema.KindStruct, Go: reflect.TypeFor[int](), Fields: shared.Fields}); err == nil || !strings.Contains(err.Error(), "types") {
		t.Error("a text of a million types is written:", err)
	}
}

// TestFindings: what is wrong with a text is said at its place, all of it at once.
func TestFindings(t *testing.T) {
	for text, want := range map[string]string{
		``:                                       `t.json:1:1: this is no type: it ends too early`,
		`[]`:                                     `t.json:1:1: the value must be a map with the keys version, type, not a list`,
		`{}`:                                     "t.json:1:1: version is required: a whole number of at least 1\nt.json:1:1: type is required: a map with the keys kind, name, doc, optional, secret, opaque, enum, names ... or null",
		`{"version":2,"x":`:                      `t.json:1:18: this is no type: it ends too early`,
		`{"version":2,"types":[{"kind":"new"}]}`: `t.json:1:12: the type is written in version 2 of the form, and this program reads version 1; use a program that reads it`,
		`{"version":1,"type":{"kind":"bool"}} x`: `t.json:1:38: this is no type: something follows the type`,
		`{"version":1,"type":{"kind":"bool","kind":"int"}}`:                      "t.json:1:36: the key \"kind\" is given twice\n    t.json:1:22: first given here",
		`{"version":"1","type":{"kind":"bool"}}`:                                 `t.json:1:12: version must be a whole number of at least 1, not the text "1"; leave out the quotes`,
		`{"version":1,"type":null}`:                                              `t.json:1:21: type is null; leave the key out`,
		"{\"version\":1,\n\"type\":{\"kind\":\"int\",\"mim\":1}}":                `t.json:2:22: unknown key "mim" in type (did you mean "min"?)`,
		`{"version":1,"type":{"kind":"strin"}}`:                                  `t.json:1:29: type.kind must be one of any, bool, int, float, string, duration, size, mode, ref, list, map, struct, not "strin" (did you mean "string"?)`,
		`{"version":1,"type":{"kind":"bool","doc":5}}`:                           `t.json:1:42: doc must be text, and is written as something else`,
		`{"version":1,"type":{"kind":"bool","optional":"yes"}}`:                  `t.json:1:47: optional must be true or false, and is written as something else`,
		`{"version":1,"type":{"kind":"int","bits":8.0}}`:                         `t.json:1:42: bits must be a whole number, and is written as something else`,
		`{"version":1,"type":{"kind":"int","min":1.5}}`:                          `t.json:1:41: min: the value must be a whole number, not 1.5`,
		`{"version":1,"type":{"kind":"duration","max":5}}`:                       `t.json:1:46: max of a duration is text with a unit, such as 5m`,
		`{"version":1,"type":{"kind":"bool","max":5}}`:                           `t.json:1:21: type.value: bounds are not for true or false`,
		`{"version":1,"type":{"kind":"list"}}`:                                   `t.json:1:21: type.value[]: it has no type`,
		`{"version":1,"type":{"kind":"bool","of":{"kind":"bool"}}}`:              `t.json:1:21: type.value: true or false has no elements`,
		`{"version":1,"type":{"kind":"string","format":"ipv4"}}`:                 `t.json:1:21: type.value: format "ipv4" is not one of cidr, email, ip, mac, portrange, semver, uri`,
		`{"version":1,"type":{"kind":"string","pattern":"(?i)a"}}`:               `t.json:1:21: type.value: the pattern has (?i), which is not the same in Go and in JavaScript`,
		`{"version":1,"type":{"kind":"list","of":{"kind":"struct","link":"t"}}}`: `t.json:1:65: there is no struct "t" around it`,
		"{\"version\":1,\"type\":{\"kind\":\"struct\",\"name\":\"T\",\"fields\":[\n{\"key\":\"a.b\",\"type\":{\"kind\":\"bool\"}},\n{\"key\":\"c\",\"default\":\"x\",\"type\":{\"kind\":\"int\"}},\n{\"key\":\"d\",\"type\":{\"kind\":\"struct\",\"link\":\"T\"}},\n{\"key\":\"e\"}]}}": `t.json:5:1: type.fields[3].type is required: a map with the keys kind, name, doc, optional, secret, opaque, enum, names ... or null`,
		"{\"version\":1,\"type\":{\"kind\":\"struct\",\"name\":\"T\",\"fields\":[\n{\"key\":\"a.b\",\"type\":{\"kind\":\"bool\"}},\n{\"key\":\"d\",\"type\":{\"kind\":\"struct\",\"link\":\"T\"}}]}}":                                                                                   "t.json:2:1: T.a.b: the key \"a.b\" may hold only letters, digits, _ and -\nt.json:3:19: T.d: it contains itself without an end; make it optional, or an element of a list or a map",
		"{\"version\":1,\"type\":{\"kind\":\"struct\",\"fields\":[\n{\"key\":\"c\",\"default\":\"x\",\"type\":{\"kind\":\"int\"}}]}}":                                                                                                                                                   `t.json:2:22: default of c: the value must be a whole number, not the text "x"`,
	} {
		_, found := wire.Decode("t.json", []byte(text))
		if diff := cmp.Diff(want, found.Error()); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

func TestLimits(t *testing.T) {
	open := strings.Repeat(`{"kind":"list","of":`, 300)
	for text, want := range map[string]string{
		`{"version":1,"type":` + open:                               "more than 200 levels",
		`{"version":1,"doc":"` + strings.Repeat("x", wire.MaxBytes): "bytes, and may have 4194304",
	} {
		_, found := wire.Decode("", []byte(text))
		if len(found) != 1 || !strings.Contains(found.Error(), want) {
			t.Errorf("%.80v, want %s", found, want)
		}
	}
}
