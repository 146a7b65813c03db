package cron

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
)

// Read returns the timer as its file and the manager say it is; absent if there is
// neither a file nor a timer. It alters nothing. Settings without a parameter go to Others, so that Reversed can refuse them. A missing manager is an error only if there is a
// file.
func (r *Res) Read(ctx context.Context) (engine.Res, error) {
	m, merr := systemd1.Open(ctx, r.init.Host, r.Session)
	l, err := r.look(ctx, m, r.starts())
	switch {
	case err != nil:
		return nil, err
	case l.gone():
		return r.like(Absent), nil
	case merr != nil:
		return nil, merr
	}
	got := r.like(Exists)
	if got.Startup = Disabled; l.startup == Enabled {
		got.Startup = Enabled
	}
	got.read(settingsOf(l.text))
	for _, o := range []struct {
		is   bool
		what string
	}{
		{l.link != "", "a link to " + l.link},
		{l.dropIns != "", l.dropIns},
		{l.enabled() && l.startup != Enabled, "enabled until the next boot"},
		{!l.running, "the timer does not run"},
	} {
		if o.is {
			got.Others = append(got.Others, o.what)
		}
	}
	return got.inWordsOf(r), nil
}

// like returns a timer of this name, without other fields. State and session decide
// where the next call looks, so they are handed over.
func (r *Res) like(state string) *Res {
	got := &Res{State: state, Session: r.Session, RemainAfterElapse: true, root: r.root}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	return got
}

// inWordsOf returns it with fields of equal meaning written as in another one. A
// graph that leaves a default out compares as equal then.
func (r *Res) inWordsOf(as *Res) *Res {
	if as.State == "" {
		r.State = ""
	}
	if r.enabled() == as.enabled() {
		r.Startup = as.Startup
	}
	if r.starts() == as.starts() {
		r.Unit = as.Unit
	}
	return r
}

// read fills in the settings of a file. Settings without a parameter are in Others.
func (r *Res) read(has []setting) {
	for i, s := range has {
		again := slices.ContainsFunc(has[:i], func(o setting) bool { return o.section == s.section && o.key == s.key })
		if again || !r.readOne(s) {
			r.Others = append(r.Others, s.key+"="+s.value)
		}
	}
}

// readOne fills in one setting, and returns false for a value that no parameter can
// hold. A known setting with an odd value goes to Others too.
func (r *Res) readOne(s setting) (ok bool) {
	switch key := s.section + "/" + s.key; {
	case key == "Unit/Description":
		r.Description = strings.ReplaceAll(s.value, "%%", "%")
		return strings.ReplaceAll(r.Description, "%", "%%") == s.value // else there is a specifier in it
	case key == "Install/WantedBy":
		return s.value == "timers.target"
	case s.section != "Timer":
	case slices.Contains(triggers, s.key) && r.Trigger == "":
		r.Trigger, r.Time = s.key, s.value
		return true
	case s.key == "Unit":
		r.Unit = s.value
		return true
	case s.key == "AccuracySec":
		r.Accuracy, ok = spanOf(s.value)
	case s.key == "RandomizedDelaySec":
		r.RandomizedDelay, ok = spanOf(s.value)
	case s.key == "Persistent":
		r.Persistent, ok = boolOf(s.value)
	case s.key == "WakeSystem":
		r.WakeSystem, ok = boolOf(s.value)
	case s.key == "RemainAfterElapse":
		r.RemainAfterElapse, ok = boolOf(s.value)
	}
	return ok
}

// boolOf reads a yes or no as systemd does.
func boolOf(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "1", "yes", "y", "true", "t", "on":
		return true, true
	case "0", "no", "n", "false", "f", "off":
		return false, true
	}
	return false, false
}

// spans are the units of time that systemd knows; a number without one is of seconds.
var spans = map[string]time.Duration{
	"": time.Second, "us": time.Microsecond, "usec": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond,
	"ms": time.Millisecond, "msec": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
	"M": 2629800 * time.Second, "month": 2629800 * time.Second, "months": 2629800 * time.Second,
	"y": 31557600 * time.Second, "year": 31557600 * time.Second, "years": 31557600 * time.Second,
}

// spanOf reads a span of time as systemd does: 1min 30s, 1.5h, 90. A part of more
// than 146 years is refused, and so is a sum that overflows.
func spanOf(s string) (d time.Duration, ok bool) {
	rest := strings.TrimSpace(s)
	for rest != "" {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		number, err := strconv.ParseFloat(rest[:n], 64)
		whole := !strings.HasSuffix(rest[:n], ".")
		rest = strings.TrimLeft(rest[n:], " \t")
		u := strings.IndexAny(rest, "0123456789. \t")
		if u < 0 {
			u = len(rest)
		}
		unit, known := spans[rest[:u]]
		if err != nil || !whole || !known || number*float64(unit) > float64(1<<62) {
			return 0, false
		}
		d += time.Duration(number * float64(unit))
		rest, ok = strings.TrimLeft(rest[u:], " \t"), true
	}
	return d, ok && d >= 0
}

// List yields the timers whose file is in the folder that is ours to write. Timers
// of packages are not among them. It reads each timer as Read does. A failure of one
// is yielded with a nil resource, and the next one follows if the caller goes on. A
// missing folder has no timers.
func (r *Res) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		dir, err := r.dir()
		if err != nil {
			yield(nil, err)
			return
		}
		entries, err := os.ReadDir(dir)
		if err != nil && !files.IsMissing(err) {
			yield(nil, err)
			return
		}
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), ".timer")
			if !ok || !e.Type().IsRegular() || systemd1.CheckUnit(e.Name(), ".timer") != nil {
				continue
			}
			one := &Res{Session: r.Session, init: r.init, root: r.root}
			one.SetKind(r.Kind())
			one.SetName(name)
			got, err := one.Read(ctx)
			if err == nil && got.(*Res).absent() {
				continue // gone meanwhile
			}
			if !yield(got, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// Reversed returns the timer that there was, or its removal. before is the result of
// Read from before the first change; nil stands for no timer. A timer that had
// settings without a parameter is refused, as they would be lost.
func (r *Res) Reversed(before engine.Res) (engine.Res, error) {
	was, ok := before.(*Res)
	switch {
	case before == nil:
		return r.like(Absent), nil
	case !ok:
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	case len(was.Others) > 0:
		return nil, errors.New("the timer that there was has something that no parameter says: " + strings.Join(was.Others, ", "))
	}
	undo := *was
	undo.root = r.root
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	return &undo, nil
}
