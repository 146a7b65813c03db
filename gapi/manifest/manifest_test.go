package manifest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/manifest"
	"github.com/reactivegraph/mgmt/traits"
)

// all has a parameter of each kind of type, some of them with a default.
type all struct {
	traits.Base
	ID    string            `yaml:"id" mgmt:"identity"`
	Bool  bool              `yaml:"bool"`
	On    bool              `yaml:"on"`
	Int   int64             `yaml:"int"`
	Big   uint64            `yaml:"big"`
	Small int8              `yaml:"small"`
	Float float64           `yaml:"float"`
	Text  string            `yaml:"text"`
	Raw   []byte            `yaml:"raw"`
	Word  string            `yaml:"word" mgmt:"enum=one|two words"`
	Maybe *string           `yaml:"maybe"`
	Given *int              `yaml:"given"`
	Wait  time.Duration     `yaml:"wait" mgmt:"unit=ms"`
	Size  schema.Size       `yaml:"size"`
	Mode  schema.Mode       `yaml:"mode"`
	Ref   schema.Ref        `yaml:"ref"`
	When  time.Time         `yaml:"when"`
	List  []string          `yaml:"list"`
	Lists [][]int           `yaml:"lists"`
	Map   map[string]string `yaml:"map"`
	Parts []part            `yaml:"parts"`
	Part  part              `yaml:"part"`
	Any   any               `yaml:"any"`

	Sum    string        `yaml:"sum" mgmt:"readonly"`
	Tree   any           `yaml:"tree" mgmt:"readonly"`
	Secret schema.Secret `yaml:"secret"`
	Hush   []any         `yaml:"hush"`
}

type part struct {
	Key   string           `yaml:"key"`
	Count int              `yaml:"count"`
	Inner map[string][]any `yaml:"inner"`
}

func (*all) Default() engine.Res {
	return &all{On: true, Text: "as always", Given: new(7), List: []string{"a", "b"}, Part: part{Count: 3}}
}
func (*all) Validate() error                                { return nil }
func (*all) Init(*engine.Init) error                        { return nil }
func (*all) Cleanup() error                                 { return nil }
func (*all) Watch(context.Context) error                    { return nil }
func (*all) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (a *all) Cmp(o engine.Res) error                       { return engine.CmpFields(a, o) }

func registry(t testing.TB) *engine.Registry {
	t.Helper()
	reg := engine.NewRegistry()
	if err := reg.Register("all", func() engine.Res { return &all{} }); err != nil {
		t.Fatal(err)
	}
	return reg
}

// shown writes what there is to show of a resource.
func shown(t testing.TB, name string, a *all, hidden ...string) string {
	t.Helper()
	k, err := registry(t).Kind("all")
	if err != nil {
		t.Fatal(err)
	}
	var res engine.Res
	if a != nil {
		res = a
	}
	s, err := gapi.Show(k, name, a.Default(), res, hidden)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := manifest.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func defaults() *all { return (&all{}).Default().(*all) }

func TestWrite(t *testing.T) {
	a := defaults()
	a.Text, a.Int, a.Float, a.Mode, a.Wait = "it's\nnew", 1, 2, "0644", 90*time.Second
	a.List, a.Lists, a.Given = []string{"p", `q\'`}, [][]int{{1, 2}, {}, {3}}, nil
	a.Any = map[string]any{"k": []any{int64(1), map[string]any{"z": nil}, "after"}, "e": map[string]any{}}
	a.Sum, a.Tree = "abc", map[string]any{"a": "b"}
	a.Secret, a.Hush = schema.NewSecret("canary"), []any{schema.NewSecret("canary")}
	a.Maybe = new("canary")
	want := `all { 'it\'s':
  on => true,
  int => 1,
  float => 2.0,
  text => "it's\nnew",
# maybe => (secret), # Not Shown
  given => undef,
  wait => '1m30s',
  mode => '0644',
  list => ['p', 'q\\\''],
  lists => [
  [1, 2],
  [],
  [3]],
  part => {
  'count' => 3
},
  any => {
  'e' => {},
  'k' => [1,
    {
      'z' => undef
    },
    'after']
},
# sum => 'abc', # Read Only
# tree => {
#   'a' => 'b'
# }, # Read Only
# secret => (secret), # Not Shown
# hush => (secret), # Not Shown
}
`
	if diff := cmp.Diff(want, shown(t, "it's", a, "maybe")); diff != "" {
		t.Error(diff)
	}
}

// TestAbsent: what is not there is a comment, which sets nothing.
func TestAbsent(t *testing.T) {
	text := shown(t, "a\nb", nil)
	if text != "# all { \"a\\nb\": } is absent\n" {
		t.Errorf("%q", text)
	}
	if ds, err := manifest.Parse("", text); err != nil || len(ds) > 0 {
		t.Errorf("%v, %v", ds, err)
	}
}

func anyText(rt *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "true", "undef", "1", "-", "${a}", `\'"$x`, "a\x00b", "\xff\ufffd", "\u202e\u2028 \ufeff", "}\n# x => 1,\n"}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	).Draw(rt, label)
}

func anyValue(rt *rapid.T, depth int) any {
	most := 8
	if depth > 3 {
		most = 6
	}
	switch rapid.IntRange(0, most).Draw(rt, "shape") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(rt, "bool")
	case 2:
		return rapid.Int64().Draw(rt, "int")
	case 3:
		return rapid.Uint64Min(1<<63).Draw(rt, "uint")
	case 4:
		return rapid.Float64().Draw(rt, "float")
	case 5, 6:
		return anyText(rt, "text")
	case 7:
		list := make([]any, rapid.IntRange(0, 4).Draw(rt, "items"))
		for i := range list {
			list[i] = anyValue(rt, depth+1)
		}
		return list
	default:
		m := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(rt, "entries") {
			m[anyText(rt, "key")] = anyValue(rt, depth+1)
		}
		return m
	}
}

func anyPart(rt *rapid.T) part {
	p := part{Key: anyText(rt, "key"), Count: rapid.Int().Draw(rt, "count")}
	if rapid.Bool().Draw(rt, "inner") {
		p.Inner = map[string][]any{anyText(rt, "inner key"): {anyValue(rt, 2)}}
	}
	return p
}

func anyAll(rt *rapid.T) *all {
	texts := rapid.SliceOf(rapid.Custom(func(rt *rapid.T) string { return anyText(rt, "element") }))
	a := &all{
		ID: anyText(rt, "id"), Bool: rapid.Bool().Draw(rt, "bool"), On: rapid.Bool().Draw(rt, "on"),
		Int: rapid.Int64().Draw(rt, "int"), Big: rapid.Uint64().Draw(rt, "big"), Small: rapid.Int8().Draw(rt, "small"),
		Float: rapid.Float64().Draw(rt, "float"), Text: anyText(rt, "text"), Raw: rapid.SliceOf(rapid.Byte()).Draw(rt, "raw"),
		Word: rapid.SampledFrom([]string{"", "one", "two words"}).Draw(rt, "word"),
		Wait: time.Duration(rapid.Int64Min(0).Draw(rt, "wait")), Size: schema.Size(rapid.Int64Min(0).Draw(rt, "size")),
		Mode: schema.Mode(rapid.SampledFrom([]string{"", "0644", "u=rwX,go=rX"}).Draw(rt, "mode")),
		Ref:  rapid.SampledFrom([]schema.Ref{{}, {Kind: "file", Name: "a]b"}, {Kind: "x", Name: "y", Key: "z"}}).Draw(rt, "ref"),
		When: time.Unix(rapid.Int64Range(0, 1<<33).Draw(rt, "when"), 0).UTC(),
		List: texts.Draw(rt, "list"), Lists: rapid.SliceOf(rapid.SliceOf(rapid.Int())).Draw(rt, "lists"),
		Part: anyPart(rt), Any: anyValue(rt, 0),
	}
	if rapid.Bool().Draw(rt, "maybe") {
		a.Maybe = new(anyText(rt, "maybe"))
	}
	if rapid.Bool().Draw(rt, "given") {
		a.Given = new(rapid.Int().Draw(rt, "given"))
	}
	for range rapid.IntRange(0, 3).Draw(rt, "parts") {
		a.Parts = append(a.Parts, anyPart(rt))
	}
	for range rapid.IntRange(0, 3).Draw(rt, "entries") {
		if a.Map == nil {
			a.Map = map[string]string{}
		}
		a.Map[anyText(rt, "key")] = anyText(rt, "value")
	}
	return a
}

// TestReadsBack: what is written is read again as the same resource, and is one line
// for each value that is neither a list nor a map.
func TestReadsBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, name := anyAll(rt), anyText(rt, "name")
		text := shown(t, name, a)
		ds, err := manifest.Parse("f", text)
		if err != nil || len(ds) != 1 || ds[0].Kind != "all" || ds[0].Name != name {
			rt.Fatalf("%v, %v in\n%s", ds, err, text)
		}
		again := defaults()
		if a.ID == name { // the name says it
			again.ID = name
		}
		if err := schema.Decode(ds[0].Value, again).Err(); err != nil {
			rt.Fatalf("%v in\n%s", err, text)
		}
		if err := a.Cmp(again); err != nil {
			rt.Fatalf("%v in\n%s", err, text)
		}
		if second := shown(t, name, again); second != text {
			rt.Fatalf("first\n%s\nthen\n%s", text, second)
		}
		for _, r := range text {
			if r != '\n' && (r < ' ' || r == 0x7f || r == 0x202e) {
				rt.Fatalf("%q in %q", r, text)
			}
		}
	})
}

// TestSecretsAreNotWritten, whatever holds them.
func TestSecretsAreNotWritten(t *testing.T) {
	s := schema.NewSecret("canary")
	for _, v := range []any{s, []any{s}, map[string]any{"a": []any{map[string]any{"b": s}}}} {
		a := defaults()
		a.Any, a.Secret = v, s
		if text := shown(t, "x", a); strings.Contains(text, "canary") || strings.Contains(text, "any => [") || strings.Contains(text, "any => {") {
			t.Errorf("%v is written as\n%s", v, text)
		}
	}
}

func TestParse(t *testing.T) {
	src := `# a comment
all { one: text => word, bool => true }
all{'two':
  list => [a, 'b c', "\u{e9}\x21\s\"",], # 1
  any => { 1 => 0x1f, k => -1.5e3, 'x' => { }, y => undef, },
}`
	ds, err := manifest.Parse("f", src)
	if err != nil || len(ds) != 2 {
		t.Fatal(ds, err)
	}
	if p := ds[1].Value.Get("list").Pos.String(); p != "f:4:11" || ds[1].NamePos.String() != "f:3:5" || ds[1].KindPos.String() != "f:3:1" {
		t.Errorf("%s, %s, %s", p, ds[1].NamePos, ds[1].KindPos)
	}
	var one, two all
	if err := errors.Join(schema.Decode(ds[0].Value, &one).Err(), schema.Decode(ds[1].Value, &two).Err()); err != nil {
		t.Fatal(err)
	}
	if one.Text != "word" || !one.Bool || ds[0].Name != "one" {
		t.Errorf("%+v", one)
	}
	if diff := cmp.Diff([]string{"a", "b c", `é! "`}, two.List); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"1": int64(31), "k": -1500.0, "x": map[string]any{}, "y": nil}, two.Any); diff != "" {
		t.Error(diff)
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for src, want := range map[string]string{
		"all":                                         "f:1:1: a resource begins with its kind, as in: file { '/etc/motd': }; there is \"all\"",
		"all {":                                       "f:1:6: a name is missing; there is nothing more",
		"all { 'a' }":                                 "f:1:11: : is missing behind the name; there is \"}\"",
		"all { 'a':":                                  "f:1:11: a parameter is missing; there is nothing more",
		"all { 'a': int 1 }":                          "f:1:16: => is missing behind int; there is \"1\"",
		"all { 'a':\n  int => }":                      "f:2:10: a value is missing; there is \"}\"",
		"all { 'a': int => 1 b => 2":                  "f:1:21: } is missing at the end, or a comma; there is \"b\"",
		"all { 'a': int => 1; }":                      "f:1:20: } is missing at the end, or a comma; there is \";\"",
		"all { 'a': any => [1 2] }":                   "f:1:22: ] is missing at the end, or a comma; there is \"2\"",
		"all { 'a': int => 12x }":                     "f:1:19: '12x' is no number; put text in quotes",
		"all { 'a': int => - }":                       "f:1:19: '-' is no number; put text in quotes",
		"all { 'a': text => $x }":                     "f:1:20: there are no variables here; text in quotes may begin with a dollar sign",
		"all { 'a': text => \"$x\" }":                 "f:1:21: there are no variables here; write \\$ for a dollar sign",
		"all { 'a': text => 'b":                       "f:1:20: the quote that begins here does not end",
		"all { 'a': text => \"b\\":                    "f:1:22: what follows this backslash means nothing; there are \\n \\t \\r \\s \\\" \\' \\\\ \\$ \\u{1f600} and \\xff",
		"all { 'a': any => {k => 1, 'k' => 2} }":      "f:1:28: the key 'k' is given twice",
		"all { '\xff': }":                             "f:1:8: the byte 0xff is not UTF-8; write it in double quotes, as \\xff",
		"all { a: any => " + strings.Repeat("[", 200): "f:1:117: lists and maps nest more than 100 deep",
	} {
		_, err := manifest.Parse("f", src)
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", src, err, want)
		}
	}
}

// FuzzParse: no input makes it panic, and what it reads can be written and read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "all { 'a': int => 1 }", `all { a: any => { k => [1, "\xff", undef, {}] } }`, "# x\n", "all { 'a': any => 1.e5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		ds, err := manifest.Parse("f", src)
		if err != nil && ds != nil {
			t.Fatalf("%v with %v", ds, err)
		}
		for _, d := range ds {
			v, diags := schema.Value(&schema.Type{Kind: schema.KindAny}, d.Value)
			if diags.Err() != nil {
				return // a number too large, a key given twice
			}
			s := gapi.Shown{Kind: d.Kind, Name: d.Name}
			for key, x := range v.(map[string]any) {
				s.Attrs = append(s.Attrs, gapi.ShownAttr{Key: key, Value: x})
			}
			var b strings.Builder
			if err := manifest.Write(&b, s); err != nil {
				t.Fatal(err)
			}
			again, err := manifest.Parse("f", b.String())
			if err != nil || len(again) != 1 {
				t.Fatalf("%v in\n%s", err, b.String())
			}
			w, diags := schema.Value(&schema.Type{Kind: schema.KindAny}, again[0].Value)
			if diags.Err() != nil || !schema.Equal(v, w) {
				t.Fatalf("%v is then %v, %v", v, w, diags)
			}
		}
	})
}
