package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// newVersion makes the verb version.
func newVersion(a *cli.App) *cobra.Command {
	var output cli.Choice
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := cli.CurrentVersion()
			if output.Document() {
				return output.Write(a.Out, v)
			}
			_, err := fmt.Fprintln(a.Out, a.Program(), v)
			return err
		},
	}
	cli.Forms(cmd, &output, "output format", cli.VersionJSON{}, "text")
	return cmd
}
