package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
)

// TestFailedQuestionWritesNothing: a verb of api whose question has no answer leaves standard output empty, so a script
// that reads it meets no value that was never sent.
func TestFailedQuestionWritesNothing(t *testing.T) {
	for _, verb := range []string{"kinds", "schema", "migrate", "check"} {
		for _, form := range []string{"table", "json", "yaml"} {
			var out, errs bytes.Buffer
			a := &app{in: strings.NewReader(""), out: &out, err: &errs}
			code := a.main(t.Context(), []string{"api", verb, "-o", form, "--socket", t.TempDir() + "/none"})
			if code != exitUsage || out.Len() > 0 || errs.Len() == 0 {
				t.Errorf("api %s -o %s: code %d, standard output %q, standard error %q", verb, form, code, out.String(), errs.String())
			}
		}
	}
}

// TestRemovalOfHostileHost: the words of a host do not control the terminal of the operator who waits for it.
func TestRemovalOfHostileHost(t *testing.T) {
	text := waitsFor(api.Removal{Waiting: []api.RemovalHost{{Host: "a\x1b[2J", State: "failed\x1b]0;x\a", Error: "b\x1b[1A\nwaiting for host c: ok"}}})
	if strings.ContainsAny(text, "\x1b\a") {
		t.Errorf("%q has control characters", text)
	}
	if n := strings.Count(text, "\n"); n != 1 {
		t.Errorf("%q has %d lines, want one for the host", text, n)
	}
}

// TestErrorsAreVisible: the last line of each verb may hold a name of a file, or words of a daemon. It controls no terminal, and
// keeps the lines of an error of several.
func TestErrorsAreVisible(t *testing.T) {
	for _, args := range [][]string{{"fmt", "\x1b[2J.yaml"}, {"apply", "a\x1b]0;x\a.yaml"}} {
		var out, errs bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &errs}
		if code := a.main(t.Context(), args); code != exitUsage || strings.ContainsAny(errs.String(), "\x1b\a") || !strings.Contains(errs.String(), `\x1b`) {
			t.Errorf("%q: code %d, standard error %q", args, code, errs.String())
		}
	}
	var errs bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &errs, err: &errs}
	a.main(t.Context(), []string{"deploy", "--batch", "x"})
	if n := strings.Count(errs.String(), "\n"); n < 3 || strings.Contains(errs.String(), "\n ") {
		t.Errorf("three faults are written as %q", errs.String())
	}
}
