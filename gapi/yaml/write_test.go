package yaml_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

func written(t testing.TB, list ...gapi.Shown) string {
	t.Helper()
	var b strings.Builder
	w := yaml.NewWriter(&b)
	for _, s := range list {
		if err := w.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriter(t *testing.T) {
	got := written(t,
		gapi.Shown{Kind: "file", Name: "/x", Attrs: []gapi.ShownAttr{
			{Key: "content", Value: "a\nb\n"}, {Key: "mode", Value: schema.Mode("0644")}, {Key: "wait", Value: 90 * time.Second},
			{Key: "sum", Value: "abc", ReadOnly: true}, {Key: "when", ReadOnly: true}, {Key: "pass", Hidden: true},
		}},
		gapi.Shown{Kind: "file", Name: "gone", Absent: true},
		gapi.Shown{Kind: "file", Name: "$y"},
		gapi.Shown{Kind: "file", Name: "$z", Backend: "b"},
		gapi.Shown{Kind: "exec", Name: "true", Attrs: []gapi.ShownAttr{{Key: "any", Value: []any{int64(1), map[string]any{"b": nil, "a": 1.0}, []any{}}}}},
	)
	want := `resources:
  file:
  # secret, and left out of the next one: pass
  # read-only, and left out of the next one: sum, when
  - name: /x
    content: |
      a
      b
    mode: '0644'
    wait: 1m30s
  # file "gone" is absent
  - name: $y
    meta:
      dollar: true
  - name: $z
    meta:
      backend: b
      dollar: true
  exec:
  - name: 'true'
    any:
    - 1
    - a: 1.0
      b: null
    - []
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := written(t, gapi.Shown{Kind: "a", Name: "b", Absent: true}); got != "  # a \"b\" is absent\nresources: {}\n" {
		t.Error(got)
	}
}

// TestWriterReadsBack: what is written is a graph with the same names and values, in
// the form that fmt gives.
func TestWriterReadsBack(t *testing.T) {
	text := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "true", "null", "1", "0644", "a: b # c", "- x", " a\nb ", "a\n\n", "\n", "\ta\n", "a\r\nb", "\xff", "~", "=", "<<", "---\n", "a\x00\u202e", "2001-01-01", "{", "*a", "!b"}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Uint64Min(math.MaxInt64+1).AsAny(), rapid.Float64().AsAny(), text.AsAny(),
	)
	value := rapid.OneOf(scalar, rapid.SliceOf(scalar).AsAny(), rapid.MapOf(text, scalar).AsAny())
	rapid.Check(t, func(rt *rapid.T) {
		name := text.Filter(func(s string) bool { return s != "" }).Draw(rt, "name")
		v, err := schema.EncodeAll(value.Draw(rt, "value"))
		if err != nil {
			rt.Fatal(err)
		}
		out := written(t, gapi.Shown{Kind: "value", Name: name, Attrs: []gapi.ShownAttr{{Key: "any", Value: v}}})
		var d *gapi.Declared
		for d, err = range yaml.New("-", yaml.Options{}).Graphs(t.Context(), gapi.Env{NoWatch: true, Stdin: strings.NewReader(out)}) {
		}
		if err != nil || len(d.Problems) > 0 || len(d.Resources) != 1 || d.Resources[0].Name != name {
			rt.Fatalf("%v, %+v in\n%s", err, d, out)
		}
		got, diags := schema.Value(&schema.Type{Kind: schema.KindAny}, d.Resources[0].Value.Get("any"))
		if diags.Err() != nil || !schema.Equal(got, v) {
			rt.Fatalf("%#v is then %#v, %v in\n%s", v, got, diags, out)
		}
		if neat, err := yaml.Format([]byte(out)); err != nil || string(neat) != out {
			rt.Fatalf("%v:\n%s\n is formatted as\n%s", err, out, neat)
		}
	})
}

// TestFindingJ9Writer: the marks of direction in what another host has sent are escaped, so that no line reads as another one.
func TestFindingJ9Writer(t *testing.T) {
	const text = "a\u202eb\u2066c\n\u200fd"
	got := written(t, gapi.Shown{Kind: "file", Name: text, Attrs: []gapi.ShownAttr{{Key: "content", Value: text}, {Key: "plain", Value: "größe"}}})
	if strings.ContainsAny(got, "\u202e\u2066\u200f") || !strings.Contains(got, `\u202E`) || !strings.Contains(got, "größe") {
		t.Errorf("%q", got)
	}
	n, ds := yaml.Document("x", []byte(got))
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	item := n.Get("resources").Get("file").Items[0]
	if item.Get("name").Text != text || item.Get("content").Text != text {
		t.Errorf("%q", got)
	}
}
