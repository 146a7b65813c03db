package yaml_test

import (
	"encoding/hex"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// textsBelow collects the texts of a tree by their paths. Null has none.
func textsBelow(n *schema.Node, path string, into map[string]string) {
	switch n.Kind {
	case schema.NodeMap:
		for _, p := range n.Pairs {
			textsBelow(p.Value, path+"\x00"+p.Key, into)
		}
	case schema.NodeList:
		for _, item := range n.Items {
			textsBelow(item, path+"\x01", into)
		}
	case schema.NodeNull:
	default:
		into[path] += n.Text + "\x02"
	}
}

// FuzzMapTexts: a document whose texts are encoded and decoded again has the same texts at the same places, and nothing is left of them between. A document
// that is refused is refused with a finding, and without a panic.
func FuzzMapTexts(f *testing.F) {
	for _, src := range []string{
		"a: b\n", "a: {b: c, d: [e, 'f', \"g\"]}\n", "# top\na: |\n  x\n  y\n", "a: >-\n  x\n  y\nb: 5\nc: true\nd:\ne: ~\n", "a: &x b\nc: *x\n", "a: {b: \"x\\ny\\n\"}\n",
		"? a\n: b\n", "a: \"\\x00\\t\\u2028 \"\n", "a: '  x'\nb: \"\\n\\n x\\n\"\n", "---\na: b\n...\n", "a: !!str 5\nb: !!binary aGk=\n", "{a, b: , c: [~, ]}\n", "\"\\n\\P\"", "a: \"x\\n\\r\\Ly\"\n", "a: !!binary /w==\n", "a: {b: !!binary \"/wA=\"}\n", "a: |2-\n   x\n  y\n",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		n, ds := yaml.Document("f", src)
		if ds.Err() != nil || n == nil {
			_, _ = yaml.MapTexts(src, func(_ []string, text string) (string, error) { return text + "x", nil })
			return
		}
		want := map[string]string{}
		textsBelow(n, "", want)
		coded, err := yaml.MapTexts(src, func(_ []string, text string) (string, error) { return "E" + hex.EncodeToString([]byte(text)), nil })
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		back, err := yaml.MapTexts(coded, func(_ []string, text string) (string, error) {
			raw, err := hex.DecodeString(strings.TrimPrefix(text, "E"))
			return string(raw), err
		})
		if err != nil {
			t.Fatalf("%q is coded as %q: %v", src, coded, err)
		}
		n, ds = yaml.Document("f", back)
		if ds.Err() != nil || n == nil {
			t.Fatalf("%q comes back as %q: %v", src, back, ds)
		}
		got := map[string]string{}
		textsBelow(n, "", got)
		if !maps.Equal(want, got) {
			t.Fatalf("%q comes back as %q:\n%s", src, back, cmp.Diff(want, got))
		}
	})
}
