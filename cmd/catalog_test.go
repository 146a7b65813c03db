package cmd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestCatalogTableFitsKinds: what an attribute of Puppet becomes is a parameter of
// the kind, wherever the kind is one of this program.
func TestCatalogTableFitsKinds(t *testing.T) {
	reg := engine.DefaultRegistry()
	checked := map[string]int{}
	for _, r := range puppet.Table() {
		if r.Attribute == "" || r.To == "" || !reg.Has(r.Kind) || r.Attribute == "name" && r.How == "same" {
			continue
		}
		k, err := reg.Kind(r.Kind)
		if err != nil {
			t.Fatal(err)
		}
		for key := range strings.SplitSeq(r.To, ", ") {
			key, _, _ = strings.Cut(key, ".")
			if key != "meta" && k.Type.Field(key) == nil {
				t.Errorf("%s.%s becomes %s, and the kind %s has none", r.Type, r.Attribute, key, r.Kind)
			}
			checked[r.Kind]++
		}
	}
	if checked["file"] < 8 || checked["exec"] < 10 || checked["msg"] < 1 {
		t.Errorf("too little was checked: %v", checked)
	}
}

// TestFindingE5ConcatYAML: fragments of YAML are merged, and written as Ruby does.
func TestFindingE5ConcatYAML(t *testing.T) {
	fragment := func(title, content string) string {
		return fmt.Sprintf(`{"type": "Concat_fragment", "title": %q, "parameters": {"target": "/x", "content": %q}}`, title, content)
	}
	src := `{"resources": [{"type": "Concat_file", "title": "/x", "parameters": {"format": "yaml"}}, ` +
		fragment("a", "a: yes\nl: [1]\nm: {x: 1}\n") + ", " + fragment("b", "b: 'yes'\nl: [x]\nm: {z: ~}\n") + `]}`
	d, err := puppet.Read("c.json", []byte(src), engine.DefaultRegistry(), puppet.Options{YAML: yaml.Value})
	if err != nil || len(d.Problems) > 0 {
		t.Fatal(err, d.Problems)
	}
	const want = "---\na: true\nl:\n- 1\n- x\nm:\n  x: 1\n  z:\nb: 'yes'\n"
	if got := d.Resources[0].Value.Get("content").Text; got != want {
		t.Errorf("%q", got)
	}
}
