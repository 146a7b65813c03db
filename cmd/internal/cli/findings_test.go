package cli

import (
	"fmt"
	"io"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// TestWayOut: what is unknown, and like nothing that exists, can be looked up.
func TestWayOut(t *testing.T) {
	for want, d := range map[string]schema.Diagnostic{
		`unknown resource kind "a:b:c"; a provider has such a kind: --plugins names the folder of its descriptor`: {Message: `unknown resource kind "a:b:c"`, Resource: "a:b:c[d]"},
		`unknown resource kind "q"; mgmt doc lists the kinds`:                                                     {Message: `unknown resource kind "q"`, Resource: "q[a]"},
		`unknown resource kind "fil" (did you mean "file"?)`:                                                      {Message: `unknown resource kind "fil"`, Suggestion: "file", Resource: "fil[a]"},
		`unknown key "q"; mgmt doc file has the keys`:                                                             {Message: `unknown key "q"`, Resource: "file[a]"},
		`unknown key "r"; mgmt doc meta has the keys`:                                                             {Message: `unknown key "r"`, Resource: "file[a]", Path: "meta.r"},
		`unknown key "q"`:           {Message: `unknown key "q"`}, // of an edge
		`file[a] is declared twice`: {Message: "file[a] is declared twice", Resource: "file[a]"},
	} {
		if got := render.DiagnosticLines("mgmt", schema.Diagnostics{d})[0]; got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// A hint names the program as it is called, and stands only where nothing is guessed.
func TestModuleHint(t *testing.T) {
	a := &App{Name: "other"}
	at := virtual.FunctionError{Module: "pkg", Function: "isntall"}
	for want, err := range map[string]error{
		"; other interface list has the modules":                &virtual.UnknownModuleError{Module: "q"},
		"; other interface show pkg has the functions":          fmt.Errorf("x: %w", &virtual.UnknownFunctionError{FunctionError: at}),
		"; other interface show pkg.isntall has the parameters": &virtual.BadArgumentsError{FunctionError: at},
	} {
		if got := ModuleHint(a, err); got != want {
			t.Errorf("%v: %q, not %q", err, got, want)
		}
	}
	for _, err := range []error{
		&virtual.UnknownModuleError{Module: "q", Near: "pkg"}, &virtual.UnknownFunctionError{FunctionError: at, Near: "install"}, io.EOF,
	} {
		if got := ModuleHint(a, err); got != "" {
			t.Errorf("%v: %q", err, got)
		}
	}
	if got := render.DiagnosticLines("other", schema.Diagnostics{{Message: `unknown key "q"`, Resource: "file[a]"}})[0]; got != `unknown key "q"; other doc file has the keys` {
		t.Error(got)
	}
}
