package show

import (
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// TestFindingL4Words: the log, the status and the history say converged only where all is as wanted.
func TestFindingL4Words(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		state resgraph.State
		more  func(*control.Status)
		want  string
	}{
		{resgraph.StateOK, nil, "converged"},
		{resgraph.StateFailed, nil, "at rest"},
		{resgraph.StateBlocked, nil, "at rest"},
		{resgraph.StateHeld, nil, "at rest"},
		{resgraph.StatePaused, nil, "at rest"},
		{resgraph.StateWouldChange, nil, "at rest"},
		{resgraph.StateUnknown, nil, "at rest"},
		{resgraph.StateOK, func(st *control.Status) { st.Refused = "no" }, "at rest"},
		{resgraph.StateOK, func(st *control.Status) { st.Held = "no" }, "at rest"},
		{resgraph.StateFailed, func(st *control.Status) { st.Converged = false }, "not converged"},
	} {
		var n reactor.Counts
		n[resgraph.StateOK]++
		n[c.state]++
		words := map[string]int{}
		for s, count := range n {
			if count > 0 {
				words[resgraph.State(s).String()] = count
			}
		}
		st := &control.Status{Graph: "g", Counts: words, Converged: true}
		st.Since = noon.Add(-time.Minute)
		if c.more != nil {
			c.more(st)
		}
		if got := render.RestText(st, render.Style{}, noon); got != c.want+" for 1m0s" {
			t.Errorf("status of %v: %q, want %q", words, got, c.want)
		}
		if c.more != nil {
			continue
		}
		if got := render.WhatHappened(&control.Event{Outcome: control.Converged, Counts: words}, render.Style{}); !strings.HasPrefix(got, c.want+": ") {
			t.Errorf("event of %v: %q, want %q", words, got, c.want)
		}
		log := withoutTime(shown(&Flags{}, func(p *Presenter) { p.converged(true, n) }))
		if !strings.Contains(log, " "+c.want+": ") {
			t.Errorf("log of %v: %q, want %q", words, log, c.want)
		}
	}
}
