package engine_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/traits"
)

// speaks changes something once, and logs a line as it does.
type speaks struct {
	traits.Base
	traits.Unwatched
	Line string `yaml:"line"`

	init *engine.Init
	done bool
	said chan struct{}
}

func (x *speaks) Default() engine.Res       { return &speaks{said: x.said} }
func (*speaks) Validate() error             { return nil }
func (x *speaks) Init(i *engine.Init) error { x.init = i; return nil }
func (*speaks) Cleanup() error              { return nil }
func (x *speaks) Cmp(o engine.Res) error    { return engine.CmpFields(x, o) }
func (*speaks) Watch(context.Context) error { return nil }
func (x *speaks) CheckApply(_ context.Context, apply bool) (bool, error) {
	if x.done || x.Line == "" {
		return true, nil
	}
	if !apply {
		return false, nil
	}
	x.done = true
	x.init.Change(engine.Change{Verb: engine.Ran})
	x.init.Logf("%s", x.Line)
	if x.Name() == "below" {
		close(x.said)
	}
	return false, nil
}

// noted is a log of which the tests see the order.
type noted struct {
	mu   sync.Mutex
	list []string
}

func (n *noted) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, line)
}

func (n *noted) has(line string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.list, line)
}

func (n *noted) Enabled(context.Context, slog.Level) bool { return true }
func (n *noted) WithAttrs([]slog.Attr) slog.Handler       { return n }
func (n *noted) WithGroup(string) slog.Handler            { return n }
func (n *noted) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelInfo {
		n.add(r.Message)
	}
	return nil
}

// TestFindingR8LinesInOrder: the line that an Observer writes about a run stands before the lines of the resource below, however late the Observer is.
// A reader of Events gets no lines.
func TestFindingR8LinesInOrder(t *testing.T) {
	said := make(chan struct{})
	reg := engine.NewRegistry()
	if err := reg.Register("speaks", func() engine.Res { return &speaks{said: said} }); err != nil {
		t.Fatal(err)
	}
	log := &noted{}
	o := mgmt.Options{Registry: reg, Logger: slog.New(log), ConvergedExit: true, ConvergedTimeout: time.Millisecond}
	o.Observer.Ran = func(r reactor.Run) {
		if r.Resource == "speaks[above]" && r.Changed {
			<-said // the resource below has run by now
		}
		if r.Changed {
			log.add(r.Resource + " changed")
		}
	}
	g := static.NewGraph("g")
	above := g.Add("speaks", "above", &speaks{Line: "flag", said: said})
	g.Add("speaks", "below", &speaks{Line: "hello", said: said}).Depend(above)
	begin := make(chan struct{})
	e, err := mgmt.Open(t.Context(), o, gated{static.New(g.Declared()), begin})
	if err != nil {
		t.Fatal(err)
	}
	events := e.Events(t.Context())
	close(begin)
	if err := e.Wait(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"flag", "speaks[above] changed", "hello", "speaks[below] changed"}; !slices.Equal(log.list, want) {
		t.Errorf("the log is %q, want %q", log.list, want)
	}
	for ev := range events {
		if ev.Kind == 0 || ev.Kind > mgmt.EventMissed {
			t.Errorf("an event of the kind %s", ev.Kind)
		}
	}
}

// chatty logs many lines in its run.
type chatty struct {
	speaks
	lines int
}

func (x *chatty) Default() engine.Res { return &chatty{speaks: speaks{said: x.said}, lines: x.lines} }
func (x *chatty) CheckApply(context.Context, bool) (bool, error) {
	for range x.lines {
		x.init.Logf("line")
	}
	x.init.Logf("last line")
	close(x.said)
	return true, nil
}

// TestFindingR8ManyLines: where an Observer hangs, the lines of a chatty resource are written without it from a bound on, and push out no
// event.
func TestFindingR8ManyLines(t *testing.T) {
	said := make(chan struct{})
	log := &noted{}
	reg := engine.NewRegistry()
	for kind, make := range map[string]func() engine.Res{
		"speaks": func() engine.Res { return &speaks{said: said} },
		"chatty": func() engine.Res { return &chatty{speaks: speaks{said: said}, lines: 1 << 18} },
	} {
		if err := reg.Register(kind, make); err != nil {
			t.Fatal(err)
		}
	}
	o := mgmt.Options{Registry: reg, Logger: slog.New(log), ConvergedExit: true, ConvergedTimeout: time.Millisecond}
	var early bool
	var missed int
	o.Observer.Ran = func(r reactor.Run) {
		if r.Resource == "speaks[above]" && r.Changed {
			<-said
			early = log.has("last line")
		}
	}
	o.Observer.Missed = func(n int) { missed += n }
	g := static.NewGraph("g")
	above := g.Add("speaks", "above", &speaks{Line: "flag", said: said})
	g.Add("chatty", "below", &chatty{speaks: speaks{said: said}, lines: 1 << 18}).Depend(above)
	if _, err := mgmt.Run(t.Context(), o, static.New(g.Declared())); err != nil {
		t.Fatal(err)
	}
	if !early || missed > 0 {
		t.Errorf("the last line was written before the Observer went on: %t; it missed %d events", early, missed)
	}
	if n := len(log.list); n < 1<<18 {
		t.Errorf("%d lines", n)
	}
}
