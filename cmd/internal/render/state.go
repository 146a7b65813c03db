package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/selection"
)

// RestText says since when the graph is at rest, or not.
// The length is rounded for people.
func RestText(st *control.Status, s Style, now time.Time) string {
	since := RoundTime(now.Sub(st.Since))
	rest := st.Rest()
	word, color := rest.Word(), WellColor(rest.Counts)
	if st.Converged && (st.Refused != "" || st.Held != "") {
		word = "at rest" // the newest graph is not in effect
	}
	if word != "converged" {
		color = Yellow
	}
	return fmt.Sprintf("%s for %s", s.Paint(color, word), since)
}

// CountWords counts the resources by state, in the order of the states.
// States without a resource are left out.
func CountWords(counts map[string]int) string {
	var parts []string
	for _, word := range selection.States() {
		if n := counts[word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	if len(parts) == 0 {
		return "no resources"
	}
	return strings.Join(parts, ", ")
}

// AgainText says when a failed resource is tried again.
// A try that goes on has no next one.
func AgainText(r *control.Resource) string {
	if r.Doing != "" {
		return " (trying again now)"
	}
	return retryText(r.RetryIn)
}

// retryText says when the next try is due.
// The time is in seconds; 0 means that no try is due.
func retryText(in float64) string {
	if in == 0 {
		return ""
	}
	return fmt.Sprintf(" (trying again in %s)", RoundTime(SpanOf(in)))
}

// SpanOf turns seconds into a span of time.
func SpanOf(sec float64) time.Duration { return time.Duration(sec * float64(time.Second)) }

// PauseText says the end and the reason of a pause. The time has the form of moment.
func PauseText(p *control.Pause, s Style) string {
	text := s.Paint(Yellow, "paused") + " until "
	if p.Until.IsZero() {
		text += "it is resumed"
	} else {
		text += s.Moment(p.Until)
	}
	if p.Reason != "" {
		text += ": " + Visible(p.Reason)
	}
	return text
}

// HeldText names the limit, and how the resource goes on.
// A hold with a time ends by itself, any other one waits for mgmt resume.
func HeldText(h *control.Hold, s Style) string {
	if h.Limit == reactor.LimitApproval {
		return fmt.Sprintf("%s: %s", s.Paint(Yellow, "held"), Visible(h.Reason))
	}
	text := fmt.Sprintf("%s by the limit %s: %s", s.Paint(Yellow, "held"), h.Limit, Visible(h.Reason))
	if h.For > 0 {
		return text + fmt.Sprintf(" (goes on in %s)", RoundTime(SpanOf(h.For)))
	}
	return text + " (goes on after mgmt resume)"
}

// StandText says how one resource stands, and and whether it is also paused.
// The order of the cases matters: a paused state is told by its pause alone.
func StandText(r *control.Resource, s Style) string {
	switch {
	case r.Pause == nil:
		return stateText(r, s)
	case r.State == resgraph.StatePaused.String():
		return PauseText(r.Pause, s)
	default:
		return stateText(r, s) + "; " + PauseText(r.Pause, s)
	}
}

// stateText says the state of one resource with its reason: the error, the blocking
// resource, the pause or the limit.
// A held resource is told by its limit, whatever its state is.
func stateText(r *control.Resource, s Style) string {
	if r.Held != nil {
		return HeldText(r.Held, s)
	}
	text := s.Paint(StateColor(r.State), r.State)
	switch {
	case r.Error != "":
		text += ": " + Visible(r.Error) + AgainText(r)
	case r.BlockedBy != "" && r.State == resgraph.StatePaused.String():
		text += " with " + Visible(r.BlockedBy)
	case r.BlockedBy != "" && r.State == resgraph.StateBlocked.String():
		text += " by " + Visible(r.BlockedBy)
	case r.BlockedBy != "":
		text += " for " + Visible(r.BlockedBy)
	case r.WaitsFor != "":
		text += " for " + Visible(r.WaitsFor)
	case r.Until != "":
		text += " until " + Visible(r.Until) + " has run"
	}
	return text
}

// StateColor is the color of a state.
func StateColor(word string) string {
	switch word {
	case "ok":
		return Green
	case "failed", "blocked":
		return Red
	default:
		return Yellow
	}
}
