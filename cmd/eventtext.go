package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// styleOf returns how to write to standard output. Without the flag NO_COLOR, TERM and the
// terminal decide about colour.
// Of a terminal, its width does not count: an event is never cut.
func styleOf(c choice, a *app) style {
	return style{color: colored(c, a.out), short: terminalSize(a.out) != nil}
}

// moment writes a time: for people in their zone, for programs always in the same
// zone.
// On a terminal it is the local time to the second. Elsewhere it is UTC with
// milliseconds, so that lines of two machines sort.
func (s style) moment(at time.Time) string {
	if s.short {
		return at.Local().Format("Jan _2 15:04:05")
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z")
}

// eventText is an event on one line.
// It has no newline at its end.
func eventText(e *control.Event, s style) string {
	return s.dim(s.moment(e.At)) + " " + whatHappened(e, s)
}

// whatHappened is one event in words. All text that comes from resources is made visible,
// since it may hold control characters.
func whatHappened(e *control.Event, s style) string {
	who := "everything"
	if e.Resource != "" {
		who = s.name(visible(e.Resource))
	}
	switch e.Outcome {
	case control.Started:
		return fmt.Sprintf("the daemon was started (pid %d, %s)", e.PID, visible(e.Version))
	case control.Stopped:
		return "the daemon was stopped"
	case control.Graph:
		return graphText(e)
	case control.Refused:
		return s.paint(red, "a graph was refused") + ": " + visible(e.Error)
	case control.Converged:
		rest := e.Rest()
		return s.paint(wellColor(rest.Counts), rest.Word()) + ": " + countWords(e.Counts)
	case control.Paused:
		return who + " " + pauseText(e.Pause, s) + byText(e)
	case control.Held:
		return who + " " + heldText(e.Held, s)
	case control.Resumed:
		return who + " goes on" + byText(e)
	case control.Dropped:
		return droppedText(e)
	default:
		// All other outcomes are those of a run of one resource.
		return who + " " + runText(e, s) + shortChanges(e) + shortCauses(e)
	}
}

// graphText says what a new graph has changed, as the log of the daemon does.
// An old history has no numbers for a graph.
func graphText(e *control.Event) string {
	if e.Graph == nil {
		return "another graph took effect"
	}
	return swapText(reactor.Swap{
		Name: e.Graph.Name, Generation: e.Generation, Added: e.Graph.Added,
		Changed: e.Graph.Changed, Removed: e.Graph.Removed, Kept: e.Graph.Kept,
		Origin: engine.Origin{By: e.By, Path: e.Graph.Path, Digest: e.Graph.Digest, Signer: e.Graph.Signer},
	}) + leavingList(e.Graph.Leaving, e.Graph.More)
}

// leavingList says on one line which resources have left, and what becomes of their work.
func leavingList(list []control.Leaving, more int) string {
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "; %s %s", visible(l.Resource), leavingText(l.Undone))
	}
	if more > 0 {
		b.WriteString("; " + moreLeaving(more))
	}
	return b.String()
}

// byText says who has paused or resumed, where that is known.
func byText(e *control.Event) string {
	if e.By == "" {
		return ""
	}
	return " (by " + visible(e.By) + ")"
}

// droppedText says how many events are missing in a stream.
func droppedText(e *control.Event) string {
	if e.Dropped == 0 {
		return "some events are missing here"
	}
	return fmt.Sprintf("%d events are missing here", e.Dropped)
}

// runText says how a run ended.
// The class says why something was changed: intended, corrective or cascade.
func runText(e *control.Event, s style) string {
	text := s.paint(outcomeColor(e.Outcome), outcomeText(e.Outcome))
	if e.Class != "" && e.Outcome == control.Changed {
		text += " (" + e.Class + ")"
	}
	if e.Until != "" {
		text += " until " + visible(awaited(e.Until))
	}
	if e.Error != "" {
		text += ": " + visible(e.Error) + retryText(e.RetryIn)
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
		return red
	case control.Changed, control.Recovered, control.OK:
		return green
	default:
		return yellow
	}
}

// changeOf turns a change back into the one of the engine.
// Long texts are not kept in the history; their length in bytes stands for them.
func changeOf(c *control.Change) engine.Change {
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
		parts = append(parts, changeLine(changeOf(&e.Changes[i])))
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
		parts = append(parts, causeText(&e.Triggers[i], e))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; because " + strings.Join(parts, ", and ")
}

// causeText says what has asked for a run.
// The words complete the sentence "because ...". A cause that a newer daemon has is shown
// by its own word.
func causeText(t *control.Trigger, e *control.Event) string {
	from := visible(t.From)
	text := string(t.Cause)
	switch reactor.Cause(t.Cause) {
	case reactor.CauseGraph:
		text = fmt.Sprintf("the graph is new to it (generation %d)", e.Generation)
	case reactor.CauseDeclaration:
		text = "its declaration changed"
		if len(t.Fields) > 0 {
			text += ": " + visible(strings.Join(t.Fields, ", "))
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
		text = from + " has sent another value for " + visible(t.Field)
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
		text += ", by " + visible((*engine.Culprit)(t.Culprit).String())
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
	return " " + visible(t.Path)
}

// sourceText says which watch has seen an event, and on which path.
// It is empty for an event without a known source.
func sourceText(t *control.Trigger) string {
	switch {
	case t.Source == "":
		return ""
	case t.Path == "":
		return " from " + visible(t.Source)
	default:
		return " from " + visible(t.Source) + ": " + visible(t.Path)
	}
}
