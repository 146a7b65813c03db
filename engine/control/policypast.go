package control

import (
	"context"
	"time"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// PastOf returns what the events of a Recorder tell of a resource. What cannot be read counts as never.
func PastOf(ctx context.Context, h *journal.History, resource string) (p reactor.Past) {
	last := func(o Outcome) (at time.Time) {
		for e, err := range h.Query(ctx, journal.Query{Resource: resource, Outcome: string(o), Newest: true, Limit: 1}) {
			if err == nil {
				at = e.At
			}
		}
		return at
	}
	p.Changed, p.Failed = last(Changed), last(Failed)
	newest := p.Changed
	if p.Failed.After(newest) {
		newest = p.Failed
	}
	if newest.IsZero() {
		return p
	}
	for e, err := range h.Query(ctx, journal.Query{Resource: resource, From: h.Now().Add(-24 * time.Hour)}) {
		switch {
		case err != nil:
		case e.Outcome == string(Changed):
			p.Changes++
		case e.Outcome == string(Failed):
			p.Failures++
		}
	}
	return p
}
