package cmd

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestWayOut: what is unknown, and like nothing that exists, can be looked up.
func TestWayOut(t *testing.T) {
	for want, d := range map[string]schema.Diagnostic{
		`unknown resource kind "q"; mgmt doc lists the kinds`: {Message: `unknown resource kind "q"`, Resource: "q[a]"},
		`unknown resource kind "fil" (did you mean "file"?)`:  {Message: `unknown resource kind "fil"`, Suggestion: "file", Resource: "fil[a]"},
		`unknown key "q"; mgmt doc file has the keys`:         {Message: `unknown key "q"`, Resource: "file[a]"},
		`unknown key "r"; mgmt doc meta has the keys`:         {Message: `unknown key "r"`, Resource: "file[a]", Path: "meta.r"},
		`unknown key "q"`:           {Message: `unknown key "q"`}, // of an edge
		`file[a] is declared twice`: {Message: "file[a] is declared twice", Resource: "file[a]"},
	} {
		if got := diagnosticLines(schema.Diagnostics{d})[0]; got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
