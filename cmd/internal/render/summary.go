package render

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// OnlyRefreshes reports whether a step does nothing but act on a notification.
// A step without changes is none of them.
func OnlyRefreshes(s *mgmt.Step) bool {
	for _, c := range s.Changes {
		if c.Verb != engine.Refreshed {
			return false
		}
	}
	return len(s.Changes) > 0
}

// summary counts the steps of a plan by their effect.
// Its keys are part of the output in JSON.
// Each step is counted once, so the sum is the number of resources.
type summary struct {
	Change  int `json:"change"`
	Refresh int `json:"refresh"`
	Unknown int `json:"unknown"`
	Failed  int `json:"failed"`
	Blocked int `json:"blocked"`
	OK      int `json:"ok"`
	Leaving int `json:"leaving"` // not in the graph any more; its work stays
}

// SummaryOf counts the steps. A step that only refreshes is counted apart, since nothing
// differs there.
func SummaryOf(p *mgmt.Preview) summary {
	s := summary{Leaving: len(p.Leaving)}
	for i := range p.Steps {
		switch st := &p.Steps[i]; st.State {
		case resgraph.StateWouldChange:
			if OnlyRefreshes(st) {
				s.Refresh++
			} else {
				s.Change++
			}
		case resgraph.StateUnknown:
			s.Unknown++
		case resgraph.StateFailed:
			s.Failed++
		case resgraph.StateOK:
			s.OK++
		// A resource that is paused or held would not run either, so it counts as blocked.
		default:
			s.Blocked++
		}
	}
	return s
}

// Text lists the counts that are not zero.
// The order is by weight: changes first, and resources that are right last.
func (s summary) Text() string {
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{s.Change, "to change"}, {s.Refresh, "to refresh"}, {s.Unknown, "unknown"}, {s.Failed, "failed"}, {s.Blocked, "blocked"}, {s.Leaving, "leaving"}, {s.OK, "ok"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(parts) == 0 {
		return "no resources"
	}
	return strings.Join(parts, ", ")
}
