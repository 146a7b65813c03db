package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/deploy"
)

// TestDeploysText: no text of the store moves the cursor or forges a row.
func TestDeploysText(t *testing.T) {
	const evil = "x\x1b[2J\n\u202ey\x07"
	out := &bytes.Buffer{}
	f := &deployFlags{signing: signing{app: &app{out: out}}}
	rows := []deployRow{{Manifest: deploy.Manifest{Topic: evil, By: evil, Graphs: []string{evil}}, Error: evil}}
	hosts := []hostRow{{evil, evil, deploy.Standing{State: evil, Code: evil, Error: evil, Refused: 1}}}
	if err := f.show(rows, hosts); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.ContainsAny(text, "\x1b\x07\u202e") || strings.Count(text, "\n") != 5 {
		t.Errorf("the lists are %q", text)
	}
}
