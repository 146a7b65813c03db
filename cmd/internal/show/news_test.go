package show

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// seenLive returns what a presenter writes above its live area.
func seenLive(f *Flags, do func(p *Presenter)) string {
	return withoutTime(shown(f, func(p *Presenter) {
		p.watched = true
		p.began = time.Now().Add(-time.Hour)
		do(p)
	}))
}

func changed(resource string) reactor.Run {
	return reactor.Run{Resource: resource, State: resgraph.StateOK, Changed: true, Changes: []engine.Change{updated("content", "a", "b"), updated("mode", nil, "0644")}}
}

// failedTry is a try that has failed.
func failedTry(resource, why string, attempt int, in time.Duration) reactor.Run {
	return reactor.Run{Resource: resource, State: resgraph.StateFailed, Err: errors.New(why), Attempt: attempt, Retry: in > 0, RetryIn: in}
}

// TestFindingQ15OneLineAKind: at rest a kind with many changes gets one line, one with few a line for each change. With -v, as
// wherever nobody watches, each change is a line at once.
func TestFindingQ15OneLineAKind(t *testing.T) {
	const n = 10_000
	do := func(p *Presenter) {
		for i := range n {
			p.Ran(changed(fmt.Sprintf("file[/%d]", i)))
			p.Ran(reactor.Run{Resource: fmt.Sprintf("svc[%d]", i), State: resgraph.StateWouldChange, Noop: true})
			p.Ran(reactor.Run{Resource: fmt.Sprintf("noop[%d]", i), State: resgraph.StateOK})
		}
		p.Ran(changed("file[/1]")) // once more: it is counted once
		p.Ran(reactor.Run{Resource: "svc[x]", State: resgraph.StateUnknown, Noop: true, Until: "exec[z]"})
		p.Ran(reactor.Run{Resource: "exec[a]", State: resgraph.StateOK, Changed: true, Changes: []engine.Change{{Verb: engine.Ran}}})
		p.converged(true, counts(resgraph.StateOK, n))
	}
	want := "INFO exec[a] ran\nINFO file: 10000 changed (-v shows each)\nINFO svc: 10000 would change, 1 unknown\n" +
		"INFO converged: 10000 ok (1h0m0s after the start)\n"
	if got := seenLive(&Flags{}, do); got != want {
		t.Errorf("shown:\n%.1000s\nwant:\n%s", got, want)
	}
	for _, f := range []*Flags{{Verbose: true}, {Debug: true}} {
		if got := seenLive(f, do); strings.Count(got, " content: ") != n+1 || strings.Contains(got, "-v") {
			t.Errorf("%+v shows\n%.1000s", f, got)
		}
	}
	if got := withoutTime(shown(&Flags{}, do)); strings.Count(got, " content: ") != n+1 {
		t.Errorf("where nobody watches:\n%.1000s", got)
	}
}

// TestFindingQ15FewChanges: the changes of a kind are told while they are few, and counted from then on; the next time of work
// begins anew. What was not told is told at the end.
func TestFindingQ15FewChanges(t *testing.T) {
	got := seenLive(&Flags{}, func(p *Presenter) {
		p.Ran(changed("file[a]"))
		p.tellSome()
		p.tellSome()
		for _, name := range []string{"b", "c", "d", "e", "f"} {
			p.Ran(changed("file[" + name + "]"))
		}
		p.tellSome()
		p.converged(true, counts(resgraph.StateOK, 6))
		p.Ran(changed("file[g]"))
		p.Ran(failedTry("exec[a]", "no", 0, 0))
	})
	want := `INFO file[a] content: "a" -> "b"
INFO file[a] mode: (none) -> "0644"
INFO file: 6 changed in all (-v shows each)
INFO converged: 6 ok (1h0m0s after the start)
ERROR exec[a] failed: no
INFO file[g] content: "a" -> "b"
INFO file[g] mode: (none) -> "0644"
`
	if got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
}

// TestFindingQ15Again: a failure is told in full once, and from then on only as the try that has failed again, until there is
// another error or it has recovered. Many that are alike are one line.
func TestFindingQ15Again(t *testing.T) {
	got := seenLive(&Flags{}, func(p *Presenter) {
		for attempt := range 4 {
			for i := range 30 {
				in := time.Second + time.Duration(i)*10*time.Millisecond
				if attempt == 3 {
					in = 0
				}
				p.Ran(failedTry(fmt.Sprintf("exec[%02d]", i), "exit 3: no\nroute", attempt, in))
			}
			p.tellSome()
		}
		p.Ran(failedTry("exec[01]", "exit 3: no\nroute", 0, 0)) // of an event
		p.tellSome()
		p.Ran(failedTry("exec[01]", "something else", 1, time.Second))
		p.tellSome()
		for i := range 30 {
			p.Ran(reactor.Run{Resource: fmt.Sprintf("exec[%02d]", i), State: resgraph.StateOK})
		}
		p.tellSome()
		p.Ran(failedTry("exec[01]", "something else", 0, 0))
	})
	const who = "exec[00], exec[01], exec[02], exec[03], exec[04] and 25 others "
	want := "ERROR " + who + "failed: exit 3: no\n   route (trying again in 1s to 1.29s)\n" +
		"ERROR " + who + "failed again: 2nd try (trying again in 1s to 1.29s)\n" +
		"ERROR " + who + "failed again: 3rd try (trying again in 1s to 1.29s)\n" +
		"ERROR " + who + "failed again: 4th try, the last one\n" +
		"ERROR exec[01] failed again\n" +
		"ERROR exec[01] failed: something else (trying again in 1s)\n" +
		"INFO " + who + "recovered\n" +
		"ERROR exec[01] failed: something else\n"
	if got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
}

// TestFindingQ15Order: what has failed is told before what comes after it.
func TestFindingQ15Order(t *testing.T) {
	got := seenLive(&Flags{}, func(p *Presenter) {
		p.Ran(failedTry("exec[a]", "no", 0, 0))
		p.Reloading()
	})
	if want := "ERROR exec[a] failed: no\nINFO hangup: reading the graph again\n"; got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
}

// TestFindingQ16TwoPackages: packages that a dead mirror keeps away are named in a list, with apt's reason once.
func TestFindingQ16TwoPackages(t *testing.T) {
	got := seenLive(&Flags{}, func(p *Presenter) {
		p.Ran(failedTry("pkg[nginx]", "a repository cannot be reached: E: Failed to fetch", 0, time.Second))
		p.Ran(failedTry("pkg[curl]", "a repository cannot be reached: E: Failed to fetch", 0, time.Second))
		p.converged(true, counts(resgraph.StateFailed, 2))
	})
	want := "ERROR pkg[curl], pkg[nginx] failed: a repository cannot be reached: E: Failed to fetch (trying again in 1s)\n" +
		"WARN at rest: 2 failed (1h0m0s after the start)\n"
	if got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
}

// TestRestOfLiveArea: the live area rests with a graph at rest in which nothing fails, with -v and without. What has left the graph
// fails no more, and does not recover when it is back.
func TestRestOfLiveArea(t *testing.T) {
	for _, f := range []*Flags{{}, {Verbose: true}} {
		got := seenLive(f, func(p *Presenter) {
			p.Ran(failedTry("exec[a]", "no", 0, time.Second))
			p.converged(true, counts(resgraph.StateFailed, 1))
			if p.resting.Load() {
				t.Errorf("%+v: it rests though a resource is tried again", f)
			}
			p.converged(false, reactor.Counts{})
			p.swapped(reactor.Swap{Removed: 1, Leaving: []reactor.Leaving{{Resource: "exec[a]"}}})
			p.converged(true, reactor.Counts{})
			if !p.resting.Load() {
				t.Errorf("%+v: it does not rest though nothing fails", f)
			}
			p.Ran(reactor.Run{Resource: "exec[a]", State: resgraph.StateOK})
		})
		if strings.Contains(got, "recovered") || strings.Contains(got, "no longer fails") {
			t.Errorf("%+v shows\n%s", f, got)
		}
	}
}

func TestOrdinal(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 111: "111th", 122: "122nd"} {
		if got := ordinal(n); got != want {
			t.Errorf("%d is written %s", n, got)
		}
	}
}

// TestFindingQ15LiveArea: the area names what runs with its time and its newest line, and leaves most of the rows to the lines
// above it.
func TestFindingQ15LiveArea(t *testing.T) {
	runs := []reactor.Ongoing{
		{Resource: "pkg[nginx]", Others: 2, For: 71900 * time.Millisecond, Line: "Unpacking nginx (1.2) \x1b[31m..."},
		{Resource: "exec[a\nb]", For: 1900 * time.Millisecond},
	}
	c := counts(resgraph.StateOK, 3)
	c[resgraph.StateRunning] = 4
	want := []string{"4 running, 3 ok", ` 1m11s  pkg[nginx] and 2 others: Unpacking nginx (1.2) \x1b[31m...`, `    1s  exec[a b]`}
	if got := liveText(c, runs, 24); !slices.Equal(got, want) {
		t.Errorf("the area is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var many []reactor.Ongoing
	for i := range 50 {
		many = append(many, reactor.Ongoing{Resource: fmt.Sprintf("exec[%d]", i), For: time.Minute})
	}
	for rows, want := range map[int]string{100: "        41 more", 24: "        41 more", 10: "        46 more", 3: "        50 more", 1: "        50 more"} {
		got := liveText(c, many, rows)
		if got[len(got)-1] != want || len(got) > 1+max(1, rows/2) {
			t.Errorf("%d rows: %d lines, the last one %q, want %q", rows, len(got), got[len(got)-1], want)
		}
	}
}
