package show

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// shown returns what a presenter writes.
func shown(f *Flags, do func(p *Presenter)) string {
	var buf bytes.Buffer
	p := f.Presenter(&cli.App{Err: &buf})
	do(p)
	p.Close()
	p.Close()
	return buf.String()
}

func counts(s resgraph.State, n int) (c reactor.Counts) {
	c[s] = n
	return c
}

func updated(field string, from, to any) engine.Change {
	return engine.Change{Field: field, From: from, To: to}
}

var finding = schema.Diagnostics{{
	Pos: schema.Pos{File: "g.yaml", Line: 3, Col: 5}, Message: "unknown key \"contnt\"", Suggestion: "content",
}}

// TestWhatIsShown: each thing that can happen, as a line.
func TestWhatIsShown(t *testing.T) {
	secret := schema.NewSecret("canary-canary")
	for _, c := range []struct {
		name string
		do   func(p *Presenter)
		want string
	}{
		{"swap", func(p *Presenter) { p.swapped(reactor.Swap{Generation: 2, Name: "web", Added: 1, Removed: 2, Kept: 3}) },
			"INFO graph web, generation 2: 1 added, 2 removed, 3 kept\n"},
		{"empty swap", func(p *Presenter) { p.swapped(reactor.Swap{Generation: 1, Name: "web"}) },
			"INFO graph web, generation 1: no resources\n"},
		{"change", func(p *Presenter) {
			p.Ran(reactor.Run{Resource: "file[/x]", State: resgraph.StateOK, Changed: true, Changes: []engine.Change{updated("content", "a", "b"), updated("mode", nil, "0644")}})
		}, "INFO file[/x] content: \"a\" -> \"b\"\nINFO file[/x] mode: (none) -> \"0644\"\n"},
		{"text", func(p *Presenter) {
			p.Ran(reactor.Run{Resource: "file[/x]", State: resgraph.StateOK, Changed: true, Changes: []engine.Change{updated("content", "a\nb\nc", "a\nx\ny\nc")}})
		}, "INFO file[/x] content: +2 -1 lines\n"},
		{"secret", func(p *Presenter) {
			p.Ran(reactor.Run{Resource: "file[/x]", State: resgraph.StateOK, Changed: true, Changes: []engine.Change{updated("content", secret, secret)}})
		}, "INFO file[/x] content: (secret) -> (secret)\n"},
		{"verbs", func(p *Presenter) {
			p.Ran(reactor.Run{Resource: "exec[a]", State: resgraph.StateOK, Changed: true, Changes: []engine.Change{{Verb: engine.Ran}}})
			p.Ran(reactor.Run{Resource: "exec[b]", State: resgraph.StateOK, Changed: true, Changes: []engine.Change{{Verb: engine.Refreshed}}})
			p.Ran(reactor.Run{Resource: "exec[c]", State: resgraph.StateOK, Changed: true})
		}, "INFO exec[a] ran\nINFO exec[b] refreshed\nINFO exec[c] changed\n"},
		{"noop", func(p *Presenter) {
			p.Ran(reactor.Run{Resource: "file[/x]", State: resgraph.StateWouldChange, Noop: true, Changes: []engine.Change{updated("content", "a", engine.Unknown)}})
			p.Ran(reactor.Run{Resource: "file[/y]", State: resgraph.StateUnknown, Noop: true, Until: "exec[z]"})
		}, "INFO file[/x] would change: content: \"a\" -> (unknown)\nINFO file[/y] is unknown until exec[z] has run\n"},
		{"nothing", func(p *Presenter) { p.Ran(reactor.Run{Resource: "noop[a]", State: resgraph.StateOK}) }, ""},
		{"failure and recovery", func(p *Presenter) {
			p.Ran(reactor.Run{Resource: "exec[a]", State: resgraph.StateFailed, Err: errors.New("exit 1:\n\x1b[2Jno"), Retry: true, RetryIn: 1500 * time.Millisecond})
			p.Ran(reactor.Run{Resource: "exec[a]", State: resgraph.StateOK})
			p.Ran(reactor.Run{Resource: "exec[a]", State: resgraph.StateOK})
		}, "ERROR exec[a] failed: exit 1:\n   \\x1b[2Jno (trying again in 1.5s)\nINFO exec[a] no longer fails\n"},
		{"at rest", func(p *Presenter) {
			p.began = time.Now().Add(-time.Hour)
			p.converged(true, counts(resgraph.StateOK, 3))
			p.converged(true, counts(resgraph.StateFailed, 1))
			p.converged(true, counts(resgraph.StateBlocked, 2))
		}, "INFO converged: 3 ok (1h0m0s after the start)\nWARN at rest: 1 failed (1h0m0s after the start)\nWARN at rest: 2 blocked (1h0m0s after the start)\n"},
		{"slow end", func(p *Presenter) {
			p.Stopping([]string{"exec[a]"})
			p.Stopping([]string{"a[1]", "a[2]", "a[3]", "a[4]", "a[5]", "a[6]", "a[7]"})
		}, "WARN still waiting for exec[a]; once more to stop waiting\n" +
			"WARN still waiting for a[1], a[2], a[3], a[4], a[5] and 2 others; once more to stop waiting\n"},
		{"end", func(p *Presenter) {
			p.began = time.Now().Add(-time.Hour)
			p.Ended(nil, mgmt.Report{})
			p.Ended(cli.SignalError{Signal: syscall.SIGTERM}, mgmt.Report{Converged: true, Counts: counts(resgraph.StateOK, 3)})
			p.Ended(cli.SignalError{Signal: syscall.SIGINT}, mgmt.Report{Counts: counts(resgraph.StateFailed, 3)})
		}, "INFO terminated: ended after 1h0m0s, converged: 3 ok\nWARN interrupt: ended after 1h0m0s, not converged: 3 failed\n"},
		{"reload", func(p *Presenter) { p.Reloading() }, "INFO hangup: reading the graph again\n"},
		{"pauses", func(p *Presenter) {
			p.paused(reactor.Pause{Resource: "exec[a]", Until: time.Unix(0, 0).UTC(), Reason: "disks"}, true)
			p.paused(reactor.Pause{}, true)
			p.paused(reactor.Pause{Resource: "exec[a]"}, false)
			p.paused(reactor.Pause{}, false)
		}, "WARN exec[a] is paused until 1970-01-01T00:00:00Z: disks\nWARN everything is paused until it is resumed\nINFO exec[a] goes on\nINFO everything goes on\n"},
		{"refused", func(p *Presenter) { p.refused(finding); p.refused(errors.New("it is gone")) },
			"ERROR graph refused, the last good one stays in effect: 1 error\n" +
				"ERROR g.yaml:3:5: unknown key \"contnt\" (did you mean \"content\"?)\n" +
				"ERROR graph refused, the last good one stays in effect: it is gone\n"},
		{"warned", func(p *Presenter) { p.Warned(finding) },
			"WARN g.yaml:3:5: unknown key \"contnt\" (did you mean \"content\"?)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := withoutTime(shown(&Flags{}, c.do)); got != c.want {
				t.Errorf("shown:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// TestCountsOfFindings: those that were not kept count too.
func TestCountsOfFindings(t *testing.T) {
	ds := append(slices.Clone(finding), schema.Diagnostic{More: 41}, schema.Diagnostic{Severity: schema.Warning, More: 2})
	if got := ds.Summary(); got != "42 errors, 2 warnings" {
		t.Error(got)
	}
}

func TestConvergedLine(t *testing.T) {
	var c reactor.Counts
	c[resgraph.StateOK], c[resgraph.StateFailed] = 3, 1
	got := withoutTime(shown(&Flags{}, func(p *Presenter) { p.converged(false, c); p.converged(true, c) }))
	if !strings.HasPrefix(got, "WARN at rest: 3 ok, 1 failed (") || strings.Count(got, "\n") != 1 {
		t.Errorf("shown: %q", got)
	}
	if (reactor.Counts{}).String() != "no resources" {
		t.Error("an empty graph has no words")
	}
}

func TestQuietAndDebug(t *testing.T) {
	do := func(p *Presenter) {
		p.Ran(reactor.Run{Resource: "noop[a]", State: resgraph.StateOK})
		p.Ran(reactor.Run{Resource: "noop[b]", State: resgraph.StateOK, Changed: true})
		p.Warned(finding)
		p.Logger.Info("said")
	}
	if got := withoutTime(shown(&Flags{Quiet: true}, do)); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "WARN ") {
		t.Errorf("quiet: %q", got)
	}
	if got := withoutTime(shown(&Flags{Debug: true}, do)); strings.Count(got, "\n") != 4 || !strings.HasPrefix(got, "DEBUG noop[a] ok\n") {
		t.Errorf("debug: %q", got)
	}
}

// TestJSONLog: every line is an object with one of the constant messages, and
// long texts are cut.
func TestJSONLog(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	out := shown(&Flags{format: cli.Choice{Word: "json"}, Debug: true}, func(p *Presenter) {
		p.swapped(reactor.Swap{Name: "web", Generation: 1})
		p.Ran(reactor.Run{Resource: "file[/x]", State: resgraph.StateOK, Changed: true, Refreshed: true, Changes: []engine.Change{updated("content", nil, long)}})
		p.Ran(reactor.Run{Resource: "file[/x]", State: resgraph.StateWouldChange, Noop: true, Changes: []engine.Change{updated("content", schema.NewSecret("canary"), engine.Unknown)}})
		p.Ran(reactor.Run{Resource: "file[/x]", State: resgraph.StateUnknown, Until: "exec[a]"})
		p.Ran(reactor.Run{Resource: "file[/x]", State: resgraph.StateFailed, Err: errors.New("no"), Retry: true})
		p.Ran(reactor.Run{Resource: "file[/x]", State: resgraph.StateOK})
		p.converged(true, reactor.Counts{})
		p.converged(false, reactor.Counts{})
		p.refused(finding)
		p.refused(errors.New("no"))
		p.Warned(finding)
	})
	var msgs []string
	for line := range strings.Lines(out) {
		var rec struct {
			Time  time.Time  `json:"time"`
			Level slog.Level `json:"level"`
			Msg   string     `json:"msg"`
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil || rec.Time.IsZero() {
			t.Fatalf("%q: %v", line, err)
		}
		msgs = append(msgs, rec.Msg)
	}
	want := "graph in effect, changed, would change, unknown, failed, recovered, ok, converged, not converged, graph refused, graph refused, graph warning"
	if got := strings.Join(msgs, ", "); got != want {
		t.Errorf("messages are %s, want %s", got, want)
	}
	for _, bad := range []string{"canary", long} {
		if strings.Contains(out, bad) {
			t.Errorf("%q is in the log", bad[:6])
		}
	}
	for _, part := range []string{`... (4000 bytes)"`, `"unknown":true`, `"from":"(secret)"`, `"until":"exec[a]"`, `"refreshed":true`} {
		if !strings.Contains(out, part) {
			t.Errorf("%s is not in the log:\n%s", part, out)
		}
	}
}
