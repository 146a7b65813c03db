package enginetest

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/internal/await"
)

// Fake stands in for the engine towards one resource: it makes the Init and records its
// use. A Fake is for one resource. Its test owns it, and may call all methods from any
// goroutine, within the hooks too.
type Fake struct {
	tb testing.TB
	// init is made once: the engine too gives one handle for the life of a resource.
	init   *engine.Init
	varDir string

	running chan struct{} // closed by the first Running since Restart
	events  chan struct{} // of capacity 1

	mu sync.Mutex
	// The hooks are called without mu, so they may call the Fake again.
	onChange func(engine.Change)
	onRun    func()
	changes  []engine.Change
	sent     any
	logs     []string
	runs     int // calls of Running since Restart
	wakes    int // calls of Event, ever
	busy     int // open calls of Busy
	dirs     int // calls of VarDir
	noop     bool
	refresh  bool
	recv     map[string]*engine.Send
}

// Option alters what NewInit makes.
type Option func(*Fake)

// WithHost gives the resource another Host than a new FakeHost.
func WithHost(h engine.Host) Option { return func(f *Fake) { f.init.Host = h } }

// WithWorld gives the resource another World than an empty one in memory. The caller
// closes it.
func WithWorld(w world.World) Option { return func(f *Fake) { f.init.World = w } }

// WithShared gives the resource the thing it shares with others of its key. The caller
// owns it: the Fake calls neither Begin nor Close.
func WithShared(s engine.Shared) Option { return func(f *Fake) { f.init.Shared = s } }

// WithNoop tells the resource that nothing is ever applied. That is the flag of the
// whole run. SetNoop is about one CheckApply.
func WithNoop() Option { return func(f *Fake) { f.init.Noop = true } }

// WithVarDir keeps the resource's folder at dir, so that a second Fake of the
// same kind and name finds it again. It is made when it is first asked for.
func WithVarDir(dir string) Option { return func(f *Fake) { f.varDir = dir } }

// NewInit returns a Fake whose Init is complete: a FakeHost, a World in memory,
// and a real folder below the test's temporary folder as VarDir. At the end of
// the test it fails it if a Busy is still open.
func NewInit(tb testing.TB, o ...Option) *Fake {
	tb.Helper()
	f := &Fake{tb: tb, running: make(chan struct{}), events: make(chan struct{}, 1)}
	f.init = &engine.Init{
		// Receives says yes, so that a resource does all that a receiver may need.
		Program: "enginetest", Version: "0", Hostname: "host", Lease: time.Minute,
		Running: f.doRunning, Event: f.doEvent, Busy: f.doBusy,
		Refresh: f.doRefresh, Send: f.doSend, Receives: func() bool { return true }, Recv: f.doRecv, Change: f.doChange,
		VarDir: f.doVarDir, Logf: f.doLogf, Log: slog.New(slog.NewTextHandler(logWriter{f}, nil)),
	}
	for _, opt := range o {
		opt(f)
	}
	if f.init.Host == nil {
		f.init.Host = NewHost()
	}
	if f.init.World == nil {
		f.init.World = memory.New()
	}
	if f.varDir == "" {
		f.varDir = filepath.Join(tb.TempDir(), "var")
	}
	// Converging waits for each Busy, so a Busy that stays open would keep a graph from
	// it for ever.
	tb.Cleanup(func() {
		if n := f.BusyCount(); n != 0 {
			tb.Errorf("%d calls of Busy were never done", n)
		}
	})
	return f
}

// Init returns the handle to give to the resource; the same each time.
func (f *Fake) Init() *engine.Init { return f.init }

// Host returns the Host of the handle as a FakeHost. It fails the test if it is
// another one.
func (f *Fake) Host() *FakeHost {
	f.tb.Helper()
	h, ok := f.init.Host.(*FakeHost)
	if !ok {
		f.tb.Fatalf("the host is a %T, not a FakeHost", f.init.Host)
	}
	return h
}

// doRunning notes that the watch is armed. A second call is an error of the resource.
// The suite judges it, since the call may come after the test has ended. The hook runs
// before the channel is closed, so a drift in the hook comes before Running is seen.
func (f *Fake) doRunning() {
	f.mu.Lock()
	f.runs++
	first, hook, ch := f.runs == 1, f.onRun, f.running
	f.mu.Unlock()
	if !first {
		return
	}
	if hook != nil {
		hook()
	}
	close(ch)
}

// doEvent notes an event; before Running it is an error of the resource. Calls that are
// not taken yet are merged to one, as law 3 of the engine allows.
func (f *Fake) doEvent() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runs == 0 {
		f.tb.Error("Event was called before Running")
	}
	f.wakes++
	select {
	case f.events <- struct{}{}:
	default:
	}
}

// doBusy counts a Busy until it is done. The returned function may be called once; it
// does not matter by which goroutine.
func (f *Fake) doBusy() (done func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy++
	calls := 0
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if calls++; calls > 1 {
			f.tb.Error("the end of a Busy was called twice")
			return
		}
		f.busy--
	}
}

// doRefresh answers as SetRefresh has said. A notification stays until the test takes
// it back, as the engine keeps it until a run succeeds.
func (f *Fake) doRefresh() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refresh
}

// doSend keeps the value. The last one of a run counts.
func (f *Fake) doSend(v any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = v
	return nil
}

// doRecv returns the map of SetRecv, the same each time. The resource must not alter
// it.
func (f *Fake) doRecv() map[string]*engine.Send {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.recv
}

// doChange keeps a change. The hook runs after that, and outside of the lock.
func (f *Fake) doChange(c engine.Change) {
	f.mu.Lock()
	f.changes = append(f.changes, c)
	hook := f.onChange
	f.mu.Unlock()
	if hook != nil {
		hook(c)
	}
}

// doVarDir makes a folder below that of the test. A path that leads out of it is refused,
// as by the engine.
func (f *Fake) doVarDir(p string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirs++
	if p != "" && !filepath.IsLocal(p) {
		return "", fmt.Errorf("VarDir(%q): the path leads out of the folder", p)
	}
	dir := filepath.Join(f.varDir, p)
	// Under noop nothing may be altered, and a folder is something.
	if f.noop {
		return dir, nil
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// doLogf is Init.Logf.
func (f *Fake) doLogf(format string, v ...any) { f.log(fmt.Sprintf(format, v...)) }

// log keeps a line. Both ways to log end here, so that a search for a secret sees each
// line.
func (f *Fake) log(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logs = append(f.logs, strings.TrimSuffix(line, "\n"))
}

// logWriter is where the handler of Init.Log writes; each call of Write is one line.
type logWriter struct{ f *Fake }

func (w logWriter) Write(b []byte) (int, error) {
	w.f.log(string(b))
	return len(b), nil
}

// Changes returns the changes that Change got since the last Reset. The caller may
// alter the list.
func (f *Fake) Changes() []engine.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.changes)
}

// Sent returns the last value that Send got, nil for nothing.
func (f *Fake) Sent() any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent
}

// Logs returns the lines logged by Logf and Log since the last Reset.
func (f *Fake) Logs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.logs)
}

// Reset forgets the changes, the logs and the sent value. Running, Event and Busy keep
// their counts.
func (f *Fake) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes, f.logs, f.sent = nil, nil, nil
}

// VarDir returns where the resource's folder is, or would be.
func (f *Fake) VarDir() string { return f.varDir }

// SetNoop says whether nothing may be altered: VarDir makes no folder then.
func (f *Fake) SetNoop(b bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noop = b
}

// SetRefresh says whether a notification is pending.
func (f *Fake) SetRefresh(b bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh = b
}

// SetRecv says what has been received. The caller assigns the fields itself, as
// the engine does.
func (f *Fake) SetRecv(m map[string]*engine.Send) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recv = maps.Clone(m)
}

// OnChange has fn called within each call of Change; nil for none.
func (f *Fake) OnChange(fn func(engine.Change)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onChange = fn
}

// OnRunning has fn called within the first call of Running since Restart; nil
// for none.
func (f *Fake) OnRunning(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onRun = fn
}

// Restart makes ready for Watch to be called again: Running counts anew, and remaining
// Events are forgotten. Watch must have ended. A channel that Running has returned
// before belongs to the earlier Watch.
func (f *Fake) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs, f.running = 0, make(chan struct{})
	select {
	case <-f.events:
	default:
	}
}

// Running returns a channel that is closed when Running is called.
func (f *Fake) Running() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running
}

// RunningCount returns how often Running was called since Restart.
func (f *Fake) RunningCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs
}

// Events returns a channel of capacity 1 that is filled by Event. Like the
// engine, it merges calls that are not taken yet.
func (f *Fake) Events() <-chan struct{} { return f.events }

// EventCount returns how often Event was called. Merged calls count each.
func (f *Fake) EventCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wakes
}

// BusyCount returns how many calls of Busy are not done yet.
func (f *Fake) BusyCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.busy
}

// VarDirCount returns how often VarDir was called.
func (f *Fake) VarDirCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dirs
}

// WaitRunning waits until Running was called. Where it never is, the test fails shortly before its deadline (go test -timeout).
func (f *Fake) WaitRunning(tb testing.TB) {
	tb.Helper()
	await.Of(tb, "Running is called", f.Running())
}

// WaitEvent waits for an Event and takes it. Where none comes, the test fails shortly before its deadline.
func (f *Fake) WaitEvent(tb testing.TB) {
	tb.Helper()
	await.Of(tb, "Event is called", f.events)
}
