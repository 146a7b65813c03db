package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/graph"
)

type graphFlags struct {
	input     input
	output    choice
	direction choice
	reduce    bool
	out       string
}

func newGraph(a *app) *cobra.Command {
	f := &graphFlags{}
	cmd := &cobra.Command{
		Use:   "graph --yaml FILE",
		Short: "Draw a graph",
		Long: `Graph draws a graph: an edge that refreshes is thick, one that is only there
because a value is received is dashed. It draws a broken graph too, with the
cycle that it has, says what is wrong on standard error, and then ends with code
1. The form svg needs the program dot of Graphviz; json is what Cytoscape reads.`,
		Example: `  mgmt graph --yaml graph.yaml | dot -Tsvg > graph.svg
  mgmt graph --yaml graph.yaml -o svg --out graph.svg
  mgmt graph --yaml graph.yaml -o mermaid --reduce`,
		Args: graphArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.input.flags(cmd)
	choose(cmd, &f.output, "output", "o", "how to draw it", "dot", "mermaid", "json", "svg")
	choose(cmd, &f.direction, "direction", "", "where edges lead", "TB", "BT", "LR", "RL")
	cmd.Flags().BoolVar(&f.reduce, "reduce", false, "leave out the edges that only repeat what a longer path says")
	cmd.Flags().StringVar(&f.out, "out", "", "write to this `file` instead of standard output")
	return cmd
}

func (f *graphFlags) run(ctx context.Context, a *app) error {
	g, ds, err := f.graph(ctx, a)
	if err != nil {
		return err
	}
	printDiagnostics(a.err, ds)
	if g == nil {
		return withCode(exitUsage, nil)
	}
	var buf bytes.Buffer
	if err := f.draw(ctx, &buf, g); err != nil {
		return err
	}
	if f.out == "" || f.out == "-" {
		_, err = a.out.Write(buf.Bytes())
	} else {
		err = writeFile(f.out, buf.Bytes())
	}
	if err == nil && ds.Err() != nil {
		err = withCode(exitUsage, nil)
	}
	return err
}

// graph returns the graph as far as it can be drawn, and what is wrong with it.
func (f *graphFlags) graph(ctx context.Context, a *app) (*engine.Graph, schema.Diagnostics, error) {
	d, err := f.input.declared(ctx, a)
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		return nil, ds, nil
	}
	if err != nil {
		return nil, nil, err
	}
	g, ds := gapi.Build(engine.DefaultRegistry(), d)
	if g == nil {
		g = gapi.Sketch(engine.DefaultRegistry(), d)
	}
	return g, ds, nil
}

func (f *graphFlags) draw(ctx context.Context, w io.Writer, g *engine.Graph) error {
	o := drawOptions(g)
	o.Reduce, o.Direction = f.reduce, f.direction.word
	switch f.output.word {
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

// drawOptions gives each resource its kind as a class, for style sheets.
func drawOptions(g *engine.Graph) graph.DrawOptions {
	return graph.DrawOptions{Style: func(i int) graph.Style {
		kind, _, _ := strings.Cut(g.ID(i), "[")
		return graph.Style{Classes: []string{"kind-" + kind}}
	}}
}

func drawSVG(ctx context.Context, w io.Writer, g *engine.Graph, o graph.DrawOptions) error {
	path, err := exec.LookPath("dot")
	if err != nil {
		return errors.New("svg needs the program dot of Graphviz, which is not installed; -o dot and -o mermaid need nothing")
	}
	var in, errs bytes.Buffer
	if err := g.WriteDOT(&in, o); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, "-Tsvg")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, w, &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", path, err, visible(errs.String()))
	}
	return nil
}
