package ask

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/engine/control"
)

// webFlags are the flags of web.
type webFlags struct {
	remote.Daemon
	open, readOnly bool
}

// NewWeb makes the verb web.
func NewWeb(a *cli.App) *cobra.Command {
	f := &webFlags{}
	cmd := &cobra.Command{
		Use:   "web --open",
		Short: "Make a link to the page of the running daemon",
		Long: `Web --open prints a link that opens the page of the running daemon, which shows its
graph and steers it. The link works once, within five minutes; the login ends after
twelve hours. What is done in the page is noted as done by you. The daemon serves its
page with the setting web: see docs/web.md.`,
		Example: `  mgmt web --open
  mgmt web --open --read-only`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.Flags(cmd, control.Login{})
	cmd.Flags().BoolVar(&f.open, "open", false, "print a link that opens the page once")
	cmd.Flags().BoolVar(&f.readOnly, "read-only", false, "let the link read, and not steer")
	return cmd
}

func (f *webFlags) run(ctx context.Context, a *cli.App) error {
	if !f.open {
		return errors.New("write mgmt web --open: it prints a link to the page of the daemon")
	}
	login, err := f.Client().Login(ctx, control.LoginRequest{ReadOnly: f.readOnly})
	if err != nil {
		return remote.Explained(err)
	}
	return f.Output.Write(a.Out, login, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, login.URL)
		return err
	})
}
