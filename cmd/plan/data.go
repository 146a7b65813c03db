package plan

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// NewData makes the verb data, which has one verb below it.
// Alone it shows its help and ends with code 0.
func NewData(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Explain the data of a graph",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDataExplain(a))
	return cmd
}

// dataFlags are those of data explain.
type dataFlags struct {
	input  inputs.Flags
	output cli.Output
}

// newDataExplain makes the verb data explain. It reads a graph as validate does, and builds none.
// The graph file comes behind the key, so that the key is never taken for a file.
func newDataExplain(a *cli.App) *cobra.Command {
	f := &dataFlags{}
	cmd := &cobra.Command{
		Use:   "explain KEY [FILE|FOLDER]",
		Short: "Show where a data value comes from",
		Long: `Explain lists the data files that contain a key, most specific first, and shows
how their values are merged and the result. A path such as users.ann names a key
in a map. The facts of this machine select the files; --facts selects them for
another machine. Explain changes nothing.`,
		Example: `  mgmt data explain users graph.yaml
  mgmt data explain users graph.yaml --facts web1.yaml -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			// The graph is named as for validate: by the argument or by --yaml.
			if err := inputs.GraphArgs(cmd, args[1:]); err != nil {
				return err
			}
			return f.run(a, args[0])
		},
	}
	f.input.Flags(cmd)
	cli.Forms(cmd, &f.output, "output format", map[string]any{}, "text")
	inputs.MachineFlags(a, cmd)
	inputs.FactsFlag(a, cmd)
	return cmd
}

// run writes the sources of a key, or the faults of the graph.
// Faults of the graph go to standard error, and the code is then 1.
func (f *dataFlags) run(a *cli.App, key string) error {
	// Data belongs to a graph, so the default graph counts here. The verb eval can do without one.
	if f.input.YAML == "" {
		f.input.YAML = input.Default
	}
	o, err := f.input.Options(a)
	if err != nil {
		return err
	}
	d, ds := yaml.ExplainData(f.input.YAML, o, a.In, key)
	render.PrintDiagnostics(a.Err, a.Program(), ds)
	if ds.Err() != nil {
		return cli.WithCode(cli.ExitUsage, nil)
	}
	return f.output.Write(a.Out, dataObject(key, d), func(w io.Writer) error {
		_, err := io.WriteString(w, explainedText(key, d))
		return err
	})
}

// hows says in words how layers are merged.
var hows = map[string]string{
	"first": "the first file that has it counts", "deep": "maps are merged, and the first file that has a key of them counts",
	"append": "lists are joined",
}

// explainedText writes the sources of a key for people: a line for each file, and the value at the end.
func explainedText(key string, d yaml.DataOf) string {
	var b strings.Builder
	how := hows[d.How]
	// The files are merged by their top keys, so a map of the first file hides the map of the next
	// one.
	if top, _, below := strings.Cut(key, "."); below && d.How == "first" {
		how = "the first file that has " + top + " counts, with all below it"
	}
	fmt.Fprintf(&b, "%s: %s\n", key, how)
	for _, s := range d.Sources {
		switch {
		case s.Missing:
			fmt.Fprintf(&b, "  %s: there is no such file\n", s.Path)
		case s.Pos.IsZero():
			fmt.Fprintf(&b, "  %s: without the key\n", s.Path)
		default:
			fmt.Fprintf(&b, "  %s: %s\n", s.Pos, dataValue(s.Value))
		}
	}
	fmt.Fprintf(&b, "= %s\n", dataValue(d.Value))
	return b.String()
}

// dataValue writes a value on one line.
// A text is in quotes, so that blanks at its ends are seen.
func dataValue(v any) string {
	if _, isText := v.(string); !isText {
		if text, err := expr.AsText(v); err == nil {
			return text
		}
	}
	var b strings.Builder
	if err := render.WriteJSON(&b, v); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// dataObject returns the sources of a key as an object of JSON.
// A file without the key has no place and no value. A missing file is there with missing: true.
func dataObject(key string, d yaml.DataOf) map[string]any {
	sources := []any{}
	for _, s := range d.Sources {
		one := map[string]any{"file": s.Path, "missing": s.Missing}
		if !s.Pos.IsZero() {
			one["line"], one["column"], one["value"] = s.Pos.Line, s.Pos.Col, s.Value
		}
		sources = append(sources, one)
	}
	return map[string]any{"key": key, "merge": d.How, "sources": sources, "value": d.Value}
}
