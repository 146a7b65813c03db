package toml_test

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	library "github.com/pelletier/go-toml/v2"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/toml"
)

// drawn writes a tree with all places: key@line:col and then the value.
func drawn(n *schema.Node) string {
	switch n.Kind {
	case schema.NodeMap:
		var all []string
		for _, p := range n.Pairs {
			all = append(all, fmt.Sprintf("%s@%d:%d=%s", p.Key, p.Pos.Line, p.Pos.Col, drawn(p.Value)))
		}
		return fmt.Sprintf("{%s}@%d:%d", strings.Join(all, " "), n.Pos.Line, n.Pos.Col)
	case schema.NodeList:
		var all []string
		for _, i := range n.Items {
			all = append(all, drawn(i))
		}
		return fmt.Sprintf("[%s]@%d:%d", strings.Join(all, " "), n.Pos.Line, n.Pos.Col)
	}
	text := n.Text
	if n.Quoted {
		text = strconv.Quote(text)
	}
	return fmt.Sprintf("%s%d@%d:%d", text, n.Kind, n.Pos.Line, n.Pos.Col)
}

// TestPlaces: each key and each value of a document has its kind, its text and its place, in characters.
func TestPlaces(t *testing.T) {
	for src, want := range map[string]string{
		"a = 1":                          "{a@1:1=12@1:5}@1:1",
		"a=\"\\u0041\"\n  b.c = '''x'''": `{a@1:1="A"4@1:3 b@2:3={c@2:5="x"4@2:9}@2:3}@1:1`,
		"[[ r . f ]]\nn = \"ä\" # x\n\n [[r.f]]\n[r.f.m]\nx = true":                `{r@1:4={f@1:8=[{n@2:1="ä"4@2:5}@1:1 {m@5:6={x@6:1=true1@6:5}@5:1}@4:2]@1:8}@1:4}@1:1`,
		`"ää" = [ 1, [ "é", # ] c` + "\n 0x1F,], {b.c = -1.5e3, d = []},\n]":       `{ää@1:1=[12@1:10 ["é"4@1:15 0x1F2@2:2]@1:13 {b@2:11={c@2:13=-1.5e33@2:17}@2:11 d@2:25=[]@2:29}@2:10]@1:8}@1:1`,
		"a = 2026-11-30 10:00:00\r\nb = \"\"\"\r\nx\r\n\\\r\n  y\"\"\"\r\nc = inf": `{a@1:1=2026-11-30 10:00:004@1:5 b@2:1="x\ny"4@2:5 c@6:1=inf3@6:5}@1:1`,
		"\ufeff# only\na = {}": "{a@2:1={}@2:5}@1:1",
	} {
		n, ds := toml.Document("f.toml", []byte(src))
		if ds != nil || n == nil {
			t.Errorf("%q: %v", src, ds)
		} else if got := drawn(n); got != want {
			t.Errorf("%q\n got %s\nwant %s", src, got, want)
		}
	}
	for _, src := range []string{"", "\n", "# only\n \t\n# comments"} {
		if n, ds := toml.Document("f.toml", []byte(src)); n != nil || ds != nil {
			t.Errorf("%q: %v %v", src, n, ds)
		}
	}
}

// TestFaults: each fault has its place and a message that repeats no character of the text.
func TestFaults(t *testing.T) {
	for src, want := range map[string]string{
		"a = 1\na = 2":                    `f.toml:2:1: the key "a" is given twice`,
		"[a]\nb = 1\n[a]":                 `f.toml:3:2: the key "a" is given twice`,
		"[a]\nb = {c = 1, c = 2}":         `f.toml:2:13: the key "c" is given twice`,
		"a.b = 1\n[a]":                    `f.toml:2:2: the key "a" is given twice`,
		"[a.b]\n[a]\nb.c = 1":             `f.toml:3:1: the key "b" is given twice`,
		"a = [{}]\n[[a]]":                 `f.toml:2:3: the key "a" is given twice`,
		"[[a]]\n[a]":                      `f.toml:2:2: the key "a" is given twice`,
		"a = {}\n[a.b]":                   `f.toml:2:2: the key "a" is given twice`,
		"a = 07":                          "f.toml:1:5: ",
		"a = 99999999999999999999":        "f.toml:1:5: ",
		"x = [1,\n 2026-13-01]":           "f.toml:2:2: ",
		"é":                               "f.toml:1:1: invalid character at start of key: this character",
		"a = 1 b = 2":                     "f.toml:1:7: expected newline but got this character",
		"a = \"ä\nb = 2":                  "f.toml:1:7: basic strings cannot have new lines",
		"a = [1,\n2":                      "f.toml:2:1: array is incomplete",
		"a: 1":                            "f.toml:1:2: expected '=' after key",
		strings.Repeat("a.", 100) + "b=1": "f.toml:1:199: nested deeper than 100 levels",
		"[" + strings.Repeat("a.", 99) + "b]\n[c]\nx = " + strings.Repeat("[", 98) + strings.Repeat("]", 98): "f.toml:1:200: nested deeper than 100 levels",
		"a = " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000):                                       "f.toml:1:104: nested deeper than 100 levels",
		"a = " + strings.Repeat("[", 20000):                                                                  "f.toml:1:10005: arrays and inline tables are nested",
		"a" + strings.Repeat(".a", 5<<20):                                                                    "f.toml: the file has more than 4194304 dots",
	} {
		_, ds := toml.Document("f.toml", []byte(src))
		if len(ds) != 1 || !strings.HasPrefix(ds[0].String(), want) {
			t.Errorf("%.60q\n got %v\nwant %s", src, ds, want)
		}
	}
	// Faults of the values are told together, with the first place.
	n, ds := toml.Document("f.toml", []byte("a = 1\n\na = 2026-13-01\n[a.b]\nx = 1"))
	if len(ds) != 3 || len(n.Pairs) != 1 || ds[0].Pos.Line != 3 && ds[1].Related[0].Pos.Line != 1 {
		t.Error(n, ds)
	}
}

// plain returns the values of a tree as the library gives them.
func plain(n *schema.Node) any {
	switch n.Kind {
	case schema.NodeMap:
		m := map[string]any{}
		for _, p := range n.Pairs {
			m[p.Key] = plain(p.Value)
		}
		return m
	case schema.NodeList:
		l := []any{}
		for _, i := range n.Items {
			l = append(l, plain(i))
		}
		return l
	}
	if n.Quoted {
		return n.Text
	}
	return "~" + n.Text
}

// of returns a value of the library in the same form, by the tree where one value has many notations.
func of(v any, n *schema.Node) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = of(v[k], n.Get(k))
		}
		return v
	case []any:
		for i := range v {
			if n != nil && i < len(n.Items) {
				v[i] = of(v[i], n.Items[i])
			}
		}
		return v
	case int64:
		if got, err := strconv.ParseInt(strings.ReplaceAll(n.Text, "_", ""), 0, 64); err != nil || got != v {
			return fmt.Sprintf("%d, not %s", v, n.Text)
		}
	case float64:
		if got, err := strconv.ParseFloat(strings.ReplaceAll(n.Text, "_", ""), 64); !math.IsNaN(v) && (err != nil || got != v) {
			return fmt.Sprintf("%g, not %s", v, n.Text)
		}
	case bool, time.Time, library.LocalDate, library.LocalDateTime, library.LocalTime:
	default:
		return v
	}
	return "~" + n.Text
}

// FuzzDocument: a text is accepted where the library accepts it, and says the same. Formatting it changes nothing of that, keeps each comment, and
// comes to rest at once.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		"", "a = 1", "[a.b]\nc.d = [1, {e = \"x\"}] # y\n\n\n  [[f]]\n[[f]]\ng=1_0", "[a]\nb.c=1\n[a.b]\n", "[a.b]\n[a]\nb.c=1", "[a]\nb.c=1\n[a.b.d]",
		"a=[{}]\n[[a]]", "[[a]]\n[a.b]\n[[a]]\n[a.b]\n", "# x\r\na = '''\r\n'y'\r\n'''\r\n", "\"a b\".'c' = 0xff # z\n  # w", "a = 1979-05-27T07:32:00Z\nb = nan\nc = -inf", "[[a.b]]\n[a]\nc=1",
		"a = {b = 1,\n# c\n}\na.c = 2", "[a]\n[a]\n", "a = [ # x\n]#y",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		n, ds := toml.Document("", []byte(src))
		var want map[string]any
		// The end of a line is \n alone for us, and the library has no bound on levels.
		text := strings.TrimPrefix(src, "\ufeff")
		if !strings.Contains(text, "\r\r") {
			text = strings.ReplaceAll(text, "\r\n", "\n")
		}
		err := library.Unmarshal([]byte(text), &want)
		if (err == nil) != (ds.Err() == nil) {
			if strings.Contains(ds.Error(), "levels") {
				return
			}
			t.Fatalf("%q: %v, and the library says %v", src, ds, err)
		}
		if err != nil || n == nil {
			return
		}
		got := plain(n)
		if !reflect.DeepEqual(got, of(want, n)) {
			t.Fatalf("%q\n got %v\nwant %v", src, got, want)
		}
		out, err := toml.Format([]byte(src))
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		again, ds := toml.Document("", out)
		if ds != nil || !reflect.DeepEqual(plain(again), got) {
			t.Fatalf("%q becomes %q: %v", src, out, ds)
		}
		if twice, err := toml.Format(out); err != nil || string(twice) != string(out) {
			t.Fatalf("%q becomes %q and then %q", src, out, twice)
		}
		if strings.Count(src, "#") != strings.Count(string(out), "#") {
			t.Fatalf("%q becomes %q, which lacks a comment", src, out)
		}
	})
}

// TestFormat: space alone is altered, and none in values.
func TestFormat(t *testing.T) {
	const src = "\n\n  # head\ngraph=\"web\"   # a name  \n\n\n\n [ a . \"b c\" ]# t\n\tx  .y =   [ 1,\n\n\n  2 ]\nz = '''\n\n\n  q  \n'''\n\n# end\n\n"
	const want = "# head\ngraph = \"web\"   # a name\n\n[a . \"b c\"]# t\nx  .y = [ 1,\n\n\n  2 ]\nz = '''\n\n\n  q  \n'''\n\n# end\n"
	out, err := toml.Format([]byte(src))
	if err != nil || string(out) != want {
		t.Errorf("%v\n got %q\nwant %q", err, out, want)
	}
	if out, err := toml.Format([]byte("a = 1\na = 2\n")); err == nil {
		t.Errorf("%q", out)
	}
	if out, err := toml.Format(nil); err != nil || string(out) != "\n" {
		t.Errorf("%q %v", out, err)
	}
}

// TestLooks: a text without a name is TOML by its first line, which no graph in YAML or JSON has.
func TestLooks(t *testing.T) {
	for src, want := range map[string]bool{
		"# c\n\ngraph = \"x\"": true, "[[resources.file]]\nname = \"/x\"": true, "'a b' . c = 1": true, "noop=true": true,
		"": false, "resources:\n  file: []\n": false, `{"resources": {}}`: false, "- hosts: all": false, "---\nresources:\n": false, "[1, 2]": false, "a: b = c": false, "# only": false,
	} {
		if got := toml.Looks([]byte(src)); got != want {
			t.Errorf("%q: %v", src, got)
		}
	}
}
