package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestUnknownVerb: what was perhaps meant is asked for, by the spelling first and
// then by the beginning.
func TestUnknownVerb(t *testing.T) {
	for args, want := range map[string]string{
		"pln":            `unknown command "pln" (did you mean "plan"?); see mgmt --help`,
		"pln --yaml x":   `unknown command "pln" (did you mean "plan"?); see mgmt --help`,
		"rnu":            `unknown command "rnu" (did you mean "run"?); see mgmt --help`,
		"Plan":           `unknown command "Plan" (did you mean "plan"?); see mgmt --help`,
		"val":            `unknown command "val" (did you mean "validate"?); see mgmt --help`,
		"schem":          `unknown command "schem" (did you mean "schema"?); see mgmt --help`,
		"ref":            `unknown command "ref"; see mgmt --help`, // reference is hidden
		"frobnicate":     `unknown command "frobnicate"; see mgmt --help`,
		"run --yml x":    `unknown flag --yml (did you mean "--yaml"?)`,
		"run --tmp":      `unknown flag --tmp (did you mean "--tmp-prefix"?)`,
		"validate --for": `unknown flag --for (did you mean "--format"?)`,
		"fmt --chekc":    `unknown flag --chekc (did you mean "--check"?)`,
		"--versoin":      `unknown flag --versoin`,
	} {
		var out, errs bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &errs}
		code := a.main(t.Context(), strings.Fields(args))
		if got := strings.TrimSpace(errs.String()); code != exitUsage || !strings.HasPrefix(got, "mgmt: "+want) || out.Len() > 0 {
			t.Errorf("mgmt %s: code %d, %q on standard output, and %q", args, code, out.String(), got)
		}
	}
}

// TestKnownVerbs: whatever there is, is found.
func TestKnownVerbs(t *testing.T) {
	for _, args := range []string{"", "--help", "help", "help run", "run --help", "version", "help exit-codes", "completion bash", "__complete pl"} {
		var out, errs bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &errs}
		if code := a.main(t.Context(), strings.Fields(args)); code != exitOK || out.Len() == 0 || strings.Contains(errs.String(), "unknown") {
			t.Errorf("mgmt %s: code %d, %q", args, code, errs.String())
		}
	}
}
