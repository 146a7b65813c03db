package mgmt

import (
	"context"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/transform"
)

// transform turns a declared graph into the running one, and logs the important
// notes. noop says that the graph as a whole only looks.
func (s *session) transform(ctx context.Context, g *engine.Graph, noop bool, known transform.Known) (*engine.Graph, error) {
	notes := &transform.Notes{}
	g, err := transform.Run(ctx, g, s.steps(noop, known), notes)
	if err != nil {
		return nil, err
	}
	s.logGroups(ctx, g)
	for _, n := range notes.List {
		level := slog.LevelInfo
		if n.Kind == transform.Skipped || n.Kind == transform.NotReversed {
			level = slog.LevelWarn
		}
		attrs := []slog.Attr{slog.String("step", n.Step), slog.String("reason", n.Reason)}
		if len(n.Vertices) == 1 {
			attrs = append(attrs, slog.String("resource", n.Vertices[0]))
		}
		s.e.opt.Logger.LogAttrs(ctx, level, n.Kind, attrs...)
	}
	return g, nil
}

// logGroups says why there are fewer vertices than the graph declares.
func (s *session) logGroups(ctx context.Context, g *engine.Graph) {
	groups, members := 0, 0
	for _, v := range g.All() {
		if len(v.Group) > 0 {
			groups++
			members += 1 + len(v.Group)
		}
	}
	if groups > 0 {
		s.e.opt.Logger.LogAttrs(ctx, slog.LevelInfo, "resources run together", slog.Int("resources", members), slog.Int("groups", groups),
			slog.Int("in_all", g.Len()+members-groups), slog.Int("vertices", g.Len()))
	}
}

// steps returns the steps that each graph goes through, in order.
func (s *session) steps(noop bool, known transform.Known) []transform.Step {
	o := &s.e.opt
	return transform.Steps(transform.Options{
		NoAutoEdges: o.NoAutoEdges, NoAutoGroup: o.NoAutoGroup, Memory: &s.memory, Host: s.host, Known: known,
		Undoing: transform.Undoing{Store: s.store, Registry: s.e.registry(), Noop: noop},
	})
}
