package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/merge"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// graphOf is a frontend with one graph of this text.
func graphOf(t *testing.T, text string) *static.Frontend {
	t.Helper()
	d, err := yaml.Load("-", yaml.Options{}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return static.New(d)
}

// failing is a frontend that yields its errors, and no graph.
type failing []error

func (f failing) Graphs(context.Context, gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		for _, err := range f {
			if !yield(nil, err) {
				return
			}
		}
	}
}

// TestSources: a reload goes over to another frontend once the first graph of that one is in effect, and to kinds of
// its own at once. Else all goes on as before.
func TestSources(t *testing.T) {
	all := engine.DefaultRegistry()
	one, two := "resources: {noop: [{name: one}, {name: x}]}", "resources: {noop: [{name: two}, {name: x}]}"
	steps := []struct {
		name  string
		next  gapi.Frontend // nil for the same
		kinds *engine.Registry
		wrong error // of BeforeReload
		runs  string
		want  string // in the refusal; empty for none
		taken bool
	}{
		{name: "the same", runs: "noop[one]"},
		{name: "a graph with a fault", next: graphOf(t, "resources: {nop: [{name: x}]}"), runs: "noop[one]", want: "unknown resource kind"},
		{name: "an input with a fault", next: failing{errors.New("not readable")}, runs: "noop[one]", want: "not readable"},
		{name: "no graph at all", next: failing{}, runs: "noop[one]", want: "given no graph"},
		{name: "bad settings", next: graphOf(t, two), wrong: errors.New("bad settings"), runs: "noop[one]", want: "bad settings"},
		{name: "a graph that is held", next: graphOf(t, "resources: {noop: [{name: z}]}"), runs: "noop[one]", want: "remove"},
		{name: "another graph", next: graphOf(t, two), runs: "noop[two]", taken: true},
		{name: "the same of the other", runs: "noop[two]"},
		{name: "without the kind", kinds: all.Without("noop"), runs: "noop[two]", want: "unknown resource kind"},
		{name: "with the kind again", kinds: all, runs: "noop[two]"},
		{name: "back", next: graphOf(t, one), runs: "noop[one]", taken: true},
	}
	at, taken := 0, 0
	var e *mgmt.Engine
	options := mgmt.Options{Reload: make(chan struct{}), NoAutoGroup: true, MaxRemovals: reactor.Removals{Most: 1}}
	options.BeforeReload = func(context.Context) (*mgmt.Source, error) {
		s := steps[at]
		if s.kinds != nil {
			if err := e.SetKinds(s.kinds, nil); err != nil {
				return nil, err
			}
		}
		if s.next == nil {
			return nil, s.wrong
		}
		return &mgmt.Source{Frontend: s.next, Taken: func() { taken++ }}, s.wrong
	}
	ctx, end := context.WithCancel(t.Context())
	e, err := mgmt.Open(ctx, options, graphOf(t, one))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range steps {
		at, taken = i, 0
		v, err := e.Reload(ctx)
		if err != nil || (v.Refused == nil) != (s.want == "") || !strings.Contains(fmt.Sprint(v.Refused), s.want) || taken != map[bool]int{true: 1}[s.taken] {
			t.Errorf("%s: refused %v, want %q; error %v; taken %d times", s.name, v.Refused, s.want, err, taken)
		}
		list, err := statusesOf(ctx, e)
		var runs []string
		for _, st := range list {
			runs = append(runs, st.Resource)
		}
		if err != nil || !slices.Contains(runs, s.runs) || len(runs) != 2 {
			t.Errorf("%s: %q runs, want %s (%v)", s.name, runs, s.runs, err)
		}
	}
	end()
	if err := e.Wait(); err != nil {
		t.Error(err)
	}
}

// inTurn is a frontend that yields its graphs, and then waits for the end.
type inTurn []*gapi.Declared

func (f inTurn) Graphs(ctx context.Context, _ gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		for _, d := range f {
			if !yield(d, nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

// after is a frontend that yields its second graph when the first one was judged: merge.New leaves out a graph
// that a newer one of the same frontend replaces before the others have yielded theirs.
type after struct {
	first  *gapi.Declared
	judged <-chan struct{}
	second *gapi.Declared
}

func (f after) Graphs(ctx context.Context, _ gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		if !yield(f.first, nil) {
			return
		}
		select {
		case <-f.judged:
		case <-ctx.Done():
			return
		}
		if yield(f.second, nil) {
			<-ctx.Done()
		}
	}
}

// declaredBy reads a graph.
func declaredBy(t *testing.T, text string) *gapi.Declared {
	t.Helper()
	d, err := yaml.Load("-", yaml.Options{}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestAgain: a first graph that is refused ends a strict run, unless its frontend says that it yields another one.
func TestAgain(t *testing.T) {
	for _, again := range []bool{false, true} {
		ctx, end := context.WithCancel(t.Context())
		bad, good := declaredBy(t, "resources: {nothing: [{name: x}]}"), declaredBy(t, "resources: {noop: [{name: x}]}")
		var told []gapi.Outcome
		judged := make(chan struct{})
		bad.Again = again
		bad.Done = func(o gapi.Outcome) { told = append(told, o); close(judged) }
		good.Done = func(gapi.Outcome) { end() }
		_, err := mgmt.Run(ctx, mgmt.Options{Strict: true}, merge.New(after{bad, judged, good}, inTurn{{}}))
		if ended := err != nil; ended == again {
			t.Errorf("with Again=%t the run ends by %v", again, err)
		}
		if len(told) == 0 || told[0].Err == nil || told[0].Held {
			t.Errorf("the frontend is told %+v", told)
		}
		end()
	}
}

// TestHeldOutcome: a frontend learns that its graph is held, and not refused.
func TestHeldOutcome(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var held bool
	less := declaredBy(t, "resources: {noop: [{name: z}]}")
	less.Done = func(o gapi.Outcome) { held = o.Held && o.Err != nil; end() }
	if _, err := mgmt.Run(ctx, mgmt.Options{NoAutoGroup: true, MaxRemovals: reactor.Removals{Most: 1}}, inTurn{declaredBy(t, "resources: {noop: [{name: a}, {name: b}]}"), less}); err != nil || !held {
		t.Errorf("held is %t: %v", held, err)
	}
}
