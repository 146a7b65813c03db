package plan

import (
	"context"
	"errors"

	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/engine/control"
)

// drawLive returns a drawing of the graph that the daemon runs.
// It needs a daemon, and ends with 1 without one. The drawing is of one moment.
func (f *graphFlags) drawLive(ctx context.Context) ([]byte, error) {
	if f.input.YAML != "" || f.input.Catalog != "" || f.input.TS != "" {
		return nil, errors.New("--live draws the daemon's graph, omit --yaml, --puppet-catalog and --ts")
	}
	q := control.GraphQuery{Format: f.output.Form(), Direction: f.direction.Word, Reduce: f.reduce}
	// The daemon runs no programs for a question, so Graphviz runs here.
	if q.Format == "svg" {
		q.Format = "dot"
	}
	drawing, err := f.remote.Client().Graph(ctx, q)
	if err != nil {
		return nil, remote.Explained(err)
	}
	if f.output.Form() == "svg" {
		return svgOf(ctx, drawing)
	}
	return drawing, nil
}
