package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/graph/formats/cytoscapejs"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/statedir"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// graphFlags are the flags of graph. Only with live does it ask a daemon.
// Without live the verb reads files alone and touches no resource. out is a path, empty or - for
// standard output.
type graphFlags struct {
	input     inputs.Flags
	steps     inputs.Transforms
	output    cli.Output
	direction cli.Choice
	reduce    bool
	declared  bool
	explain   bool
	live      bool
	remote    remote.Daemon
	out       string
}

// NewGraph makes the verb graph.
// Only one of declared, explain and live is allowed: each asks for another graph.
func NewGraph(a *cli.App) *cobra.Command {
	f := &graphFlags{}
	cmd := &cobra.Command{
		Use:   "graph [FILE|FOLDER]",
		Short: "Draw a graph",
		Long: `Graph draws the graph as it runs, with automatic edges and groups. Edges that
refresh are thick. Edges that come from a received value or from a requirement,
not from a declaration, are dashed. A broken graph is drawn as declared, with its
cycle; its errors go to standard error, and the exit code is 1. The format svg
needs dot from Graphviz; json is for Cytoscape.

With --explain, graph draws nothing. It lists the edges that were added and why,
the edges that were left out, the groups, and the resources that have left the
graph that ran here and would be undone: one per line, or with -o json as a list.

With --live, graph draws the running daemon's graph, coloured by state.`,
		Example: `  mgmt graph graph.yaml | dot -Tsvg > graph.svg
  mgmt graph graph.yaml --explain
  mgmt graph graph.yaml -o svg --out graph.svg
  mgmt graph graph.yaml -o mermaid --reduce
  mgmt graph --live -o svg --out now.svg`,
		Args: inputs.GraphArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.input.Flags(cmd)
	cli.TypesFlag(a, cmd)
	inputs.MachineFlags(a, cmd)
	inputs.FactsFlag(a, cmd)
	f.steps.Flags(cmd)
	cli.OnlyForms(cmd, &f.output, "output", "o", "format of the drawing", cli.OneOf{cytoscapejs.GraphNodeEdge{}, notesJSON{}}, "dot", "mermaid", "json", "svg")
	cli.Choose(cmd, &f.direction, "direction", "", "direction of edges", "TB", "BT", "LR", "RL")
	cmd.Flags().BoolVar(&f.reduce, "reduce", false, "omit edges that only repeat a longer path")
	cmd.Flags().BoolVar(&f.declared, "declared", false, "draw the graph as declared, without automatic edges and groups")
	cmd.Flags().BoolVar(&f.explain, "explain", false, "list automatic edges, reversals and groups, with reasons")
	cmd.Flags().BoolVar(&f.live, "live", false, "draw the running daemon's graph, with states")
	// The flags of the socket serve --live, and the state folder serves --explain.
	f.remote.Reach(cmd)
	cli.Exclude(cmd, "declared", "explain", "live")
	cmd.Flags().StringVar(&f.out, "out", "", "write to this `file` instead of standard output")
	return cmd
}

// run draws a graph file, or with --live the graph of the daemon. A broken graph is drawn
// too, and the exit code tells.
// The drawing is made in memory first. So a failure leaves the file of --out as it was.
func (f *graphFlags) run(ctx context.Context, a *cli.App) error {
	if f.live && unix.Portable {
		return cli.LinuxOnly("graph --live")
	}
	if f.live {
		drawing, err := f.drawLive(ctx)
		if err != nil {
			return err
		}
		return f.put(a, drawing)
	}
	g, ds, err := f.graph(ctx, a)
	if err != nil {
		return err
	}
	render.PrintDiagnostics(a.Err, a.Program(), ds)
	if g == nil || f.explain && ds.Err() != nil { // a sketch can be drawn, and has no automatic edges to explain
		return cli.WithCode(cli.ExitUsage, nil)
	}
	// A drawing shows no notes, so only the few important ones are collected for it.
	notes := &transform.Notes{All: f.explain}
	// A graph with faults is drawn as it is declared: transforms need a whole one.
	if !f.declared && ds.Err() == nil {
		o := f.steps.Options()
		if o.Undoing, err = f.undoing(a); err != nil {
			return err
		}
		if g, err = inputs.Transform(ctx, a, g, o, notes); err != nil {
			return err
		}
	}
	var buf bytes.Buffer
	if f.explain {
		err = f.writeNotes(&buf, g.Name, notes.List)
	} else {
		err = f.draw(ctx, &buf, g)
	}
	if err == nil {
		err = f.put(a, buf.Bytes())
	}
	if err == nil && ds.Err() != nil {
		err = cli.WithCode(cli.ExitUsage, nil)
	}
	return err
}

// undoing returns the resources that have left the graph that ran here. Only who
// wants to have it explained hears of it: a drawing is of the graph in the file.
// An unreadable state folder costs a line on standard error, and the rest is explained all the
// same.
func (f *graphFlags) undoing(a *cli.App) (transform.Undoing, error) {
	if !f.explain {
		return transform.Undoing{}, nil
	}
	dir, err := f.remote.State.Path()
	if err != nil {
		return transform.Undoing{}, err
	}
	store, err := statedir.Remembered(dir)
	if err != nil {
		fmt.Fprintf(a.Err, "%s: what would be undone is not known: %v\n", a.Program(), err)
		return transform.Undoing{}, nil
	}
	return transform.Undoing{Store: store, Registry: a.Kinds()}, nil
}

// put writes the drawing to its destination.
// A file is replaced as WriteFile does it.
func (f *graphFlags) put(a *cli.App, drawing []byte) error {
	if f.out == "" || f.out == "-" {
		_, err := io.WriteString(a.Out, cli.OnTerminal(a.Out, string(drawing)))
		return err
	}
	return cli.WriteFile(f.out, drawing)
}

// graph returns the graph as far as it can be drawn, and its faults.
// Faults are not an error here: they come as diagnostics, and the graph is then a sketch of its
// declarations. The error is for a graph that could not be read at all.
func (f *graphFlags) graph(ctx context.Context, a *cli.App) (*resgraph.Graph, schema.Diagnostics, error) {
	f.input.Blind = true // a graph is judged and shown without its secrets
	d, err := f.input.Declared(ctx, a)
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		return nil, ds, nil
	}
	if err != nil {
		return nil, nil, err
	}
	g, ds := inputs.Build(a, d)
	if g == nil {
		g = gapi.Sketch(a.Kinds(), d)
	}
	return g, ds, nil
}

// draw writes the graph in the chosen language. DOT, the language of Graphviz, is the default.
func (f *graphFlags) draw(ctx context.Context, w io.Writer, g *resgraph.Graph) error {
	o := render.DrawOptions(g)
	o.Reduce, o.Direction = f.reduce, f.direction.Word
	switch f.output.Form() {
	case "mermaid":
		return g.WriteMermaid(w, o)
	case "json":
		return g.WriteCytoscape(w, o)
	case "svg":
		return drawSVG(ctx, w, g, o)
	default:
		return g.WriteDOT(w, o)
	}
}

// notesJSON is what --explain says in JSON.
type notesJSON struct {
	Graph string           `json:"graph"`
	Notes []transform.Note `json:"notes"`
}

// writeNotes says what the transforms have done.
// Text from the graph is made visible: a name with control characters must not move the cursor of
// a terminal.
func (f *graphFlags) writeNotes(w io.Writer, name string, notes []transform.Note) error {
	// The default of --output is a form of drawings, so it cannot be told from a given -o dot.
	if form := f.output.Form(); !f.output.Document() && form != "dot" {
		return fmt.Errorf("--explain does not support -o %s: omit -o, or write -o json", form)
	}
	return f.output.Write(w, notesJSON{name, append([]transform.Note{}, notes...)}, func(w io.Writer) error { return notesText(w, notes) })
}

// notesText writes a line for each note.
func notesText(w io.Writer, notes []transform.Note) error {
	if len(notes) == 0 {
		_, err := io.WriteString(w, "there are no automatic edges and no groups\n")
		return err
	}
	for _, n := range notes {
		if _, err := io.WriteString(w, render.Visible(n.String())+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// drawSVG has Graphviz draw. It is the only program that the verb runs.
// The end of ctx kills Graphviz, which may take minutes for a large graph.
func drawSVG(ctx context.Context, w io.Writer, g *resgraph.Graph, o graph.DrawOptions) error {
	var in bytes.Buffer
	if err := g.WriteDOT(&in, o); err != nil {
		return err
	}
	drawing, err := svgOf(ctx, in.Bytes())
	if err == nil {
		_, err = w.Write(drawing)
	}
	return err
}

// svgOf has Graphviz draw a text in its language.
// A missing program is an error with the forms that need none. Graphviz's own message is a part of
// the error.
func svgOf(ctx context.Context, dot []byte) ([]byte, error) {
	path, err := exec.LookPath("dot")
	if err != nil {
		return nil, errors.New("svg needs dot from Graphviz, which is not installed; -o dot and -o mermaid do not")
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "-Tsvg")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(dot), &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", path, err, render.Visible(errs.String()))
	}
	return out.Bytes(), nil
}
