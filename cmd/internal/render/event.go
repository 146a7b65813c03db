package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// EventText is an event on one line.
// It has no newline at its end.
func EventText(e *control.Event, s Style) string {
	return s.Dim(s.Moment(e.At)) + " " + WhatHappened(e, s)
}

// WhatHappened is one event in words. All text that comes from resources is made visible,
// since it may hold control characters.
func WhatHappened(e *control.Event, s Style) string {
	who := "everything"
	if e.Resource != "" {
		who = s.Name(Visible(e.Resource))
	}
	switch e.Outcome {
	case control.Started:
		return fmt.Sprintf("the daemon was started (pid %d, %s)", e.PID, Visible(e.Version))
	case control.Stopped:
		return "the daemon was stopped"
	case control.Graph:
		return graphText(e)
	case control.Refused:
		return s.Paint(Red, "a graph was refused") + ": " + Visible(e.Error)
	case control.Converged:
		rest := e.Rest()
		return s.Paint(WellColor(rest.Counts), rest.Word()) + ": " + CountWords(e.Counts)
	case control.Paused:
		return who + " " + PauseText(e.Pause, s) + byText(e)
	case control.Held:
		return who + " " + HeldText(e.Held, s)
	case control.Resumed:
		return who + " goes on" + byText(e) + reasonText(e)
	case control.TriedAgain:
		return who + " is tried again" + byText(e) + reasonText(e)
	case control.Approved:
		if e.Held != nil {
			return who + " is approved" + byText(e) + reasonText(e) + ", and waits for others"
		}
		return who + " is approved" + byText(e) + reasonText(e)
	case control.Rejected:
		return who + " is rejected" + byText(e) + reasonText(e)
	case control.Dropped:
		return droppedText(e)
	default:
		// All other outcomes are those of a run of one resource.
		return who + " " + RunText(e, s) + shortChanges(e) + shortCauses(e)
	}
}

// graphText says what a new graph has changed, as the log of the daemon does.
// An old history has no numbers for a graph.
func graphText(e *control.Event) string {
	if e.Graph == nil {
		return "another graph took effect"
	}
	return SwapText(reactor.Swap{
		Name: e.Graph.Name, Generation: e.Generation, Added: e.Graph.Added,
		Changed: e.Graph.Changed, Removed: e.Graph.Removed, Kept: e.Graph.Kept,
		Origin: provenance.Origin{By: e.By, Path: e.Graph.Path, Digest: e.Graph.Digest, Signer: e.Graph.Signer},
	}) + leavingList(e.Graph.Leaving, e.Graph.More)
}

// reasonText is what a person has said of a decision.
func reasonText(e *control.Event) string {
	if e.Reason == "" {
		return ""
	}
	return ": " + Visible(e.Reason)
}

// leavingList says on one line which resources have left, and what becomes of their work.
func leavingList(list []control.Leaving, more int) string {
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "; %s %s", Visible(l.Resource), LeavingText(l.Undone))
	}
	if more > 0 {
		b.WriteString("; " + MoreLeaving(more))
	}
	return b.String()
}

// byText says who has paused or resumed, where that is known.
func byText(e *control.Event) string {
	if e.By == "" {
		return ""
	}
	return " (by " + Visible(e.By) + ")"
}

// droppedText says how many events are missing in a stream.
func droppedText(e *control.Event) string {
	if e.Dropped == 0 {
		return "some events are missing here"
	}
	return fmt.Sprintf("%d events are missing here", e.Dropped)
}

// RunText says how a run ended.
// The class says why something was changed: intended, corrective or cascade.
func RunText(e *control.Event, s Style) string {
	text := s.Paint(outcomeColor(e.Outcome), outcomeText(e.Outcome))
	if e.Class != "" && e.Outcome == control.Changed {
		text += " (" + e.Class + ")"
	}
	if e.Until != "" {
		text += " until " + Visible(Awaited(e.Until))
	}
	if e.Error != "" {
		text += ": " + Visible(e.Error) + retryText(e.RetryIn)
	}
	return text
}

// outcomeText is the word for an outcome; most outcomes are words themselves.
func outcomeText(o control.Outcome) string {
	switch o {
	case control.WouldChange:
		return "would change"
	case control.Recovered:
		return "is ok again"
	case control.OK:
		return "was ok"
	case control.Unknown:
		return "is unknown"
	default:
		return string(o)
	}
}

// outcomeColor is red for failures, green for good news, and yellow for the rest.
func outcomeColor(o control.Outcome) string {
	switch o {
	case control.Failed:
		return Red
	case control.Changed, control.Recovered, control.OK:
		return Green
	default:
		return Yellow
	}
}

// ChangeOf turns a change back into the one of the engine.
// Long texts are not kept in the history; their length in bytes stands for them.
func ChangeOf(c *control.Change) engine.Change {
	out := engine.Change{Field: c.Field, Verb: c.Verb, From: c.From, To: c.To}
	if c.Unknown {
		out.To = engine.Unknown
	}
	for _, side := range []struct {
		to *any
		n  int
	}{{&out.From, c.FromBytes}, {&out.To, c.ToBytes}} {
		if side.n > 0 {
			*side.to = unkept(side.n)
		}
	}
	return out
}

// unkept stands for a text with only its length kept.
// Its value is the length in bytes.
type unkept int

// String has the form in which changes are shown.
func (n unkept) String() string { return fmt.Sprintf("(%d bytes)", int(n)) }

// shortChanges lists the changes of an event on one line.
func shortChanges(e *control.Event) string {
	var parts []string
	for i := range e.Changes {
		parts = append(parts, ChangeLine(ChangeOf(&e.Changes[i])))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// shortCauses lists the causes of an event on one line.
func shortCauses(e *control.Event) string {
	var parts []string
	for i := range e.Triggers {
		parts = append(parts, CauseText(&e.Triggers[i], e))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; because " + strings.Join(parts, ", and ")
}

// CauseText says what has asked for a run.
// The words complete the sentence "because ...". A cause that a newer daemon has is shown
// by its own word.
func CauseText(t *control.Trigger, e *control.Event) string {
	from := Visible(t.From)
	text := string(t.Cause)
	switch reactor.Cause(t.Cause) {
	case reactor.CauseGraph:
		text = fmt.Sprintf("the graph is new to it (generation %d)", e.Generation)
	case reactor.CauseDeclaration:
		text = "its declaration changed"
		if len(t.Fields) > 0 {
			text += ": " + Visible(strings.Join(t.Fields, ", "))
		}
	case reactor.CauseAnew:
		text = "mgmt looks at it anew, with the declaration of its last run"
	case reactor.CauseEvent:
		text = "of an event" + sourceText(t)
		if from != "" {
			text = from + " has written" + writtenText(t)
		}
	case reactor.CausePoll:
		text = "it is polled"
	case reactor.CauseRefresh:
		text = from + " has changed, which notifies it"
	case reactor.CauseValue:
		text = from + " has sent another value for " + Visible(t.Field)
	case reactor.CauseRetry:
		text = "it had failed and was tried again"
	case reactor.CauseBelow:
		text = from + " below it was about to fail"
	case reactor.CauseAsked:
		text = "it had failed, and a person asked for another try"
	case reactor.CauseWatch:
		text = "its watch was started again"
	case reactor.CauseSweep:
		text = "it is looked at from time to time"
	case reactor.CauseResume:
		text = "it was let go on"
	case reactor.CauseAbove:
		text = from + " above it came out differently"
	}
	if t.Merged > 1 {
		text += fmt.Sprintf(" (%d times)", t.Merged)
	}
	if t.Culprit != nil {
		text += ", by " + Visible((*provenance.Culprit)(t.Culprit).String())
	}
	if t.Resync {
		text += " (events may have been lost)"
	}
	return text
}

// writtenText says what a resource has written that another one reads.
func writtenText(t *control.Trigger) string {
	if t.Path == "" {
		return " what it reads"
	}
	return " " + Visible(t.Path)
}

// sourceText says which watch has seen an event, and on which path.
// It is empty for an event without a known source.
func sourceText(t *control.Trigger) string {
	switch {
	case t.Source == "":
		return ""
	case t.Path == "":
		return " from " + Visible(t.Source)
	default:
		return " from " + Visible(t.Source) + ": " + Visible(t.Path)
	}
}

// Awaited says what has to happen before a state can be told. That is the run of a resource, or the reading of something that the
// graph needs, such as a secret.
func Awaited(until string) string {
	if _, err := schema.ParseRef(until); err != nil {
		return until + " can be read"
	}
	return until + " has run"
}

// One makes a text that is always one line.
func One(text string) func() []string { return func() []string { return []string{text} } }

// LeavingText says what becomes of the work of a resource that leaves the graph.
func LeavingText(undone bool) string {
	if undone {
		return "has left the graph: what it changed is undone"
	}
	return "has left the graph: its work stays as it is"
}

func MoreLeaving(n int) string { return fmt.Sprintf("%d more resources have left the graph", n) }

// SwapText counts the differences of a new graph in words.
func SwapText(s reactor.Swap) string {
	text := fmt.Sprintf("graph %s, generation %d: ", Visible(s.Name), s.Generation)
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{s.Added, "added"}, {s.Changed, "changed"}, {s.Removed, "removed"}, {s.Kept, "kept"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no resources"}
	}
	text += strings.Join(parts, ", ")
	if s.Origin.By != "" || s.Origin.Signer != "" { // else it is the graph of the command line
		text += ";" + Visible(s.Origin.String())
	}
	return text
}

// RoundTime keeps the digits of a duration that a reader can use.
func RoundTime(d time.Duration) time.Duration {
	switch {
	case d > time.Minute:
		return d.Round(time.Second)
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	default:
		return d.Round(100 * time.Microsecond)
	}
}

// maxLine is how long the texts of a change on one line may be together.
const maxLine = 40

// WriteChanges writes each change, with the differences of texts.
func WriteChanges(b *strings.Builder, s Style, changes []control.Change) {
	for i := range changes {
		c := ChangeOf(&changes[i])
		from, isFrom := c.From.(string)
		to, isTo := c.To.(string)
		_, _, lines := Texts(c)                                                                   // a line counts them
		if lines || c.Verb == engine.Updated && (isFrom || isTo) && len(from)+len(to) > maxLine { // a line shows a part of a long text
			fmt.Fprintf(b, "  %s:\n", Visible(c.Field))
			WriteDiff(b, s, from, to)
		} else {
			fmt.Fprintf(b, "  %s\n", ChangeLine(c))
		}
	}
}
