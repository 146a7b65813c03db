package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/selection"
)

// chooser has the resources of one moment, of which requests select some.
type chooser struct {
	g      *resgraph.Graph // nil before the first
	states map[string]*reactor.Status
	absent []selection.Item // with a pause, and not in the graph
}

// inEffect returns the graph in effect, nil before the first. The Recorder is told of a graph some time after it has taken effect.
func (s *Server) inEffect(ctx context.Context) (*resgraph.Graph, error) {
	err := s.opt.Engine.Told(ctx)
	if err == nil {
		err = s.opt.Recorder.awaitLoaded(ctx)
	}
	return s.opt.Recorder.Graph(), err
}

// chooser returns one with the states of the graph, if it is to have them.
func (s *Server) chooser(ctx context.Context, states bool) (*chooser, error) {
	g, err := s.inEffect(ctx)
	if err != nil {
		return nil, err
	}
	c := &chooser{g: g}
	if !states {
		return c, nil
	}
	now, err := s.opt.Engine.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	c.know(now.Statuses)
	return c, nil
}

// know takes the states of all resources.
func (c *chooser) know(list []reactor.Status) {
	c.states = make(map[string]*reactor.Status, len(list))
	for i := range list {
		c.states[list[i].Resource] = &list[i]
	}
}

// read reads the text of a request. A text that names a resource or a member of a group means that one.
func (c *chooser) read(text string) (selection.Selection, error) {
	sel, err := selection.Of(text, c.has)
	if e, ok := errors.AsType[*selection.Error](err); ok {
		return sel, &Error{http.StatusBadRequest, e.Error(), ""}
	}
	return sel, err
}

// has reports whether there is a resource, or a member of a group, with an id.
func (c *chooser) has(id string) bool {
	if c.g == nil {
		return false
	}
	_, ok := resgraph.Find(c.g, id)
	return ok
}

// items returns what a selection may know of a vertex: of itself, and of the members of its group.
func (c *chooser) items(i int) []selection.Item {
	items := selection.Items(c.g.ID(i), c.g.Value(i))
	if st := c.states[c.g.ID(i)]; st != nil {
		for j := range items {
			items[j].Rest, items[j].State = st.Rest.String(), st.State.String()
		}
	}
	return items
}

// chosen is what a request selects.
type chosen struct {
	ids []string // of the vertices, in the order of the graph; then what is absent
	one bool     // a single resource is named, and not a pattern
}

// choose returns what a text selects, at least one.
func (c *chooser) choose(text string) (chosen, error) {
	sel, err := c.read(text)
	if err != nil {
		return chosen{}, err
	}
	if c.g == nil && len(c.absent) == 0 {
		return chosen{}, errNoGraph
	}
	id, one := sel.ID()
	if one && c.has(id) {
		at, _ := resgraph.Find(c.g, id)
		return chosen{[]string{c.g.ID(at)}, true}, nil
	}
	out := chosen{one: one}
	var all []selection.Item
	if c.g != nil {
		for at := range c.g.Len() {
			items := c.items(at)
			if slices.ContainsFunc(items, sel.Match) {
				out.ids = append(out.ids, c.g.ID(at))
			}
			all = append(all, items...)
		}
	}
	for _, i := range c.absent {
		if sel.Match(i) {
			out.ids = append(out.ids, i.Kind+"["+i.Name+"]")
		}
	}
	switch {
	case len(out.ids) > 0:
		return out, nil
	case one && c.g != nil:
		return chosen{}, unknown(c.g, id)
	}
	none := sel.None(text, append(all, c.absent...))
	return chosen{}, &Error{http.StatusNotFound, none.Short(), none.Hint}
}

// chooseNow returns what each of some texts selects at this moment.
func (s *Server) chooseNow(ctx context.Context, texts ...string) ([]chosen, error) {
	asks := slices.ContainsFunc(texts, func(text string) bool {
		sel, _ := selection.Parse(text) // without the states, names decide
		return sel.Asks("state")
	})
	c, err := s.chooser(ctx, asks)
	if err != nil {
		return nil, err
	}
	list := make([]chosen, len(texts))
	for i, text := range texts {
		if list[i], err = c.choose(text); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// chooseAbsent is chooseNow with what is paused and not in the graph.
func (s *Server) chooseAbsent(ctx context.Context, text string) (chosen, error) {
	c, err := s.chooser(ctx, false)
	if err != nil {
		return chosen{}, err
	}
	now, err := s.opt.Engine.Snapshot(ctx)
	if err != nil {
		return chosen{}, err
	}
	c.know(now.Statuses)
	c.away(now.Absent)
	return c.choose(text)
}

// away takes the pauses of resources that are not in the graph.
func (c *chooser) away(absent []reactor.Pause) {
	for _, p := range absent {
		i := selection.Named(p.Resource)
		i.Rest = resgraph.StatePaused.String()
		c.absent = append(c.absent, i)
	}
}

// narrow has a query be about what its Resource selects. A resource that has left the graph is selected by its kind and its name. missing
// is the error where nothing in the graph is selected: perhaps the history knows it.
func (s *Server) narrow(ctx context.Context, q *Query) (missing, err error) {
	text := q.Resource
	if text == "" || s.own(&q.Resource) == nil {
		return nil, nil
	}
	sel, err := pastSelection(ctx, s.opt.History, text)
	if err != nil {
		return nil, err
	}
	if id, one := sel.ID(); one {
		q.Resource = id
		return s.own(&q.Resource), nil
	}
	c, err := s.chooser(ctx, sel.Asks("state"))
	if err != nil {
		return nil, err
	}
	chosen, missing := c.choose(text)
	among := make(map[string]bool, len(chosen.ids))
	for _, id := range chosen.ids {
		among[id] = true
	}
	q.Resource, q.among = "", func(id string) bool { return among[id] || sel.Match(selection.Named(id)) }
	return missing, nil
}

// pastSelection reads a text: as a resource of the history, where it names such a one.
func pastSelection(ctx context.Context, h reader, text string) (selection.Selection, error) {
	var failed error
	sel, err := selection.Of(text, func(id string) bool {
		for _, err := range h.Query(ctx, journal.Query{Resource: id, Limit: 1}) {
			failed = err
			return err == nil
		}
		return false
	})
	if failed != nil {
		return sel, fmt.Errorf("the history cannot be read: %w", failed)
	}
	if err != nil {
		return sel, &Error{http.StatusBadRequest, err.Error(), ""}
	}
	return sel, nil
}
