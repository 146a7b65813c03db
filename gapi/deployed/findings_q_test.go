package deployed

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/gapi"
)

// TestFindingQ12Policy: the policy of a deploy goes to each of its resources, and not to the ones that a reading keeps for the next deploy.
func TestFindingQ12Policy(t *testing.T) {
	content, _, err := (&deploy.Bundle{Graphs: []string{"g"}, Files: []deploy.File{{Name: "g", Data: []byte("g")}}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	kept := []gapi.Declaration{{Name: "a"}, {Name: "b"}}
	r := &reader{Frontend: New(Options{}), view: View{Load: func(*deploy.Bundle) gapi.Reading {
		return gapi.Reading{Result: func() (*gapi.Declared, error) { return &gapi.Declared{Resources: kept}, nil }}
	}}}
	for _, policy := range []engine.Leaving{engine.LeavingUndo, ""} {
		made, err := r.load(deploy.Manifest{Leaving: policy}, deploy.Record{}, content)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range made.graph.Resources {
			if d.Leaving != policy {
				t.Errorf("with %q, %s has %q", policy, d.Name, d.Leaving)
			}
		}
	}
}
