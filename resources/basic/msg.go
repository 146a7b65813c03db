package basic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("msg", func() engine.Res { return &MsgRes{} })
}

var (
	_ engine.Res            = (*MsgRes)(nil)
	_ engine.RefreshableRes = (*MsgRes)(nil)
	_ engine.RecvableRes    = (*MsgRes)(nil)
	_ engine.OverlappingRes = (*MsgRes)(nil)
	_ engine.UnwatchedRes   = (*MsgRes)(nil)
	_ engine.DescribedRes   = (*MsgRes)(nil)
)

// MsgRes writes a message into the log, and if asked into the journal and to
// syslog: once, again whenever it changes, and when it is notified.
type MsgRes struct {
	traits.Base
	traits.Recvable
	traits.Refreshable
	traits.Overlapping
	traits.Collectable
	traits.Unwatched

	init    *engine.Init
	sent    *message // the last one that went out everywhere; nil for none
	journal sink     // where a message goes besides the log; set by Init
	syslog  sink

	Body     string            `yaml:"body" lang:"body" doc:"The message." mgmt:"nowatch,lend"`
	Priority string            `yaml:"priority" lang:"priority" doc:"How important it is, as in syslog." mgmt:"param,nowatch,enum=emerg|alert|crit|err|warning|notice|info|debug,lend"`
	Fields   map[string]string `yaml:"fields" lang:"fields" doc:"More about it, as in the journal: letters, digits and underscores, not beginning with an underscore or a digit." mgmt:"param,nowatch,lend"`
	Journal  bool              `yaml:"journal" lang:"journal" doc:"Write it into the systemd journal too." mgmt:"param,lend"`
	Syslog   bool              `yaml:"syslog" lang:"syslog" doc:"Send it to syslog too." mgmt:"param,lend"`
}

// message is what goes out, secrets already gone.
type message struct {
	body     string
	priority int // of syslog: 0 is the highest
	fields   map[string]string
}

// sink takes a message, and says why it can't.
type sink func(program string, m message) error

var priorities = []string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"}

// Default returns a resource of the priority info.
func (x *MsgRes) Default() engine.Res { return &MsgRes{Priority: "info"} }

// Validate refuses fields that the journal would not take.
func (x *MsgRes) Validate() error {
	var errs []error
	if !slices.Contains(priorities, x.Priority) {
		errs = append(errs, fmt.Errorf("priority is %q, it must be one of %s", x.Priority, strings.Join(priorities, ", ")))
	}
	for _, k := range slices.Sorted(maps.Keys(x.Fields)) {
		if !validField(k) {
			errs = append(errs, fmt.Errorf("fields: %q must be letters, digits and underscores, beginning with a letter", k))
		}
	}
	return errors.Join(errs...)
}

func validField(k string) bool {
	for i, c := range k {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return k != "" && len(k) <= 64
}

// Init keeps the handle.
func (x *MsgRes) Init(init *engine.Init) error {
	x.init, x.sent = init, nil
	x.journal, x.syslog = toJournal, toSyslog
	return nil
}

// Cleanup has nothing to release.
func (x *MsgRes) Cleanup() error { return nil }

// CheckApply sends a message that has not gone out yet. A line in our own log alters nothing, so it
// does not count as a change and goes out under noop too.
func (x *MsgRes) CheckApply(_ context.Context, apply bool) (bool, error) {
	m := x.message()
	fresh := x.sent == nil || !x.sent.equal(m)
	switch {
	case x.init.Refresh():
		x.init.Change(engine.Change{Verb: engine.Refreshed})
	case fresh && (x.Journal || x.Syslog):
		x.init.Change(engine.Change{Verb: engine.Ran})
	case fresh: // and the log takes everything
		x.log(m)
		x.sent = &m
		return true, nil
	default:
		return true, nil
	}
	if !apply {
		return false, nil
	}
	return false, x.deliver(m)
}

// deliver tries the receivers that can fail first, so that a retry does not repeat the rest.
func (x *MsgRes) deliver(m message) error {
	if x.Journal {
		if err := x.journal(x.init.Program, m); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	if x.Syslog {
		if err := x.syslog(x.init.Program, m); err != nil {
			return fmt.Errorf("syslog: %w", err)
		}
	}
	x.log(m)
	x.sent = &m
	return nil
}

func (x *MsgRes) log(m message) {
	if x.init.Log == nil {
		x.init.Logf("%s", m.body)
		return
	}
	attrs := []slog.Attr{slog.String("body", m.body), slog.String("priority", priorities[m.priority])}
	for _, k := range slices.Sorted(maps.Keys(m.fields)) {
		attrs = append(attrs, slog.String(k, m.fields[k]))
	}
	x.init.Log.LogAttrs(context.Background(), level(m.priority), "message", attrs...)
}

// level maps the eight priorities to levels of the log, in their order.
func level(priority int) slog.Level {
	return []slog.Level{
		slog.LevelError + 6, slog.LevelError + 4, slog.LevelError + 2, slog.LevelError,
		slog.LevelWarn, slog.LevelInfo + 2, slog.LevelInfo, slog.LevelDebug,
	}[priority]
}

func (x *MsgRes) message() message {
	m := message{body: x.Body, priority: slices.Index(priorities, x.Priority), fields: maps.Clone(x.Fields)}
	for path, s := range x.init.Recv() {
		if !s.Secret {
			continue
		}
		switch received.RootKey(path) {
		case "body":
			m.body = schema.Redacted
		case "fields":
			for k := range m.fields {
				m.fields[k] = schema.Redacted
			}
		}
	}
	return m
}

func (m message) equal(o message) bool {
	return m.body == o.body && m.priority == o.priority && maps.Equal(m.fields, o.fields)
}

func toJournal(program string, m message) error {
	if !journal.Enabled() {
		return errors.New("there is no systemd journal on this machine")
	}
	fields := map[string]string{"SYSLOG_IDENTIFIER": program}
	for k, v := range m.fields {
		fields[strings.ToUpper(k)] = v
	}
	return journal.Send(m.body, journal.Priority(m.priority), fields)
}

// Cmp compares the parameters.
func (x *MsgRes) Cmp(r engine.Res) error { return engine.CmpFields(x, r) }

// Doc describes the kind.
func (x *MsgRes) Doc() string {
	return `Writes a message into the log: once at the start, again whenever it changes, and when it is notified.

It goes to the log of mgmt at the level that fits its priority, and if asked for into the systemd journal, with its fields,
and to syslog. Where a wanted one is not there, the resource fails and says so. A body or a field that is received
from a secret is written as ` + "`(secret)`" + `.

A message that goes only into the log of mgmt does not count as a change of the machine: a plan and ` + "`--noop`" + ` write it too, and call the resource ok. With
` + "`journal` or `syslog`" + ` it leaves something outside, so it is a change, and a plan says that it would run. A notification that is
acted on is a change in any case.`
}
