package mgmt

import (
	"context"
	"log/slog"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/transform"
)

// transformed is a graph that has gone through the steps.
type transformed struct {
	base    *engine.Graph // before resources were put into groups
	grouped *engine.Graph
	leftOut bool // a step has left an edge out
}

// transform turns a declared graph into the running one, and logs the important
// notes. noop says that the graph as a whole only looks.
func (s *session) transform(ctx context.Context, g *engine.Graph, noop bool, known transform.Known) (t transformed, err error) {
	notes := &transform.Notes{}
	if t.base, err = transform.Run(ctx, g, s.steps(noop, known), notes); err != nil {
		return t, err
	}
	t.grouped = t.base
	if !s.opt.NoAutoGroup {
		if t.grouped, err = transform.Run(ctx, t.base, []transform.Step{transform.AutoGroup()}, notes); err != nil {
			return t, err
		}
	}
	s.logGroups(ctx, t.grouped)
	s.logNotes(ctx, notes)
	t.leftOut = slices.ContainsFunc(notes.List, func(n transform.Note) bool { return n.Kind == transform.EdgeLeftOut })
	return t, nil
}

// logNotes logs what steps have to say.
func (s *session) logNotes(ctx context.Context, notes *transform.Notes) {
	for _, n := range notes.List {
		level := slog.LevelInfo
		if n.Kind == transform.Skipped || n.Kind == transform.NotReversed {
			level = slog.LevelWarn
		}
		attrs := []slog.Attr{slog.String("step", n.Step), slog.String("reason", n.Reason)}
		if len(n.Vertices) == 1 {
			attrs = append(attrs, slog.String("resource", n.Vertices[0]))
		}
		s.opt.Logger.LogAttrs(ctx, level, n.Kind, attrs...)
	}
}

// logGroups says why there are fewer vertices than the graph declares.
func (s *session) logGroups(ctx context.Context, g *engine.Graph) {
	groups, members := 0, 0
	for _, v := range g.All() {
		if len(v.Special().Group) > 0 {
			groups++
			members += 1 + len(v.Special().Group)
		}
	}
	if groups > 0 {
		s.opt.Logger.LogAttrs(ctx, slog.LevelInfo, "resources run together", slog.Int("resources", members), slog.Int("groups", groups),
			slog.Int("in_all", g.Len()+members-groups), slog.Int("vertices", g.Len()))
	}
}

// steps returns the steps that each graph goes through, in order, but for AutoGroup.
func (s *session) steps(noop bool, known transform.Known) []transform.Step {
	o := &s.opt
	return transform.Steps(transform.Options{
		NoAutoEdges: o.NoAutoEdges, NoAutoGroup: true, Memory: &s.memory, Host: s.host, Known: known,
		Undoing: transform.Undoing{Store: s.store, Registry: s.e.registry(), Noop: noop},
	})
}
