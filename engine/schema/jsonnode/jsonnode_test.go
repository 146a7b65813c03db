package jsonnode_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPlaces(t *testing.T) {
	src := "log\n {\"a\": [1, -2.5,\n\t\"x\", true, null], \"b\" : {}}\n"
	n, found := jsonnode.Parse([]byte(src), jsonnode.Options{File: "f", Start: 4})
	if len(found) > 0 {
		t.Fatal(found)
	}
	for path, want := range map[string]string{"a": "f:2:8", "a[0]": "f:2:9", "a[1]": "f:2:12", "a[2]": "f:3:2", "a[3]": "f:3:7", "a[4]": "f:3:13", "b": "f:3:26"} {
		if got := n.At(path).Pos.String(); got != want {
			t.Errorf("%s is at %s, not %s", path, got, want)
		}
	}
	if n.Pairs[1].Pos.String() != "f:3:20" || n.At("a[0]").Kind != schema.NodeInt || n.At("a[1]").Kind != schema.NodeFloat || n.At("a[4]").Kind != schema.NodeNull {
		t.Errorf("%+v", n)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		src  string
		o    jsonnode.Options
		want string
	}{
		{"", jsonnode.Options{}, "1:1: it ends too early"},
		{"[1,\n 2", jsonnode.Options{What: "this is no list"}, "2:3: this is no list: it ends too early"},
		{"1 2", jsonnode.Options{}, "1:3: something follows the value"},
		{"[1]]", jsonnode.Options{Rest: "too much"}, "1:4: too much"},
		{"\n\"\xff\"", jsonnode.Options{}, "2:2: JSON is UTF-8, and these bytes are not"},
		{"[[[1]]]", jsonnode.Options{Levels: 2}, "1:4: it has more than 2 levels"},
		{"[1,2,3]", jsonnode.Options{Values: 3}, "1:7: it has more than 3 values"},
		{"[1,2,3]", jsonnode.Options{Bytes: 6}, "1:1: it has 7 bytes, and may have 6"},
		{"\n{\"a\":1,\n\"a\":2}", jsonnode.Options{}, "3:1: the key \"a\" is given twice\n    2:2: first given here"},
		{`["\ud800"]`, jsonnode.Options{Strict: true}, `1:3: it has half of a surrogate pair (\ud800 to \udfff), which is no character`},
		{`["\\ud800\ud83d\ude00\udc00"]`, jsonnode.Options{Strict: true}, `1:22: it has half of a surrogate pair (\ud800 to \udfff), which is no character`},
		{`{"secret": secret}`, jsonnode.Options{Quiet: true}, "1:12: it is no JSON"},
		{`{"secret": 1, "secret": 2}`, jsonnode.Options{Quiet: true}, "1:15: a key is there twice\n    1:2: first given here"},
		{`nil`, jsonnode.Options{Nowhere: true}, "invalid character 'i' in literal null (expecting 'u')"},
	} {
		_, found := jsonnode.Parse([]byte(c.src), c.o)
		if len(found) != 1 || found[0].String() != c.want {
			t.Errorf("%q: got %v\nwant %s", c.src, found, c.want)
		}
	}
	if n, found := jsonnode.Parse([]byte(`{"a":1,"a":2}`), jsonnode.Options{}); n.Get("a").Text != "1" || found.Err() == nil {
		t.Error(n, found)
	}
}

// FuzzParse: what is read is what encoding/json reads; every place is inside of the text, and a
// text that is refused is one that encoding/json refuses, or has a fault that it does not see.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x"]}`, `"\ud83d\ude00"`, `{"a":1,"a":2}`, `1 2`, "[\n]", `"\u00e9\\u"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, found := jsonnode.Parse(text, jsonnode.Options{Strict: true})
		lines := strings.Split(string(text), "\n")
		for _, d := range found {
			if d.Pos.Line < 1 || int(d.Pos.Line) > len(lines) || d.Pos.Col < 1 || int(d.Pos.Col) > len(lines[d.Pos.Line-1])+1 {
				t.Fatalf("%q: a finding outside of the text: %v", text, d)
			}
		}
		var theirs any
		dec := json.NewDecoder(strings.NewReader(string(text)))
		dec.UseNumber()
		err := dec.Decode(&theirs)
		if n != nil && err != nil {
			t.Fatalf("%q: encoding/json says %v", text, err)
		}
		if n != nil && len(found) == 0 && !reflect.DeepEqual(value(n), theirs) {
			t.Fatalf("%q: %v, not %v", text, value(n), theirs)
		}
		if n != nil && (n.Pos.Line < 1 || n.Pos.Col < 1) {
			t.Fatalf("%q: the value is nowhere", text)
		}
	})
}

func value(n *schema.Node) any {
	switch n.Kind {
	case schema.NodeBool:
		return n.Text == "true"
	case schema.NodeInt, schema.NodeFloat:
		return json.Number(n.Text)
	case schema.NodeString:
		return n.Text
	case schema.NodeList:
		out := []any{}
		for _, item := range n.Items {
			out = append(out, value(item))
		}
		return out
	case schema.NodeMap:
		out := map[string]any{}
		for _, p := range n.Pairs {
			out[p.Key] = value(p.Value)
		}
		return out
	}
	return nil
}

// TestColumns: a column counts characters, as editors do, and as the reader of YAML does.
func TestColumns(t *testing.T) {
	n, found := jsonnode.Parse([]byte("{\"ä\": \"€\", \"b\": [1,\n \"😀\", 2]}"), jsonnode.Options{})
	if found != nil {
		t.Fatal(found)
	}
	list := n.Get("b")
	for what, c := range map[string][2]schema.Pos{
		"the value of ä": {n.Get("ä").Pos, {Line: 1, Col: 7}}, "the list": {list.Pos, {Line: 1, Col: 17}}, "the last": {list.Items[2].Pos, {Line: 2, Col: 7}},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is at %v, want %v", what, c[0], c[1])
		}
	}
	if _, found := jsonnode.Parse([]byte("{\n \"id\": \"ä\", x}"), jsonnode.Options{}); len(found) != 1 || found[0].Pos != (schema.Pos{Line: 2, Col: 13}) {
		t.Errorf("%v", found)
	}
}
