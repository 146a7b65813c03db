package control

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// fakeGraphs takes every document but one that says bad.
type fakeGraphs struct {
	reloads int
	applied []string
	current string // the graph file
	err     error
}

func (g *fakeGraphs) Reload(context.Context) (*Verdict, error) {
	g.reloads++
	return &Verdict{Generation: 1, Findings: []string{"a warning"}}, g.err
}

func (g *fakeGraphs) Apply(_ context.Context, name string, document []byte, on func([]byte) error) (*Verdict, error) {
	if on != nil {
		if err := on([]byte(g.current)); err != nil {
			return nil, err
		}
	}
	g.applied = append(g.applied, name+": "+string(document))
	v := &Verdict{Generation: 1, Path: "/etc/mgmt/graph.yaml"}
	if string(document) == "bad" {
		v.Path = ""
		v.Refuse(schema.Diagnostics{{Path: "a", Message: "is wrong"}, {Path: "b", Message: "is wrong too"}})
	}
	return v, g.err
}

func (g *fakeGraphs) Current(context.Context) (string, []byte, error) {
	return "/etc/mgmt/graph.yaml", []byte(g.current), g.err
}

// asking is a rig on a socket with a client of it.
func asking(t *testing.T, graphs Graphs) (*rig, *Client) {
	t.Helper()
	r := newRig(t, func(o *Options) { o.Graphs = graphs })
	path, _ := r.listen(t)
	return r, NewClient(filepath.Join(t.TempDir(), "nothing"), path)
}

// TestClientAsks goes through the questions of a client, over a socket. The first of the
// two paths has no daemon.
func TestClientAsks(t *testing.T) {
	_, c := asking(t, nil)
	ctx := t.Context()
	names, err := c.Names(ctx, "file[")
	if err != nil || !slices.Equal(names.Resources, []string{"file[/a]"}) {
		t.Errorf("names: %v, %v", names, err)
	}
	if names, err = c.Names(ctx, "nothing"); err != nil || len(names.Resources)+len(names.Terms) != 0 {
		t.Errorf("names of nothing: %v, %v", names, err)
	}
	why, err := c.Why(ctx, "print[one]", 3)
	if err != nil || why.Resource != "print[all]" || why.Member != "print[one]" || why.Status == nil {
		t.Errorf("why: %+v, %v", why, err)
	}
	dump, err := c.Dump(ctx)
	if err != nil || dump != "file[/a]: waits for nothing\n" {
		t.Errorf("dump: %q, %v", dump, err)
	}
	for format, want := range map[string]string{"dot": "digraph", "mermaid": "flowchart", "json": "{"} {
		drawing, err := c.Graph(ctx, GraphQuery{Format: format, Direction: "LR", Reduce: true})
		if err != nil || !strings.Contains(string(drawing), want) || strings.Contains(string(drawing), canary) {
			t.Errorf("graph as %s: %s, %v", format, drawing, err)
		}
	}
	st, err := c.Status(ctx, StatusQuery{States: []string{"ok", "held"}})
	if err != nil || len(st.Resources) != 2 {
		t.Errorf("status: %+v, %v", st, err)
	}
}

// TestClientTells goes through the calls that alter the work of the daemon.
func TestClientTells(t *testing.T) {
	graphs := &fakeGraphs{}
	r, c := asking(t, graphs)
	ctx := t.Context()
	done, err := c.Pause(ctx, PauseRequest{Resource: "print[one]", For: 60, Reason: "lunch"})
	if err != nil || done.Resource != "print[all]" || done.Until.IsZero() {
		t.Errorf("pause: %+v, %v", done, err)
	}
	if done, err = c.Resume(ctx, ResumeRequest{Resource: "print[one]"}); err != nil || done.Resource != "print[all]" {
		t.Errorf("resume: %+v, %v", done, err)
	}
	tried, err := c.Retry(ctx, RetryRequest{})
	if err != nil || !slices.Equal(tried.Resources, []string{"svc[web]"}) {
		t.Errorf("retry: %+v, %v", tried, err)
	}
	v, err := c.Reload(ctx)
	if err != nil || graphs.reloads != 1 || v.Session != r.rec.Standing().Session || !slices.Equal(v.Findings, []string{"a warning"}) {
		t.Errorf("reload: %+v, %v", v, err)
	}
	v, err = c.Apply(ctx, ApplyRequest{Name: "web.yaml", Document: "good"})
	if err != nil || v.Path == "" || v.Refused != "" || !slices.Equal(graphs.applied, []string{"web.yaml: good"}) {
		t.Errorf("apply: %+v, %v, %v", v, err, graphs.applied)
	}
	v, err = c.Apply(ctx, ApplyRequest{Name: "web.yaml", Document: "bad"})
	if err != nil || v.Path != "" || len(v.Findings) != 2 || !strings.Contains(v.Refused, "is wrong") {
		t.Errorf("apply of a bad document: %+v, %v", v, err)
	}
}

// TestClientErrors: an answer with an error is an *Error with its words and its hint, and
// a daemon that is not there is a *NoDaemonError that names the paths.
func TestClientErrors(t *testing.T) {
	r, c := asking(t, nil)
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"404 there is no":  func() error { _, err := c.Why(ctx, "file[/b]", 1); return err },
		"404 this program": func() error { _, err := c.Reload(ctx); return err },
		"404 no such":      func() error { _, err := c.Pause(ctx, PauseRequest{Resource: "file[/b]"}); return err },
		"400 ":             func() error { _, err := c.Pause(ctx, PauseRequest{For: -1}); return err },
		"409 ":             func() error { _, err := c.Retry(ctx, RetryRequest{Resources: []string{"file[/a]"}}); return err },
	} {
		e, ok := errors.AsType[*Error](call())
		if !ok || e.Text == "" || !strings.HasPrefix(name, strconv.Itoa(e.Status)+" ") {
			t.Errorf("%s: %#v", name, e)
			continue
		}
		if e.Hint != "" && !strings.Contains(e.Error(), e.Hint) {
			t.Errorf("%s: the hint %q is not in %q", name, e.Hint, e.Error())
		}
	}
	r.engine.mu.Lock()
	r.engine.err = errors.New("the engine has stopped")
	r.engine.mu.Unlock()
	if _, err := c.Dump(ctx); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("an engine in trouble: %v", err)
	}
	dir := t.TempDir()
	_, err := NewClient(filepath.Join(dir, "a"), filepath.Join(dir, "b")).Version(ctx)
	none, ok := errors.AsType[*NoDaemonError](err)
	if !ok || len(none.Paths) != 2 || none.Unwrap() == nil || !strings.Contains(err.Error(), "no daemon answers on ") {
		t.Errorf("without a daemon: %v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Version(stopped); err == nil {
		t.Error("a call after the end of its context has an answer")
	}
}

// TestApplyRefuses: a document must be text, and have a name. The graph file is not asked.
func TestApplyRefuses(t *testing.T) {
	graphs := &fakeGraphs{}
	r := newRig(t, func(o *Options) { o.Graphs = graphs })
	for _, body := range []string{``, `{}`, `{"name":"a"}`, `{"document":"a"}`, `{"name":"","document":"a"}`, `{"name":"a","document":""}`, `[]`, `{"name":1}`, `{"nam`} {
		if w := r.request(t, http.MethodPost, "/v1/apply", body); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if len(graphs.applied) != 0 {
		t.Errorf("applied: %q", graphs.applied)
	}
	graphs.err = errors.New("the daemon has no graph file")
	for _, target := range []string{"/v1/reload", "/v1/apply"} {
		w := r.request(t, http.MethodPost, target, `{"name":"a","document":"b"}`)
		if w.Code < 400 {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// TestRefuse: a verdict holds each finding for itself; a graph that is held is not refused.
func TestRefuse(t *testing.T) {
	var v Verdict
	v.Refuse(errors.New("broken"))
	if v.Refused != "broken" || v.Findings != nil || v.Held != "" {
		t.Errorf("%+v", v)
	}
	v = Verdict{Findings: []string{"a warning of before"}}
	v.Refuse(schema.Diagnostics{{Message: "one"}, {Message: "two"}})
	if len(v.Findings) != 2 || v.Findings[0] != "one" {
		t.Errorf("%+v", v)
	}
	v = Verdict{}
	v.Refuse(&reactor.RemovalsError{})
	if v.Refused != "" || v.Held == "" {
		t.Errorf("%+v", v)
	}
}
