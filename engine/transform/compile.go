package transform

import (
	"context"
	"log/slog"
	"slices"

	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Compiled is a graph that has gone through all steps, and the form before its resources were put into groups. Both share their
// vertices, and are the same graph where there are no groups.
type Compiled struct {
	Base    *resgraph.Graph // before AutoGroup
	Grouped *resgraph.Graph
	Notes   Notes // the important ones

	ungrouped bool // AutoGroup is off
}

// Compile turns a declared graph into the running one. The error is that of the step that could not be done.
func Compile(ctx context.Context, g *resgraph.Graph, o Options) (c Compiled, err error) {
	grouped := !o.NoAutoGroup
	o.NoAutoGroup = true
	if c.Base, err = Run(ctx, g, Steps(o), &c.Notes); err != nil {
		return c, err
	}
	c.Grouped, c.ungrouped = c.Base, !grouped
	if grouped {
		c.Grouped, err = Run(ctx, c.Base, []Step{AutoGroup()}, &c.Notes)
	}
	return c, err
}

// Parts opens the graph to changes of its parts; see NewParts. The Memory is that of the Options of Compile.
func (c *Compiled) Parts(m *Memory) *Parts {
	leftOut := slices.ContainsFunc(c.Notes.List, func(n Note) bool { return n.Kind == EdgeLeftOut })
	p := NewParts(c.Base, c.Grouped, m, leftOut)
	p.ungrouped = c.ungrouped
	return p
}

// Log logs the notes, and why there are fewer vertices than the graph declares.
func (c *Compiled) Log(ctx context.Context, log *slog.Logger) {
	groups, members := 0, 0
	for _, v := range c.Grouped.All() {
		if n := len(v.Special().Group); n > 0 {
			groups++
			members += 1 + n
		}
	}
	if groups > 0 {
		log.LogAttrs(ctx, slog.LevelInfo, "resources run together", slog.Int("resources", members), slog.Int("groups", groups),
			slog.Int("in_all", c.Grouped.Len()+members-groups), slog.Int("vertices", c.Grouped.Len()))
	}
	c.Notes.Log(ctx, log)
}

// Log logs each note. A fault of a resource that costs it something is a warning.
func (n *Notes) Log(ctx context.Context, log *slog.Logger) {
	for _, note := range n.List {
		level := slog.LevelInfo
		if note.Kind == Skipped || note.Kind == NotReversed {
			level = slog.LevelWarn
		}
		attrs := []slog.Attr{slog.String("step", note.Step), slog.String("reason", note.Reason)}
		if len(note.Vertices) == 1 {
			attrs = append(attrs, slog.String("resource", note.Vertices[0]))
		}
		log.LogAttrs(ctx, level, note.Kind, attrs...)
	}
}
