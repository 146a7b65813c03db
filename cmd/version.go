package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// newVersion makes the verb version.
func newVersion(a *cli.App) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := cli.CurrentVersion()
			return output.Write(a.Out, v, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, a.Program(), v)
				return err
			})
		},
	}
	cli.Forms(cmd, &output, "output format", cli.VersionJSON{}, "text")
	return cmd
}
