// Package merge is a frontend that yields one graph made of the graphs of several frontends.
//
// # Laws
//
//   - The first graph comes when each frontend has yielded one, or has ended. From then on, each new graph of one frontend
//     makes another whole, with the latest graphs of the others.
//   - A frontend's part (gapi.Part) makes a part of the whole, unless another frontend names the same resources.
//   - A frontend's error is yielded. Its last graph stays in the whole, and the other frontends go on.
//   - A frontend gets its next turn when the whole that holds its graph was judged, as if it were alone.
//   - The graph's name, comment and place are those of the first frontend that has a name.
//   - The sequence ends when all frontends have ended.
package merge

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/gapi"
)

// New returns a frontend that yields the common graph of the frontends. A resource that two of them declare is an
// error of Build, which names both places.
func New(list ...gapi.Frontend) gapi.Frontend {
	if len(list) == 1 {
		return list[0]
	}
	return frontend(list)
}

type frontend []gapi.Frontend

// Graphs implements gapi.Frontend.
func (f frontend) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		m := &merger{env: env, turns: make(chan turn), last: make([]*gapi.Declared, len(f)), alive: len(f)}
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		for i := range f {
			in := &input{at: i, judged: make(chan struct{})}
			own := env
			own.Before = nil
			if env.Reload != nil {
				in.reload = make(chan struct{})
				own.Reload = in.reload
			}
			m.inputs = append(m.inputs, in)
			wg.Go(func() { in.run(ctx, f[i].Graphs(ctx, own), m.turns) })
		}
		m.run(ctx, yield)
	}
}

// input is one frontend.
type input struct {
	at     int
	judged chan struct{} // one token for each turn
	reload chan struct{} // nil without a question

	// These fields are the merger's.
	ended bool
	first bool            // it has yielded
	ids   map[string]bool // the ids of its last graph; nil for not asked
	edges bool            // that graph has edges that are declared by themselves
}

// turn is what a frontend yields, or its end.
type turn struct {
	from  *input
	graph *gapi.Declared
	err   error
	end   bool
}

// run gives each graph to the merger, and waits until it was judged.
func (in *input) run(ctx context.Context, graphs iter.Seq2[*gapi.Declared, error], to chan<- turn) {
	for d, err := range graphs {
		select {
		case to <- turn{from: in, graph: d, err: err}:
		case <-ctx.Done():
			return
		}
		select {
		case <-in.judged:
		case <-ctx.Done():
			return
		}
	}
	select {
	case to <- turn{from: in, end: true}:
	case <-ctx.Done():
	}
}

// merger is one iteration.
type merger struct {
	env    gapi.Env
	turns  chan turn
	inputs []*input
	last   []*gapi.Declared // by input
	alive  int
}

// run yields until all have ended, or nothing more is wanted.
func (m *merger) run(ctx context.Context, yield func(*gapi.Declared, error) bool) {
	for m.alive > 0 {
		select {
		case t := <-m.turns:
			if !m.take(ctx, t, yield) {
				return
			}
		case <-m.env.Reload:
			if !yield(m.ask(ctx)) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// take yields what a turn makes of the whole. It reports whether the iteration goes on.
func (m *merger) take(ctx context.Context, t turn, yield func(*gapi.Declared, error) bool) bool {
	complete := m.complete()
	m.note(t)
	if t.err != nil && !yield(nil, t.err) {
		return false
	}
	begins := m.complete() && !complete // a graph may wait for this turn
	some := slices.ContainsFunc(m.last, func(d *gapi.Declared) bool { return d != nil })
	if some && (begins || m.complete() && t.graph != nil) && !yield(m.graph(t, begins), nil) {
		return false
	}
	return t.end || m.release(ctx, t.from)
}

// note remembers a turn.
func (m *merger) note(t turn) {
	t.from.first = true
	switch {
	case t.end:
		t.from.ended = true
		m.alive--
	case t.err == nil:
		m.last[t.from.at] = t.graph
		t.from.ids = nil
	}
}

// graph returns the whole after a turn: as a part where the turn is one, and the whole was yielded before.
func (m *merger) graph(t turn, begins bool) *gapi.Declared {
	w := m.whole()
	if t.graph != nil {
		w.Origin.By = t.graph.Origin.By
	}
	if begins || t.graph == nil || t.graph.Part == nil {
		return w
	}
	p := *t.graph.Part
	p.All, p.Whole = p.All || w.Partial || !m.apart(t.from, &p), w.Part.Whole
	w.Part = &p
	return w
}

// apart reports whether the other frontends declare nothing that a part is about.
func (m *merger) apart(from *input, p *gapi.Part) bool {
	for _, in := range m.inputs {
		d := m.last[in.at]
		switch {
		case in == from || d == nil:
			continue
		case in.ids == nil:
			whole := d.Complete()
			in.ids, in.edges = whole.IDs(), len(whole.Edges) > 0
		}
		if in.edges && len(p.Removed) > 0 { // an edge may lead to a removed resource
			return false
		}
		if slices.ContainsFunc(p.Removed, func(id string) bool { return in.ids[id] }) ||
			slices.ContainsFunc(p.Resources, func(r gapi.Declaration) bool { return in.ids[r.ID()] }) {
			return false
		}
	}
	return true
}

// release lets a frontend go on.
func (m *merger) release(ctx context.Context, in *input) bool {
	select {
	case in.judged <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// complete reports whether each frontend has yielded or ended.
func (m *merger) complete() bool {
	return !slices.ContainsFunc(m.inputs, func(in *input) bool { return !in.first })
}

// ask has each frontend read its input again, and returns the whole, or the errors.
func (m *merger) ask(ctx context.Context) (*gapi.Declared, error) {
	if m.env.Before != nil {
		if err := m.env.Before(ctx); err != nil {
			return nil, err
		}
	}
	var errs []error
	for _, in := range m.inputs {
		errs = append(errs, m.askOne(ctx, in))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, cmp.Or(only(errs), err)
	}
	return m.whole(), ctx.Err()
}

// only returns the error where there is one, so that its type is kept.
func only(errs []error) (one error) {
	for _, err := range errs {
		switch {
		case err == nil:
		case one != nil:
			return nil
		default:
			one = err
		}
	}
	return one
}

// askOne returns the error of the frontend's answer. Turns that come before the frontend has taken the question are noted,
// and no answer.
func (m *merger) askOne(ctx context.Context, in *input) error {
	ask := in.reload
	for !in.ended {
		select {
		case ask <- struct{}{}:
			ask = nil
		case t := <-m.turns:
			m.note(t)
			if !t.end && !m.release(ctx, t.from) {
				return ctx.Err()
			}
			if t.from == in && ask == nil {
				return t.err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// whole puts the graphs together. Where one of them is given as a part, so is the whole.
func (m *merger) whole() *gapi.Declared {
	list := slices.Clone(m.last)
	list = slices.DeleteFunc(list, func(d *gapi.Declared) bool { return d == nil })
	var w *gapi.Declared
	if !slices.ContainsFunc(list, func(d *gapi.Declared) bool { return d.Part != nil }) {
		w = together(list)
	} else {
		w = heading(list)
		w.Part = &gapi.Part{All: true, Whole: func() *gapi.Declared { return together(list) }}
	}
	w.Done = func(o gapi.Outcome) {
		for _, d := range list {
			if d.Done != nil {
				d.Done(o)
			}
		}
	}
	return w
}

// heading returns a whole without its lists.
func heading(list []*gapi.Declared) *gapi.Declared {
	w := &gapi.Declared{}
	for _, d := range list {
		if w.Name == "" {
			w.Name, w.Comment, w.Pos = d.Name, d.Comment, d.Pos
		}
		w.Noop, w.Authored, w.Thorough, w.Partial = w.Noop || d.Noop, cmp.Or(w.Authored, d.Authored), w.Thorough || d.Thorough, w.Partial || d.Partial
		w.Again, w.Origin = w.Again || d.Again, w.Origin.And(d.Origin)
	}
	return w
}

// together makes a whole of graphs. The lists of a frontend that alone declares something are taken as they are.
func together(list []*gapi.Declared) *gapi.Declared {
	w := heading(list)
	for _, d := range list {
		d = d.Complete()
		w.Kinds, w.Resources = joined(w.Kinds, d.Kinds), joined(w.Resources, d.Resources)
		w.Edges, w.Problems = joined(w.Edges, d.Edges), joined(w.Problems, d.Problems)
		w.Collects = joined(w.Collects, d.Collects)
	}
	return w
}

// joined returns both lists as one, and alters neither.
func joined[T any](a, b []T) []T {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return slices.Concat(a, b)
}
