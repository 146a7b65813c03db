package cron

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
)

// setting is a line of the file: its text, and its parameter. field names the
// parameter in reports. It is empty where the setting was read from a file.
type setting struct{ section, key, value, field string }

// settings are the lines of the file that is wanted, in the order in which they are
// written. Parameters with the default of systemd have no line. A percent sign
// begins a specifier in unit files, so a description has it doubled.
func (r *Res) settings() []setting {
	span := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return strings.ReplaceAll(d.String(), "µs", "us")
	}
	yes := func(b bool) string {
		if b {
			return "true"
		}
		return ""
	}
	remain := ""
	if !r.RemainAfterElapse {
		remain = "false"
	}
	list := []setting{
		{"Unit", "Description", strings.ReplaceAll(r.Description, "%", "%%"), "description"},
		{"Timer", r.Trigger, r.Time, "time"},
		{"Timer", "Unit", r.starts(), "unit"},
		{"Timer", "AccuracySec", span(r.Accuracy), "accuracysec"},
		{"Timer", "RandomizedDelaySec", span(r.RandomizedDelay), "randomizeddelaysec"},
		{"Timer", "Persistent", yes(r.Persistent), "persistent"},
		{"Timer", "WakeSystem", yes(r.WakeSystem), "wakesystem"},
		{"Timer", "RemainAfterElapse", remain, "remainafterelapse"},
		{"Install", "WantedBy", "timers.target", "startup"},
	}
	return slices.DeleteFunc(list, func(s setting) bool { return s.value == "" })
}

// text is the whole file. CheckApply compares settings and not texts, so a file in
// other words, or with comments, is left alone.
func (r *Res) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The resource %s, which undoes other changes.\n", r)
	section := ""
	for _, s := range r.settings() {
		if s.section != section {
			section = s.section
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		fmt.Fprintf(&b, "%s=%s\n", s.key, s.value)
	}
	return b.String()
}

// settingsOf reads the settings of a file. Lines that are joined by backslashes are
// read as one, with a blank, as systemd does. It is as lenient as systemd: lines
// without a meaning are passed over, and a key may stand several times.
func settingsOf(text string) (list []setting) {
	section := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		default:
			key, value, _ := strings.Cut(line, "=")
			list = append(list, setting{section: section, key: strings.TrimSpace(key), value: strings.TrimSpace(value)})
		}
	}
	return list
}

// CheckApply makes the file, the manager's view of it, and the state of the timer
// right. It holds the lock of seen all the time, so that Watch compares only after
// the last step. Without systemd it fails, but a timer that is to be absent needs no
// manager. Waiting for the lock ends with ctx.
func (r *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	if err := r.seen.Lock(ctx); err != nil {
		return false, err
	}
	defer r.seen.Unlock()
	r.seen.any = false
	m, err := systemd1.Open(ctx, r.init.Host, r.Session)
	if err != nil && (!r.absent() || systemd1.Running()) {
		return false, err
	}
	l, err := r.look(ctx, m, r.starts())
	if err != nil {
		return false, err
	}
	r.seen.any, r.seen.last = true, l
	if err := r.obstacle(l); err != nil {
		return false, err
	}
	changes, todo := r.compare(l)
	changes, todo = r.refreshed(changes, todo)
	for _, c := range changes {
		r.init.Change(c)
	}
	if todo == (plan{}) || !apply {
		return todo == (plan{}), nil
	}
	return false, r.settled(ctx, m, l, r.make(ctx, m, todo))
}

// plan is what has to be done, in this order. The zero value means that all is as
// wanted. A timer that goes is stopped before its file is removed, since systemd
// would keep a running unit without a file.
type plan struct{ stop, disable, remove, write, reload, enable, start, restart bool }

// compare returns the differences from the wanted state, and the steps to take. It
// is pure: settled asks it again about a later look. It does not know the drop-ins,
// about which obstacle speaks.
func (r *Res) compare(l found) (changes []engine.Change, todo plan) {
	switch {
	case r.absent() && l.gone():
		return nil, todo
	case r.absent():
		c := engine.Change{Field: "state", From: Exists, To: Absent, Verb: engine.Deleted}
		return append(changes, c), plan{stop: l.running, disable: l.enabled(), remove: l.there && !l.masked(), reload: true}
	case !l.there:
		changes = append(changes, engine.Change{Field: "state", From: Absent, To: Exists, Verb: engine.Created})
		for _, s := range r.settings() {
			if s.section != "Install" { // how startup differs is told below
				changes = append(changes, engine.Change{Field: s.field, To: s.value})
			}
		}
	case l.link != "":
		changes = append(changes, engine.Change{Field: "state", From: "a link to " + l.link, To: Exists})
	default:
		changes = r.compareFile(settingsOf(l.text))
	}
	todo.write, todo.remove = len(changes) > 0, l.link != ""
	todo.reload, todo.start = todo.write || l.stale, !l.running
	switch {
	case l.there && l.link == "" && !l.running:
		changes = append(changes, engine.Change{Field: "state", From: l.active, To: Exists})
	case l.stale && !todo.write:
		changes = append(changes, engine.Change{Field: "state", From: "read before it was changed", To: Exists})
	}
	if c := r.compareStartup(l); c != nil {
		changes = append(changes, *c)
		todo.enable, todo.disable, todo.reload = r.enabled(), !r.enabled(), true
	}
	return changes, todo
}

// compareStartup returns how the start at boot differs; nil for not at all. A timer
// that is enabled until the next boot counts as neither enabled nor disabled. It is
// compared by itself, since no text of the file says it: systemd keeps it as a link.
func (r *Res) compareStartup(l found) *engine.Change {
	from, to := Disabled, Disabled
	if l.enabled() {
		from = l.startup
	}
	if r.enabled() {
		to = Enabled
	}
	if from == to {
		return nil
	}
	return &engine.Change{Field: "startup", From: from, To: to}
}

// refreshed adds the effect of a notification: the timer is started anew. A timer
// that is started or absent anyway needs no restart.
func (r *Res) refreshed(changes []engine.Change, todo plan) ([]engine.Change, plan) {
	if r.absent() || todo.start || !r.init.Refresh() {
		return changes, todo
	}
	if todo == (plan{}) {
		changes = append(changes, engine.Change{Verb: engine.Refreshed})
	}
	todo.restart = true
	return changes, todo
}

// compareFile returns the differences between the file and the wanted settings. A key that stands
// twice is a difference, for systemd adds up the times of a timer. A setting that no
// parameter says is one too, in the field trigger, since it may be a second time.
func (r *Res) compareFile(has []setting) (changes []engine.Change) {
	want := r.settings()
	same := func(a setting) func(setting) bool {
		return func(b setting) bool { return a.section == b.section && a.key == b.key }
	}
	for _, w := range want {
		c := engine.Change{Field: w.field, To: w.value}
		var values []string
		for _, h := range has {
			if same(w)(h) {
				values = append(values, h.value)
			}
		}
		if slices.Equal(values, []string{w.value}) {
			continue
		}
		if len(values) > 0 {
			c.From = strings.Join(values, " and ")
		}
		changes = append(changes, c)
	}
	var more []string
	for _, h := range has {
		if !slices.ContainsFunc(want, same(h)) {
			more = append(more, h.key+"="+h.value)
		}
	}
	if len(more) > 0 {
		changes = append(changes, engine.Change{Field: "trigger", From: strings.Join(more, ", ")})
	}
	return changes
}

// make takes the steps. A running timer takes its new times from the files that are
// read. The first failure ends it; the next CheckApply begins from a new look. m is
// nil only for a timer that is to be absent on a machine without systemd.
func (r *Res) make(ctx context.Context, m *systemd1.Manager, todo plan) error {
	for _, s := range []struct {
		due bool
		do  func() error
	}{
		{todo.stop, func() error { return m.Stop(ctx, r.timer()) }},
		{todo.disable, func() error { return r.disable(ctx, m) }},
		{todo.remove, r.removeFile},
		{todo.write, r.edit},
		{todo.enable, func() error { return m.Enable(ctx, r.timer()) }},
		{todo.reload && m != nil, func() error { return m.Reload(ctx) }},
		{todo.start, func() error { return m.Start(ctx, r.timer()) }},
		{todo.restart, func() error { return m.Restart(ctx, r.timer()) }},
	} {
		if !s.due {
			continue
		}
		if err := s.do(); err != nil {
			return err
		}
	}
	return nil
}

// disable has the timer not started at boot, and not until then either: it may be enabled in both
// ways, and the manager tells only one.
func (r *Res) disable(ctx context.Context, m *systemd1.Manager) error {
	for range 2 {
		startup, err := m.FileState(ctx, r.timer())
		switch {
		case err != nil:
			return err
		case startup == "enabled":
			err = m.Disable(ctx, r.timer())
		case startup == "enabled-runtime":
			err = m.DisableRuntime(ctx, r.timer())
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeFile removes the file, or the link in its place. A file that is gone already is accepted.
func (r *Res) removeFile() error {
	file, err := r.textFile()
	if err != nil {
		return err
	}
	if err := file.Dir.Remove(file.Name, false); err != nil && !files.IsMissing(err) {
		return err
	}
	return nil
}

// edit writes the file, by a rename, so that systemd reads the old text or the new
// one. The folder of a user's units is made if it is missing; the one of the machine
// is systemd's own. The write is announced, so that no watch takes it for a foreign
// one.
func (r *Res) edit() error {
	file, err := r.textFile()
	if err != nil {
		return err
	}
	path := file.Dir.Path(file.Name)
	defer files.Of(r.init).Lock(path)()
	if r.Session {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	}
	err = file.Edit(func(string) (string, error) { return r.text(), nil })
	files.Of(r.init).WroteAt(path, r.init)
	return files.ExplainParent(r.init, path, err)
}
