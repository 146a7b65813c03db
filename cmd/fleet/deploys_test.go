package fleet

import (
	"bytes"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// TestDeploysText: no text of the store moves the cursor or forges a row.
func TestDeploysText(t *testing.T) {
	const evil = "x\x1b[2J\n\u202ey\x07"
	out := &bytes.Buffer{}
	f := &deploysFlags{app: &cli.App{Out: out}}
	rows := []deployRow{{Manifest: deploy.Manifest{Topic: evil, By: evil, Graphs: []string{evil}}, Error: evil}}
	hosts := []hostRow{{evil, evil, deploy.Standing{State: evil, Code: evil, Error: evil, Refused: 1}}}
	if err := f.show(rows, hosts); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.ContainsAny(text, "\x1b\x07\u202e") || strings.Count(text, "\n") != 5 {
		t.Errorf("the lists are %q", text)
	}
}

// TestDeploySeesTheStore: the check of a deploy sees the hosts that the store has, and refuses a host that it does not have.
func TestDeploySeesTheStore(t *testing.T) {
	w := memory.New()
	defer w.Close()
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: hosts.MemberKey("w2"), Value: []byte(`{"name":"w2","facts":{"cpus":2}}`)}}); err != nil {
		t.Fatal(err)
	}
	for name, good := range map[string]bool{"w2": true, "w3": false} {
		var out strings.Builder
		f := &bundler{app: &cli.App{Out: &out, Err: &out}}
		b := &deploy.Bundle{Graphs: []string{"g"}, Files: []deploy.File{{Name: "g", Data: []byte(`{comment: "${{ string(hosts['` + name + `'].cpus) }}", resources: {}}`)}}}
		if err := f.validate(t.Context(), w, b); (err == nil) != good {
			t.Errorf("%s: %v: %s", name, err, &out)
		}
	}
}
