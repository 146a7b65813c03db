package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newCompletion(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + "bash|zsh|fish|powershell",
		Short: "Write a script with which a shell completes the command line",
		Example: strings.ReplaceAll(`  source <(NAME completion bash)
  NAME completion zsh > "${fpath[1]}/_NAME"
  NAME completion fish > ~/.config/fish/completions/NAME.fish`, "NAME", a.program()),
		Args:      cobra.ExactArgs(1),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			default:
				return fmt.Errorf("unknown shell %q, write %s%s", args[0], orList(shells), meant(args[0], shells))
			}
		},
	}
}
