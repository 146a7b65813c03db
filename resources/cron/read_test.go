package cron

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// readText returns what Read shows of a file with this text, whose timer runs.
func readText(t *testing.T, text string) (r, got *Res) {
	t.Helper()
	dir := t.TempDir()
	kindtest.Lay(t, dir+unitDir+"job.timer", text)
	r = &Res{Trigger: "OnCalendar", Time: "daily", RemainAfterElapse: true, root: dir}
	r.SetName("job")
	f := kindtest.Begin(t, "cron", r)
	s := systemdOf(f, dir)
	s.Active["job.timer"] = "active"
	res, err := r.Read(t.Context())
	kindtest.Must(t, err)
	return r, res.(*Res)
}

func TestCronReads(t *testing.T) {
	for text, want := range map[string]string{
		"[Timer]\nOnCalendar=daily": "OnCalendar daily job.service 0s 0s false false true []",
		"[Timer]\nOnBootSec = 5min\nUnit=x.target\nAccuracySec=1min 30s\nRandomizedDelaySec=2\nPersistent=yes\nWakeSystem=1\nRemainAfterElapse=off": "OnBootSec 5min x.target 1m30s 2s true true false []",
		"[Timer]\nOnCalendar=a\nOnCalendar=b": "OnCalendar a job.service 0s 0s false false true [OnCalendar=b]",
		"[Timer]\nOnCalendar=a\nOnBootSec=5":  "OnCalendar a job.service 0s 0s false false true [OnBootSec=5]",
		"[Timer]\nAccuracySec=often\n[Unit]\nDocumentation=x\nDescription=%n\n[Install]\nWantedBy=a.target": "  job.service 0s 0s false false true [AccuracySec=often Documentation=x Description=%n WantedBy=a.target]",
	} {
		_, c := readText(t, text)
		if got := fmt.Sprint(c.Trigger, " ", c.Time, " ", c.starts(), " ", c.Accuracy, " ", c.RandomizedDelay, " ", c.Persistent, " ", c.WakeSystem, " ", c.RemainAfterElapse, " ", c.Others); got != want {
			t.Errorf("%q is read as\n%s", text, got)
		}
	}
}

// What there was is written again, unless the parameters cannot say it.
func TestCronReversed(t *testing.T) {
	const old = "[Unit]\nDescription=100 %% mine\n[Timer]\nOnBootSec=5min\nAccuracySec=1min 30s\n"
	r, was := readText(t, old)
	f := kindtest.Begin(t, "cron", r)
	s := systemdOf(f, r.root)
	s.Active["job.timer"] = "active"
	kindtest.Verbs(t, f, r, true)
	undo, err := r.Reversed(was)
	kindtest.Must(t, err)
	uf := kindtest.Begin(t, "cron", undo)
	uf.Host().SetBus(s.Open)
	if got := kindtest.Verbs(t, uf, undo, true); !strings.Contains(got, `startup: "enabled" -> "disabled"`) {
		t.Error(got)
	}
	kindtest.WantFile(t, r.root+unitDir+"job.timer", "# The resource cron[job], which undoes other changes.\n\n[Unit]\nDescription=100 %% mine\n\n[Timer]\nOnBootSec=5min\nUnit=job.service\nAccuracySec=1m30s\n\n[Install]\nWantedBy=timers.target\n")
	if s.Enabled["job.timer"] {
		t.Error("it is still enabled")
	}
	r, was = readText(t, old+"OnCalendar=daily\n")
	if _, err := r.Reversed(was); err == nil || !strings.Contains(err.Error(), "OnCalendar=daily") {
		t.Errorf("it can be brought back: %v", err)
	}
	if undo, err := r.Reversed(nil); err != nil || undo.(*Res).State != Absent {
		t.Errorf("%v, %v", undo, err)
	}
}

func TestCronLists(t *testing.T) {
	r, _ := readText(t, "[Timer]\nOnCalendar=daily\n")
	dir := r.root + unitDir
	kindtest.Lay(t, dir+"late.timer", "[Timer]\nOnBootSec=1\n")
	kindtest.Lay(t, dir+"late.service", "")
	kindtest.Lay(t, dir+"-x.timer", "[Timer]\n")
	kindtest.Must(t, os.Symlink("/dev/null", dir+"masked.timer"))
	var all []string
	for res, err := range r.List(t.Context()) {
		kindtest.Must(t, err)
		c := res.(*Res)
		all = append(all, fmt.Sprint(c.Name(), " ", c.Trigger, c.Others))
		kindtest.Must(t, c.Validate())
	}
	if got := strings.Join(all, ", "); got != "job OnCalendar[], late OnBootSec[the timer does not run]" {
		t.Errorf("listed are %s", got)
	}
	for range r.List(t.Context()) {
		break
	}
}

func TestCronSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "1min 30s": 90 * time.Second, "1m30s": 90 * time.Second, "1.5h": 90 * time.Minute, "2d": 48 * time.Hour,
		"1M": 2629800 * time.Second, "5ms 7us": 5007 * time.Microsecond, " 1 hour ": time.Hour, "1.5ms": 1500 * time.Microsecond,
	} {
		if got, ok := spanOf(text); !ok || got != want {
			t.Errorf("%q is %v, %t", text, got, ok)
		}
	}
	for _, text := range []string{"5.", "1h 5.", "", "x", "1 x", "1..2", "-1", "999999999999y", "infinity", "1min x"} {
		if got, ok := spanOf(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	if spans["month"] != spans["M"] || spans["m"] != time.Minute {
		t.Error("a month is no minute")
	}
}

// What systemd-analyze calendar takes is taken; what it refuses is refused, as far as a
// person would write it.
func TestCronTimes(t *testing.T) {
	for _, text := range []string{
		"daily", "DAILY", "daily UTC", "biannually", "bi-annually utc", "semi-annually", "weekly Europe/Berlin", "Mon..Fri", "mon-fri 10:00", "Mon,Tue *-*-* 00:00", "Mon,", "Monday", "@1234", "Mon @12",
		"*:*", "*:*:*", "*-*-* *:*:*", "02:30", "0010:00", "12:00:00.5", "12:00,30", "12:00/15", "1,2,3:00", "1..2/5:00", "*:0..30/40", "*:*:0/0.3", "*-*-1/2", "2020/2-*-*",
		"*-*~1", "*~05", "*-02~03/1", "*-1~7..9", "1-1", "1..3-1", "2012-*-1", "70-1-1", "2024..2026-1-1", "2026-12-31 23:59 America/New_York",
	} {
		if err := checkCalendar(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, says := range map[string]string{
		"foo": "no day of the week", "Foo..Fri": "no day", "Sun..Mon 1:00": "backwards", "Mon..": "no day", ",Mon": "not understood",
		"24:00": `"24": 24 is not from 0 to 23`, "12:60": "minute", "12:00:60": "second", "10:": `"" is no number`, ":10": `"" is no number`, "10": "not understood", "*": "not understood",
		"*/2:00": `"*" is no number`, "*:0/0": `"0" is no step`, "*:5..3": "backwards", "0:0/70": "leads beyond 59", "1,,2:00": "no number", "*,1:00": "no number", "1:2:3:4": "no time of day",
		"13-1": "month", "1-32": "day", "1-0": "day", "1969-1-1": "year", "2200-1-1": "year", "2026..2024-1-1": "backwards", "1-1-1-1": "no date", "-o": "no number",
		"10:00 Europe/": "not understood", "10:00 nowhere": "not understood", "10:00 Local": "not understood", "3-3 5": "not understood", "10:00 11:00": "not understood", "1.5:00": "no number", "1e1:00": "no number",
	} {
		if err := checkCalendar(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	r := resAt("")
	r.Time = "25:00"
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), `time "25:00": hour "25"`) {
		t.Error(err)
	}
	r.Trigger, r.Persistent = "OnBootSec", false
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), `time "25:00" is no span of time`) {
		t.Error(err)
	}
}
