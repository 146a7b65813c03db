package top

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeDaemon answers with what it has, and notes what it was told to do.
type fakeDaemon struct {
	mu     sync.Mutex
	status control.Status
	err    error
	digest string // of the change that waits now
	did    []string
	asked  int // for the states
	follow func(ctx context.Context, yield func(*control.Event, error) bool, after uint64)
}

func (f *fakeDaemon) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, fmt.Sprintf(format, args...))
	return f.err
}

func (f *fakeDaemon) Status(context.Context, control.StatusQuery) (*control.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	st := f.status
	return &st, f.err
}

func (f *fakeDaemon) Events(ctx context.Context, _ control.Query, after *uint64) iter.Seq2[*control.Event, error] {
	return func(yield func(*control.Event, error) bool) { f.follow(ctx, yield, *after) }
}

func (f *fakeDaemon) Log(_ context.Context, q control.Query) (*control.Log, error) {
	return &control.Log{Events: []*control.Event{{ID: 7, At: noon, Outcome: control.Changed, Resource: q.Resource, Run: 1}}}, nil
}

func (f *fakeDaemon) Detail(_ context.Context, id string, _ int) (*control.Detail, error) {
	d := &control.Detail{Why: control.Why{Resource: id}, Source: "site.yaml:3:5"}
	for i := range f.status.Resources {
		if r := f.status.Resources[i]; r.Resource == id {
			d.Status = &r
		}
	}
	d.Params = []control.Param{{Name: "content", Declared: "new", Differs: true, Actual: "old"}, {Name: "mode", From: []string{"value[v].any"}}}
	d.Needs = []control.Neighbor{{Resource: "file[/up]", State: "ok", Notify: true}}
	d.Dependents = []control.Neighbor{{Resource: "svc[down]", State: "blocked"}}
	d.Runs = []*control.Event{{At: noon, Outcome: control.Failed, Resource: id, Run: 3, Error: hostile, By: hostile, Triggers: []control.Trigger{{Cause: "event", Path: hostile}}}}
	return d, nil
}

func (f *fakeDaemon) Pause(_ context.Context, r control.PauseRequest) (*control.Done, error) {
	return &control.Done{}, f.note("pause %s %v %s", r.Resource, r.For, r.Reason)
}

func (f *fakeDaemon) Resume(_ context.Context, r control.ResumeRequest) (*control.Done, error) {
	return &control.Done{}, f.note("resume %s", r.Resource)
}

func (f *fakeDaemon) Retry(_ context.Context, r control.RetryRequest) (*control.Retried, error) {
	return &control.Retried{}, f.note("retry %s", r.Resources)
}

func (f *fakeDaemon) Decide(_ context.Context, r control.DecideRequest) (*control.Decided, error) {
	if r.Changes[0].Digest != f.digest {
		return nil, &control.Error{Status: http.StatusConflict, Text: "it wants to change something else now"}
	}
	return &control.Decided{}, f.note("decide %v %s %s", r.Approve, r.Changes[0], r.Reason)
}

// hostile is a text of a machine that would steer a terminal.
const hostile = "a\x1b[2J\x1b]0;x\x07\u202eb\nc\t\u009b31m"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// still is a clock that stands at noon.
type still struct{ clock.Clock }

func (still) Now() time.Time { return noon }

// standing is a graph with a resource for each action.
func standing() *fakeDaemon {
	held := &control.Hold{Limit: reactor.LimitApproval, Reason: "a person has to approve it", Digest: "d1", Changes: []control.Change{{Field: "content", Verb: engine.Updated, From: "a\nb\n", To: "a\nc\n"}}}
	return &fakeDaemon{digest: "d1", status: control.Status{
		Graph: "web" + hostile, Converged: true, Since: noon, Counts: map[string]int{"ok": 2, "failed": 1, "held": 1, "paused": 1},
		Resources: []control.Resource{
			{Resource: "file[/ok]", State: "ok"}, {Resource: "file[/ask]", State: "held", Held: held},
			{Resource: "exec[" + hostile + "]", State: "failed", Error: hostile}, {Resource: "svc[p]", State: "paused", Pause: &control.Pause{Reason: hostile}},
			{Resource: "svc[busy]", State: "ok", Doing: "running"},
		},
	}}
}

// screen is a model with a fake daemon, and the messages that its commands lead to.
type screen struct {
	*model
	t      *testing.T
	daemon *fakeDaemon
}

func newScreen(t *testing.T) *screen {
	d := standing()
	s := &screen{newModel(d, still{}, render.Style{Short: true}), t, d}
	s.host = "h"
	s.tell(statusMsg{&d.status, nil})
	return s
}

// tell gives the model a message, and each message that comes of it.
func (s *screen) tell(msg tea.Msg) (quits bool) {
	for msg != nil {
		_, cmd := s.Update(msg)
		if cmd == nil {
			return false
		}
		msg = cmd()
		if _, quits := msg.(tea.QuitMsg); quits {
			return true
		}
	}
	return false
}

// press presses keys: names, or texts that are typed.
func (s *screen) press(keys ...string) (quits bool) {
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown, "up": tea.KeyUp, "pgdown": tea.KeyPgDown, "end": tea.KeyEnd, "backspace": tea.KeyBackspace}
	for _, key := range keys {
		if code, ok := codes[key]; ok {
			quits = s.tell(tea.KeyPressMsg{Code: code})
			continue
		}
		for _, r := range key {
			quits = s.tell(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return quits
}

// shows fails the test unless the screen has all of the texts.
func (s *screen) shows(texts ...string) {
	s.t.Helper()
	got := s.View().Content
	for _, text := range texts {
		if !strings.Contains(got, text) {
			s.t.Errorf("the screen has no %q:\n%s", text, got)
		}
	}
}

// TestKeys: the list in each order, the search, and each page and the way back.
func TestKeys(t *testing.T) {
	s := newScreen(t)
	first := func() string { return strings.Fields(s.View().Content[strings.Index(s.View().Content, "> "):])[1] }
	if got := first(); got != "failed" {
		t.Errorf("%s is the first", got)
	}
	s.shows("web", "on h", "2 ok, 1 failed", "RUNS/MIN", "? all keys")
	s.tell(eventsMsg{
		{At: noon, Outcome: control.Changed, Resource: "file[/ok]", Run: 1, Seconds: 0.5},
		{At: noon, Outcome: control.Recovered, Resource: "svc[busy]", Run: 1, Seconds: 0.1}, {At: noon, Outcome: control.Recovered, Resource: "svc[busy]", Run: 2, Seconds: 0.1},
		{At: noon, Outcome: control.Changed, Resource: "gone[x]", Run: 1},
	})
	for _, want := range []string{"rate svc[busy]", "duration file[/ok]", "restlessness file[/ok]", "name exec[", "state exec["} {
		s.press("s", "g")
		key, name, _ := strings.Cut(want, " ")
		if s.press("k"); s.sort.String() != key || !strings.HasPrefix(s.cursor, name) {
			t.Errorf("by %s the first is %s, want %s", s.sort, s.cursor, want)
		}
	}
	if s.tell(statusMsg{&s.daemon.status, nil}); s.seen.pulses["gone[x]"] != nil {
		t.Error("what is not in the graph is not forgotten")
	}
	s.press("/", "HELD ask", "enter")
	if s.shows("1 of 5"); s.cursor != "file[/ask]" {
		t.Errorf("the search finds %s", s.cursor)
	}
	s.press("enter")
	s.shows("file[/ask] held", "site.yaml:3:5", "content = \"new\"", "the machine has \"old\"", "mode = from value[v].any", "file[/up] ok, by a notification", "svc[down] blocked", "(d1)", "-b", "+c")
	s.press("l")
	s.shows("events of file[/ask]", "changed")
	s.press("?")
	s.shows("one line")
	s.press("esc", "esc")
	s.shows("site.yaml:3:5")
	s.press("esc", "e")
	s.shows("events of all resources", "svc[busy]")
	s.press("esc", "esc")
	if s.search != "" || len(s.order) != 5 {
		t.Errorf("esc leaves the search %q with %d", s.search, len(s.order))
	}
	if s.press("end", "j"); s.place() != 4 {
		t.Errorf("the end is %d", s.place())
	}
	if !s.press("q") {
		t.Error("q does not quit")
	}
}

// TestActionsAskFirst: nothing is done before a reason and a yes, and the screen has shown what will be done.
func TestActionsAskFirst(t *testing.T) {
	s := newScreen(t)
	pick := func(name string) { s.press("esc", "esc", "/", name, "enter") }
	did := func(want ...string) {
		t.Helper()
		if got := fmt.Sprint(s.daemon.did); got != fmt.Sprint(want) {
			t.Errorf("it did %s, want %s", got, want)
		}
		s.daemon.did = nil
	}
	pick("/ok")
	s.press("p", "enter", "enter")
	s.shows("stops checking", "for: 1h", "write a reason")
	did()
	s.press("new disks", "enter")
	s.shows("Do this? y")
	did()
	s.press("y")
	did("pause file[/ok] 3600 new disks")
	s.shows("file[/ok] is paused")
	s.press("p", "backspace", "x", "enter")
	s.shows("1x")
	if s.press("esc"); s.dialog != nil {
		t.Error("esc does not end the dialog")
	}
	for key, why := range map[string]string{"r": "has not failed", "u": "neither paused nor held", "a": "no approval", "x": "no approval"} {
		s.press(key)
		s.shows(why)
	}
	did()
	pick("failed")
	s.press("r")
	s.shows("tries it again")
	did()
	s.press("n", "r", "y")
	did("retry [exec[" + hostile + "]]")
	pick("paused")
	s.press("u", "y")
	did("resume svc[p]")
}

// TestApproveWhatWasSeen: an approval is of the digest that the screen has shown, also where the resource wants something else by then.
func TestApproveWhatWasSeen(t *testing.T) {
	s := newScreen(t)
	s.press("/", "ask", "enter", "a")
	s.shows("this change and no other (d1)", "-b", "+c")
	s.daemon.digest = "d2"
	for i := range s.daemon.status.Resources {
		if h := s.daemon.status.Resources[i].Held; h != nil {
			other := *h
			other.Digest = "d2"
			s.daemon.status.Resources[i].Held = &other
		}
	}
	s.tell(statusMsg{&s.daemon.status, nil})
	s.press("fine", "enter", "y")
	if len(s.daemon.did) != 0 {
		t.Errorf("%v", s.daemon.did)
	}
	s.shows("not done: it wants to change something else now")
	s.press("a", "fine", "enter", "y", "x", "no", "enter", "y")
	if got := fmt.Sprint(s.daemon.did); !strings.Contains(got, "decide true {file[/ask] d2} fine") || !strings.Contains(got, "decide false {file[/ask] d2} no") {
		t.Errorf("%v", got)
	}
}

// TestScreenFits: in each size, no page has more lines than the terminal, or a wider one, and none has a character of the machine that steers it.
func TestScreenFits(t *testing.T) {
	pages := map[string][]string{"list": nil, "detail": {"enter"}, "log": {"e"}, "help": {"?"}, "pause": {"p", "enter"}, "approve": {"/", "ask", "enter", "a"}, "search": {"/", "x"}, "log of one": {"l"}}
	for name, keys := range pages {
		for _, size := range [][2]int{{80, 24}, {40, 20}, {200, 60}, {20, 6}, {8, 3}, {1, 1}} {
			for _, color := range []bool{false, true} {
				s := newScreen(t)
				s.daemon.status.Refused = hostile
				s.tell(eventsMsg{{At: noon, Outcome: control.Failed, Resource: "exec[" + hostile + "]", Run: 1, Error: strings.Repeat("wide 漢字 ", 50) + hostile}})
				s.tell(statusMsg{&s.daemon.status, nil})
				s.out.style.Color = color
				s.tell(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				s.press(keys...)
				s.press("pgdown", "down")
				text := s.View().Content
				if lines := strings.Split(text, "\n"); len(lines) > size[1] {
					t.Errorf("%s in %v has %d lines", name, size, len(lines))
				}
				for line := range strings.Lines(text) {
					line = strings.TrimSuffix(line, "\n")
					if ansi.StringWidth(line) > size[0] {
						t.Errorf("%s in %v: %q", name, size, line)
					}
					if color {
						line = ansi.Strip(line)
					}
					if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
						t.Errorf("%s in %v has %q", name, size, line)
					}
				}
			}
		}
	}
}

// TestAway: a daemon that goes away is told, what was known stays, and it goes on when it is back.
func TestAway(t *testing.T) {
	s := newScreen(t)
	s.tell(statusMsg{nil, errors.New("no daemon answers on /x" + hostile)})
	s.shows("no answer, trying again: no daemon answers on /x", "file[/ok]")
	s.tell(statusMsg{&s.daemon.status, nil})
	if strings.Contains(s.View().Content, "no answer") {
		t.Error("it is back")
	}
	s = &screen{newModel(s.daemon, still{}, render.Style{}), t, s.daemon}
	s.shows("asking the daemon")
	s.tell(statusMsg{nil, errors.New("none")})
	s.shows("none", "trying again")
	s.press("j", "p", "s", "enter", "l", "esc", "r")
}

// TestFeedIsBounded: a thousand events a second are some messages a second, and as many questions; nothing is lost, also where the stream
// ends in between. At rest next to nothing happens.
func TestFeedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const seconds = 10
		d := standing()
		d.follow = func(ctx context.Context, yield func(*control.Event, error) bool, after uint64) {
			for id := after + 1; id <= 7+1000*seconds; id++ { // 7 is in the log
				time.Sleep(time.Millisecond)
				if !yield(&control.Event{ID: id, Outcome: control.Changed, Resource: "file[/ok]"}, nil) {
					return
				}
				if id == 5000 {
					yield(nil, control.ErrEnded)
					return
				}
			}
			<-ctx.Done()
		}
		var mu sync.Mutex
		messages, events := 0, 0
		ctx, cancel := context.WithCancel(t.Context())
		m := newModel(d, clock.System{}, render.Style{})
		f := newFeed(m, func(msg tea.Msg) {
			mu.Lock()
			defer mu.Unlock()
			messages++
			if list, ok := msg.(eventsMsg); ok {
				events += len(list)
				m.seen.add(list)
			}
		})
		wait := f.start(ctx)
		time.Sleep((seconds + 3) * time.Second)
		d.mu.Lock()
		asked := d.asked
		d.mu.Unlock()
		mu.Lock()
		if events != 1000*seconds+1 || len(m.seen.events) != maxEvents || messages > (frames+1)*(seconds+3) || asked > seconds+4 {
			t.Errorf("%d events in %d messages, %d kept, asked %d times", events, messages, len(m.seen.events), asked)
		}
		messages = 0
		mu.Unlock()
		time.Sleep(time.Minute)
		mu.Lock()
		if messages > int(time.Minute/latest)+2 {
			t.Errorf("%d messages in a minute at rest", messages)
		}
		mu.Unlock()
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestPanicIsAnError: a fault in the feed ends the program as an error does, which gives the terminal back.
func TestPanicIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := standing()
		d.follow = func(context.Context, func(*control.Event, error) bool, uint64) { panic("a fault") }
		ctx, cancel := context.WithCancel(t.Context())
		quits := make(chan struct{}, 1)
		wait := newFeed(newModel(d, clock.System{}, render.Style{}), func(msg tea.Msg) {
			if _, ok := msg.(tea.QuitMsg); ok {
				quits <- struct{}{}
			}
		}).start(ctx)
		<-quits
		cancel()
		if err := wait(); err == nil || !strings.Contains(err.Error(), "a fault") {
			t.Error(err)
		}
	})
}
