package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/transcript"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTranscripts plays the files of testdata. The commands are in script.one.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Play(t, 4, func(t *testing.T) func([]string) string {
		s := &script{ctx: t.Context(), now: 1, sources: map[string]*source{}, called: make(chan string, 9), stops: map[string]func() bool{}}
		return s.do
	})
}

// script is one Watch, with a clock that moves by the command "at".
type script struct {
	ctx     context.Context
	now     int64
	v       watch.Vertex
	sources map[string]*source
	notice  hosting.Notice // of the subscription in the place of a Watch
	told    []string       // by that, since the last command
	done    <-chan struct{}
	called  chan string
	stops   map[string]func() bool
}

// source is a subscription with what has happened since it was asked.
type source struct {
	events.Subscription
	wrapped events.Subscription
	cause   events.Cause
	close   func()
}

func (s *source) Close() {
	if s.close != nil {
		s.close()
	}
}

func (s *source) Cause() events.Cause {
	c := s.cause
	s.cause = events.Cause{}
	return c
}

func (s *script) do(input []string) string {
	var out strings.Builder
	for _, line := range input {
		words := strings.Fields(line)
		text := s.one(words[0], words[1:])
		if text != "" {
			fmt.Fprintln(&out, text)
		}
		for _, told := range s.told {
			fmt.Fprintln(&out, "tells:", told)
		}
		s.told = nil
	}
	return out.String()
}

func (s *script) tell(what string) { s.told = append(s.told, what) }

// Running, Event and Ended implement watch.Teller.
func (s *script) Running() { s.tell("running") }
func (s *script) Event()   { s.tell("event") }
func (s *script) Ended()   { s.tell("ended") }

// host is one whose Notify comes back after something has happened.
type host struct {
	engine.Host
	s     *script
	first string
}

// Notify implements hosting.Notifier.
func (h host) Notify(paths []string, _ events.Options, n hosting.Notice) (events.Subscription, error) {
	h.s.notice = n
	h.s.tell("subscribes to " + strings.Join(paths, " "))
	switch h.first {
	case "refused":
		return nil, errors.New("no such host")
	case "armed":
		n.Armed(nil)
	case "broken":
		n.Armed(errors.New("too many watches"))
	case "cut":
		h.s.v.Cut()
	}
	src := &source{close: func() { h.s.tell("closes") }}
	h.s.sources["notified"] = src
	return src, nil
}

var states = []string{"idle", "starting", "running", "ending", "late", "failed"}

// one obeys: "at 3s", "start", "later" for a start after the run, "take" at the end of the run,
// "say" by the Watch, "arm" by the loop, "end ending", "cut", "ended" with an error or none,
// "fail", "since" for how long ago it was started, "state", and for subscriptions "subscribe s", "cause s /path", "resource s" and "loop"
// for who asks, and "close s". "notify /path" makes the subscription in the place of the Watch, which "armed" arms, "armed why"
// breaks and "woken" wakes; with "refused", "armed", "broken" or "cut" that comes before the host has answered.
func (s *script) one(word string, args []string) string {
	switch word {
	case "at":
		d, _ := time.ParseDuration(args[0])
		s.now = 1 + int64(d)
	case "start":
		s.v.Start(s.ctx, s.now, 30*time.Second)
	case "later":
		s.v.StartLater(true)
	case "take":
		return fmt.Sprintf("start: %t", s.v.TakeStart())
	case "say":
		return fmt.Sprintf("first: %t", s.v.SayRunning())
	case "arm":
		return fmt.Sprintf("news: %t", s.v.Arm())
	case "end":
		s.v.End(watch.State(slices.Index(states, args[0])))
	case "cut":
		s.v.Cut()
	case "ended":
		if len(args) > 0 {
			s.v.Context().Result = errors.New(strings.Join(args, " "))
		}
		why, err := s.v.Ended()
		return fmt.Sprintf("ended while %s: %v", states[why], err)
	case "fail":
		s.v.Fail()
		s.v.SetTries(s.v.Tries() + 1)
	case "since":
		return fmt.Sprint(s.v.Since(s.now, 30*time.Second))
	case "state":
		return s.state()
	case "listen", "done", "call", "stop", "called":
		return s.context(word, args)
	default:
		return s.subs(word, args)
	}
	return ""
}

// context obeys "listen" for a Done that is asked for, "done" for whether it is closed, "call f" and "stop f" for what is called at
// the end, and "called 2" for what was.
func (s *script) context(word string, args []string) string {
	switch word {
	case "listen":
		s.done = s.v.Context().Done()
	case "done":
		select {
		case <-s.done:
			return "closed"
		default:
			return "open"
		}
	case "call":
		s.stops[args[0]] = s.v.Context().AfterFunc(func() { s.called <- args[0] })
	case "stop":
		return fmt.Sprintf("stopped: %t", s.stops[args[0]]())
	case "called":
		n, _ := strconv.Atoi(args[0])
		names := make([]string, n)
		for i := range names {
			names[i] = <-s.called
		}
		slices.Sort(names)
		return fmt.Sprint(names)
	}
	return ""
}

func (s *script) state() string {
	text := "?"
	for i, name := range states {
		if s.v.Is(watch.State(i)) {
			text = name
		}
	}
	text = fmt.Sprintf("%s, active: %t, has said: %t, tries: %d", text, s.v.Active(), s.v.HasSaid(), s.v.Tries())
	if due := s.v.Due(); due > 0 {
		text += fmt.Sprintf(", due in %s", time.Duration(due-s.now))
	}
	if c := s.v.Context(); c != nil && c.Err() != nil {
		text += ", told to end"
	}
	return text
}

func (s *script) subs(word string, args []string) string {
	switch word {
	case "subscribe":
		src := &source{}
		src.wrapped = s.v.Subs().Add(src)
		s.sources[args[0]] = src
	case "cause":
		c := &s.sources[args[0]].cause
		if c.Merged == 0 {
			*c = events.Cause{Source: "test", Path: args[1]}
		}
		c.Merged++
		c.Resync = c.Resync || len(args) > 2
	case "resource":
		return show(s.sources[args[0]].wrapped.Cause())
	case "loop":
		return show(s.v.Subs().Led())
	case "close":
		s.sources[args[0]].wrapped.Close()
	case "notify":
		h := host{s: s, first: strings.Join(args[1:], "")}
		if err := s.v.Context().Subscribe(h, args[:1], events.Options{}, s.v.Subs(), s); err != nil {
			return err.Error()
		}
	case "armed":
		if len(args) > 0 {
			s.notice.Armed(errors.New(strings.Join(args, " ")))
		} else {
			s.notice.Armed(nil)
		}
	case "woken":
		s.notice.Woken()
	default:
		return fmt.Sprintf("no command %q", word)
	}
	return ""
}

func show(c events.Cause) string {
	if c == (events.Cause{}) {
		return "nothing"
	}
	return fmt.Sprintf("%s, %d events, resync: %t", c.Path, c.Merged, c.Resync)
}

// TestContext: the context of a Watch ends when the Watch is told to, and calls what waits for that
// once.
func TestContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	parent := context.WithValue(t.Context(), key{}, "value")
	v := new(watch.Vertex)
	ctx := v.Start(parent, 1, time.Second)
	if ctx.Err() != nil || ctx.Value(key{}) != "value" {
		t.Errorf("a new context has %v and %v", ctx.Err(), ctx.Value(key{}))
	}
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	called := make(chan int, 3)
	context.AfterFunc(ctx, func() { called <- 1 })
	if stop := context.AfterFunc(ctx, func() { called <- 2 }); !stop() {
		t.Error("a function that waits can't be stopped")
	}
	v.Cut()
	v.Cut()
	<-derived.Done()
	if n := <-called; n != 1 || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("function %d was called, the error is %v", n, ctx.Err())
	}
	context.AfterFunc(ctx, func() { called <- 3 })
	if n := <-called; n != 3 {
		t.Errorf("function %d was called after the end", n)
	}
}
