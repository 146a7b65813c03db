package cmd

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi/puppet"
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
