package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/plan"
)

// TestUnknownVerb: what was perhaps meant is asked for, by the spelling first and
// then by the beginning.
func TestUnknownVerb(t *testing.T) {
	for args, want := range map[string]string{
		"pln":            `unknown command "pln" (did you mean "plan"?); see mgmt --help`,
		"pln --yaml x":   `unknown command "pln" (did you mean "plan"?); see mgmt --help`,
		"rnu":            `unknown command "rnu" (did you mean "run"?); see mgmt --help`,
		"Plan":           `unknown command "Plan" (did you mean "plan"?); see mgmt --help`,
		"vali":           `unknown command "vali" (did you mean "validate"?); see mgmt --help`,
		"val":            `unknown command "val" (did you mean "eval"?); see mgmt --help`,
		"schem":          `unknown command "schem" (did you mean "schema"?); see mgmt --help`,
		"ref":            `unknown command "ref"; see mgmt --help`, // reference is hidden
		"web/graph.yaml": `unknown command "web/graph.yaml" (did you mean "run web/graph.yaml"?); see mgmt --help`,
		"frobnicate":     `unknown command "frobnicate"; see mgmt --help`,

		"--config /dev/null pln":  `unknown command "pln" (did you mean "plan"?); see mgmt --help`,
		"--yaml x --config=y pln": `unknown command "pln" (did you mean "plan"?); see mgmt --help`,
		"run --yml x":             `unknown flag --yml (did you mean "--yaml"?)`,
		"run --tmp":               `unknown flag --tmp (did you mean "--tmp-prefix"?)`,
		"validate --for":          `unknown flag --for (did you mean "--format"?)`,
		"fmt --chekc":             `unknown flag --chekc (did you mean "--check"?)`,
		"--versoin":               `unknown flag --versoin`,
	} {
		var out, errs bytes.Buffer
		a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errs}
		code := execute(t.Context(), a, strings.Fields(args))
		if got := strings.TrimSpace(errs.String()); code != cli.ExitUsage || !strings.HasPrefix(got, "mgmt: "+want) || out.Len() > 0 {
			t.Errorf("mgmt %s: code %d, %q on standard output, and %q", args, code, out.String(), got)
		}
	}
}

// TestUsageSays: what is wrong with an invocation is said in the words of the
// command line.
func TestUsageSays(t *testing.T) {
	for args, want := range map[string]string{
		"graph --yaml x --live --explain": "--explain and --live exclude each other",
		"graph --explain --declared":      "--declared and --explain exclude each other",
		"status --dump --wait converged":  "--dump and --wait exclude each other",
		"run --prefix a --tmp-prefix":     "--prefix and --tmp-prefix exclude each other",
		"fmt --write --check x":           "--write and --check exclude each other",
		"run --noop default --yaml x":     `unexpected argument "default"; a value of --noop is written with =, as in --noop=default`,
		"run --prometheus :9 --yaml x":    `unexpected argument ":9"; a value of --prometheus is written with =, as in --prometheus=:9`,
		"run --noop=default y --yaml x":   `unexpected argument "y": --yaml x names the graph already`,
		"run --puppet-catalog x y":        `unexpected argument "y": --puppet-catalog x names the graph already`,
		"run --converged-exit y z":        `unexpected argument "z": the graph is y already; name a folder with both`,
		"run --noop nowhere":              `unexpected argument "nowhere"; a value of --noop is written with =, as in --noop=nowhere`,
		"help pln":                        `unknown command "pln" (did you mean "plan"?); see mgmt --help`,
		"doc a b":                         `unexpected argument "b", write: mgmt doc [KIND|FOLDER]`,
		"interface x":                     `unknown command "x"; see mgmt interface --help`,
		"version x":                       `unexpected argument "x", write: mgmt version`,
		"completion":                      "missing argument, write: mgmt completion bash|zsh|fish|powershell",
		"call":                            "missing argument, write: mgmt call ",
		"status --watch=maybe":            "--watch=maybe: write --watch alone, or with =false",
		"run --yaml x --sema x":           "--sema=x: write a whole number",
		"why a[b] -n 1.5":                 "--number=1.5: write a whole number",
		"events --since -1":               "--since=-1: write a whole number, 0 or more",
		"run --sema 99999999999999999999": "--sema=99999999999999999999: the number is too large",
		"run --yaml x --noop=some":        "--noop=some: write --noop=all, which is --noop alone, or --noop=default",
		"run --yaml x --sema=-1":          "--sema=-1: write how many may run at once, 0 for no limit",
		"run --yaml x --parallel=-1":      "--parallel=-1: write how many to run at once, 0 for the default",
	} {
		var out, errs bytes.Buffer
		a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errs}
		code := execute(t.Context(), a, strings.Fields(args))
		if got := strings.TrimSpace(errs.String()); code != cli.ExitUsage || !strings.HasPrefix(got, "mgmt: "+want) || out.Len() > 0 {
			t.Errorf("mgmt %s: code %d, %q on standard output, and %q", args, code, out.String(), got)
		}
	}
}

// TestFindingD6MissingGraph: a word that names a file, behind a flag that may have a value, is a graph that is
// not there.
func TestFindingD6MissingGraph(t *testing.T) {
	t.Setenv("MGMT_PREFIX", t.TempDir()) // run locks its state before it reads the graph
	for _, args := range []string{"run --noop nowhere.yaml", "run nowhere.yaml --noop", "run --noop=all ./nowhere", "run --prometheus nowhere.json", "plan nowhere"} {
		var out bytes.Buffer
		a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &out}
		if code := execute(t.Context(), a, strings.Fields(args)); code != cli.ExitUsage || !strings.Contains(out.String(), "no such file") || strings.Contains(out.String(), "is written with =") {
			t.Errorf("mgmt %s: code %d, %s", args, code, out.String())
		}
	}
}

// TestKnownVerbs: whatever there is, is found.
func TestKnownVerbs(t *testing.T) {
	for _, args := range []string{"", "--help", "help", "help run", "run --help", "version", "help exit-codes", "completion bash", "__complete pl"} {
		var out, errs bytes.Buffer
		a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errs}
		if code := execute(t.Context(), a, strings.Fields(args)); code != cli.ExitOK || out.Len() == 0 || strings.Contains(errs.String(), "unknown") {
			t.Errorf("mgmt %s: code %d, %q", args, code, errs.String())
		}
	}
}

// TestProgramAsArgument: a program is named as a graph is, by its name alone. Every other name is that of a graph in YAML.
func TestProgramAsArgument(t *testing.T) {
	for name, flag := range map[string]string{"main.ts": "ts", "a/main.ts": "ts", "graph.yaml": "yaml", "folder": "yaml", "-": "yaml"} {
		cmd := plan.NewValidate(&cli.App{})
		cmd.SetContext(t.Context())
		if err := inputs.GraphArgs(cmd, []string{name}); err != nil || cmd.Flags().Lookup(flag).Value.String() != name {
			t.Errorf("%s: %v, --%s is %q", name, err, flag, cmd.Flags().Lookup(flag).Value)
		}
	}
}
