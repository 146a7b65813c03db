package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// into decodes a good answer.
func into[T any](t testing.TB, r *rig, target string) *T {
	t.Helper()
	w := r.get(t, target)
	out := new(T)
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s (%v)", target, w.Code, w.Body, err)
	}
	return out
}

func TestNewServer(t *testing.T) {
	if _, err := NewServer(Options{}); err == nil {
		t.Error("a server without an engine was made")
	}
}

func TestVersion(t *testing.T) {
	r := newRig(t)
	v := into[Version](t, r, "/v1/version")
	if v.Version != "v1" || v.API != 1 || v.PID != os.Getpid() || v.StateDir != "/var/lib/x" || v.Generation != 1 || v.Session == "" {
		t.Errorf("%+v", v)
	}
}

// TestStatus: what is not ok, what is asked for, or all; the counts are of all.
func TestStatus(t *testing.T) {
	r := newRig(t)
	for target, want := range map[string]string{
		"/v1/status":                              "svc[web] exec[late] print[all]",
		"/v1/status?all=true":                     "file[/a] svc[web] exec[late] print[all]",
		"/v1/status?state=ok,held":                "file[/a] print[all]",
		"/v1/status?state=ok&all=true":            "file[/a]",
		"/v1/status?wait=converged&for_seconds=0": "svc[web] exec[late] print[all]",
	} {
		s := into[Status](t, r, target)
		var got []string
		for _, v := range s.Resources {
			got = append(got, v.Resource)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %v, want %s", target, got, want)
		}
		if s.Graph != "web" || len(s.Counts) != 4 || s.Counts["failed"] != 1 || s.Converged || s.Generation != 1 {
			t.Errorf("%s: %+v", target, s)
		}
	}
	r.engine.awaits = []string{"exec[backup]"}
	s := into[Status](t, r, "/v1/status")
	if strings.Join(s.Awaits, " ") != "exec[backup]" {
		t.Errorf("a new graph waits for %v", s.Awaits)
	}
	if v := s.Resources[0]; v.Error != "exit status 3" || v.RetryIn != 1.5 || v.Pause == nil || v.Pause.All || v.Pause.Reason != "lunch" {
		t.Errorf("%+v", v)
	}
	if v := s.Resources[2]; v.Held.Limit != "budget" || s.Resources[1].BlockedBy != "svc[web]" {
		t.Errorf("%+v", v)
	}
}

// TestStatusOfWatches: folders are counted by their source. Those of which no event tells everything are named, and with
// all each one. A source that does not answer holds no status up.
func TestStatusOfWatches(t *testing.T) {
	list := []Folder{{"/a", "fanotify", ""}, {"/b", "fanotify", "nfs4"}, {"/c", "poll", ""}}
	if w := watchesOf(list, false); w.Counts["fanotify"] != 2 || w.Counts["poll"] != 1 || len(w.Folders) != 2 || w.Folders[0].Remote != "nfs4" || w.More != 0 {
		t.Errorf("%+v", w)
	}
	if w := watchesOf(list, true); len(w.Folders) != 3 {
		t.Errorf("%+v", w)
	}
	if w := watchesOf(slices.Repeat(list, 30), false); len(w.Folders) != maxFolders || w.More != 60-maxFolders {
		t.Errorf("%d are named, and %d more", len(w.Folders), w.More)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &Server{opt: Options{Clock: clock.System{}, Folders: func(ctx context.Context) ([]Folder, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}}}
		if w := s.watches(t.Context(), false); w == nil || !strings.Contains(w.Error, "a file system may hang") {
			t.Errorf("%+v", w)
		}
	})
}

// TestStatusWaits: it answers as soon as the graph has converged.
func TestStatusWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		time.AfterFunc(5*time.Second, func() { r.rec.Converged(true, reactor.Counts{resgraph.StateOK: 4}) })
		start := time.Now()
		s := into[Status](t, r, "/v1/status?wait=converged&for_seconds=60")
		if d := time.Since(start); !s.Converged || d != 5*time.Second {
			t.Errorf("converged is %t after %s", s.Converged, d)
		}
		r.rec.Converged(false, reactor.Counts{})
		start = time.Now()
		s = into[Status](t, r, "/v1/status?wait=converged&for_seconds=2.5")
		if d := time.Since(start); s.Converged || d != 2500*time.Millisecond {
			t.Errorf("converged is %t after %s", s.Converged, d)
		}
	})
}

// TestCode: the exit code of how things stand.
func TestCode(t *testing.T) {
	for word, want := range map[string]int{"ok": 0, "paused": 0, "waiting": 5, "starting": 5, "running": 5, "would-change": 2, "unknown": 2, "held": 2, "failed": 4, "blocked": 4} {
		if got := (&Status{Counts: map[string]int{word: 1}}).Code(); got != want {
			t.Errorf("%s is %d, want %d", word, got, want)
		}
	}
	if got := (&Status{Counts: map[string]int{"held": 1, "failed": 2}}).Code(); got != 6 {
		t.Errorf("both are %d", got)
	}
	lost := &StateLost{Error: "no space left on device"}
	for _, c := range []struct {
		status Status
		want   int
	}{
		{Status{StateLost: lost, Early: true}, 4},
		{Status{StateLost: lost, Early: true, Held: "too many removals"}, 6},
		{Status{StateLost: lost, Held: "too many removals"}, 6},
		{Status{StateLost: &StateLost{}}, 0}, // all was written anew
	} {
		c.status.Counts = map[string]int{"ok": 1}
		if got := c.status.Code(); got != c.want {
			t.Errorf("%+v: code %d, want %d", c.status, got, c.want)
		}
	}
	if got := (&Status{Counts: map[string]int{"ok": 1}, Early: true}).Code(); got != 5 {
		t.Errorf("before it has converged it is %d", got)
	}
	if got := (&Status{Counts: map[string]int{"failed": 1}, Refused: "graph.yaml:3:1: no"}).Code(); got != 1 {
		t.Errorf("with a graph refused it is %d", got)
	}
}

// TestFindingC2StatusAtRest: what is tried again is told as it rested, with what it does
// at this moment beside it, and is found by both words.
func TestFindingC2StatusAtRest(t *testing.T) {
	r := newRig(t)
	r.engine.list = []reactor.Status{
		{Resource: "exec[again]", State: resgraph.StateRunning, Rest: resgraph.StateFailed, Err: errors.New("exit status 3")},
		{Resource: "file[/a]", State: resgraph.StateRunning, Rest: resgraph.StateOK},
	}
	s := into[Status](t, r, "/v1/status")
	if len(s.Resources) != 1 || s.Counts["failed"] != 1 || s.Counts["ok"] != 1 || s.ExitCode != 4 || s.Code() != 4 {
		t.Errorf("%+v", s)
	}
	if v := s.Resources[0]; v.State != "failed" || v.Doing != "running" || v.Error != "exit status 3" {
		t.Errorf("%+v", v)
	}
	for target, want := range map[string]int{"running": 2, "failed": 1, "ok": 1} {
		if s := into[Status](t, r, "/v1/status?state="+target); len(s.Resources) != want {
			t.Errorf("state %s: %+v", target, s.Resources)
		}
	}
}

func TestResources(t *testing.T) {
	r := newRig(t)
	for target, want := range map[string]string{
		"/v1/resources":             "[exec[late] file[/a] print[all] svc[web]]",
		"/v1/resources?prefix=file": "[file[/a]]",
		"/v1/resources?prefix=x":    "[]",
		"/v1/resources?limit=2":     "[exec[late] file[/a]]",
	} {
		if got := fmt.Sprint(into[Names](t, r, target).Resources); got != want {
			t.Errorf("%s is %s, want %s", target, got, want)
		}
	}
}

// TestWhy follows a chain: a password sends to a file, which notifies a service.
func TestWhy(t *testing.T) {
	r := newRig(t)
	trigger := func(c reactor.Cause, from string, n uint64) []reactor.Trigger {
		return []reactor.Trigger{{Cause: c, From: from, Run: n, Field: "content"}}
	}
	r.rec.Ran(reactor.Run{Resource: "password[p]", State: resgraph.StateOK, ID: 1}) // only in memory
	up := changedRun("file[/a]", 2)
	up.Triggers = trigger(reactor.CauseValue, "password[p]", 1)
	r.rec.Ran(up)
	r.rec.Ran(changedRun("file[/a]", 3))
	down := changedRun("svc[web]", 4)
	down.Triggers = trigger(reactor.CauseRefresh, "file[/a]", 2)
	r.rec.Ran(down)
	r.rec.Ran(reactor.Run{Resource: "svc[web]", State: resgraph.StateOK, ID: 5})

	w := into[Why](t, r, "/v1/why?resource=svc[web]")
	if want := []string{"svc[web]"}; !slices.Equal(r.engine.asked, want) {
		t.Errorf("for one resource %q were asked for", r.engine.asked)
	}
	if len(w.Runs) != 2 || w.Runs[0].Run != 5 || w.Runs[0].Outcome != OK || w.Status.State != "failed" {
		t.Fatalf("%+v", w)
	}
	by := w.Runs[1].Triggers[0].By
	if by == nil || by.Run != 2 || by.Changes[0].Field != "content" {
		t.Fatalf("the run came from %+v", by)
	}
	if by = by.Triggers[0].By; by == nil || by.Resource != "password[p]" {
		t.Errorf("and that from %+v", by)
	}
	if w := into[Why](t, r, "/v1/why?resource=svc[web]&n=1"); len(w.Runs) != 1 || w.Runs[0].Run != 5 {
		t.Errorf("the last one is %+v", w.Runs)
	}
	if w := into[Why](t, r, "/v1/why?resource=password[p]"); w.Status != nil || len(w.Runs) != 1 {
		t.Errorf("one that has left: %+v", w)
	}
}

// TestDetail: what a resource declares, what the machine has, and its neighbors. Secrets and long texts are not told.
func TestDetail(t *testing.T) {
	r := newRig(t)
	run := changedRun("svc[web]", 1)
	run.Changed, run.State = false, resgraph.StateFailed
	r.rec.Ran(run)
	d := into[Detail](t, r, "/v1/resource?resource=svc[web]")
	if d.Resource != "svc[web]" || d.Status == nil || len(d.Runs) != 1 {
		t.Fatalf("%+v", d)
	}
	want := []Param{
		{Name: "content", Declared: "new", Differs: true, Actual: "a\nb\n"}, {Name: "password", Declared: schema.Redacted}, {Name: "wait", Declared: "3m0s"},
		{Name: "long", DeclaredBytes: maxText + 1}, {Name: "mode", From: []string{"value[v].any"}},
	}
	if !reflect.DeepEqual(d.Params, want) {
		t.Errorf("%+v", d.Params)
	}
	before, after := []Neighbor{{Resource: "file[/a]", State: "ok"}}, []Neighbor{{Resource: "exec[late]", State: "blocked"}}
	if !reflect.DeepEqual(d.Needs, before) || !reflect.DeepEqual(d.Dependents, after) {
		t.Errorf("%+v %+v", d.Needs, d.Dependents)
	}
	if d := into[Detail](t, r, "/v1/resource?resource=print[one]"); d.Resource != "print[all]" || d.Member != "print[one]" {
		t.Errorf("%+v", d)
	}
	if w := r.get(t, "/v1/resource?resource=svc[none]"); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestWhyOfMember: a member of a group is run by its owner.
func TestWhyOfMember(t *testing.T) {
	r := newRig(t)
	r.rec.Ran(changedRun("print[all]", 1))
	if w := into[Why](t, r, "/v1/why?resource=print[one]"); w.Resource != "print[all]" || w.Member != "print[one]" || len(w.Runs) != 1 {
		t.Errorf("%+v", w)
	}
	if l := into[Log](t, r, "/v1/log?resource=print[one]"); len(l.Events) != 1 {
		t.Errorf("%+v", l)
	}
}

// TestWhyCulprit: who made the event of a run is told, in characters that any terminal shows.
func TestWhyCulprit(t *testing.T) {
	r := newRig(t)
	run := changedRun("file[/a]", 1)
	run.Triggers = []reactor.Trigger{{Cause: reactor.CauseEvent, Source: "fanotify", Path: "/a",
		By: &provenance.Culprit{PID: 7, Program: "/tmp/a\u202e\x1b[2Jb\xff", User: "root", Unit: "x.service"}}}
	r.rec.Ran(run)
	for _, e := range []*Event{into[Why](t, r, "/v1/why?resource=file[/a]").Runs[0], into[Log](t, r, "/v1/log?outcome=changed").Events[0]} {
		want := Culprit{PID: 7, Program: `/tmp/a\u202e\x1b[2Jb\xff`, User: "root", Unit: "x.service"}
		if c := e.Triggers[0].Culprit; c == nil || *c != want || e.By != `"/tmp/a\u202e\x1b[2Jb\xff" (pid 7, user root, unit x.service)` {
			t.Errorf("%+v, by %s", c, e.By)
		}
	}
}

// TestWhyIsBounded: runs that cause each other end somewhere.
func TestWhyIsBounded(t *testing.T) {
	r := newRig(t)
	for i := range uint64(400) {
		run := changedRun("file[/a]", i+1)
		run.Triggers = []reactor.Trigger{
			{Cause: reactor.CauseRefresh, From: "file[/a]", Run: i},
			{Cause: reactor.CauseValue, From: "file[/a]", Run: i},
		}
		r.rec.Ran(run)
	}
	w := into[Why](t, r, "/v1/why?resource=file[/a]")
	var count func(e *Event, depth int) int
	count = func(e *Event, depth int) (n int) {
		if depth > maxChain {
			t.Fatal("the chain is too long")
		}
		for _, tr := range e.Triggers {
			if tr.By != nil {
				n += 1 + count(tr.By, depth+1)
			}
		}
		return n
	}
	n := 0
	for _, e := range w.Runs {
		n += count(e, 0)
	}
	if n != maxCauses {
		t.Errorf("%d causes are told", n)
	}
}

// TestLog: the newest that fit, the oldest of them first.
func TestLog(t *testing.T) {
	r := newRig(t)
	for i := range uint64(5) {
		r.rec.Ran(changedRun("file[/a]", i+1))
	}
	r.rec.Ran(reactor.Run{Resource: "svc[web]", State: resgraph.StateFailed, Err: errors.New("x"), ID: 6})
	all := into[Log](t, r, "/v1/log")
	if len(all.Events) != 8 || all.More || all.Events[0].Outcome != Started {
		t.Fatalf("%+v", all)
	}
	middle := all.Events[4]
	at := func(e *Event) string { return e.At.UTC().Format(time.RFC3339Nano) }
	for target, want := range map[string]string{
		"/v1/log?outcome=failed":                                   "6",
		"/v1/log?outcome=failed,changed&resource=svc[web]":         "6",
		"/v1/log?limit=2":                                          "5 6 more",
		"/v1/log?outcome=changed&limit=1":                          "5 more",
		"/v1/log?until=" + at(middle) + "&outcome=changed":         "1 2",
		"/v1/log?since=" + at(middle):                              "3 4 5 6",
		fmt.Sprintf("/v1/log?before=%d&after=3", middle.ID):        "2",
		fmt.Sprintf("/v1/log?before=%d&limit=1", all.Events[3].ID): "1 more",
	} {
		l := into[Log](t, r, target)
		var got []string
		for _, e := range l.Events {
			got = append(got, fmt.Sprint(e.Run))
		}
		if l.More {
			got = append(got, "more")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %v, want %s", target, got, want)
		}
	}
}

func TestGraphLive(t *testing.T) {
	r := newRig(t)
	for format, want := range map[string]string{"dot": "digraph", "mermaid": "flowchart LR", "json": `"state": "failed"`} {
		w := r.get(t, "/v1/graph?direction=LR&format="+format)
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Body.String(), "failed") || !strings.Contains(w.Body.String(), "members: 1") {
			t.Errorf("%s: %d %s", format, w.Code, w.Body)
		}
	}
}

func TestPauseAndResume(t *testing.T) {
	r := newRig(t)
	start := time.Now()
	w := r.request(t, "POST", "/v1/pause", `{"resource":"print[one]","for_seconds":90.5,"reason":"lunch"}`)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"resource":"print[all]"`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	p := r.engine.paused[0]
	if d := p.Until.Sub(start); p.Resource != "print[all]" || p.Reason != "lunch" || d < 90*time.Second || d > 2*time.Minute {
		t.Errorf("%+v", p)
	}
	if w := r.request(t, "POST", "/v1/pause", `{}`); w.Code != 200 || !r.engine.paused[1].Until.IsZero() || r.engine.paused[1].Resource != "" {
		t.Errorf("%d %s %+v", w.Code, w.Body, r.engine.paused)
	}
	for _, body := range []string{`{}`, `{"resource":"file[/a]"}`} {
		if w := r.request(t, "POST", "/v1/resume", body); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if want := []string{"", "file[/a]"}; !slices.Equal(r.engine.resumed, want) {
		t.Errorf("resumed %q", r.engine.resumed)
	}
	if w := r.request(t, "POST", "/v1/resume", `{"resource":"print[one]"}`); w.Code != 200 || !strings.Contains(w.Body.String(), `"resource":"print[all]"`) {
		t.Errorf("a member: %d %s", w.Code, w.Body)
	}
	r.engine.err = &reactor.UnknownResourceError{Resource: "file[/a]"} // it has just left
	if w := r.request(t, "POST", "/v1/resume", `{"resource":"file[/a]"}`); w.Code != 404 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestFindingC1RetryOverTheSocket: those that are named are tried again, or all that have
// failed; one that has not failed is an error that says how it is.
func TestFindingC1RetryOverTheSocket(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		body, want string
		code       int
	}{
		{`{}`, `{"resources":["svc[web]"]}`, 200},
		{`{"resources":["svc[web]","svc[web]"]}`, `{"resources":["svc[web]"]}`, 200},
		{`{"resources":["file[/a]"]}`, `has not failed: it is ok`, 409},
		{`{"resources":["file[/b]"]}`, `file[/b]`, 404},
		{`{"resources":"svc[web]"}`, `the body cannot be read`, 400},
	} {
		if w := r.request(t, "POST", "/v1/retry", c.body); w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.body, w.Code, w.Body)
		}
	}
	if want := []string{"svc[web]", "svc[web]"}; !slices.Equal(r.engine.retried, want) {
		t.Errorf("tried %q", r.engine.retried)
	}
	r.engine.err = &reactor.NotHeldError{Resource: "file[/a]", State: resgraph.StateFailed}
	if w := r.request(t, "POST", "/v1/resume", `{"resource":"file[/a]"}`); w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"resource":"file[/a]","state":"failed"}` {
		t.Errorf("resume: %d %s", w.Code, w.Body)
	}
}

// TestResumeOfOneThatLeft: a pause outlives the place of its resource in the graph,
// and can be ended all the same, once.
func TestResumeOfOneThatLeft(t *testing.T) {
	r := newRig(t)
	if w := r.request(t, "POST", "/v1/pause", `{"resource":"file[/a]"}`); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	r.engine.list = r.engine.list[1:]
	r.rec.Loaded(func() *resgraph.Graph { return graphOf(t, "svc[web]") })
	for i, want := range []int{200, 404} {
		w := r.request(t, "POST", "/v1/resume", `{"resource":"file[/a]"}`)
		if w.Code != want || !strings.Contains(w.Body.String(), "file[/a]") {
			t.Errorf("%d: %d %s, want %d", i, w.Code, w.Body, want)
		}
	}
	if want := []string{"file[/a]"}; !slices.Equal(r.engine.resumed, want) {
		t.Errorf("resumed %q", r.engine.resumed)
	}
}

// TestRefusals: whatever is asked badly is answered with what to do, in JSON.
func TestRefusals(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		method, target, body string
		code                 int
		want                 string
	}{
		{"GET", "/", "", 404, "there is no /"},
		{"GET", "/v1/statsu", "", 404, `did you mean \"/v1/status\"?`},
		{"POST", "/v1/status", "", 405, "use GET"},
		{"GET", "/v1/pause", "", 405, "use POST"},
		{"GET", "/v1/status?sate=ok", "", 400, `did you mean \"state\"?`},
		{"GET", "/v1/status?state=faild", "", 400, `did you mean \"failed\"?`},
		{"GET", "/v1/status?state=ok&state=held", "", 400, "more than once"},
		{"GET", "/v1/status?all=perhaps", "", 400, "must be true or false"},
		{"GET", "/v1/status?wait=ok", "", 400, "write converged"},
		{"GET", "/v1/status?for_seconds=NaN", "", 400, "number of seconds"},
		{"GET", "/v1/status?for_seconds=-1", "", 400, "number of seconds"},
		{"GET", "/v1/status?%zz", "", 400, "cannot be read"},
		{"GET", "/v1/why", "", 400, "name one as kind[name]"},
		{"GET", "/v1/why?resource=svc[wbe]", "", 404, `did you mean \"svc[web]\"?`},
		{"GET", "/v1/why?resource=web", "", 404, `did you mean \"svc[web]\"?`},
		{"GET", "/v1/why?resource=svc[web]&n=0", "", 400, "from 1 to 100"},
		{"GET", "/v1/why?resource=svc[web]&n=101", "", 400, "from 1 to 100"},
		{"GET", "/v1/log?resource=svc[wbe]", "", 404, `did you mean \"svc[web]\"?`},
		{"GET", "/v1/log?since=yesterday", "", 400, "RFC 3339"},
		{"GET", "/v1/log?limit=1001", "", 400, "from 1 to 1000"},
		{"GET", "/v1/log?before=x", "", 400, "whole number"},
		{"GET", "/v1/log?outcome=chnged", "", 400, `did you mean \"changed\"?`},
		{"GET", "/v1/events?since=99", "", 400, "there is no event 99 yet"},
		{"GET", "/v1/events?resource=svc[wbe]", "", 404, "did you mean"},
		{"GET", "/v1/graph?format=gif", "", 400, "write dot, mermaid, json"},
		{"GET", "/v1/metrics", "", 404, "keeps no metrics"},
		{"GET", "/debug/pprof/heap?debug=3", "", 400, "from 0 to 2"},
		{"GET", "/debug/pprof/profile?seconds=301", "", 400, "from 0 to 300"},
		{"POST", "/v1/pause", "", 400, "send one JSON object"},
		{"POST", "/v1/pause", "[]", 400, "send one JSON object"},
		{"POST", "/v1/pause", "null", 400, "send one JSON object"},
		{"POST", "/v1/resume", " null\n", 400, "it is null"},
		{"POST", "/v1/pause", `{} x`, 400, "send one JSON object"},
		{"POST", "/v1/pause", `{"resorce":"x"}`, 400, `unknown field`},
		{"POST", "/v1/pause", `{} {}`, 400, "there is more after the object"},
		{"POST", "/v1/pause", `{"for_seconds":-1}`, 400, "it must be from 0"},
		{"POST", "/v1/pause", `{"for_seconds":1e300}`, 400, "it must be from 0 to 315360000, which is ten years"},
		{"POST", "/v1/pause", `{"reason":"` + strings.Repeat("x", maxReason+1) + `"}`, 400, "are the most"},
		{"POST", "/v1/pause", `{"reason":"` + strings.Repeat("x", maxBody) + `"}`, 413, "too large"},
		{"POST", "/v1/pause", `{"resource":"svc[wbe]"}`, 404, "did you mean"},
		{"POST", "/v1/resume", `{"resource":"svc[wbe]"}`, 404, "did you mean"},
	} {
		w := r.request(t, c.method, c.target, c.body)
		var e Error
		err := json.Unmarshal(w.Body.Bytes(), &e)
		if w.Code != c.code || err != nil || e.Text == "" || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %.40s: %d %s, want %d %s", c.method, c.target, c.body, w.Code, w.Body, c.code, c.want)
		}
	}
	if len(r.engine.paused)+len(r.engine.resumed) > 0 {
		t.Error("something was done all the same")
	}
}

// TestEngineInTrouble: one that does not answer, has stopped, or errs.
func TestEngineInTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.engine.hang = true
		for _, target := range []string{"/v1/status", "/v1/why?resource=svc[web]", "/v1/graph", "/v1/dump"} {
			start := time.Now()
			if w := r.get(t, target); w.Code != 504 || !strings.Contains(w.Body.String(), "did not answer in time") || time.Since(start) != askTimeout {
				t.Errorf("%s: %d %s after %s", target, w.Code, w.Body, time.Since(start))
			}
		}
		r.engine.hang, r.engine.err = false, reactor.ErrStopped
		if w := r.get(t, "/v1/status"); w.Code != 503 || !strings.Contains(w.Body.String(), "start it again") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		r.engine.err = errors.New("the store is gone")
		if w := r.request(t, "POST", "/v1/pause", "{}"); w.Code != 500 || !strings.Contains(w.Body.String(), "the store is gone") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// TestBeforeTheFirstGraph: there is an answer to everything.
func TestBeforeTheFirstGraph(t *testing.T) {
	rec := newRecorder()
	s, err := NewServer(Options{Engine: &fakeEngine{rec: rec}, Recorder: rec, History: run(t, rec)})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Server: s}
	if st := into[Status](t, r, "/v1/status"); st.Generation != 0 || st.Converged || len(st.Resources) != 0 {
		t.Errorf("%+v", st)
	}
	for _, target := range []string{"/v1/graph", "/v1/why?resource=a[b]"} {
		if w := r.get(t, target); w.Code != 404 || !strings.Contains(w.Body.String(), "there is no graph yet") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	if n := into[Names](t, r, "/v1/resources"); n.Resources == nil || len(n.Resources) != 0 {
		t.Errorf("%+v", n)
	}
}

// TestProfiles: all there are, also those that take a time.
func TestProfiles(t *testing.T) {
	r := newRig(t)
	for _, name := range profiles() {
		if w := r.get(t, "/debug/pprof/"+name+"?seconds=0.01"); w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("%s: %d, %d bytes", name, w.Code, w.Body.Len())
		}
	}
	if w := r.get(t, "/debug/pprof/goroutine?debug=1"); !strings.HasPrefix(w.Body.String(), "goroutine profile") {
		t.Errorf("%s", w.Body)
	}
}

func TestMetrics(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Metrics = func(http.ResponseWriter, *http.Request) (any, error) {
			return &httpd.Answer{Type: "text/plain", Body: []byte("mgmt_up 1\n")}, nil
		}
	})
	if w := r.get(t, "/v1/metrics"); w.Body.String() != "mgmt_up 1\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestNothingOfTheResources: no answer shows a field of a resource.
func TestNothingOfTheResources(t *testing.T) {
	r := newRig(t)
	r.rec.Ran(changedRun("svc[web]", 1))
	for _, rt := range r.frame.Table.Routes() {
		if slices.Contains(rt.Types, httpd.EventsType) || strings.HasPrefix(rt.Pattern, "/debug/") {
			continue // streams last for ever, and tell what log and lists tell; the memory of the process
		}
		target := rt.Pattern
		if slices.ContainsFunc(rt.Params, func(p httpd.Param) bool { return p.Name == "resource" }) {
			target += "?resource=svc[web]"
		}
		if w := r.request(t, rt.Method, target, "{}"); strings.Contains(w.Body.String(), canary) {
			t.Errorf("%s shows %s", target, w.Body)
		}
	}
}

// TestRoutesAreDocumented: each with its parameters, and no others.
func TestRoutesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/objects.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile("(?m)^### `([A-Z]+) ([^ `?]+)`").FindAllStringSubmatch(string(page), -1) {
		told = append(told, m[1]+" "+m[2])
	}
	r := newRig(t)
	for _, rt := range r.frame.Table.Routes() {
		if strings.HasPrefix(rt.Pattern, "/debug/pprof/") {
			continue // one line tells of them all
		}
		k := slices.Index(told, rt.Method+" "+rt.Pattern)
		if k < 0 {
			t.Errorf("docs/objects.md does not have %s %s", rt.Method, rt.Pattern)
			continue
		}
		told = slices.Delete(told, k, k+1)
		for _, p := range rt.Params {
			if !strings.Contains(string(page), "`"+p.Name+"`") {
				t.Errorf("docs/objects.md does not have the parameter %s of %s", p.Name, rt.Pattern)
			}
		}
	}
	if len(told) > 0 {
		t.Errorf("docs/objects.md tells of %v, which are not there", told)
	}
}

// TestFieldsAreDocumented: each field of each document.
func TestFieldsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/objects.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ.PkgPath() != reflect.TypeFor[Event]().PkgPath() || seen[typ] {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/objects.md does not have %s of %s", name, typ)
			}
			look(f.Type)
		}
	}
	for _, doc := range []any{Version{}, Status{}, Names{}, Why{}, Detail{}, Log{}, Event{}, PauseRequest{}, ResumeRequest{}, RetryRequest{}, Retried{}, Done{}, Error{}} {
		look(reflect.TypeOf(doc))
	}
	if len(seen) < 14 {
		t.Errorf("only %d documents were looked at", len(seen))
	}
	for _, o := range Outcomes() {
		if !strings.Contains(string(page), "`"+string(o)+"`") {
			t.Errorf("docs/objects.md does not have the outcome %s", o)
		}
	}
}
