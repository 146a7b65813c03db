package author

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/lsp"
	"github.com/reactivegraph/mgmt/scenario"
)

// lspFlags are the flags of lsp.
type lspFlags struct{ input inputs.Flags }

// NewLSP makes the verb lsp. It has the flags of validate, since it tells the same findings.
func NewLSP(a *cli.App) *cobra.Command {
	f := &lspFlags{}
	cmd := &cobra.Command{
		Use:   "lsp [FILE|FOLDER]",
		Short: "Run a language server for editors",
		Long: `Lsp serves the Language Server Protocol for graphs over standard input and output:
findings as you type, completion, and more. An editor starts it; docs/editors.md
shows how to set one up.

Findings are those of mgmt validate. Lsp checks the graph in FILE from the start, and
other graphs once one of their files is opened. It changes nothing, runs no command
and decrypts no secret.

The exit code is 0 if the editor shuts it down, and 1 if the connection ends otherwise.`,
		Example: `  mgmt lsp
  mgmt lsp graph.yaml --facts web1.yaml # findings for another machine`,
		Args: inputs.GraphArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.input.Flags(cmd)
	cli.TypesFlag(a, cmd)
	inputs.MachineFlags(a, cmd)
	inputs.FactsFlag(a, cmd)
	return cmd
}

// run serves until the editor leaves. Standard output belongs to the protocol, so everything else goes to standard error.
func (f *lspFlags) run(ctx context.Context, a *cli.App) error {
	// Secrets count as unknown values, so a graph with them has no other findings.
	f.input.Blind = true // the server runs no program and decrypts nothing
	o, err := f.input.Options(a)
	if err != nil {
		return err
	}
	meta, err := cli.MetaType()
	if err != nil {
		return err
	}
	tests, err := schema.Of(&scenario.File{})
	if err != nil {
		return err
	}
	inputs.NoMachine(a)
	// No signal is listened to: its default action ends the process, which has nothing to save.
	return lsp.Serve(ctx, a.In, a.Out, lsp.Options{
		Graph: f.input.YAML, YAML: o, Kinds: a.Kinds, Meta: meta, TestFile: tests, Version: cli.Version(), Format: func(path string, src []byte) ([]byte, error) { return formatted(a, path, src) },
		Check: func(d *gapi.Declared) schema.Diagnostics {
			_, ds := inputs.Build(a, d)
			return ds
		},
		Words: func(ds schema.Diagnostics) schema.Diagnostics { return render.Helped(a.Program(), ds) },
		Tests: func(n *schema.Node) schema.Diagnostics {
			_, ds := scenario.Read(n)
			return ds
		},
		Log: lspLog(a.Err),
	})
}

// lspLog writes warnings for people who look at the log of their editor.
// slog adds the time and quotes the values, so no text of a graph controls a terminal.
func lspLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
