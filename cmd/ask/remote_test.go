package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// TestCodesAgree: status --exit-code ends as run would.
func TestCodesAgree(t *testing.T) {
	for s := range resgraph.State(resgraph.NumStates) {
		var c reactor.Counts
		c[s] = 1
		st := control.Status{Counts: map[string]int{s.String(): 1}}
		if want := (mgmt.Report{Counts: c}).ExitCode(); st.Code() != want {
			t.Errorf("%s is %d, of run %d", s, st.Code(), want)
		}
	}
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// TestStandText: each way to be not ok, on one line, and nothing that moves a
// cursor.
func TestStandText(t *testing.T) {
	for want, r := range map[string]control.Resource{
		"ok":                                     {State: "ok"},
		"failed: a\\x1b[2J (trying again in 2s)": {State: "failed", Error: "a\x1b[2J", RetryIn: 2},
		"failed: x":                              {State: "failed", Error: "x"},
		"blocked by a[b]":                        {State: "blocked", BlockedBy: "a[b]"},
		"waiting for a[b]":                       {State: "waiting", BlockedBy: "a[b]"},
		"waiting for a free slot":                {State: "waiting", WaitsFor: "a free slot"},
		"unknown until a[b] has run":             {State: "unknown", Until: "a[b]"},
		"paused until 2026-01-02T12:00:00.000Z: lunch":            {State: "paused", Pause: &control.Pause{Until: noon, Reason: "lunch"}},
		"paused until it is resumed":                              {State: "paused", Pause: &control.Pause{}},
		"failed: x; paused until it is resumed: lunch":            {State: "failed", Error: "x", Pause: &control.Pause{Reason: "lunch"}},
		"running; paused until it is resumed":                     {State: "running", Pause: &control.Pause{All: true}},
		"held by the limit flapping: r (goes on in 1m0s)":         {State: "held", Held: &control.Hold{Limit: "flapping", Reason: "r", For: 60}},
		"held by the limit budget: r (goes on after mgmt resume)": {State: "held", Held: &control.Hold{Limit: "budget", Reason: "r"}},
	} {
		if got := render.StandText(&r, render.Style{}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestEventText: each outcome, on one line.
func TestEventText(t *testing.T) {
	long := "a\nb\n"
	for want, e := range map[string]control.Event{
		"the daemon was started (pid 7, v1)":                          {Outcome: control.Started, PID: 7, Version: "v1"},
		"the daemon was stopped":                                      {Outcome: control.Stopped},
		"graph g, generation 2: 1 added, 3 kept":                      {Outcome: control.Graph, Generation: 2, Graph: &control.Swap{Name: "g", Added: 1, Kept: 3}},
		"another graph took effect":                                   {Outcome: control.Graph},
		"a graph was refused: bad":                                    {Outcome: control.Refused, Error: "bad"},
		"at rest: 1 ok, 2 failed":                                     {Outcome: control.Converged, Counts: map[string]int{"failed": 2, "ok": 1}},
		"everything paused until it is resumed (by uid 7)":            {Outcome: control.Paused, Pause: &control.Pause{All: true}, By: "uid 7"},
		"a[b] goes on":                                                {Outcome: control.Resumed, Resource: "a[b]"},
		"some events are missing here":                                {Outcome: control.Dropped},
		"12 events are missing here":                                  {Outcome: control.Dropped, Dropped: 12},
		"a[b] is ok again; because it had failed and was tried again": {Outcome: control.Recovered, Resource: "a[b]", Run: 1, Triggers: []control.Trigger{{Cause: "retry"}}},
		"a[b] changed (corrective); because of an event from fanotify: /p, by /usr/bin/vi (pid 7, user root, login jo, unit ssh.service)": {
			Outcome: control.Changed, Resource: "a[b]", Run: 1, Class: "corrective",
			Triggers: []control.Trigger{{Cause: "event", Source: "fanotify", Path: "/p",
				Culprit: &control.Culprit{PID: 7, Program: "/usr/bin/vi", User: "root", Login: "jo", Unit: "ssh.service"}}},
		},
		"a[b] changed (corrective); because of an event from fanotify: /p, by pid 7 (gone)": {
			Outcome: control.Changed, Resource: "a[b]", Run: 1, Class: "corrective",
			Triggers: []control.Trigger{{Cause: "event", Source: "fanotify", Path: "/p", Culprit: &control.Culprit{PID: 7, Gone: true}}},
		},
		"a[b] changed (intended); because a[part] has written /p": {
			Outcome: control.Changed, Resource: "a[b]", Run: 1, Class: "intended",
			Triggers: []control.Trigger{{Cause: "event", From: "a[part]", Run: 3, Source: "fanotify", Path: "/p"}},
		},
		"a[b] is unknown until c[d] has run":   {Outcome: control.Unknown, Resource: "a[b]", Run: 1, Until: "c[d]"},
		"a[b] failed: no (trying again in 1s)": {Outcome: control.Failed, Resource: "a[b]", Run: 1, Error: "no", RetryIn: 1},
		"a[b] changed (corrective): x: +1 -1 lines, y: (20000 bytes) -> (unknown), created; because of an event from inotify: /p (3 times) (events may have been lost), and c[d] has sent another value for x": {
			Outcome: control.Changed, Resource: "a[b]", Run: 1, Class: "corrective",
			Changes:  []control.Change{{Field: "x", From: long, To: "a\nc\n"}, {Field: "y", FromBytes: 20000, Unknown: true}, {Verb: engine.Created}},
			Triggers: []control.Trigger{{Cause: "event", Source: "inotify", Path: "/p", Merged: 3, Resync: true}, {Cause: "value", From: "c[d]", Field: "x"}},
		},
	} {
		e.At = noon
		if got := render.EventText(&e, render.Style{}); got != "2026-01-02T12:00:00.000Z "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestCauseText: there are words for every cause.
func TestCauseText(t *testing.T) {
	for _, cause := range []string{"graph", "event", "poll", "refresh", "value", "retry", "watch", "sweep", "resume", "above", "asked", "below"} {
		if got := render.CauseText(&control.Trigger{Cause: cause, From: "a[b]"}, &control.Event{}); got == cause {
			t.Errorf("%s has no words", cause)
		}
	}
	if got := render.CauseText(&control.Trigger{Cause: "moon"}, &control.Event{}); got != "moon" {
		t.Errorf("an unknown one is %q", got)
	}
}

// TestStatusText: of many resources some are named, and a pause of all only once.
func TestStatusText(t *testing.T) {
	st := &control.Status{Graph: "g", Counts: map[string]int{"failed": 60}}
	st.Generation, st.Started, st.Since = 1, noon.Add(-time.Hour), noon.Add(-time.Minute)
	for i := range 60 {
		st.Resources = append(st.Resources, control.Resource{Resource: fmt.Sprintf("a[%d]", i), State: "failed", Error: "x"})
	}
	all := &control.Pause{All: true}
	st.Resources = append(st.Resources, control.Resource{Resource: "b[1]", State: "paused", Pause: all}, control.Resource{Resource: "b[2]", State: "paused", Pause: all})
	text := (&statusFlags{}).text(st, render.Style{}, noon)
	for _, want := range []string{"g, generation 1: 60 failed\nnot converged for 1m0s; ", "up 1h0m0s\n", "a[49] failed: x\n", "everything paused until it is resumed\n", "and 10 more, which --all names\n"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, text)
		}
	}
	if strings.Contains(text, "a[50]") || strings.Contains(text, "b[1]") {
		t.Errorf("too much:\n%s", text)
	}
	text = (&statusFlags{all: true}).text(st, render.Style{}, noon)
	if !strings.Contains(text, "a[59]") || !strings.Contains(text, "b[1] paused") {
		t.Errorf("too little:\n%s", text)
	}
}

// TestStatusTextPausedFailure: a pause of all hides no failure, with the pause beside it.
func TestStatusTextPausedFailure(t *testing.T) {
	all := &control.Pause{All: true}
	st := &control.Status{Resources: []control.Resource{
		{Resource: "a[1]", State: "failed", Error: "x", Pause: all}, {Resource: "b[1]", State: "paused", Pause: all},
	}}
	text := (&statusFlags{}).text(st, render.Style{}, noon)
	for _, want := range []string{"a[1] failed: x; paused until it is resumed\n", "everything paused until it is resumed\n"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, text)
		}
	}
}

// TestRedrawn: what does not fit on the screen is counted.
func TestRedrawn(t *testing.T) {
	text := redrawn(strings.Repeat("line\n", 30), &cli.App{})
	if strings.Count(text, "\n") != 23 || !strings.Contains(text, "(8 more lines)") || !strings.HasPrefix(text, "\x1b[H") {
		t.Errorf("%q", text)
	}
}

// TestWhen: durations, dates and moments.
func TestWhen(t *testing.T) {
	now := noon
	for text, want := range map[string]time.Time{
		"":                     {},
		"2h":                   now.Add(-2 * time.Hour),
		"2026-01-02T15:04:05Z": time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC),
		"2026-01-02":           time.Date(2026, 1, 2, 0, 0, 0, 0, time.Local),
		"2026-01-02T15:04":     time.Date(2026, 1, 2, 15, 4, 0, 0, time.Local),
		"2026-01-02 15:04:05":  time.Date(2026, 1, 2, 15, 4, 5, 0, time.Local),
	} {
		if got, err := when("since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-2h", "15:04", "2026-13-01"} {
		if _, err := when("since", text, now); err == nil {
			t.Errorf("%q is a time", text)
		}
	}
}

// TestWaits: who waits does not mind that there is no daemon yet, but does not
// wait for ever, nor when the answer is another one.
func TestWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	f := &statusFlags{Daemon: remote.Daemon{Socket: remote.Socket{Socket: daemon.Socket{Path: path}}}, wait: "converged", timeout: cli.Seconds(120 * time.Millisecond)}
	var out bytes.Buffer
	err := f.run(t.Context(), &cli.App{Out: &out})
	if _, ok := errors.AsType[*control.NoDaemonError](err); !ok || !strings.Contains(err.Error(), "start one with: mgmt run FILE") {
		t.Errorf("%v", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan string, 4)
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		code := http.StatusOK
		text := <-answers
		if strings.HasPrefix(text, `{"error"`) {
			code = http.StatusServiceUnavailable
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	})}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	defer wg.Wait()
	defer srv.Close()
	f.timeout = cli.Seconds(time.Minute)
	answers <- `{"error":"the engine has stopped"}`
	answers <- `{"converged":false}`
	answers <- `{"converged":true,"graph":"g","generation":1,"counts":{"held":1}}`
	f.exitCode = true
	err = f.run(t.Context(), &cli.App{Out: &out})
	if e, ok := errors.AsType[*cli.CodeError](err); !ok || e.Code != 2 || !strings.Contains(out.String(), "g, generation 1: 1 held") {
		t.Errorf("%v %s", err, out.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.run(ctx, &cli.App{Out: &out}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
