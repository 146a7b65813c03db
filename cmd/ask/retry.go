package ask

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/engine/control"
)

// retryFlags are the flags of retry.
// A retry does not end a pause: a paused resource is tried when that is over.
type retryFlags struct{ remote.Daemon }

// NewRetry makes the verb retry.
// The tries themselves are made by the daemon; the verb does not wait for them.
func NewRetry(a *cli.App) *cobra.Command {
	f := &retryFlags{}
	cmd := &cobra.Command{
		Use:   "retry [SELECTION...]",
		Short: "Retry failed resources now",
		Long: `Retry makes the running daemon retry the failed resources of a selection at once, or
without one all failed resources. Their retry counts start at zero, and their
dependents continue once they succeed. If a resource is named and has not failed,
retry changes nothing and reports its state as an error; a pattern skips resources
that have not failed.

` + cli.SelectionHelp,
		Example: `  mgmt retry 'exec[deploy]'
  mgmt retry pkg,svc
  mgmt retry`,
		Args:              resourceArgs,
		ValidArgsFunction: f.CompleteResources,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args) },
	}
	f.Flags(cmd, control.Retried{})
	return cmd
}

// resourceArgs takes selections, or none. The daemon reads them.
// An empty one is refused, as it may be a variable of a script that is not set.
func resourceArgs(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if err := resourceArg(0)(cmd, []string{arg}); err != nil {
			return err
		}
	}
	return nil
}

// run asks for a new try of the selected resources, or of all failed ones.
// With several names the daemon's error names the wrong one. If nothing has failed, the code is 0.
// All names are judged before one is tried: with a wrong name nothing is tried.
func (f *retryFlags) run(ctx context.Context, a *cli.App, args []string) error {
	done, err := f.Client().Retry(ctx, control.RetryRequest{Resources: args})
	if err != nil {
		if len(args) == 1 {
			return unknown(err, args[0])
		}
		return remote.Explained(err)
	}
	return f.Output.Write(a.Out, done, func(w io.Writer) error {
		if len(done.Resources) > 0 {
			return writeEach(w, done.Resources, "is tried again")
		}
		text := "nothing has failed"
		if done.Selected > 0 {
			text = "of the selection nothing has failed"
		}
		_, err := fmt.Fprintln(w, text)
		return err
	})
}
