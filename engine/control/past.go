package control

import (
	"cmp"
	"context"
	"iter"
	"net/http"

	"github.com/reactivegraph/mgmt/engine/journal"
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
	q.Limit = limit + 1
	events, err := newestIn(ctx, p.History, q)
	if err != nil {
		return nil, err
	}
	return logOf(events, limit), nil
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
