package wire_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
)

// struc is a struct with one field.
func struc(name string, f schema.Field) *schema.Type {
	return &schema.Type{Kind: schema.KindStruct, Name: name, Fields: []*schema.Field{&f}}
}

// TestWhatIsNotWritten: what JSON or a reader has no form for is refused with its path, and a secret is not shown.
func TestWhatIsNotWritten(t *testing.T) {
	text, free, bad := &schema.Type{Kind: schema.KindString}, &schema.Type{Kind: schema.KindAny}, "a\xff"
	for want, typ := range map[string]*schema.Type{
		"there is no type":                           nil,
		"T.a: a text is no UTF-8":                    struc("T", schema.Field{Key: "a", Doc: bad, Type: text}),
		"T.b: a text is no UTF-8":                    struc("T", schema.Field{Key: "b", Type: &schema.Type{Kind: schema.KindString, Enum: []string{"x", bad}}}),
		"T.c: a text is no UTF-8":                    struc("T", schema.Field{Key: "c", Deprecated: bad, Type: text}),
		"T.d: default: a text is no UTF-8":           struc("T", schema.Field{Key: "d", Default: bad, HasDefault: true, Type: free}),
		"T.e: default: the text: a text is no UTF":   struc("T", schema.Field{Key: "e", Default: []any{bad}, HasDefault: true, Type: free}),
		"T.f: default: a key: a text is no UTF-8":    struc("T", schema.Field{Key: "f", Default: map[string]any{bad: 1}, HasDefault: true, Type: free}),
		"T.g: default: g must be a number, not .nan": struc("T", schema.Field{Key: "g", Default: math.NaN(), HasDefault: true, Type: free}),
		"T.h: default: h.x must be a number, not":    struc("T", schema.Field{Key: "h", Default: map[string]any{"x": math.Inf(1)}, HasDefault: true, Type: free}),
		"T.i: default: it is a secret":               struc("T", schema.Field{Key: "i", Default: schema.NewSecret("canary"), HasDefault: true, Type: free}),
		"T.j: default: a time.Duration has no":       struc("T", schema.Field{Key: "j", Default: time.Second, HasDefault: true, Type: free}),
		"T.k: default: a schema.Mode has no form":    struc("T", schema.Field{Key: "k", Default: []any{schema.Mode("0644")}, HasDefault: true, Type: free}),
	} {
		got, err := wire.Encode(typ)
		path, rest, _ := strings.Cut(want, ": ")
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), rest[strings.LastIndex(rest, ": ")+1:]) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %s, %v", want, got, err)
		}
		if hash, err := wire.Hash(typ); err == nil {
			t.Errorf("%q has the hash %s", want, hash)
		}
	}
}

// TestDefaultsInTheirNotation: a default is written as a graph has it, and read as the same value.
func TestDefaultsInTheirNotation(t *testing.T) {
	list := func(of schema.Kind) *schema.Type {
		return &schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: of}}
	}
	for want, f := range map[string]schema.Field{
		`"default":"1m30s"`:           {Default: 90 * time.Second, Type: &schema.Type{Kind: schema.KindDuration}},
		`"default":["1s","2m"]`:       {Default: []any{time.Second, 2 * time.Minute}, Type: list(schema.KindDuration)},
		`"default":"10MiB"`:           {Default: schema.Size(10 << 20), Type: &schema.Type{Kind: schema.KindSize}},
		`"default":"0644"`:            {Default: schema.Mode("0644"), Type: &schema.Type{Kind: schema.KindMode}},
		`"default":"file[/x]"`:        {Default: schema.Ref{Kind: "file", Name: "/x"}, Type: &schema.Type{Kind: schema.KindRef}},
		`"default":1.0`:               {Default: 1.0, Type: &schema.Type{Kind: schema.KindAny}},
		`"default":[1.5,-0.0]`:        {Default: []any{1.5, math.Copysign(0, -1)}, Type: &schema.Type{Kind: schema.KindAny}},
		`"default":1e+300`:            {Default: 1e300, Type: &schema.Type{Kind: schema.KindAny}},
		`"default":{"a":["<",true]}`:  {Default: map[string]any{"a": []any{"<", true}}, Type: &schema.Type{Kind: schema.KindAny}},
		`"default":-9007199254740993`: {Default: int64(-9007199254740993), Type: &schema.Type{Kind: schema.KindInt, Bits: 64}},
	} {
		f.Key, f.HasDefault = "k", true
		ty, err := schema.Build(struc("T", f))
		if err != nil {
			t.Fatal(err)
		}
		text, err := wire.Encode(ty)
		if err != nil || !strings.Contains(string(text), want+",") {
			t.Errorf("%s, %v, want %s", text, err, want)
			continue
		}
		back, found := wire.Decode("", text)
		if len(found) > 0 || !back.Equal(ty) || !schema.Equal(back.Field("k").Default, f.Default) {
			t.Errorf("%s is read as %v: %v", text, back.Field("k").Default, found)
		}
	}
}

// TestLinks: a struct in itself is named by the nearest struct of that name, and a name that does not tell is refused on both sides.
func TestLinks(t *testing.T) {
	tree := struc("tree", schema.Field{Key: "name", Type: &schema.Type{Kind: schema.KindString}})
	link := func(to *schema.Type) *schema.Field {
		return &schema.Field{Key: "up", Type: &schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindStruct, Link: to}}}
	}
	tree.Fields = append(tree.Fields, link(tree))
	text, err := wire.Encode(tree)
	if err != nil || !strings.Contains(string(text), `{"kind":"struct","link":"tree"}`) {
		t.Fatalf("%s, %v", text, err)
	}
	if back, found := wire.Decode("", text); len(found) > 0 || !back.Equal(decode(t, text)) || back.Field("up").Type.Elem.Link == nil {
		t.Errorf("it is read as %v: %v", back, found)
	}
	for want, change := range map[string]func(outer, inner *schema.Type){
		"it links to a struct without a name":                       func(outer, inner *schema.Type) { outer.Name, inner.Name = "", "inner" },
		"it links to a, and another struct of that name is between": func(outer, inner *schema.Type) { outer.Name, inner.Name = "a", "a" },
		"it links to what is no struct around it": func(outer, inner *schema.Type) {
			inner.Fields[0] = link(struc("far", schema.Field{Key: "x", Type: &schema.Type{Kind: schema.KindBool}}))
		},
	} {
		outer := struc("outer", schema.Field{Key: "in"})
		inner := &schema.Type{Kind: schema.KindStruct, Name: "inner", Fields: []*schema.Field{link(outer)}}
		outer.Fields[0].Type = inner
		change(outer, inner)
		if got, err := wire.Encode(outer); err == nil || !strings.Contains(err.Error(), "link") && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", want, got, err)
		}
	}
	const around = `{"version":1,"type":{"kind":"struct","name":"a","fields":[{"key":"k","type":TYPE}]}}`
	for typ, want := range map[string]string{
		`{"kind":"struct","link":"b"}`:             `there is no struct "b" around it`,
		`{"kind":"struct","link":"a","name":"a"}`:  "a link has the name of what it links to, and none of its own",
		`{"kind":"struct","link":null}`:            "link must be text, not null",
		`{"kind":"list","of":{"kind":"nope"}}`:     "nope",
		`{"kind":"string","enum":["a",1]}`:         "enum[1] must be text, and is written as something else",
		`{"kind":"string","enum":["a",null]}`:      "enum[1] must be text, not null",
		`{"kind":"string","secret":"true"}`:        "secret must be",
		`{"kind":"duration","min":5}`:              "min of a duration is text with a unit, such as 5m",
		`{"kind":"int","max":1.5}`:                 "max: ",
		`{"kind":"float","min":"x"}`:               "min: ",
		`{"kind":"int","min":9223372036854775808}`: "min: ",
		`{"kind":"duration","max":"forever"}`:      "max: ",
	} {
		ty, found := wire.Decode("t.json", []byte(strings.Replace(around, "TYPE", typ, 1)))
		var message strings.Builder
		for _, d := range found {
			message.WriteString(d.String() + "\n")
		}
		if ty != nil || !strings.Contains(message.String(), want) || !strings.Contains(message.String(), "t.json:1:") {
			t.Errorf("%s: %v, %s", typ, ty, message.String())
		}
	}
}

// TestDefaultsAreRead: a default is judged by the type of its field, at its place, and the type is nil then.
func TestDefaultsAreRead(t *testing.T) {
	const text = `{"version":1,"type":{"kind":"struct","name":"a","fields":[
 {"key":"k","default":DEFAULT,"type":{"kind":"int","bits":8,"max":9}},
 {"key":"l","default":"x","type":{"kind":"string"}}]}}`
	for given, want := range map[string]string{"5": "", "0": "", `"x"`: "t.json:2:23: default of k: ", "10": "t.json:2:23: default of k: ", "[]": "t.json:2:23: default of k: "} {
		ty, found := wire.Decode("t.json", []byte(strings.Replace(text, "DEFAULT", given, 1)))
		if want == "" && (len(found) > 0 || ty.Field("l").Default != "x" || !ty.Field("l").HasDefault) ||
			want != "" && (ty != nil || len(found) != 1 || !strings.HasPrefix(found[0].String(), want)) {
			t.Errorf("%s: %v, %v", given, ty, found)
		}
	}
}

// TestOtherVersions: a text of another version is told at its place, and nothing else of it is judged.
func TestOtherVersions(t *testing.T) {
	for version, want := range map[string]string{"2": "is written in version 2 of the form, and this program reads version 1", "0": "version 0", "99999999999999999999999999": "version 99999999999999999999 of"} {
		ty, found := wire.Decode("t.json", []byte(`{"version":`+version+`,"type":{"kind":"later"},"more":1}`))
		if ty != nil || len(found) != 1 || !strings.Contains(found[0].String(), want) || !strings.HasPrefix(found[0].String(), "t.json:1:12: ") {
			t.Errorf("%s: %v, %v", version, ty, found)
		}
	}
	for _, text := range []string{"", "null", "[]", "1", `{}`, `{"version":1}`, `{"version":"1","type":{"kind":"bool"}}`, `{"version":1,"type":null}`, `{"version":1,"version":1,"type":{"kind":"bool"}}`, `{"version":1,"type":{"kind":"bool"}} x`} {
		if ty, found := wire.Decode("t.json", []byte(text)); ty != nil || found.Err() == nil {
			t.Errorf("%q is read as %v: %v", text, ty, found)
		}
	}
}
