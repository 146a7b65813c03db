package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// events returns all that a recorder has kept.
func events(t testing.TB, r *Recorder, h History) []*Event {
	t.Helper()
	if err := r.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out []*Event
	for e, err := range h.Query(t.Context(), journal.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, eventIn(&e))
	}
	return out
}

func outcomesOf(list []*Event) []Outcome {
	var out []Outcome
	for _, e := range list {
		out = append(out, e.Outcome)
	}
	return out
}

// TestWhatIsKept: what changed, failed or ended differently is; that all is well
// still is not.
func TestWhatIsKept(t *testing.T) {
	event := []reactor.Trigger{{Cause: reactor.CauseEvent}}
	sweep := []reactor.Trigger{{Cause: reactor.CauseSweep}}
	poll := []reactor.Trigger{{Cause: reactor.CausePoll}, {Cause: reactor.CauseSweep}}
	ok := reactor.Run{Resource: "r[1]", State: resgraph.StateOK, Triggers: event}
	change := reactor.Run{Resource: "r[1]", State: resgraph.StateOK, Changed: true}
	fail := reactor.Run{Resource: "r[1]", State: resgraph.StateFailed, Err: errors.New("no"), Triggers: sweep}
	would := reactor.Run{Resource: "r[1]", State: resgraph.StateWouldChange, Triggers: sweep}
	held := reactor.Run{Resource: "r[1]", State: resgraph.StateHeld}
	with := func(r reactor.Run, ts []reactor.Trigger) reactor.Run { r.Triggers = ts; return r }
	for name, c := range map[string]struct {
		runs []reactor.Run
		want []Outcome
	}{
		"well all the time":   {[]reactor.Run{ok, ok, with(ok, sweep), with(ok, nil)}, nil},
		"changed":             {[]reactor.Run{ok, change, ok}, []Outcome{Changed}},
		"fails twice":         {[]reactor.Run{fail, fail, ok, ok}, []Outcome{Failed, Failed, Recovered}},
		"fails, then changes": {[]reactor.Run{fail, change, ok}, []Outcome{Failed, Changed}},
		"noop, looked by time": {[]reactor.Run{would, would, with(would, poll), ok},
			[]Outcome{WouldChange, Recovered}},
		"noop, an event":       {[]reactor.Run{would, with(would, event), would}, []Outcome{WouldChange, WouldChange}},
		"held is told by Held": {[]reactor.Run{held, change}, []Outcome{Changed}},
	} {
		t.Run(name, func(t *testing.T) {
			rec := newRecorder()
			h := run(t, rec)
			for _, r := range c.runs {
				rec.Ran(r)
			}
			if got := outcomesOf(events(t, rec, h)[1:]); !slices.Equal(got, c.want) {
				t.Errorf("kept %v, want %v", got, c.want)
			}
		})
	}
}

// TestQuiet: what is not kept is remembered for a while.
func TestQuiet(t *testing.T) {
	rec := newRecorder()
	for i := range 3 * maxRecent {
		rec.Ran(reactor.Run{Resource: fmt.Sprintf("r[%d]", i%2), State: resgraph.StateOK, ID: uint64(i + 1)})
	}
	got := rec.Quiet("r[1]")
	if len(got) != maxRecent/2 {
		t.Fatalf("%d runs are remembered", len(got))
	}
	for i, e := range got {
		if want := uint64(3*maxRecent - 2*i); e.Run != want || e.Outcome != OK || e.At.IsZero() {
			t.Fatalf("the run %d is %+v, want number %d", i, e, want)
		}
	}
}

// TestRunAsEvent: every field of a run is told.
func TestRunAsEvent(t *testing.T) {
	rec := newRecorder()
	h := run(t, rec)
	rec.Ran(reactor.Run{
		Resource: "file[/a]", State: resgraph.StateFailed, Err: errors.New("disk full"),
		Changes: []engine.Change{
			{Field: "content", From: strings.Repeat("x", maxText+1), To: engine.Unknown},
			{Field: "key", From: schema.NewSecret(canary), To: "b"},
			{Verb: engine.Created},
			{Field: "odd", From: func() {}, To: 7},
		},
		Refreshed: true, Duration: time.Second, Waited: 2 * time.Second, Attempt: 2, Retry: true, RetryIn: 3 * time.Second,
		ID: 9, Generation: 4, Class: reactor.Cascade,
		Triggers: []reactor.Trigger{{Cause: reactor.CauseValue, From: "password[p]", Run: 8, Field: "content", Merged: 1}},
	})
	list := events(t, rec, h)
	got, err := json.Marshal(list[1])
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	delete(back, "at")
	delete(back, "session")
	if odd := back["changes"].([]any)[3].(map[string]any); !strings.HasPrefix(odd["from"].(string), "0x") {
		t.Errorf("a value without a form in JSON is %v", odd)
	} else {
		delete(odd, "from")
	}
	text, _ := json.Marshal(back)
	const want = `{"attempt":2,"changes":[{"field":"content","from_bytes":16385,"unknown":true},` +
		`{"field":"key","from":"(secret)","to":"b"},{"verb":"created"},{"field":"odd","to":"7"}],` +
		`"class":"cascade","error":"disk full","generation":4,"id":2,"outcome":"failed","refreshed":true,` +
		`"resource":"file[/a]","retry_in_seconds":3,"run":9,"seconds":1,"state":"failed",` +
		`"triggers":[{"cause":"value","field":"content","from":"password[p]","run":8}],"waited_seconds":2}`
	if string(text) != want {
		t.Errorf("the event is\n%s, want\n%s", text, want)
	}
}

// TestFlood: what comes faster than the history takes it is counted, long texts
// are dropped before events are, and the engine's loop never waits.
func TestFlood(t *testing.T) {
	rec := newRecorder()
	big := changedRun("file[/a]", 1)
	big.Changes = []engine.Change{{Field: "content", From: strings.Repeat("x", maxText), To: "y"}}
	for range maxQueue + 10 {
		rec.Ran(big)
	}
	rec.mu.Lock()
	if len(rec.queue) != maxQueue || rec.text > maxQueueText {
		t.Errorf("%d events and %d bytes wait", len(rec.queue), rec.text)
	}
	rec.mu.Unlock()
	h := run(t, rec)
	list := events(t, rec, h)
	whole := 0
	for _, e := range list {
		if len(e.Changes) > 0 && e.Changes[0].From != nil {
			whole++
		}
	}
	if last := list[len(list)-1]; len(list) != maxQueue+1 || last.Outcome != Dropped || last.Dropped != 11 {
		t.Errorf("%d events, the last one is %+v", len(list), last)
	}
	if whole == 0 || whole > maxQueueText/maxText {
		t.Errorf("%d texts were kept", whole)
	}
}

// TestLastWords: what is left is kept at the end.
func TestLastWords(t *testing.T) {
	rec := newRecorder()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec.Ran(changedRun("file[/a]", 1))
	h := newHistory(t)
	rec.Run(ctx, h)
	if got, want := outcomesOf(events(t, rec, h)), []Outcome{Started, Changed, Stopped}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
}

// TestFindingM1HeldBeside: removals that are held beside the graph in effect stand until they are not.
func TestFindingM1HeldBeside(t *testing.T) {
	rec := newRecorder()
	held := &reactor.RemovalsError{Removed: []string{"file[/a]"}, Of: 1}
	for _, w := range []reactor.Swap{{Generation: 1, Held: held}, {Generation: 2}} {
		rec.Swapped(w)
		if s := rec.Standing(); s.Held != (w.Held != nil) || s.Held != (s.Refused != "") {
			t.Errorf("%+v", s)
		}
	}
}

// TestStanding: what the graph and its rest are known to be.
func TestStanding(t *testing.T) {
	rec := newRecorder()
	h := run(t, rec)
	news := rec.Changes()
	rec.Swapped(reactor.Swap{Generation: 3, Name: "web"})
	<-news
	rec.Converged(true, reactor.Counts{resgraph.StateOK: 2})
	rec.Refused(errors.New("bad edit"))
	if s := rec.Standing(); s.Graph != "web" || s.Generation != 3 || !s.Converged || s.Refused != "bad edit" || s.Session == "" {
		t.Errorf("%+v", s)
	}
	rec.Converged(false, reactor.Counts{})
	rec.Swapped(reactor.Swap{Generation: 4})
	if s := rec.Standing(); s.Converged || s.Refused != "" {
		t.Errorf("%+v", s)
	}
	list := events(t, rec, h)
	if got, want := outcomesOf(list), []Outcome{Started, Graph, Converged, Refused, Graph}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
	if list[2].Counts["ok"] != 2 || list[2].Generation != 3 {
		t.Errorf("%+v", list[2])
	}
}

// TestForgets: of resources that have left nothing is remembered.
func TestForgets(t *testing.T) {
	rec := newRecorder()
	rec.Ran(reactor.Run{Resource: "r[1]", State: resgraph.StateFailed})
	rec.Ran(reactor.Run{Resource: "file[/a]", State: resgraph.StateFailed})
	rec.Loaded(func() *resgraph.Graph { return graphOf(t, "file[/a]") })
	if len(rec.odd) != 1 {
		t.Errorf("it remembers %v", rec.odd)
	}
}

// TestPausesAsEvents: who has paused is known only where it was said over the
// socket.
func TestPausesAsEvents(t *testing.T) {
	rec := newRecorder()
	h := run(t, rec)
	done := rec.speaks("uid 7", "", "file[/a]")
	rec.Paused(reactor.Pause{Resource: "file[/a]", Reason: "lunch"}, true)
	rec.Paused(reactor.Pause{Resource: "file[/b]"}, true)
	done()
	rec.Paused(reactor.Pause{Resource: "file[/a]"}, false)
	done = rec.speaks("uid 8", "it is mended", "")
	rec.Held("file[/c]", &reactor.Held{Limit: "flapping", Reason: "r", For: time.Minute})
	rec.Held("file[/c]", nil)
	done()
	list := events(t, rec, h)[1:]
	if got, want := outcomesOf(list), []Outcome{Paused, Paused, Resumed, Held, Resumed}; !slices.Equal(got, want) {
		t.Fatalf("kept %v, want %v", got, want)
	}
	var by []string
	for _, e := range list {
		by = append(by, e.By)
	}
	if want := []string{"uid 7", "", "", "", "uid 8"}; !slices.Equal(by, want) {
		t.Errorf("said by %q, want %q", by, want)
	}
	if list[0].Reason != "" || list[2].Reason != "" || list[4].Reason != "it is mended" {
		t.Errorf("the reasons are %q, %q, %q", list[0].Reason, list[2].Reason, list[4].Reason)
	}
	if list[0].Pause.Reason != "lunch" || list[3].Held.For != 60 {
		t.Errorf("%+v, %+v", list[0].Pause, list[3].Held)
	}
}

// brokenHistory can't be read.
type brokenHistory struct{ History }

func (brokenHistory) Query(context.Context, journal.Query) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) { yield(journal.Entry{}, errors.New("the disk is gone")) }
}

// TestBrokenHistory: who asks is told.
func TestBrokenHistory(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.History = brokenHistory{o.History}
	})
	for _, path := range []string{"/v1/log", "/v1/why?resource=file[/a]"} {
		if w := r.get(t, path); w.Code != 500 || !strings.Contains(w.Body.String(), "the history cannot be read: the disk is gone") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

func BenchmarkRanQuiet(b *testing.B) {
	rec := newRecorder()
	r := reactor.Run{Resource: "file[/a]", State: resgraph.StateOK, ID: 1}
	b.ReportAllocs()
	for b.Loop() {
		rec.Ran(r)
	}
}

func BenchmarkRanKept(b *testing.B) {
	rec := newRecorder()
	r := changedRun("file[/a]", 1)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		rec.Ran(r)
		if n++; n == maxQueue {
			b.StopTimer()
			rec.mu.Lock()
			rec.queue, rec.text, n = nil, 0, 0
			rec.mu.Unlock()
			b.StartTimer()
		}
	}
}

// BenchmarkKeep is what the recorder's own goroutine does with an event.
func BenchmarkKeep(b *testing.B) {
	rec, h := newRecorder(), newHistory(b)
	it := item{outcome: Changed, run: changedRun("file[/a]", 1)}
	b.ReportAllocs()
	for b.Loop() {
		h.Append(rec.encode(&it))
	}
}
