package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestFailedQuestionWritesNothing: a verb of api whose question has no answer leaves standard output empty, so a script
// that reads it meets no value that was never sent.
func TestFailedQuestionWritesNothing(t *testing.T) {
	for _, verb := range []string{"kinds", "schema", "migrate", "check"} {
		for _, form := range []string{"table", "json", "yaml"} {
			var out, errs bytes.Buffer
			a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errs}
			code := execute(t.Context(), a, []string{"api", verb, "-o", form, "--socket", t.TempDir() + "/none"})
			if code != cli.ExitUsage || out.Len() > 0 || errs.Len() == 0 {
				t.Errorf("api %s -o %s: code %d, standard output %q, standard error %q", verb, form, code, out.String(), errs.String())
			}
		}
	}
}

// TestErrorsAreVisible: the last line of each verb may hold a name of a file, or words of a daemon. It controls no terminal, and
// keeps the lines of an error of several.
func TestErrorsAreVisible(t *testing.T) {
	for _, args := range [][]string{{"fmt", "\x1b[2J.yaml"}, {"apply", "a\x1b]0;x\a.yaml"}} {
		var out, errs bytes.Buffer
		a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errs}
		if code := execute(t.Context(), a, args); code != cli.ExitUsage || strings.ContainsAny(errs.String(), "\x1b\a") || !strings.Contains(errs.String(), `\x1b`) {
			t.Errorf("%q: code %d, standard error %q", args, code, errs.String())
		}
	}
	var errs bytes.Buffer
	a := &cli.App{In: strings.NewReader(""), Out: &errs, Err: &errs}
	execute(t.Context(), a, []string{"deploy", "--batch", "x"})
	if n := strings.Count(errs.String(), "\n"); n < 3 || strings.Contains(errs.String(), "\n ") {
		t.Errorf("three faults are written as %q", errs.String())
	}
}
