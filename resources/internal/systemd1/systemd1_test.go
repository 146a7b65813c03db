package systemd1

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNames(t *testing.T) {
	for path, want := range map[string]string{
		"/": "-.mount", "/srv/cache": "srv-cache.mount", "/a-b/c d/": `a\x2db-c\x20d.mount`, "/.x/.y": `\x2ex-.y.mount`, "/ü": `\xc3\xbc.mount`,
	} {
		if got := UnitOf(path, ".mount"); got != want {
			t.Errorf("%s is %s, and not %s", path, got, want)
		}
	}
	if got := escape("a-1.timer"); got != "a_2d1_2etimer" {
		t.Errorf("escaped is %s", got)
	}
	if got := escape("1a"); got != "_31a" {
		t.Errorf("escaped is %s", got)
	}
	for _, bad := range []string{"", "x", ".timer", "-x.timer", "a b.timer", "a/b.timer", "a\n.timer", "ü.timer", "x.service", strings.Repeat("a", 250) + ".timer"} {
		if err := CheckUnit(bad, ".timer"); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if err := errors.Join(CheckUnit("a-b@c:d_e.timer", ".timer"), CheckUnit("x.any")); err != nil {
		t.Error(err)
	}
}

// script is a bus that answers with what it is told to, call after call.
type script struct {
	engine.Bus
	answers []any
	wake    chan struct{}
	asked   []string
}

func (s *script) Call(_ context.Context, _, _, method string, _ ...any) ([]any, error) {
	s.asked = append(s.asked, method[strings.LastIndexByte(method, '.')+1:])
	a := s.answers[0]
	s.answers = s.answers[1:]
	if err, ok := a.(error); ok {
		return nil, err
	}
	return []any{a}, nil
}

func (s *script) Signals(context.Context, ...engine.BusMatch) (engine.Subscription, error) {
	return s, nil
}
func (s *script) C() <-chan struct{}  { return s.wake }
func (s *script) Cause() engine.Cause { return engine.Cause{} }
func (s *script) Close()              {}

// TestJob: it is waited for until the job is no more, and then the unit has to be where
// it was to go. A lost connection is no end of a job.
func TestJob(t *testing.T) {
	gone := &engine.BusError{Name: "org.freedesktop.DBus.Error.UnknownObject"}
	again := &engine.BusError{Name: name + ".AlreadySubscribed"}
	for says, answers := range map[string][]any{
		"":                          {again, "/job/1", "running", gone, "/unit", "x", "x", "x", false},
		"refused":                   {again, &engine.BusError{Name: "x", Message: "refused"}},
		"the connection was lost":   {again, "/job/1", "running", errors.New("the connection was lost")},
		"a reply of type <nil>, an": {again, any(nil)},
	} {
		s := &script{answers: answers, wake: make(chan struct{}, 1)}
		s.wake <- struct{}{}
		m := &Manager{s}
		err := m.job(t.Context(), "StartUnit", "x.timer", "x")
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v after %v", says, err, s.asked)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &script{answers: []any{again, "/job/1", "running"}}
	if err := (&Manager{s}).Start(ctx, "x.timer"); !errors.Is(err, context.Canceled) {
		t.Errorf("under an ended context: %v", err)
	}
}
