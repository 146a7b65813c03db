package control

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/selection"
)

// reader answers questions about the past.
// A daemon's History and that of a dead one both have it.
type reader interface {
	Query(context.Context, journal.Query) iter.Seq2[journal.Entry, error]
}

// Past answers from a history in the place of a daemon, where none runs. It knows the kept
// events, but no graph, no state, and no run that had nothing to do. History is required.
type Past struct {
	History interface {
		Query(context.Context, journal.Query) iter.Seq2[journal.Entry, error]
	}
}

// Log returns the newest events that fit, as Client.Log does.
func (p Past) Log(ctx context.Context, q Query) (*Log, error) {
	limit := cmp.Or(q.Limit, someEvents)
	if q.Resource != "" {
		sel, err := p.read(ctx, q.Resource)
		if err != nil {
			return nil, err
		}
		if id, one := sel.ID(); one {
			q.Resource = id
		} else {
			q.Resource, q.among = "", func(id string) bool { return sel.Match(selection.Named(id)) }
		}
	}
	q.Limit = limit + 1
	events, err := newestIn(ctx, p.History, q)
	if err != nil {
		return nil, err
	}
	return logOf(events, limit), nil
}

// read reads a selection of what the history knows.
func (p Past) read(ctx context.Context, text string) (selection.Selection, error) {
	sel, err := pastSelection(ctx, p.History, text)
	if err == nil && sel.Asks("module", "label", "state") {
		err = bad("start the daemon, or select by kind and name", "a history alone knows no module, label or state of a resource")
	}
	return sel, err
}

// Choose returns the resources that a selection has, as Client.Choose does. The one with the newest event is the first.
func (p Past) Choose(ctx context.Context, text string, limit int) (*Names, error) {
	sel, err := p.read(ctx, text)
	if err != nil {
		return nil, err
	}
	out := &Names{Resources: []string{}}
	var items []selection.Item
	seen := map[string]bool{"": true}
	for entry, err := range p.History.Query(ctx, journal.Query{Newest: true}) {
		if err != nil {
			return nil, fmt.Errorf("the history cannot be read: %w", err)
		}
		if seen[entry.Resource] {
			continue
		}
		seen[entry.Resource] = true
		i := selection.Named(entry.Resource)
		items = append(items, i)
		if !sel.Match(i) {
			continue
		}
		if out.All++; out.All <= limit {
			out.Resources = append(out.Resources, entry.Resource)
		}
	}
	if _, out.One = sel.ID(); out.All > 0 {
		return out, nil
	}
	none := sel.None(text, items)
	return nil, &Error{http.StatusNotFound, none.Short(), none.Hint}
}

// Why returns the last n runs of a resource and what led to them, as Client.Why does. A
// resource that the history does not know is an *Error.
func (p Past) Why(ctx context.Context, resource string, n int) (*Why, error) {
	runs, err := newestIn(ctx, p.History, Query{Resource: resource, Outcomes: runOutcomes, Limit: n})
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, &Error{http.StatusNotFound, resource + " is not in the history", "mgmt log shows what is"}
	}
	c := chain{run: func(ctx context.Context, t *Trigger, e *Event) *Event { return runIn(ctx, p.History, t, e) }, left: maxCauses}
	for _, e := range runs {
		c.explain(ctx, e, maxChain)
	}
	return &Why{Resource: resource, Runs: runs}, nil
}
