package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// sourceEnv chooses the source that the tests of this process watch with; empty for the best one.
const sourceEnv = "MGMT_TEST_SOURCE"

// sources are all of them.
var sources = map[string]func(clock.Clock) (eventSource, error){
	"":         openSource,
	"inotify":  openInotify,
	"fanotify": openFanotify,
	"fsnotify": openNotify,
}

// openChosen opens the source that was chosen.
func openChosen(clock clock.Clock) (eventSource, error) { return sources[os.Getenv(sourceEnv)](clock) }

// chosen names it.
func chosen() string {
	if s := os.Getenv(sourceEnv); s != "" {
		return s
	}
	if s, err := openFanotify(clock.System{}); err == nil {
		_ = s.Close()
		return "fanotify"
	}
	return "inotify"
}

// holdsOf returns how many folders a source watches.
func holdsOf(s eventSource) (n int, ok bool) {
	switch s := s.(type) {
	case *notifySource:
		return len(s.w.WatchList()), true
	case *bestSource:
		n, ok = holdsOf(s.fan)
		if s.in != nil {
			more, _ := holdsOf(s.in)
			n += more
		}
		return n, ok
	case *fanotify:
		s.main.mu.Lock()
		defer s.main.mu.Unlock()
		return len(s.main.dirs), true
	case *inotify:
		s.main.mu.Lock()
		defer s.main.mu.Unlock()
		return len(s.main.dirs), true
	}
	return 0, false
}

// TestSources runs the tests of the watches over the other sources, too. Each is a process of its own.
func TestSources(t *testing.T) {
	if os.Getenv(sourceEnv) != "" {
		return
	}
	for name := range sources {
		if name == "" || name == chosen() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("make check runs it")
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", suite, "-test.failfast")
			cmd.Env = append(os.Environ(), sourceEnv+"="+name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// suite are the tests that see a source.
const suite = "EveryChange|OnlyTheName|WakeUps|Armed|MissingParents|Director|Moved|Contents|Bug29|Bug30|Overflow|Watch|Poll|Root|Link|Recurs|Hub|Mounts|Notify|Names|Finding"

// TestCulprit: who has made a change is told of where the kernel tells, and nothing is where it does not.
func TestCulprit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, "")
	h := newHost(t, Options{})
	s := watch(t, h, plain, file)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `echo x > "$1"; read wait`, "sh", file)
	in, err := cmd.StdinPipe() // it lives until it is told of
	must(t, err)
	must(t, cmd.Start())
	c := woken(t, s)
	must(t, errors.Join(in.Close(), cmd.Process.Kill()))
	_ = cmd.Wait()
	if chosen() != "fanotify" {
		if c.By != nil {
			t.Errorf("%s tells of %v", chosen(), c.By)
		}
		return
	}
	shell, err := filepath.EvalSymlinks("/bin/sh")
	must(t, err)
	me, err := user.Current()
	must(t, err)
	if by := c.By; by == nil || by.PID != cmd.Process.Pid || by.Program != shell || by.User != me.Username || by.Gone {
		t.Errorf("it was %+v, want pid %d, %s, %s", c.By, cmd.Process.Pid, shell, me.Username)
	}
}

// TestCulpritThatIsGone: nothing but the number is known of a process that has ended, though another one may have it by now.
func TestCulpritThatIsGone(t *testing.T) {
	var c culprits
	got := c.of(newActor(os.Getpid(), -1)) // there is a process of that number
	if want := (provenance.Culprit{PID: os.Getpid(), Gone: true}); *got != want {
		t.Errorf("%+v", got)
	}
}

// TestFindingK2CulpritThatEnds: a process that has ended and is not buried keeps its number, and is known by the name that it had.
func TestFindingK2CulpritThatEnds(t *testing.T) {
	if chosen() != "fanotify" {
		return
	}
	cmd := exec.CommandContext(t.Context(), "true")
	must(t, cmd.Start())
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	must(t, err)
	a := newActor(cmd.Process.Pid, fd)
	defer a.release()
	must(t, retry(func() error { _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); return err }))
	var c culprits
	if by := c.of(a); by.Gone || by.Program != "true" || by.User == "" {
		t.Errorf("it was %+v", by)
	}
	must(t, cmd.Wait())
	a.read = nil
	if by := c.of(a); *by != (provenance.Culprit{PID: cmd.Process.Pid, Gone: true}) {
		t.Errorf("buried, it is %+v", by)
	}
}

// TestFindingK2CulpritOfAShortWrite: a program that ends with its write is named all the same, since it was read when
// it began to write.
func TestFindingK2CulpritOfAShortWrite(t *testing.T) {
	if chosen() != "fanotify" {
		return // nothing else tells who writes
	}
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, "")
	h := newHost(t, Options{})
	s := watch(t, h, plain, file)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `{ echo x; echo begun >&2; read wait || :; } > "$1"`, "sh", file)
	in, err := cmd.StdinPipe()
	must(t, err)
	said, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = said.Read(make([]byte, 1))
	must(t, err)
	if !h.Writing(t.Context(), file) {
		t.Error("nobody writes")
	}
	gate := make(chan struct{})
	h.hub.calls <- func() { <-gate }
	must(t, in.Close())
	must(t, cmd.Wait())
	close(gate)
	shell, err := filepath.EvalSymlinks("/bin/sh")
	must(t, err)
	if by := woken(t, s).By; by == nil || by.PID != cmd.Process.Pid || by.Program != shell || by.Gone {
		t.Errorf("it was %+v, want pid %d, %s", by, cmd.Process.Pid, shell)
	}
}

// TestActors: a process is known by its number as long as it lives, and the one that gets the number next is another one.
func TestActors(t *testing.T) {
	if chosen() != "fanotify" {
		return
	}
	var c actors
	defer c.shut()
	self := os.Getpid()
	of := func(pid int, lives bool) *actor {
		t.Helper()
		fd := -1
		if lives {
			var err error
			fd, err = unix.PidfdOpen(self, 0)
			must(t, err)
		}
		a := c.of(pid, fd)
		a.release() // it is kept
		return a
	}
	first := of(self, true)
	if of(self, true) != first {
		t.Error("a process that lives is another one")
	}
	ended := of(7, false)
	if of(7, false) == ended || of(7, true) == ended {
		t.Error("a process that has ended is taken for another one")
	}
	if of(self, false) == first {
		t.Error("the process of an event has ended, and is taken for one that lives")
	}
	for pid := range 2 * maxActors {
		of(1000+pid, false)
	}
	if len(c.known) != maxActors {
		t.Errorf("%d are known", len(c.known))
	}
}

// TestCulpritOfAnotherProgram: a process that runs another program since it was read is read again.
func TestCulpritOfAnotherProgram(t *testing.T) {
	if chosen() != "fanotify" {
		return
	}
	var c culprits
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	must(t, err)
	a := newActor(os.Getpid(), fd)
	defer a.release()
	by := c.of(a)
	if by.Gone || c.of(a) != by {
		t.Errorf("it is %+v, and then %+v", by, c.of(a))
	}
	a.read = &provenance.Culprit{PID: by.PID, Program: "/bin/before", User: by.User}
	if now := c.of(a); now.Program != by.Program {
		t.Errorf("it is %s, want %s", now.Program, by.Program)
	}
}

// TestFindingK4Listen: after a modification nothing is told of the next ones for a while, and at once after listen.
func TestFindingK4Listen(t *testing.T) {
	if chosen() == "fsnotify" {
		return
	}
	src, err := openChosen(frozen{time.Now()})
	must(t, err)
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "f"))
	must(t, err)
	defer f.Close()
	must(t, src.Add(dir))
	defer func() { must(t, src.Close()) }()
	for range 3 {
		_, err := f.WriteString("x")
		must(t, err)
		if ev := <-src.events(); ev.op != opPending {
			t.Fatalf("%+v", ev)
		}
		_, err = f.WriteString("x")
		must(t, err)
		if len(src.events()) > 0 {
			t.Error("a modification was told of in the pause")
		}
		src.modified(event.served)
		src.listen()
	}
}

// TestUnitOf: the unit is the innermost service or scope.
func TestUnitOf(t *testing.T) {
	for groups, want := range map[string]string{
		"0::/system.slice/ssh.service\n":                                        "ssh.service",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n":  "x.scope",
		"0::/system.slice/docker-0a.scope/inner\n":                              "docker-0a.scope",
		"12:memory:/a.service\n1:name=systemd:/system.slice/cron.service\n0::/": "cron.service",
		"0::/\n": "",
		"":       "",
	} {
		if got := unitOf(groups); got != want {
			t.Errorf("%q: %q, want %q", groups, got, want)
		}
	}
}

// TestStrangersWriteIsNobodysOwn: a subscriber is not asked whether what another process has written is his own.
func TestStrangersWriteIsNobodysOwn(t *testing.T) {
	if chosen() != "fanotify" {
		return // nothing tells who writes
	}
	file := filepath.Join(t.TempDir(), "f")
	h := newHost(t, Options{})
	var asked atomic.Int32
	mine := watch(t, h, events.Options{Resource: "file[f]", Own: events.OwnerFunc(func() bool { asked.Add(1); return true })}, file)
	write(t, file, "ours")
	settle(t, h, mine)
	asked.Store(0)
	for range 2 {
		must(t, exec.CommandContext(t.Context(), "/bin/sh", "-c", `echo x > "$1"`, "sh", file).Run())
		if c := woken(t, mine); c.From != "" || asked.Load() != 0 {
			t.Errorf("told of %+v after %d questions", c, asked.Load())
		}
	}
}

// TestOwnWriteIsToldToOthers: what a resource has left there wakes others with that resource as the
// cause, and a stranger's write with none.
func TestOwnWriteIsToldToOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	h := newHost(t, Options{})
	var own atomic.Bool
	own.Store(true)
	mine := watch(t, h, events.Options{Resource: "file[f]", Own: events.OwnerFunc(own.Load)}, file)
	other := watch(t, h, plain, file)
	write(t, file, "ours")
	if c := woken(t, other); c.From != "file[f]" || c.By != nil {
		t.Errorf("cause %+v", c)
	}
	silent(t, h, mine)
	settle(t, h, other)
	own.Store(false)
	write(t, file, "not ours")
	if c := woken(t, other); c.From != "" {
		t.Errorf("cause %+v", c)
	}
	woken(t, mine)
}

// following returns a source of the kernel's own queues, and an empty folder that it follows. The caller closes it.
func following(t *testing.T) (src eventSource, dir string) {
	t.Helper()
	if chosen() == "fsnotify" {
		t.Skip("fsnotify has no such queues")
	}
	src, err := openChosen(frozen{time.Now()})
	must(t, err)
	dir = t.TempDir()
	must(t, src.Add(dir))
	return src, dir
}

// TestNothingIsServedBeforeWhatWasRead: where an event is still to be served, what has happened since is left to the hub's goroutine.
func TestNothingIsServedBeforeWhatWasRead(t *testing.T) {
	src, dir := following(t)
	defer func() { must(t, src.Close()) }()
	must(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	held := <-src.events()
	must(t, os.Mkdir(filepath.Join(dir, "b"), 0o700))
	if src.now(func(ev event) { t.Errorf("%+v before %+v", ev, held) }) {
		t.Error("it serves although an event is held")
	}
	held.served()
	(<-src.events()).served()
	must(t, os.Mkdir(filepath.Join(dir, "c"), 0o700))
	var c event
	for c.name == "" {
		src.now(func(ev event) { c = ev })
		select {
		case c = <-src.events():
		default:
		}
	}
	c.served()
	if c.name != "c" {
		t.Errorf("%+v, want one of c", c)
	}
}

// TestAllModificationsAreRead: also where there are more than are read at once.
func TestAllModificationsAreRead(t *testing.T) {
	src, dir := following(t)
	defer func() { must(t, src.Close()) }()
	const n = 1000
	for i := range n {
		write(t, filepath.Join(dir, fmt.Sprint(i)), "x")
	}
	got := 0
	src.modified(func(ev event) { got++; ev.served() })
	if got < n {
		t.Errorf("%d modifications of %d", got, n)
	}
}

// TestEarsClose: they can be closed at any moment, while they hear one modification after the other.
func TestEarsClose(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	_, err = w.WriteString("x") // for good
	must(t, err)
	for range 300 {
		e, err := newEars(frozen{time.Now()}, int(r.Fd()))
		must(t, err)
		heard, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for i := 0; e.hear(); i++ {
				if i == 2 {
					close(heard)
				}
				e.listen()
			}
		}()
		<-heard
		must(t, e.close())
		<-ended
	}
}

// TestLossIsToldAtOnce: a loss of what is no modification has everything looked at soon, also where the hub itself reads it as it catches up.
func TestLossIsToldAtOnce(t *testing.T) {
	src, dir := following(t)
	told := make(chan error, 100)
	go func() {
		defer close(told)
		for err := range src.errors() {
			told <- err
		}
	}()
	queue := 16384
	fmt.Sscan(readSysctl("fs."+chosen()+".max_queued_events"), &queue)
	at := filepath.Join(dir, "a")
	must(t, os.Mkdir(at, 0o700))
	for i := range queue + 10000 { // nobody takes them, and those of one name would be merged
		to := filepath.Join(dir, fmt.Sprint("a", i))
		rename(t, at, to)
		at = to
	}
	src.catchUp(func(ev event) {
		if ev.op&opPending != 0 && ev.op != opPending {
			t.Error("the loss is told as one of modifications, whose files are closed one day")
		}
		ev.served()
	})
	must(t, src.Close())
	if err := <-told; !errors.Is(err, fsnotify.ErrEventOverflow) {
		t.Errorf("no loss is told: %v", err)
	}
}
