package notices

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/selection"
)

// Event is one event as a message has it. Its fields are those of a filter, too.
type Event struct {
	ID       uint64            `json:"id"` // that of mgmt log
	At       time.Time         `json:"at"`
	Outcome  string            `json:"outcome"` // such as failed; one of control.Outcomes
	Resource string            `json:"resource,omitempty"`
	State    string            `json:"state,omitempty"`
	Error    string            `json:"error,omitempty"`
	Class    string            `json:"class,omitempty"`  // intended, cascade or corrective
	Causes   []string          `json:"causes,omitempty"` // why the resource has run
	By       string            `json:"by,omitempty"`     // who or which program is behind it
	Reason   string            `json:"reason,omitempty"` // what the person says who approved or rejected
	Limit    string            `json:"limit,omitempty"`  // what holds it, such as approval
	Fields   []string          `json:"fields,omitempty"` // parameters that have changed; their values stay on this machine
	Attempt  int               `json:"attempt,omitempty"`
	Noop     bool              `json:"noop,omitempty"`
	Module   string            `json:"module,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`

	dropped int // with the outcome dropped: how many events the history could not keep
}

// Message is what a receiver is sent.
type Message struct {
	ID       string         `json:"id"` // the same at each try; no two messages have one
	Host     string         `json:"host"`
	Receiver string         `json:"receiver"`
	At       time.Time      `json:"at"` // when it was made
	Test     bool           `json:"test,omitempty"`
	Text     string         `json:"text"`             // the whole in one line
	Total    int            `json:"total"`            // events it stands for
	Counts   map[string]int `json:"counts,omitempty"` // of those by outcome
	Events   []Event        `json:"events"`           // the first of them
	Dropped  int            `json:"dropped,omitempty"`
}

// Bounds of a message.
const (
	maxEvents = 50
	maxListed = 32 << 10 // bytes of events
	maxError  = 1000     // bytes of one error
)

// scope has the names of filters.
var scope = sync.OnceValue(func() *expr.Scope {
	names := map[string]expr.Type{
		"host": expr.Text, "at": expr.Text, "outcome": expr.Text, "resource": expr.Text, "kind": expr.Text, "name": expr.Text,
		"state": expr.Text, "error": expr.Text, "class": expr.Text, "by": expr.Text, "module": expr.Text,
		"reason": expr.Text, "limit": expr.Text,
		"causes": expr.ListOf(expr.Text), "fields": expr.ListOf(expr.Text), "labels": expr.MapOf(expr.Text),
		"attempt": expr.Int, "noop": expr.Bool,
	}
	s, err := expr.NewScope(names)
	if err != nil {
		panic(err) // of the names above, which any test shows
	}
	return s
})

// eventOf reads an event of the history. look returns module and labels of a resource in the graph.
func eventOf(entry *journal.Entry, look func(resource string) (module string, labels map[string]string)) Event {
	var c control.Event
	if err := json.Unmarshal(entry.Data, &c); err != nil {
		c.Error = "this event cannot be read: " + err.Error() // another version of the program has written it
	}
	e := Event{
		ID: entry.ID, At: entry.At.UTC(), Outcome: entry.Outcome, Resource: entry.Resource,
		State: c.State, Error: cut(c.Error, maxError), Class: c.Class, By: c.By, Attempt: c.Attempt, Noop: c.Noop, dropped: c.Dropped,
		Reason: cut(c.Reason, maxError),
	}
	if c.Held != nil {
		e.Limit = c.Held.Limit
	}
	switch {
	case c.Held != nil && c.Outcome != control.Rejected: // which has By and Reason
		e.Error = cut(c.Held.Reason, maxError)
	case c.Pause != nil:
		e.Error = cut(c.Pause.Reason, maxError)
	}
	for i := range c.Triggers {
		if cause := c.Triggers[i].Cause; !slices.Contains(e.Causes, cause) {
			e.Causes = append(e.Causes, cause)
		}
	}
	for i := range c.Changes {
		if f := c.Changes[i].Field; f != "" && !slices.Contains(e.Fields, f) && len(e.Fields) < maxEvents {
			e.Fields = append(e.Fields, cut(f, maxError/10))
		}
	}
	if e.Resource != "" {
		e.Module, e.Labels = look(e.Resource)
	}
	return e
}

// accepts reports whether a receiver is to be told of an event. With an error it is not.
func (r *Ready) accepts(e *Event, host string) (bool, error) {
	if r.filter == nil {
		return true, nil
	}
	of := selection.Named(e.Resource)
	labels := map[string]any{}
	for key, value := range e.Labels {
		labels[key] = value
	}
	v, err := r.filter.Eval(map[string]any{
		"host": host, "at": e.At.Format(time.RFC3339Nano), "outcome": e.Outcome, "resource": e.Resource, "kind": of.Kind, "name": of.Name,
		"state": e.State, "error": e.Error, "class": e.Class, "by": e.By, "module": e.Module,
		"reason": e.Reason, "limit": e.Limit,
		"causes": anys(e.Causes), "fields": anys(e.Fields), "labels": labels, "attempt": int64(e.Attempt), "noop": e.Noop,
	})
	if err != nil {
		return false, err
	}
	yes, ok := v.(bool)
	if !ok {
		err = errors.New("it is neither true nor false")
	}
	return yes, err
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// cut shortens a text to so many bytes, at a character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// group gathers events of one receiver into a message.
type group struct {
	since time.Time // of the first event
	m     Message
	size  int       // of m.Events
	read  uint64    // the last event of the history that was looked at
	kept  time.Time // when the group began
	lost  int       // events that the history does not have any more
}

// add takes an event. Above the bounds it is only counted.
func (g *group) add(e *Event, now time.Time) {
	if g.m.Total == 0 {
		g.since, g.m.Counts = now, map[string]int{}
	}
	g.m.Total++
	g.m.Counts[e.Outcome]++
	if len(g.m.Events) == maxEvents {
		return
	}
	data, _ := json.Marshal(e) // text and numbers alone
	if g.size += len(data); g.size <= maxListed {
		g.m.Events = append(g.m.Events, *e)
	}
}

// text describes an event that is alone in its message.
func (e *Event) text() string {
	line, why := e.Outcome, e.Error
	switch control.Outcome(e.Outcome) {
	case control.Held:
		if e.Limit == string(reactor.LimitApproval) {
			line, why = "waits for an approval", "" // the reason says the same
		}
	case control.Approved, control.Rejected, control.Resumed, control.TriedAgain:
		if why = e.Reason; e.By != "" {
			line += " by " + e.By
		}
	}
	if why != "" {
		line += ": " + why
	}
	return strings.TrimSpace(e.Resource + " " + line)
}

// text says a message in one line.
func (m *Message) text() string {
	var parts []string
	switch {
	case m.Test:
		parts = []string{"this is a test of the receiver " + m.Receiver}
	case m.Total == 1 && len(m.Events) == 1:
		parts = []string{m.Events[0].text()}
	default:
		for _, outcome := range slices.Sorted(maps.Keys(m.Counts)) {
			parts = append(parts, fmt.Sprintf("%d %s", m.Counts[outcome], outcome))
		}
	}
	switch {
	case m.Dropped == 1:
		parts = append(parts, "1 earlier event was dropped")
	case m.Dropped > 1:
		parts = append(parts, fmt.Sprintf("%d earlier events were dropped", m.Dropped))
	}
	return oneLine(cut(m.Host+": "+strings.Join(parts, ", "), maxError))
}

// oneLine replaces control characters, ends of lines among them.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
