package resources

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
)

// cronSetting is a line of the file: what it says, and the parameter that it is of.
type cronSetting struct{ section, key, value, field string }

// settings are what the file has to say.
func (r *CronRes) settings() []cronSetting {
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
	list := []cronSetting{
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
	return slices.DeleteFunc(list, func(s cronSetting) bool { return s.value == "" })
}

// text is the file.
func (r *CronRes) text() string {
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

// cronSettings reads what a file says. Lines that are joined by backslashes are read
// as one, with a blank, as systemd does.
func cronSettings(text string) (list []cronSetting) {
	section := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		default:
			key, value, _ := strings.Cut(line, "=")
			list = append(list, cronSetting{section: section, key: strings.TrimSpace(key), value: strings.TrimSpace(value)})
		}
	}
	return list
}

// cronLook is what was found.
type cronLook struct {
	there   bool // the file
	has     []cronSetting
	enabled bool
	state   systemd1.Unit
	stale   bool // the manager has read another file than is there
}

func (r *CronRes) look(ctx context.Context, m *systemd1.Manager, file textFile) (l cronLook, err error) {
	text, st, err := file.read()
	if err != nil {
		return l, err
	}
	l.there, l.has = st != nil, cronSettings(text)
	if m == nil {
		return l, nil
	}
	fileState, err := m.FileState(ctx, r.timer())
	if err != nil {
		return l, err
	}
	l.enabled = fileState == "enabled"
	if l.state, err = m.Unit(ctx, r.timer()); err != nil {
		return l, err
	}
	l.stale = m.Stale(ctx, l.state)
	return l, nil
}

// running reports whether the timer is loaded and waits, or runs what it starts.
func (l cronLook) running() bool { return l.state.Running() }

// CheckApply makes the file, the manager's view of it, and the state of the timer right.
func (r *CronRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	dir, err := r.dir()
	if err != nil {
		return false, err
	}
	file, err := textAt(filepath.Join(dir, r.timer()), 0o644)
	if err != nil {
		return false, err
	}
	m, err := systemd1.Open(ctx, r.init.Host, r.Session)
	if err != nil && (!r.absent() || systemd1.Running()) {
		return false, err
	}
	l, err := r.look(ctx, m, file)
	if err != nil {
		return false, err
	}
	if r.absent() {
		return r.remove(ctx, m, l, file, apply)
	}
	todo := r.report(l)
	if todo == (cronTodo{}) {
		return true, nil
	}
	if !apply {
		return false, nil
	}
	return false, r.make(ctx, m, file, todo)
}

// cronTodo is what has to be done, in this order.
type cronTodo struct{ write, reload, enable, disable, start, restart bool }

// report reports what is to be changed, and returns it.
func (r *CronRes) report(l cronLook) (todo cronTodo) {
	running := l.running()
	if !l.there {
		r.init.Change(engine.Change{Field: "state", From: FileAbsent, To: FileExists, Verb: engine.Created})
		todo.write = true
	} else {
		todo.write = r.reportFile(l.has)
	}
	todo.reload = todo.write || l.stale
	switch {
	case l.there && !running:
		r.init.Change(engine.Change{Field: "state", From: l.state.Active, To: FileExists})
	case l.stale && !todo.write:
		r.init.Change(engine.Change{Field: "state", From: "read before it was changed", To: FileExists})
	}
	todo.start = !running
	if r.enabled() != l.enabled {
		todo.enable, todo.disable = r.enabled(), !r.enabled()
		names := map[bool]string{true: CronEnabled, false: CronDisabled}
		r.init.Change(engine.Change{Field: "startup", From: names[l.enabled], To: names[r.enabled()]})
	}
	if r.init.Refresh() && !todo.start {
		if todo == (cronTodo{}) {
			r.init.Change(engine.Change{Verb: engine.Refreshed})
		}
		todo.restart = true
	}
	return todo
}

// reportFile reports what the file says otherwise than wanted.
func (r *CronRes) reportFile(has []cronSetting) (differs bool) {
	want := r.settings()
	same := func(a cronSetting) func(cronSetting) bool {
		return func(b cronSetting) bool { return a.section == b.section && a.key == b.key }
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
		differs = true
		r.init.Change(c)
	}
	var more []string
	for _, h := range has {
		if !slices.ContainsFunc(want, same(h)) {
			more = append(more, h.key+"="+h.value)
		}
	}
	if len(more) > 0 {
		r.init.Change(engine.Change{Field: "trigger", From: strings.Join(more, ", ")})
	}
	return differs || len(more) > 0
}

func (r *CronRes) make(ctx context.Context, m *systemd1.Manager, file textFile, todo cronTodo) error {
	if todo.write {
		if err := r.edit(file); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		due bool
		do  func() error
	}{
		// A timer that runs takes its new times from what is read.
		{todo.reload, func() error { return m.Reload(ctx) }},
		{todo.enable, func() error { return m.Enable(ctx, r.timer()) }},
		{todo.disable, func() error { return m.Disable(ctx, r.timer()) }},
		{todo.enable || todo.disable, func() error { return m.Reload(ctx) }},
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

func (r *CronRes) edit(file textFile) error {
	path := file.dir.Path(file.name)
	defer filesOf(r.init).lock(path)()
	if r.Session {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	}
	err := file.edit(func(string) (string, error) { return r.text(), nil })
	filesOf(r.init).wroteAt(path, r.init)
	return explainParent(r.init, path, err)
}

// remove stops the timer and removes its file.
func (r *CronRes) remove(ctx context.Context, m *systemd1.Manager, l cronLook, file textFile, apply bool) (bool, error) {
	running := l.running()
	if !l.there && !running && !l.enabled {
		return true, nil
	}
	r.init.Change(engine.Change{Field: "state", From: FileExists, To: FileAbsent, Verb: engine.Deleted})
	if !apply {
		return false, nil
	}
	if running {
		if err := m.Stop(ctx, r.timer()); err != nil {
			return false, err
		}
	}
	if l.enabled {
		if err := m.Disable(ctx, r.timer()); err != nil {
			return false, err
		}
	}
	if err := file.dir.Remove(file.name, false); err != nil && !isMissing(err) {
		return false, err
	}
	if m == nil {
		return false, nil
	}
	return false, m.Reload(ctx)
}
