package reactor

import (
	"context"
	"fmt"
	"slices"
)

// Drawing returns the edges of the graph that runs, as from>to, with ! where they carry refresh, and its vertices, sorted. The
// error says where what is kept twice does not agree.
func (r *Reactor) Drawing(ctx context.Context) (ids, edges []string, err error) {
	e := r.ask(ctx, func() {
		l := &r.loop
		if l.names.used != len(l.byIndex) {
			err = fmt.Errorf("%d names of %d vertices", l.names.used, len(l.byIndex))
		}
		for i, v := range l.byIndex {
			ids = append(ids, v.ID)
			if l.named(v.ID) != v || int(v.index) != i || l.bySlot[v.slot] != v {
				err = fmt.Errorf("%s stands nowhere, or twice", v.ID)
			}
			for _, slot := range l.m.Below(v.slot) {
				below := l.bySlot[slot]
				edge := v.ID + ">" + below.ID
				if slices.Contains(v.notify, below) {
					edge = v.ID + "!" + below.ID
				}
				if slices.Contains(v.notify, below) != slices.Contains(below.listens, v) || !l.tied(v, below) {
					err = fmt.Errorf("%s: one end does not know it", edge)
				}
				edges = append(edges, edge)
			}
			for _, t := range v.ties {
				if end := t.edge(v.slot); !slices.Contains(l.m.Below(end[0]), end[1]) {
					err = fmt.Errorf("%s: a tie to %d is no edge", v.ID, t.peer)
				}
			}
			if n := len(v.notify) + len(v.listens); n > len(l.m.Below(v.slot))+len(l.m.Above(v.slot)) {
				err = fmt.Errorf("%s: %d refreshes", v.ID, n)
			}
		}
	})
	slices.Sort(ids)
	slices.Sort(edges)
	if err == nil {
		err = e
	}
	return ids, edges, err
}

// DrawFresh has the edges of new vertices alone drawn wherever that is possible, also where it does not pay.
func (r *Reactor) DrawFresh(ctx context.Context) error {
	return r.do(ctx, func() { r.loop.mostNew = 1 })
}

// tied reports whether an edge was declared.
func (l *loop) tied(from, to *vertex) bool {
	is := func(v *vertex) func(tie) bool {
		return func(t tie) bool { return t.edge(v.slot) == [2]int32{from.slot, to.slot} }
	}
	return slices.ContainsFunc(from.ties, is(from)) || slices.ContainsFunc(to.ties, is(to))
}

// Joined adds a trigger to those of a run.
func Joined(list []Trigger, t Trigger) []Trigger { return joined(list, t) }

// Counts returns how many vertices are in each state at rest.
func (r *Reactor) Counts(ctx context.Context) (Counts, error) {
	s, err := r.Snapshot(ctx)
	return s.Rest.Counts, err
}

// Statuses returns the state of every vertex.
func (r *Reactor) Statuses(ctx context.Context) ([]Status, error) {
	s, err := r.Snapshot(ctx)
	return s.Statuses, err
}
