package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// newCompletion makes the verb completion. The scripts ask the program itself for words,
// so they need no update with it.
// The script goes to standard output and is written to no file.
func newCompletion(a *cli.App) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + "bash|zsh|fish|powershell",
		Short: "Print a completion script for a shell",
		Example: strings.ReplaceAll(`  source <(NAME completion bash)
  NAME completion zsh > "${fpath[1]}/_NAME"
  NAME completion fish > ~/.config/fish/completions/NAME.fish`, "NAME", a.Program()),
		Args: cobra.ExactArgs(1),
		// These are the shells for which cobra makes a script.
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return writeBash(a.Out, root)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Out)
			default:
				return fmt.Errorf("unknown shell %q, write %s%s", args[0], cli.OrList(shells), cli.Meant(args[0], shells))
			}
		},
	}
}

// bashQuotes are the places where the script of cobra is altered, so that a word with an open
// quote is completed. Names such as exec[make the index] need quotes. The question to the
// program gets the missing quote, and the answers are compared without it.
var bashQuotes = []struct{ at, put string }{
	{"    # Use eval to handle any environment variables and such\n", `    if [[ ${cur:0:1} == [\'\"] && ${lastParam} == "${cur}" ]]; then
        requestComp+="${cur:0:1}"
        cur="${cur:1}"
        inQuotes=1
    fi
`},
	{"        if (( ${#COMPREPLY[@]} == 1 )); then\n            COMPREPLY[0]=$(printf \"%q\"", `        if [[ -n ${inQuotes} ]]; then
            return 0
        fi
`},
	{"    local out directive\n", "    local inQuotes\n"},
}

// writeBash writes the script for bash.
// It returns an error if a new version of cobra has another script. A test finds that at once.
func writeBash(w io.Writer, root *cobra.Command) error {
	var buf bytes.Buffer
	if err := root.GenBashCompletionV2(&buf, true); err != nil {
		return err
	}
	script := buf.String()
	// Each text is put before the first place that matches, so the order of the entries is free.
	for _, q := range bashQuotes {
		before, after, ok := strings.Cut(script, q.at)
		if !ok {
			return errors.New("the script of cobra is another one than was expected")
		}
		script = before + q.put + q.at + after
	}
	_, err := io.WriteString(w, script)
	return err
}
