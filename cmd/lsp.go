package cmd

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/lsp"
	"github.com/reactivegraph/mgmt/scenario"
)

// lspFlags are the flags of lsp.
type lspFlags struct{ input inputFlags }

// newLSP makes the verb lsp. It has the flags of validate, since it tells the same findings.
func newLSP(a *app) *cobra.Command {
	f := &lspFlags{}
	cmd := &cobra.Command{
		Use:   "lsp [FILE|FOLDER]",
		Short: "Serve an editor: findings as you type, completion, and more",
		Long: `Lsp is a server of the Language Server Protocol for graphs. An editor starts it, and speaks with it
over standard input and output. The page docs/editors.md says how to set up some editors.

The findings are those of mgmt validate. FILE names a graph that is checked from the start; without it, a graph is
checked when a file of it is opened. It touches nothing, runs no command and decrypts no secret.

It ends with code 0 when the editor shuts it down, and with 1 when the editor leaves in another way.`,
		Example: `  mgmt lsp
  mgmt lsp graph.yaml --facts web1.yaml # findings for another machine`,
		Args: graphArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.input.flags(cmd)
	a.typesFlag(cmd)
	a.machineFlags(cmd)
	a.factsFlag(cmd)
	return cmd
}

// run serves until the editor leaves. Standard output belongs to the protocol, so everything else goes to standard error.
func (f *lspFlags) run(ctx context.Context, a *app) error {
	// Secrets count as unknown values, so a graph with them has no other findings.
	f.input.blind = true // the server runs no program and decrypts nothing
	o, err := f.input.options(a)
	if err != nil {
		return err
	}
	meta, err := metaType()
	if err != nil {
		return err
	}
	tests, err := schema.Of(&scenario.File{})
	if err != nil {
		return err
	}
	a.noMachine()
	// No signal is listened to: its default action ends the process, which has nothing to save.
	return lsp.Serve(ctx, a.in, a.out, lsp.Options{
		Graph: f.input.YAML, YAML: o, Kinds: a.kinds, Meta: meta, TestFile: tests, Version: version(), Format: func(path string, src []byte) ([]byte, error) { return a.formatted(path, src) },
		Check: func(d *gapi.Declared) schema.Diagnostics {
			_, ds := a.build(d)
			return ds
		},
		Words: func(ds schema.Diagnostics) schema.Diagnostics { return helped(a.program(), ds) },
		Tests: func(n *schema.Node) schema.Diagnostics {
			_, ds := scenario.Read(n)
			return ds
		},
		Log: lspLog(a.err),
	})
}

// lspLog writes warnings for people who look at the log of their editor.
// slog adds the time and quotes the values, so no text of a graph controls a terminal.
func lspLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
