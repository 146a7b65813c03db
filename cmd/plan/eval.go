package plan

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// evalFlags are the flags of eval. The expression is an argument, so it must have no secret in it.
type evalFlags struct {
	input  inputs.Flags
	output cli.Output
}

// NewEval makes the verb eval. It reads a graph as validate does, and builds none.
// It ends with 1 where the expression or the graph has a fault.
func NewEval(a *cli.App) *cobra.Command {
	f := &evalFlags{}
	cmd := &cobra.Command{
		Use:   "eval EXPRESSION [FILE|FOLDER]",
		Short: "Show the value of an expression",
		Long: `Eval evaluates one expression, the text between ${{ and }} in a graph. The
expression can use the facts of this machine and, if FILE names a graph, the
variables and data of that graph. Eval changes nothing.`,
		Example: `  mgmt eval 'facts.hostname'
  mgmt eval 'vars.sites.size()' graph.yaml
  mgmt eval '[1, 2].map(i, i * 2)' -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			// The graph is named as for validate: by the argument or by --yaml.
			if err := inputs.GraphArgs(cmd, args[1:]); err != nil {
				return err
			}
			return f.run(cmd.Context(), a, args[0])
		},
	}
	f.input.Flags(cmd)
	cli.Forms(cmd, &f.output, "output format", nil, "text")
	inputs.MachineFlags(a, cmd)
	inputs.FactsFlag(a, cmd)
	return cmd
}

// run writes the value, or the faults of the expression.
// A finding names the column in the expression as it was typed.
func (f *evalFlags) run(_ context.Context, a *cli.App, src string) error {
	o, err := f.input.Options(a)
	if err != nil {
		return err
	}
	// Findings about the graph count, too: a variable may have the wrong value.
	v, ds := yaml.Eval(f.input.YAML, o, a.In, unmarked(src))
	render.PrintDiagnostics(a.Err, a.Program(), ds)
	if ds.Err() != nil {
		return cli.WithCode(cli.ExitUsage, nil)
	}
	// In a graph, an optional without a value leaves its key out.
	if _, absent := v.(expr.Absent); absent {
		v = nil
	}
	return f.output.Write(a.Out, v, func(w io.Writer) error {
		// A list and a map have no form as text.
		text, err := expr.AsText(v)
		if err != nil {
			return render.WriteJSON(w, v)
		}
		_, err = fmt.Fprintln(w, cli.OnTerminal(w, text))
		return err
	})
}

// unmarked returns an expression without the marks that are around it in a graph, from which people copy it. Blanks take their place,
// so that a finding has the column of the text as it was typed.
// An expression with several marked parts is a text with expressions in it, and stays as it is.
func unmarked(src string) string {
	inner, begins := strings.CutPrefix(strings.TrimSpace(src), expr.Open)
	inner, ends := strings.CutSuffix(inner, "}}")
	if !begins || !ends || strings.Contains(inner, expr.Open) {
		return src
	}
	return strings.Repeat(" ", strings.Index(src, expr.Open)+len(expr.Open)) + inner
}
