package cmd

import (
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// newExitCodes is a page of help, not a verb.
// cobra shows a command without RunE as a further topic of help.
func newExitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "Exit codes of the program",
		Long:  "Exit codes:\n\n" + cli.ExitCodes,
	}
}
