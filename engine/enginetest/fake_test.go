package enginetest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// TestFakeRecords: what a resource does with its Init is there afterwards.
func TestFakeRecords(t *testing.T) {
	f := NewInit(t)
	i := f.Init()
	i.Running()
	i.Running()
	i.Event()
	i.Event()
	i.Change(engine.Change{Field: "a"})
	i.Logf("text %d", 1)
	i.Log.Info("structured", "key", "value")
	if err := i.Send(struct{ A int }{7}); err != nil {
		t.Fatal(err)
	}
	f.WaitRunning(t)
	f.WaitEvent(t)
	if f.RunningCount() != 2 || f.EventCount() != 2 || len(f.Events()) != 0 {
		t.Errorf("Running %d times, Event %d times, %d waiting", f.RunningCount(), f.EventCount(), len(f.Events()))
	}
	if cs := f.Changes(); len(cs) != 1 || cs[0].Field != "a" {
		t.Errorf("changes %v", cs)
	}
	if f.Sent() != struct{ A int }{7} {
		t.Errorf("sent %v", f.Sent())
	}
	logs := f.Logs()
	if len(logs) != 2 || logs[0] != "text 1" || !strings.Contains(logs[1], "msg=structured key=value") {
		t.Errorf("logs %q", logs)
	}
	f.Reset()
	if f.Changes() != nil || f.Logs() != nil || f.Sent() != nil {
		t.Error("Reset forgets nothing")
	}
}

func TestFakeRestart(t *testing.T) {
	f := NewInit(t)
	f.Init().Running()
	f.Init().Event()
	f.Restart()
	if f.RunningCount() != 0 || len(f.Events()) != 0 {
		t.Error("Restart does not begin anew")
	}
	select {
	case <-f.Running():
		t.Error("Running before Watch was called again")
	default:
	}
	called := 0
	f.OnRunning(func() { called++ })
	f.Init().Running()
	f.Init().Running()
	f.WaitRunning(t)
	if called != 1 {
		t.Errorf("the hook was called %d times", called)
	}
}

func TestFakeInputs(t *testing.T) {
	host, world := NewHost(), memory.New()
	f := NewInit(t, WithHost(host), WithWorld(world))
	i := f.Init()
	if i.Host != host || i.World != world || f.Host() != host || i.Refresh() || len(i.Recv()) != 0 {
		t.Error("the handle is not as asked for")
	}
	f.SetRefresh(true)
	m := map[string]*engine.Send{"a": {Key: "k", Changed: true}}
	f.SetRecv(m)
	delete(m, "a")
	if !i.Refresh() || i.Recv()["a"].Key != "k" {
		t.Error("what was set does not arrive")
	}
}

func TestFakeVarDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	f := NewInit(t, WithVarDir(dir))
	f.SetNoop(true)
	if got, err := f.Init().VarDir("sub"); err != nil || got != filepath.Join(dir, "sub") {
		t.Errorf("under noop: %s, %v", got, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("under noop the folder was made: %v", err)
	}
	f.SetNoop(false)
	for _, p := range []string{"", "sub", "sub/deeper"} {
		got, err := f.Init().VarDir(p)
		if info, serr := os.Stat(got); err != nil || serr != nil || !info.IsDir() {
			t.Errorf("VarDir(%q) = %s, %v, %v", p, got, err, serr)
		}
	}
	for _, p := range []string{"..", "/etc", "a/../../b"} {
		if got, err := f.Init().VarDir(p); err == nil {
			t.Errorf("VarDir(%q) = %s leads out", p, got)
		}
	}
	if f.VarDirCount() != 7 || f.VarDir() != dir {
		t.Errorf("asked %d times for %s", f.VarDirCount(), f.VarDir())
	}
}

// TestFakeComplains: the rules of Init that can be seen are kept.
func TestFakeComplains(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*engine.Init)
		want string
	}{
		{"nothing", func(*engine.Init) {}, ""},
		{"busy", func(i *engine.Init) { i.Busy()() }, ""},
		{"event before running", func(i *engine.Init) { i.Event() }, "Event was called before Running"},
		{"busy for ever", func(i *engine.Init) { i.Busy() }, "1 calls of Busy were never done"},
		{"done twice", func(i *engine.Init) { done := i.Busy(); done(); done() }, "called twice"},
	} {
		s := &scope{TB: t}
		c.do(NewInit(s).Init())
		s.close()
		switch err := s.err(); {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestScope: failures become errors, Fatal ends, cleanups run from the last to the
// first even if one panics.
func TestScope(t *testing.T) {
	s := &scope{TB: t}
	var order []int
	s.Cleanup(func() { order = append(order, 1) })
	s.Cleanup(func() { panic("broken") })
	s.Cleanup(func() { order = append(order, 2); s.Cleanup(func() { order = append(order, 3) }) })
	err := guard("it", func() error {
		s.Error("one", 1)
		s.Fatalf("two %d", 2)
		t.Error("Fatal does not end")
		return nil
	})
	if err != nil {
		t.Errorf("Fatal is an error of its own: %v", err)
	}
	s.close()
	if !slices.Equal(order, []int{2, 3, 1}) {
		t.Errorf("cleanups ran in order %v", order)
	}
	if text := s.err().Error(); !strings.Contains(text, "one 1") || !strings.Contains(text, "two 2") || !strings.Contains(text, "panicked: broken") || !s.Failed() {
		t.Errorf("the errors are %q", text)
	}
}
