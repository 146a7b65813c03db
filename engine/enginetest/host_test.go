package enginetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/events"
)

func woken(s events.Subscription) bool {
	select {
	case <-s.C():
		return true
	default:
		return false
	}
}

// TestTouch: which paths wake which subscriptions.
func TestTouch(t *testing.T) {
	for _, c := range []struct {
		watched string
		options events.Options
		wakes   string
		not     string
	}{
		{"/a/b", events.Options{}, "/a/b /a / /a/b/", "/a/c /a/bc /a/b/c /b"},
		{"/a/b/", events.Options{Contents: true}, "/a/b /a/b/c /a", "/a/b/c/d /a/bc"},
		{"/a/b", events.Options{Recurse: true}, "/a/b/c /a/b/c/d /a/b /a", "/a/bc /ab"},
		{"/", events.Options{Recurse: true}, "/ /a /a/b", ""},
	} {
		h := NewHost()
		s, err := h.Watch(t.Context(), []string{"/elsewhere", c.watched}, c.options)
		if err != nil {
			t.Fatal(err)
		}
		for p := range strings.FieldsSeq(c.wakes) {
			if n := h.Touch(p); n != 1 || !woken(s) {
				t.Errorf("%s %+v is not woken by %s", c.watched, c.options, p)
			}
		}
		for p := range strings.FieldsSeq(c.not) {
			if n := h.Touch(p); n != 0 || woken(s) {
				t.Errorf("%s %+v is woken by %s", c.watched, c.options, p)
			}
		}
		s.Close()
		s.Close()
		if h.Touch(c.watched) != 0 || len(h.Subscriptions()) != 0 {
			t.Error("a closed subscription is still there")
		}
	}
}

func TestCause(t *testing.T) {
	h := NewHost()
	s, err := h.Watch(t.Context(), []string{"/a", "/b"}, events.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h.Touch("/a")
	h.Touch("/b")
	h.Resync()
	if !woken(s) || woken(s) {
		t.Error("three changes are not one wake-up")
	}
	if c := s.Cause(); c != (events.Cause{Source: "fake", Path: "/a", Merged: 3, Resync: true}) {
		t.Errorf("the cause is %+v", c)
	}
	if c := s.Cause(); c != (events.Cause{}) {
		t.Errorf("the cause is not forgotten: %+v", c)
	}
}

func TestWatchRefusals(t *testing.T) {
	h := NewHost()
	if _, err := h.Watch(t.Context(), []string{"relative"}, events.Options{}); err == nil {
		t.Error("a relative path is watched")
	}
	want := errors.New("no more watches")
	h.FailWatch(want)
	if _, err := h.Watch(t.Context(), []string{"/a"}, events.Options{}); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	h.FailWatch(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Watch(ctx, []string{"/a"}, events.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestWatchEndsWithContext, in a bubble: fakes work in synctest.
func TestWatchEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHost()
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := h.Watch(ctx, []string{"/a"}, events.Options{}); err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		if subs := h.Subscriptions(); len(subs) != 0 {
			t.Errorf("still open: %v", subs)
		}
	})
}

func TestCommand(t *testing.T) {
	h := NewHost()
	if _, err := h.Command(t.Context(), engine.Command{Argv: []string{"/bin/x"}}); err == nil {
		t.Error("a command that nobody scripted runs")
	}
	if _, err := h.Command(t.Context(), engine.Command{}); err == nil {
		t.Error("a command without a program runs")
	}
	h.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		return &engine.Result{Stdout: []byte(strings.Join(c.Argv, ","))}, nil
	})
	res, err := h.Command(t.Context(), engine.Command{Argv: []string{"a", "b"}})
	if err != nil || string(res.Stdout) != "a,b" {
		t.Errorf("got %+v, %v", res, err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := h.Command(ctx, engine.Command{Argv: []string{"c"}}); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	if cs := h.Commands(); len(cs) != 2 || cs[1].Argv[0] != "a" {
		t.Errorf("recorded %v", cs)
	}
}

func TestBusAndFacts(t *testing.T) {
	h := NewHost()
	if _, err := h.Bus(t.Context(), bus.System); err == nil {
		t.Error("there is a bus")
	}
	h.SetBus(func(context.Context, bus.Kind) (bus.Bus, error) { return nil, nil })
	if _, err := h.Bus(t.Context(), bus.System); err != nil {
		t.Error(err)
	}
	h.SetFacts(engine.Facts{Hostname: "other", CPUs: 4})
	if f := h.Facts(); f.Hostname != "other" || f.CPUs != 4 {
		t.Errorf("facts are %+v", f)
	}
}
