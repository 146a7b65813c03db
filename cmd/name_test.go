package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestName: a program that brings more kinds is called by its own name in all that it
// says of itself, also in the scripts by which shells complete it.
func TestName(t *testing.T) {
	facts := filepath.Join(t.TempDir(), "facts.yaml")
	if err := os.WriteFile(facts, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"completion", "bash"}, "complete -o default -F __start_our-mgmt our-mgmt\n"},
		{[]string{"completion", "zsh"}, "#compdef our-mgmt\n"},
		{[]string{"completion", "fish"}, "complete -c our-mgmt "},
		{[]string{"completion", "--help"}, "> ~/.config/fish/completions/our-mgmt.fish\n"},
		{[]string{"--help"}, "our-mgmt keeps a machine in the state"},
		{[]string{"--help"}, "\n  our-mgmt plan graph.yaml "},
		{[]string{"run", "--help"}, "Usage:\n  our-mgmt run [FILE|FOLDER]"},
		{[]string{"run", "--help"}, " is held until our-mgmt resume"},
		{[]string{"run", "--help"}, "$XDG_STATE_HOME/mgmt)"}, // where things are does not hang on the name
		{[]string{"manpage"}, ".TH OUR\\-MGMT 1 "},
		{[]string{"manpage"}, "\nour\\-mgmt \\- keep a machine"},
		{[]string{"manpage"}, ".B our\\-mgmt\n"},
		{[]string{"version"}, "our-mgmt "},
		{[]string{"zzz"}, "; see our-mgmt --help\n"},
		{[]string{"pause", "--for"}, "our-mgmt: flag needs an argument"},
		{[]string{"validate", "--facts", facts, facts}, "as our-mgmt facts --programs -o yaml does"},
		{[]string{"apply"}, "missing graph, write: our-mgmt apply FILE"},
	} {
		var out bytes.Buffer
		a := &cli.App{Name: "our-mgmt", In: strings.NewReader(""), Out: &out, Err: &out}
		execute(t.Context(), a, test.args)
		if !strings.Contains(out.String(), test.want) {
			t.Errorf("%q does not say %q:\n%s", test.args, test.want, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "mgmt ") || strings.Contains(line, " mgmt ") {
				t.Errorf("%q: %s", test.args, line)
			}
		}
	}
}

func TestNameOf(t *testing.T) {
	for started, want := range map[string]string{
		"mgmt": "mgmt", "/usr/bin/mgmt-docker": "mgmt-docker", "./v1.2": "v1.2",
		"": "mgmt", "/": "mgmt", "..": "mgmt", "-x": "mgmt", "a b": "mgmt", "a$(x)": "mgmt", "a\x1b": "mgmt", "ä": "mgmt",
	} {
		if got := cli.NameOf(started); got != want {
			t.Errorf("%q: %q, want %q", started, got, want)
		}
	}
}
