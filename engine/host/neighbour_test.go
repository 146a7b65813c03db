package host

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// repairer keeps a file as a resource would: with each wake-up it looks, notes what it finds, and
// puts its own text there, or nothing. It leaves what somebody writes.
type repairer struct {
	t      *testing.T
	host   *Host
	file   string
	want   string // empty for no file
	mu     sync.Mutex
	found  []string
	left   sig           // by the last repair
	repair chan struct{} // gets something after each repair
}

// own is events.Options.Own.
func (r *repairer) own() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left == sigOf(r.file)
}

func (r *repairer) until(s events.Subscription, done <-chan struct{}) {
	for {
		select {
		case <-s.C():
		case <-done:
			return
		}
		text, err := os.ReadFile(r.file)
		if f, err := os.Open(r.file); err == nil {
			_, _ = f.Seek(0, unix.SEEK_DATA) // a cut that is under way ends, and is told
			_ = f.Close()
		}
		if err == nil && string(text) == r.want || err != nil && r.want == "" || r.host.Writing(r.t.Context(), r.file) {
			continue
		}
		r.mu.Lock()
		r.found = append(r.found, string(text))
		r.mu.Unlock()
		if r.want == "" {
			err = os.Remove(r.file)
		} else if err = os.WriteFile(r.file+".new", []byte(r.want), 0o644); err == nil {
			err = os.Rename(r.file+".new", r.file)
		}
		if err != nil {
			r.t.Errorf("repair: %v", err)
		}
		r.mu.Lock()
		r.left = sigOf(r.file)
		r.mu.Unlock()
		drain(s) // of our own, from before it was known as that
		r.repair <- struct{}{}
	}
}

// TestFindingK1Writers and K2: programs that remove a file and make it again, or cut it and write it, meet no
// repair, and their text is found as they wrote it.
func TestFindingK1Writers(t *testing.T) {
	if chosen() == "fsnotify" {
		return // it does not tell of the end of a write
	}
	scripts := map[string]string{
		"cp":            `cp new a`,
		"mv":            `cp new b && mv b a`,
		"redirect":      `cat new > a`,
		"in two halves": `{ head -c 3 new; read wait; tail -c +4 new; } > a`,
	}
	if chosen() == "fanotify" { // a quiet time stands for the end of a process elsewhere, and may end between its steps on a busy machine
		scripts["cp --remove-destination"] = `cp --remove-destination new a`
		scripts["install"] = `install new a`
	}
	for _, present := range []bool{true, false} {
		for name, script := range scripts {
			t.Run(fmt.Sprintf("%s, present: %v", name, present), func(t *testing.T) {
				dir := t.TempDir()
				h := newHost(t, Options{})
				r := &repairer{t: t, host: h, file: filepath.Join(dir, "a"), repair: make(chan struct{}, 100)}
				if present {
					r.want = "ours"
					write(t, r.file, r.want)
				}
				r.left = sigOf(r.file)
				s := watch(t, h, events.Options{Own: events.OwnerFunc(r.own)}, r.file)
				var all sync.WaitGroup
				defer all.Wait()
				defer s.Close()
				done := make(chan struct{})
				defer close(done)
				all.Go(func() { r.until(s, done) })
				for i := range 5 {
					text := fmt.Sprintf("text %d", i)
					write(t, filepath.Join(dir, "new"), text)
					cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
					cmd.Dir, cmd.Stdin = dir, bytes.NewReader([]byte("\n"))
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
					<-r.repair
					r.mu.Lock()
					last := r.found[len(r.found)-1]
					r.mu.Unlock()
					if last != text {
						t.Errorf("found %q, want %q", last, text)
					}
				}
			})
		}
	}
}

// TestFindingK2NeverClosed: a writer who never closes a file is waited for two seconds, and no longer.
func TestFindingK2NeverClosed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	write(t, file, "")
	h := newHost(t, Options{})
	s := watch(t, h, plain, file)
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteString("half")
	must(t, err)
	woken(t, s)
	// What it has open was replaced: it can write on as it likes.
	write(t, file+".new", "")
	rename(t, file+".new", file)
	settle(t, h, s)
	if chosen() == "fsnotify" {
		return
	}
	_, err = f.WriteString("and the other half")
	must(t, err)
	must(t, f.Close())
	silent(t, h, s)
}

// counting is a source that counts what it tells.
type counting struct {
	eventSource
	out  chan event
	stop chan struct{}
	n    atomic.Int64
	all  sync.WaitGroup
}

func (c *counting) events() <-chan event { return c.out }

func (c *counting) Close() error {
	close(c.stop)
	err := c.eventSource.Close()
	c.all.Wait()
	return err
}

// TestFindingK4Appender: a program that appends for ever in a watched folder wakes the hub four times a second,
// and not once for each write.
func TestFindingK4Appender(t *testing.T) {
	if chosen() == "fsnotify" {
		return
	}
	dir := t.TempDir()
	c := &counting{out: make(chan event), stop: make(chan struct{})}
	h := newHost(t, Options{open: func(clock clock.Clock) (_ eventSource, err error) {
		if c.eventSource, err = openChosen(clock); err == nil {
			c.all.Go(func() {
				defer close(c.out)
				for ev := range c.eventSource.events() {
					if ev.dir == dir || ev.op == opPending {
						c.n.Add(1)
					}
					select {
					case c.out <- ev:
					case <-c.stop:
						ev.by.release()
					}
				}
			})
		}
		return c, err
	}})
	s := watch(t, h, plain, filepath.Join(dir, "a"))
	f, err := os.Create(filepath.Join(dir, "log"))
	must(t, err)
	defer f.Close()
	began := time.Now()
	const writes = 100_000
	for range writes {
		_, err := f.WriteString("x")
		must(t, err)
	}
	if n, most := c.n.Load(), int64(time.Since(began)/writesPause)+3; n > most {
		t.Errorf("%d events for %d writes, want %d at most", n, writes, most)
	}
	silent(t, h, s)
}

// frozen is a clock whose timers never run out.
type frozen struct{ at time.Time }

func (f frozen) Now() time.Time { return f.at }
func (f frozen) AfterFunc(time.Duration, func()) (stop func() bool) {
	return func() bool { return true }
}

// TestFindingK1MergedEvents: fanotify tells of the close of a file and of its move by one event where we are late. It
// is the end of a write like any other, and no time is awaited.
func TestFindingK1MergedEvents(t *testing.T) {
	c := &canned{evs: make(chan event), errs: make(chan error)}
	h := newHost(t, Options{Clock: frozen{time.Now()}, open: func(clock.Clock) (eventSource, error) { return c, nil }})
	dir := t.TempDir()
	s := watch(t, h, plain, filepath.Join(dir, "f"))
	for _, o := range []op{opModified, opClosed | opMovedIn} {
		c.evs <- event{dir: dir, name: "f", op: o, file: "1", by: &actor{pid: 7, fd: -1, bare: true}}
	}
	woken(t, s)
}

// TestFolderLeftOnTheWay: what is on its way in a folder is let go of with the folder.
func TestFolderLeftOnTheWay(t *testing.T) {
	c := &canned{evs: make(chan event), errs: make(chan error)}
	h := newHost(t, Options{Clock: frozen{time.Now()}, open: func(clock.Clock) (eventSource, error) { return c, nil }})
	dir := filepath.Join(t.TempDir(), "d")
	mkdir(t, dir)
	s := watch(t, h, plain, filepath.Join(dir, "f"))
	c.evs <- event{dir: dir, name: "f", op: opModified, by: &actor{pid: 7, fd: -1, bare: true}}
	remove(t, dir)
	c.evs <- event{dir: filepath.Dir(dir), name: "d", op: opRemoved | opFolder, by: &actor{pid: 7, fd: -1}}
	quiesce(h)
	woken(t, s)
}

// TestFindingK1Writing: who is in the middle of a write is known at once, whatever the hub has read by then.
func TestFindingK1Writing(t *testing.T) {
	if chosen() == "fsnotify" {
		return
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	write(t, file, "ours")
	h := newHost(t, Options{})
	watch(t, h, plain, file)
	wants := func(what string, want bool) {
		t.Helper()
		if got := h.Writing(t.Context(), file); got != want {
			t.Errorf("%s: writing %v, want %v", what, got, want)
		}
	}
	wants("nobody writes", false)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	must(t, err)
	wants("it was cut", true)
	if !h.Writing(t.Context(), dir) {
		t.Error("nobody writes below the folder")
	}
	if h.Writing(t.Context(), file+"b") {
		t.Error("somebody writes beside it")
	}
	must(t, f.Close())
	wants("it was closed", false)
}

// TestFindingK1Editor: vim says by its swap file that it has read a name, and fails where that is another file when it writes.
func TestFindingK1Editor(t *testing.T) {
	if chosen() == "fsnotify" {
		return
	}
	dir := t.TempDir()
	swaps := map[string]string{"a": ".a.swp", ".rc": ".rc.swp"}
	for name := range swaps {
		write(t, filepath.Join(dir, name), "ours")
	}
	h := newHost(t, Options{})
	for name, swap := range swaps {
		file := filepath.Join(dir, name)
		watch(t, h, plain, file)
		for _, other := range []string{".other.swp", ".swp", "..swp", "...swp", strings.TrimPrefix(name, ".") + ".swp"} {
			write(t, filepath.Join(dir, other), "")
		}
		if h.Writing(t.Context(), file) {
			t.Errorf("somebody edits %s, who edits another", name)
		}
		write(t, filepath.Join(dir, swap), "")
		if !h.Writing(t.Context(), file) {
			t.Errorf("nobody edits %s", name)
		}
		write(t, file, "theirs")
		if h.Writing(t.Context(), file) {
			t.Errorf("%s was written, and is still edited", name)
		}
	}
}

// handTime is a clock that the test moves. Nothing happens by it.
type handTime struct {
	mu  sync.Mutex
	now time.Time
}

func (c *handTime) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (*handTime) AfterFunc(time.Duration, func()) (stop func() bool) {
	return func() bool { return true }
}

// pass moves the clock, and has the hub look at what that makes due.
func (c *handTime) pass(h *Host, d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	h.hub.caughtUp(context.Background(), h.hub.ripen)
}

// watchByHand watches a file on a host with such a clock.
func watchByHand(t *testing.T, file string) (*Host, *handTime, events.Subscription) {
	clock := &handTime{now: time.Now()}
	h := newHost(t, Options{Clock: clock})
	return h, clock, watch(t, h, plain, file)
}

// TestHear: subscribers are woken of all that has happened before the call.
func TestHear(t *testing.T) {
	if chosen() == "fsnotify" {
		return // it tells nothing before its own goroutine has read
	}
	file := filepath.Join(t.TempDir(), "a")
	h := newHost(t, Options{})
	h.Hear(t.Context()) // nobody watches yet
	s := watch(t, h, plain, file)
	for range 100 {
		write(t, file, "x")
		h.Hear(t.Context())
		select {
		case <-s.C():
		default:
			t.Fatal("the subscriber knows nothing of the write")
		}
		s.Cause()
	}
}

// TestHearWaits: what is on its way counts as something that has happened, until its writer is done or two seconds have passed.
func TestHearWaits(t *testing.T) {
	if chosen() == "fsnotify" {
		return // it tells nothing before its own goroutine has read
	}
	for _, closes := range []bool{true, false} {
		file := filepath.Join(t.TempDir(), "a")
		write(t, file, "")
		h, clock, s := watchByHand(t, file)
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		must(t, err)
		defer f.Close()
		_, err = f.WriteString("x")
		must(t, err)
		heard := make(chan struct{})
		go func() { defer close(heard); h.Hear(t.Context()) }()
		for waits := false; !waits; {
			select {
			case <-heard:
				t.Fatal("nobody has waited for the writer")
			default:
			}
			h.hub.caughtUp(t.Context(), func() { waits = len(h.hub.transits.order) == 1 && h.hub.transits.order[0].over != nil })
		}
		if closes {
			must(t, f.Close())
		} else {
			clock.pass(h, longestPassage)
		}
		<-heard
		select {
		case <-s.C():
		default:
			t.Error("the subscriber knows nothing of the write")
		}
	}
}

// TestFindingK2NewFile: a new file that is being written is waited for, also where it was written before it is told that it was made.
func TestFindingK2NewFile(t *testing.T) {
	if chosen() != "fanotify" {
		return // which file was modified is not known
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	h, clock, s := watchByHand(t, file)
	h.hub.mu.Lock()
	_, end := neighbour(t, dir, "exec > a; echo x; echo >&2; exec sleep 600")
	h.hub.mu.Unlock()
	h.Writing(t.Context(), file)
	clock.pass(h, processTime+time.Millisecond)
	if !h.Writing(t.Context(), file) {
		t.Error("its writer is not waited for")
	}
	end()
	woken(t, s)
}

// neighbour starts a script in dir, and returns when it has said something on its standard error.
func neighbour(t *testing.T, dir, script string) (p *os.Process, end func()) {
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	cmd.Dir = dir
	said, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = said.Read(make([]byte, 1))
	must(t, err)
	return cmd.Process, func() { _, _ = cmd.Process.Kill(), cmd.Wait() }
}

// TestFindingK1BusyMachine: a process that waits for a processor is not done with a name that it has made. One that rests is.
func TestFindingK1BusyMachine(t *testing.T) {
	if chosen() != "fanotify" {
		return // no process is known
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	h, clock, s := watchByHand(t, file)
	p, end := neighbour(t, dir, "echo x > a; echo >&2; while :; do :; done")
	defer end()
	if !h.Writing(t.Context(), file) {
		t.Error("it has ended its work before")
	}
	for range 3 {
		clock.pass(h, processTime+time.Millisecond)
		if !h.Writing(t.Context(), file) {
			t.Error("it was not waited for while it works")
		}
	}
	must(t, p.Signal(unix.SIGSTOP))
	for stat := ""; !strings.Contains(stat, ") T "); {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
		must(t, err)
		stat = string(text)
	}
	clock.pass(h, processTime+time.Millisecond)
	woken(t, s)
}

// TestFindingK2WritesOn: a writer who does not close a file in two seconds is not waited for again when he writes on. The next one is.
func TestFindingK2WritesOn(t *testing.T) {
	if chosen() == "fsnotify" {
		return // who has a file open is not known
	}
	file := filepath.Join(t.TempDir(), "a")
	write(t, file, "")
	h, clock, s := watchByHand(t, file)
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	writes := func(f *os.File) bool {
		t.Helper()
		_, err := f.WriteString("x")
		must(t, err)
		return h.Writing(t.Context(), file)
	}
	if !writes(f) {
		t.Error("its writer is not waited for")
	}
	for range 3 {
		clock.pass(h, longestPassage)
		woken(t, s)
		if writes(f) {
			t.Error("its writer is waited for once more")
		}
		h.Hear(t.Context()) // does not wait for him either
	}
	_, end := neighbour(t, filepath.Dir(file), "exec >> a; echo x; echo >&2; exec sleep 600") // the file is still the same
	if h.Writing(t.Context(), file) {
		t.Error("one who has the same file is waited for")
	}
	end()
	must(t, f.Close())
	woken(t, s)
	clock.pass(h, writesPause)
	if f, err = os.OpenFile(file, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !writes(f) {
		t.Error("the next writer is not waited for")
	}
}
