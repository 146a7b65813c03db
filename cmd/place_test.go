package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestChecksFlags: what can be seen to be wrong in the flags is told by the verb, before it asks a
// daemon, reads a graph or makes a folder.
func TestChecksFlags(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "p")
	t.Setenv("MGMT_PREFIX", prefix) // of a flag that would be taken as left out
	for args, want := range map[string]string{
		"run --yaml=":                     `invalid argument "" for "--yaml" flag: it is empty`,
		"plan --yaml=":                    `for "--yaml" flag: it is empty`,
		"run --yaml x --prefix=":          `for "--prefix" flag: it is empty`,
		"run --yaml x --socket=":          `for "--socket" flag: it is empty`,
		"status --prefix=":                `for "--prefix" flag: it is empty, write a path or omit the flag`,
		"pause --for 1h --socket=":        `for "--socket" flag: it is empty`,
		"status --state bogus":            "--state=bogus: write ",
		"status --state ok,faild":         `(did you mean "failed"?)`,
		"status --dump --state ok":        "--dump",
		"log -n -1":                       "-n -1: write a number from 1 to 1000",
		"log -n 1001":                     "-n 1001: write a number from 1 to 1000",
		"why a[b] -n 0":                   "-n 0: write a number from 1 to 100",
		"pause --for 1000000h":            "--for=1000000h0m0s is too long, the maximum is 87600h0m0s (ten years)",
		"pause file[/a] --for 87600h0m1s": "is too long",
	} {
		var out, errs bytes.Buffer
		a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errs}
		code := execute(t.Context(), a, strings.Fields(args))
		if code != cli.ExitUsage || !strings.Contains(errs.String(), want) || strings.Contains(errs.String(), "no daemon") || out.Len() > 0 {
			t.Errorf("mgmt %s: code %d, %q, want %q", args, code, errs.String(), want)
		}
	}
	if _, err := os.Stat(prefix); err == nil {
		t.Error("a folder was made")
	}
}

// TestOneSource: of two graphs none is left out unseen.
func TestOneSource(t *testing.T) {
	for _, verbName := range []string{"run", "plan", "validate", "graph"} {
		for flag, want := range map[string]string{"--yaml": "there is one already, a; name a folder", "--puppet-catalog": "there is one already, a; a graph is made of one",
			"--types": "there is one already, a; put all types into one folder"} {
			_, errs, code := verb(t, verbName, flag, "a", flag+"=b")
			if code != cli.ExitUsage || !strings.Contains(errs, want) {
				t.Errorf("%s %s: code %d, %q", verbName, flag, code, errs)
			}
		}
	}
	if out, errs, _ := verb(t, "__complete", "plan", "--yaml", "a", "--no-autoe"); !strings.Contains(out, "--no-autoedges") {
		t.Errorf("after a source nothing is completed: %q %q", out, errs)
	}
	if _, errs, code := verb(t, "plan", "--yaml", ""); code != cli.ExitUsage || !strings.Contains(errs, "it is empty") {
		t.Errorf("an empty one: code %d, %q", code, errs)
	}
}
