package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
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
