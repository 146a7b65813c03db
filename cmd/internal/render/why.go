package render

import (
	"strings"

	"github.com/reactivegraph/mgmt/engine/control"
)

// WhyText is the state of a resource and its runs, the newest first, for people. A resource without runs gets a line that says so. With past, no
// daemon runs.
func WhyText(why *control.Why, s Style, past bool) string {
	w := &whyWriter{style: s, past: past}
	w.all(why)
	return w.String()
}

// RunsText is the part of WhyText about the runs.
func RunsText(runs []*control.Event, s Style) string {
	w := &whyWriter{style: s}
	w.runs(runs)
	return w.String()
}

// whyWriter writes runs and their causes for people.
// It is a buffer, so its methods return no errors. Each level is indented by two blanks.
type whyWriter struct {
	strings.Builder
	style Style
	past  bool // no daemon runs
}

// line writes an indented line.
func (w *whyWriter) line(depth int, text string) {
	w.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

// all writes the state of a resource and its runs, the newest first. A resource without runs gets
// a line that says so.
func (w *whyWriter) all(why *control.Why) {
	head := w.style.Name(Visible(why.Resource)) + " is no longer in the graph"
	switch {
	case w.past:
		head = w.style.Name(Visible(why.Resource)) + ", as the last daemon has left it"
	case why.Status != nil:
		head = w.style.Name(Visible(why.Resource)) + " " + StandText(why.Status, w.style)
	}
	if why.Member != "" {
		head += ", and runs for " + Visible(why.Member)
	}
	w.line(0, head)
	w.runs(why.Runs)
}

// runs writes runs, each after an empty line.
func (w *whyWriter) runs(list []*control.Event) {
	if len(list) == 0 {
		w.line(0, "no run of it is known: it has not run yet, or long ago with nothing to do")
	}
	for _, e := range list {
		w.line(0, "")
		w.event(0, e)
	}
}

// event writes one event, its changes, and its causes. A cause that is an event itself is written
// below, with its own causes.
func (w *whyWriter) event(depth int, e *control.Event) {
	// An event without a run is a graph, a pause or a start, and has no changes.
	if e.Run == 0 {
		w.line(depth, EventText(e, w.style))
		return
	}
	text := w.style.Dim(w.style.Moment(e.At)) + " " + w.style.Name(Visible(e.Resource)) + " " + RunText(e, w.style)
	if e.Seconds > 0 {
		text += w.style.Dim(" in " + RoundTime(SpanOf(e.Seconds)).String())
	}
	w.line(depth, text)
	for i := range e.Changes {
		w.change(depth+1, &e.Changes[i])
	}
	// The daemon bounds how deep the causes go, so the recursion ends.
	for i := range e.Triggers {
		t := &e.Triggers[i]
		w.line(depth+1, "because "+CauseText(t, e))
		if t.By != nil {
			w.event(depth+2, t.By)
		}
	}
}

// change writes one change, with a diff below it for texts of several lines.
// The diff has the form that the verb plan gives it.
func (w *whyWriter) change(depth int, c *control.Change) {
	change := ChangeOf(c)
	w.line(depth, w.style.Paint(Yellow, ChangeLine(change)))
	from, to, ok := Texts(change)
	if !ok {
		return
	}
	var diff strings.Builder
	WriteDiff(&diff, w.style, from, to)
	for line := range strings.Lines(diff.String()) {
		w.WriteString(strings.Repeat("  ", depth) + line)
	}
}
