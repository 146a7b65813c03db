package schema_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// base stands for a trait: embedded without a tag, so it has no keys.
type base struct {
	Kind, ID string
}

func (b *base) SetName(s string) { b.ID = s }
func (b *base) Touch()           {}

// Traits is an exported one.
type Traits struct{ Meta int }

type common struct {
	Owner string `yaml:"owner" doc:"Who owns it."`
	Group string
}

type item struct {
	Name  string `yaml:"name" mgmt:"required"`
	Count int8   `yaml:"count" mgmt:"max=100"`
}

// kitchen has every kind of field.
type kitchen struct {
	base
	Traits
	common `yaml:",inline"`

	Path    string            `yaml:"path" mgmt:"identity"`
	State   string            `yaml:"state" mgmt:"enum=exists|absent|undefined"`
	Content *string           `yaml:"content"`
	Lang    bool              `lang:"langkey"`
	Force   bool              `yaml:"force,omitempty"`
	Small   int8              `yaml:"small"`
	Port    uint16            `yaml:"port" mgmt:"min=1,max=65000"`
	Huge    uint64            `yaml:"huge"`
	Ratio   float64           `yaml:"ratio" mgmt:"min=0,max=1"`
	Thin    float32           `yaml:"thin"`
	Delay   time.Duration     `yaml:"delay" mgmt:"unit=ms"`
	Shift   time.Duration     `yaml:"shift" mgmt:"min=-1h"`
	Limit   schema.Size       `yaml:"limit"`
	Mode    schema.Mode       `yaml:"mode"`
	After   schema.Ref        `yaml:"after"`
	Token   schema.Secret     `yaml:"token" mgmt:"writeonly"`
	When    time.Time         `yaml:"when"`
	Raw     []byte            `yaml:"raw"`
	Args    []string          `yaml:"args"`
	Env     map[string]string `yaml:"env"`
	Items   []item            `yaml:"items"`
	Sub     item              `yaml:"sub"`
	Maybe   *item             `yaml:"maybe"`
	Free    any               `yaml:"free"`
	Hidden  chan int          `yaml:"-"`

	private string
}

func str(s string) *schema.Node { return &schema.Node{Kind: schema.NodeString, Text: s} }
func num(s string) *schema.Node { return &schema.Node{Kind: schema.NodeInt, Text: s} }
func flt(s string) *schema.Node { return &schema.Node{Kind: schema.NodeFloat, Text: s} }
func boo(s string) *schema.Node { return &schema.Node{Kind: schema.NodeBool, Text: s} }
func null() *schema.Node        { return &schema.Node{} }
func list(items ...*schema.Node) *schema.Node {
	return &schema.Node{Kind: schema.NodeList, Items: items}
}

// dict makes a map Node of keys and Nodes; each key stands on a line of its own.
func dict(kv ...any) *schema.Node {
	n := &schema.Node{Kind: schema.NodeMap, Pos: schema.Pos{File: "g", Line: 1, Col: 1}}
	for i := 0; i < len(kv); i += 2 {
		line := int32(i/2 + 1)
		v := kv[i+1].(*schema.Node)
		if v != nil && v.Pos.IsZero() {
			v.Pos = schema.Pos{File: "g", Line: line, Col: 9}
		}
		n.Pairs = append(n.Pairs, schema.Pair{Key: kv[i].(string), Pos: schema.Pos{File: "g", Line: line, Col: 1}, Value: v})
	}
	return n
}

func TestDecodeEveryKind(t *testing.T) {
	k := kitchen{base: base{ID: "kept"}, Traits: Traits{Meta: 7}, private: "kept", State: "exists"}
	ds := schema.Decode(dict(
		"owner", str("root"),
		"group", num("0"),
		"path", str("/x"),
		"content", str(""),
		"langkey", boo("true"),
		"force", str("yes"),
		"small", num("-128"), "port", num("0xff"), "huge", num("18446744073709551615"),
		"ratio", flt("2.5e-1"),
		"thin", flt("0.1"),
		"delay", num("1500"),
		"shift", str("-30m"),
		"limit", str("10MiB"),
		"mode", num("644"),
		"after", str("file[/a[1]].content"),
		"token", str("hush"),
		"when", str("2026-01-02T03:04:05Z"),
		"raw", str("\xff\x00"),
		"args", list(str("a"), num("1"), boo("true"), flt("1.50")),
		"env", dict("A.b", str("1")),
		"items", list(dict("name", str("x"), "count", num("3"))),
		"sub", dict("name", str("s")),
		"maybe", dict("name", str("m")),
		"free", list(num("1"), flt("1.0"), dict("k", null())),
	), &k)
	if len(ds) != 0 {
		t.Fatal(ds)
	}
	want := kitchen{base: base{ID: "kept"}, Traits: Traits{Meta: 7}, private: "kept", State: "exists",
		common: common{"root", "0"}, Path: "/x", Content: new(""), Lang: true, Force: true,
		Small: -128,
		Port:  255,
		Huge:  1<<64 - 1,
		Ratio: .25,
		Thin:  .1,
		Delay: 1500 * time.Millisecond,
		Shift: -30 * time.Minute,
		Limit: 10 << 20,
		Mode:  "0644",
		After: schema.Ref{Kind: "file", Name: "/a[1]", Key: "content"},
		Token: k.Token,
		When:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Raw:   []byte("\xff\x00"),
		Args:  []string{"a", "1", "true", "1.50"},
		Env:   map[string]string{"A.b": "1"},
		Items: []item{{"x", 3}},
		Sub:   item{Name: "s"},
		Maybe: &item{Name: "m"},
		Free:  []any{int64(1), 1.0, map[string]any{"k": nil}},
	}
	if diff := cmp.Diff(want, k, cmp.AllowUnexported(kitchen{}, base{}, common{}, schema.Secret{})); diff != "" {
		t.Error(diff)
	}
	if k.Token.Reveal() != "hush" {
		t.Error("the secret was not decoded")
	}
}

// FooRes is the example of the resource guide.
type FooRes struct {
	base

	Whatever string `lang:"whatever" yaml:"whatever"`
	Baz      bool   `lang:"baz" yaml:"baz"`
	Answer   int

	something string
}

func (obj *FooRes) Default() any { return &FooRes{Answer: 42} }

func (obj *FooRes) UnmarshalYAML(unmarshal func(any) error) error {
	type rawRes FooRes
	def := obj.Default()
	res, ok := def.(*FooRes)
	if !ok {
		return fmt.Errorf("could not convert to FooRes")
	}
	raw := rawRes(*res)
	if err := unmarshal(&raw); err != nil {
		return err
	}
	*obj = FooRes(raw)
	return nil
}

func TestDecodeGuide(t *testing.T) {
	foo := &FooRes{something: "goes, as the guide's method overwrites it"}
	if ds := schema.Decode(dict("whatever", str("w")), foo); len(ds) > 0 {
		t.Fatal(ds)
	}
	if diff := cmp.Diff(&FooRes{Whatever: "w", Answer: 42}, foo, cmp.AllowUnexported(FooRes{}, base{})); diff != "" {
		t.Error(diff)
	}
	ds := schema.Decode(dict("whatver", str("w"), "baz", num("3")), foo)
	want := []string{`g:1:1: unknown key "whatver" (did you mean "whatever"?)`, `g:2:9: baz must be true or false, not 3`}
	if diff := cmp.Diff(want, lines(ds)); diff != "" {
		t.Error(diff)
	}
}

func lines(ds schema.Diagnostics) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.String())
	}
	return out
}

type custom struct {
	A string
	f func(*custom, func(any) error) error
}

func (c *custom) UnmarshalYAML(unmarshal func(any) error) error { return c.f(c, unmarshal) }

func TestDecodeCustom(t *testing.T) {
	n := dict("a", str("x"), "b", str("y"))
	for name, tc := range map[string]struct {
		f    func(*custom, func(any) error) error
		want []string
	}{
		"itself": {func(c *custom, u func(any) error) error { return u(c) }, []string{`g:2:1: unknown key "b"`}},
		"another of its type": {func(c *custom, u func(any) error) error {
			var o custom
			return u(&o)
		}, []string{`g:2:1: unknown key "b"`}},
		"own error": {func(*custom, func(any) error) error { return errors.New("no") }, []string{"g:1:1: no"}},
		"wrapped": {func(c *custom, u func(any) error) error { return fmt.Errorf("wrapped: %w", u(c)) },
			[]string{`g:2:1: unknown key "b"`}},
		"joined": {func(c *custom, u func(any) error) error { return errors.Join(u(c), errors.New("no")) },
			[]string{`g:2:1: unknown key "b"`, "g:1:1: no"}},
		"second try": {func(c *custom, u func(any) error) error {
			var s string
			if u(&s) == nil {
				return errors.New("not text")
			}
			var m map[string]string
			return u(&m)
		}, nil},
		"panic": {func(*custom, func(any) error) error { panic("ouch") }, []string{"g:1:1: UnmarshalYAML panicked: ouch"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(schema.Decode(n, &custom{f: tc.f}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeCustomWarns(t *testing.T) {
	var foo FooRes
	ds := schema.Decode(dict("answer", num("010")), &foo)
	if len(ds) != 1 || ds.Err() != nil || ds[0].Severity != schema.Warning || foo.Answer != 8 {
		t.Errorf("%v, %d", ds, foo.Answer)
	}
	var holder struct{ F FooRes }
	if ds := schema.Decode(dict("f", dict("answer", str("x"))), &holder); len(ds) != 1 || ds[0].Path != "f.answer" {
		t.Errorf("the path is lost: %+v", ds)
	}
}

// TestDecodeOdd gives Decode what no frontend should.
func TestDecodeOdd(t *testing.T) {
	deep := str("x")
	for range 300 {
		deep = list(deep)
	}
	var free any
	if ds := schema.Decode(deep, &free); len(ds) != 1 || !strings.HasSuffix(ds[0].Message, "nests too deeply") {
		t.Errorf("%d findings", len(ds))
	}
	for name, into := range map[string]any{"nil": nil, "no pointer": kitchen{}, "nil pointer": (*kitchen)(nil), "a channel": new(chan int)} {
		if ds := schema.Decode(dict(), into); ds.Err() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var s string
	var l []string
	var p *kitchen
	if ds := schema.Decode(str("x"), &s); len(ds) > 0 || s != "x" {
		t.Error(ds)
	}
	if ds := schema.Decode(num("x"), &l); len(ds) != 1 || ds[0].Message != "the value must be a list of text, not x" {
		t.Error(ds)
	}
	if ds := schema.Decode(dict("path", str("/x")), &p); len(ds) > 0 || p.Path != "/x" {
		t.Error(ds)
	}
	if ds := schema.Decode(nil, &kitchen{}); len(ds) > 0 {
		t.Error(ds)
	}
	if ds := schema.Decode(nil, &item{}); len(ds) != 1 {
		t.Error(ds)
	}
	var a any
	if ds := schema.Decode(&schema.Node{Kind: 99}, &a); len(ds) != 1 || ds[0].Message != "the value must be any value, not something unknown" {
		t.Error(ds)
	}
}

// pair is read from a list of two, or from one text, where its shape is a struct.
type pair struct{ A, B string }

func (p *pair) UnmarshalYAML(unmarshal func(any) error) error {
	var two []string
	if unmarshal(&two) != nil {
		return unmarshal(&p.A)
	}
	if len(two) != 2 {
		return errors.New("write two words")
	}
	p.A, p.B = two[0], two[1]
	return nil
}

func TestDecodeNestedCustom(t *testing.T) {
	var v struct {
		P []pair `yaml:"p"`
	}
	ds := schema.Decode(dict("p", list(list(str("a"), str("b")), str("c"), list(), dict())), &v)
	want := []string{"p[2]: write two words", "p[3] must be text, not a map"}
	for i, d := range ds {
		if d.Message != want[i] {
			t.Errorf("got %q, want %q", d.Message, want[i])
		}
	}
	if diff := cmp.Diff([]pair{{"a", "b"}, {A: "c"}, {}, {}}, v.P); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeReportsEverything(t *testing.T) {
	k := kitchen{Small: 5, State: "absent", Delay: time.Second}
	ds := schema.Decode(dict(
		"stat", str("absent"),
		"state", str("exist"),
		"small", num("128"),
		"port", num("0"),
		"huge", num("-1"),
		"ratio", flt(".nan"),
		"thin", flt("1e39"),
		"delay", str("-1s"),
		"limit", str("10MiX"),
		"mode", num("9999"),
		"after", str("file"),
		"when", str("now"),
		"args", str("x"),
		"env", list(),
		"items", list(dict(), str("x")),
		"Path", str("/x"),
		"sub", dict("nam", str("x"), "count", num("101")),
		"token", list(str("hush")),
		"force", str("true"),
		"path", null(), "shift", str("400000d"), "langkey", str("maybe"),
	), &k)
	want := strings.TrimPrefix(`
g:1:1: unknown key "stat" (did you mean "state"?)
g:2:9: state must be one of exists, absent, undefined, not "exist" (did you mean "exists"?)
g:3:9: small must be a whole number from -128 to 127, not 128
g:4:9: port must be a whole number from 1 to 65000, not 0
g:5:9: huge must be a whole number from 0 to 18446744073709551615, not -1
g:6:9: ratio must be a number from 0 to 1, not .nan
g:7:9: thin must be a number, not 1e39, which is too large for 32 bits
g:8:9: delay is -1s, it must not be negative
g:9:9: limit: "10MiX" is not a size, write it as 512, 64k, 1.5G or 10MiB
g:10:9: mode: "9999" is not a mode: an octal mode has three or four digits from 0 to 7, such as "0644"
g:11:9: after: "file" is not a reference, write kind[name]
g:12:9: when: parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"
g:13:9: args must be a list of text, not the text "x"
g:14:9: env must be a map of text, not a list
g:1:1: items[0].name is required: text
items[1] must be a map with the keys name, count, not the text "x"
g:16:1: unknown key "Path" (did you mean "path"?)
g:1:1: unknown key "nam" in sub (did you mean "name"?)
g:2:9: sub.count must be a whole number from -128 to 100, not 101
g:1:1: sub.name is required: text
g:18:9: token must be secret text, not a list
g:19:9: force must be true or false, not the text "true"; leave out the quotes
g:20:9: path must be text, not null
g:21:9: shift: 400000d is too long a time
g:22:9: langkey must be true or false, not the text "maybe"
`, "\n")
	if diff := cmp.Diff(strings.Split(strings.TrimSuffix(want, "\n"), "\n"), lines(ds)); diff != "" {
		t.Error(diff)
	}
	if k.Small != 5 || k.State != "absent" || k.Delay != time.Second {
		t.Error("a wrong value replaced what the field held")
	}
	for _, path := range []string{"stat", "env", "items[1]", "sub.name"} {
		if !slices.ContainsFunc(ds, func(d schema.Diagnostic) bool { return d.Path == path }) {
			t.Errorf("no finding has the path %s", path)
		}
	}
}
