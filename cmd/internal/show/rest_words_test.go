package show

import (
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// TestFindingL4Words: the log, the status and the history say converged only where all is as wanted.
func TestFindingL4Words(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		state engine.State
		more  func(*control.Status)
		want  string
	}{
		{engine.StateOK, nil, "converged"},
		{engine.StateFailed, nil, "at rest"},
		{engine.StateBlocked, nil, "at rest"},
		{engine.StateHeld, nil, "at rest"},
		{engine.StatePaused, nil, "at rest"},
		{engine.StateWouldChange, nil, "at rest"},
		{engine.StateUnknown, nil, "at rest"},
		{engine.StateOK, func(st *control.Status) { st.Refused = "no" }, "at rest"},
		{engine.StateOK, func(st *control.Status) { st.Held = "no" }, "at rest"},
		{engine.StateFailed, func(st *control.Status) { st.Converged = false }, "not converged"},
	} {
		var n reactor.Counts
		n[engine.StateOK]++
		n[c.state]++
		words := map[string]int{}
		for s, count := range n {
			if count > 0 {
				words[engine.State(s).String()] = count
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
