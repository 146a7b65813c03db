package mcp

import (
	"context"
	"errors"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/engine/agents"
	"github.com/reactivegraph/mgmt/engine/clock"
)

// maxMessage bounds a message of a client in bytes: a proposed graph in the longest form that JSON has for it.
const maxMessage = 2 << 20

// New makes the verb mcp.
func New(a *cli.App) *cobra.Command {
	var d remote.Daemon
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve tools for an agent over standard input and output",
		Long: `Mcp serves the Model Context Protocol over standard input and output, for the program
of an agent. Its tools show what the running daemon does and why, describe kinds, and
validate, test and plan a graph that the agent writes. A change is only proposed: it
waits until a person approves it with mgmt approve. No tool can approve.

Texts of the machine are marked as data in each answer, and bounded. A graph of the
agent is read without opening another file, without secrets, and without running a
command.

Mcp works without a daemon too; tools that need one then say so. It ends when the
client closes standard input.`,
		Example: `  mgmt mcp
  mgmt mcp --socket /run/mgmt/mgmt.sock`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), a, &d) },
	}
	d.Reach(cmd)
	cli.TypesFlag(a, cmd)
	inputs.MachineFlags(a, cmd)
	return cmd
}

// serve serves one client until it leaves. Standard output belongs to the protocol. No signal is listened to: its default action ends the process, which has nothing to
// save.
func serve(ctx context.Context, a *cli.App, d *remote.Daemon) error {
	s := agents.New(d.Client().ForAgent(), cli.Version(), clock.System{})
	(&bench{app: a}).add(s)
	err := s.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(a.In), Writer: writer{a.Out}, MaxLineLength: maxMessage})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// writer is standard output, which the server does not close.
type writer struct{ io.Writer }

// Close implements io.Closer.
func (writer) Close() error { return nil }
