package top

import (
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// verb is an action of a person on one resource.
type verb string

// The actions, and their keys.
const (
	pause   verb = "pause"
	resume  verb = "resume"
	retry   verb = "retry"
	approve verb = "approve"
	reject  verb = "reject"
)

var verbOf = map[string]verb{"p": pause, "u": resume, "r": retry, "a": approve, "x": reject}

// done is what the note says after an action.
var done = map[verb]string{pause: "is paused", resume: "is resumed", retry: "is tried again", approve: "is approved", reject: "is rejected"}

// dialog asks a person before an action: it looks at the resource, shows what will be done, takes a reason, and asks.
type dialog struct {
	verb     verb
	resource string
	seen     *control.Detail // what is shown; nil until it is known
	fields   []field
	at       int    // the field that is written; len(fields) for the question
	top      int    // the first line of what is shown
	problem  string // with the field
	busy     bool   // it is being done
}

// field is a text that a person gives.
type field struct{ label, text string }

// begin opens the dialog of an action on the selected resource. What it would do is asked first.
func (m *model) begin(v verb) tea.Cmd {
	r := m.selected()
	if r == nil {
		m.note = "no resource is selected"
		return nil
	}
	m.dialog = &dialog{verb: v, resource: r.Resource}
	return detailOf(m.ctx, m.ask, r.Resource)
}

// look takes what the resource is now. Where the action makes no sense, it ends the dialog and says why.
func (d *dialog) look(msg detailMsg, m *model) {
	why := ""
	switch {
	case msg.err != nil:
		why = msg.err.Error()
	case msg.detail.Status == nil:
		why = d.resource + " is no longer in the graph"
	default:
		why = d.useless(msg.detail.Status)
	}
	if why != "" {
		m.dialog, m.note = nil, why
		return
	}
	d.seen = msg.detail
	d.resource = msg.detail.Resource // the owner of a group
	if d.verb == pause {
		d.fields = append(d.fields, field{"for", "1h"})
	}
	if d.verb == pause || d.verb == approve || d.verb == reject {
		d.fields = append(d.fields, field{"reason", ""})
	}
}

// useless says why the action has nothing to do; empty where it has.
func (d *dialog) useless(r *control.Resource) string {
	asked := r.Held != nil && r.Held.Limit == reactor.LimitApproval
	switch {
	case (d.verb == approve || d.verb == reject) && !asked:
		return d.resource + " waits for no approval"
	case d.verb == retry && r.State != resgraph.StateFailed.String():
		return d.resource + " has not failed: it is " + r.State
	case d.verb == resume && asked:
		return d.resource + " waits for an approval: a approves it"
	case d.verb == resume && r.Pause == nil && r.Held == nil:
		return d.resource + " is neither paused nor held: it is " + r.State
	}
	return ""
}

// what says what will be done.
func (d *dialog) what(s render.Style) string {
	r := d.seen.Status
	switch d.verb {
	case pause:
		text := "mgmt stops checking and repairing it. It is still watched: once it drifts, its dependents wait"
		if n := len(d.seen.Dependents) + d.seen.More; n > 0 {
			text += fmt.Sprintf(" (%d of them)", n)
		}
		return text + ".\n"
	case resume:
		if r.Held != nil {
			return "mgmt makes the change that is held: " + render.Visible(r.Held.Reason) + "\n"
		}
		return "mgmt ends this pause, and checks it: " + render.PauseText(r.Pause, s) + "\n"
	case retry:
		return "mgmt tries it again at once. It has failed: " + render.Visible(r.Error) + "\n"
	case reject:
		return "mgmt does not make this change (" + render.Visible(r.Held.Digest) + "):\n" + changesText(s, r.Held.Changes)
	}
	return "mgmt makes this change and no other (" + render.Visible(r.Held.Digest) + "):\n" + changesText(s, r.Held.Changes)
}

// body is the dialog on the screen. The fields and the question are always there; the rest scrolls.
func (d *dialog) body(m *model, rows int) []string {
	title := m.out.style.Name(strings.ToUpper(string(d.verb[:1])) + string(d.verb[1:]) + " " + render.Cell(d.resource))
	if d.seen == nil {
		return []string{title, "asking ..."}
	}
	var below []string
	for i, f := range d.fields {
		line := fmt.Sprintf("%s: %s", f.label, render.Cell(f.text))
		if i == d.at {
			line += "_"
		}
		below = append(below, line)
	}
	switch {
	case d.problem != "":
		below = append(below, m.out.style.Paint(render.Red, render.Cell(d.problem)))
	case d.busy:
		below = append(below, "asking the daemon ...")
	case d.at == len(d.fields):
		below = append(below, m.out.style.Paint(render.Yellow, "Do this? y"))
	default:
		below = append(below, "")
	}
	text := m.out.wrapped(d.what(m.out.style))
	room := max(1, rows-1-len(below))
	d.top = max(0, min(d.top, len(text)-room))
	shown := text[d.top:min(len(text), d.top+room)]
	if len(text) > room {
		title += fmt.Sprintf(" (lines %d to %d of %d)", d.top+1, d.top+len(shown), len(text))
	}
	return append(append([]string{title}, shown...), below...)
}

func (d *dialog) keys() string {
	switch {
	case d.seen == nil || d.busy:
		return "esc back"
	case d.at == len(d.fields):
		return "y do it  esc leave it  up down scroll"
	}
	return "enter next  esc leave it  up down scroll"
}

// key is a key while the dialog is open.
func (d *dialog) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	word := k.String()
	switch {
	case word == "esc":
		m.dialog, m.note = nil, "nothing was done"
	case d.seen == nil || d.busy:
	case word == "up":
		d.top--
	case word == "down":
		d.top++
	case word == "pgup":
		d.top -= m.rows()
	case word == "pgdown":
		d.top += m.rows()
	case d.at < len(d.fields) && word == "enter":
		d.next()
	case d.at < len(d.fields):
		d.write(k)
	case word == "y":
		d.busy = true
		return d.do(m)
	case word == "n" || word == "q":
		m.dialog, m.note = nil, "nothing was done"
	}
	return nil
}

// write is a key in the field.
func (d *dialog) write(k tea.KeyPressMsg) {
	if d.at < len(d.fields) {
		d.fields[d.at].text, d.problem = edited(d.fields[d.at].text, k), ""
	}
}

// next goes on to the next field, or to the question, if the text makes sense.
func (d *dialog) next() {
	f := &d.fields[d.at]
	switch {
	case f.label == "for":
		if _, err := d.span(); err != nil {
			d.problem = err.Error()
			return
		}
	case strings.TrimSpace(f.text) == "":
		d.problem = "write a reason: the history keeps it with your name"
		return
	}
	d.at++
}

// span reads for how long a pause is.
func (d *dialog) span() (time.Duration, error) {
	var span cli.Seconds
	if err := span.Set(strings.TrimSpace(d.text("for"))); err != nil {
		return 0, err
	}
	if t := time.Duration(span); t > 0 && t <= control.MaxPause {
		return t, nil
	}
	return 0, errors.New("write how long to pause, as 2h: at most ten years")
}

// text is what a person has given.
func (d *dialog) text(label string) string {
	for _, f := range d.fields {
		if f.label == label {
			return f.text
		}
	}
	return ""
}

// do asks the daemon for the action.
func (d *dialog) do(m *model) tea.Cmd {
	id, reason := d.resource, strings.TrimSpace(d.text("reason"))
	note := id + " " + done[d.verb]
	ask := func() (err error) {
		switch d.verb {
		case pause:
			span, _ := d.span() // next has read it
			_, err = m.ask.Pause(m.ctx, control.PauseRequest{Resource: id, For: span.Seconds(), Reason: reason})
		case resume:
			_, err = m.ask.Resume(m.ctx, control.ResumeRequest{Resource: id})
		case retry:
			_, err = m.ask.Retry(m.ctx, control.RetryRequest{Resources: []string{id}})
		default:
			change := reactor.Proposal{Resource: id, Digest: d.seen.Status.Held.Digest}
			_, err = m.ask.Decide(m.ctx, control.DecideRequest{Approve: d.verb == approve, Changes: []reactor.Proposal{change}, Reason: reason})
		}
		return err
	}
	return func() tea.Msg { return doneMsg{note, ask()} }
}

// done takes what came of an action.
func (m *model) done(msg doneMsg) {
	m.dialog, m.note = nil, msg.note
	if msg.err != nil {
		m.note = "not done: " + msg.err.Error()
	}
	select {
	case m.news <- struct{}{}: // the states may be others now
	default:
	}
}
