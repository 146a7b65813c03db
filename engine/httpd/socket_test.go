package httpd

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// deadSocket leaves a socket on which nobody listens.
func deadSocket(t testing.TB, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
}

// TestListenInTheWay: a socket without a listener is replaced, and everything else that stands at the path is left as it is.
func TestListenInTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want string // "" where the socket is made
	}{
		"nothing":     {func(*testing.T, string) {}, ""},
		"dead socket": {func(t *testing.T, path string) { deadSocket(t, path) }, ""},
		"file":        {func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("text"), 0o600)) }, "is in the way: it is no socket, remove it or name another one with --listen"},
		"folder":      {func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, "is in the way: it is no socket"},
		"lost link":   {func(t *testing.T, path string) { must(t, os.Symlink("nowhere", path)) }, "is in the way: it is no socket"},
		"link to a dead socket": {func(t *testing.T, path string) {
			deadSocket(t, path+"2")
			must(t, os.Symlink("s2", path))
		}, "is in the way: it is no socket"},
		"listener": {func(t *testing.T, path string) { mustListen(t, path) }, "another program listens on "},
	} {
		t.Run(name, func(t *testing.T) {
			path := socketIn(t)
			c.make(t, path)
			before, _ := os.Lstat(path)
			l, err := Listen(t.Context(), path, SocketOptions{Flag: "--listen"})
			if c.want == "" {
				must(t, err)
				if l.Path() != path || l.Addr().String() != path {
					t.Errorf("it is at %s, with the address %s", l.Path(), l.Addr())
				}
				must(t, l.Close())
				must(t, l.Close())
				if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("it stays: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
				t.Errorf("what was there is gone: %v", err)
			}
			if e, used := errors.AsType[*InUseError](err); used != (name == "listener") || used && e.Path != path {
				t.Errorf("InUseError: %v", used)
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestListenFolder: a folder that is not there, and a name that is too long, are errors that name the socket.
func TestListenFolder(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	long := strings.Repeat("n", 104)
	for path, want := range map[string]string{
		"missing/s":    "no such file or directory",
		"file/s":       "not a directory",
		long:           "has 104 bytes, and ",
		"missing/../s": "",
	} {
		full := dir + "/" + path
		l, err := Listen(t.Context(), full, SocketOptions{})
		switch {
		case want == "" && err == nil:
			_ = l.Close()
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "the socket "+full) && !strings.Contains(err.Error(), "the name of the socket "+full)):
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := Listen(t.Context(), filepath.Join(dir, long), SocketOptions{Flag: "--listen"}); err == nil || !strings.HasSuffix(err.Error(), "are the most, name another one with --listen") {
		t.Error(err)
	}
	if _, err := Dial(t.Context(), filepath.Join(dir, long)); err == nil {
		t.Error("a name that is too long is dialed")
	}
	if _, err := Dial(t.Context(), filepath.Join(dir, "missing", long)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a folder that is not there is dialed:", err)
	}
}

// TestListenDeep: a path that is too long for an address works, for both ends.
func TestListenDeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100), strings.Repeat("e", 100))
	must(t, os.MkdirAll(dir, 0o700))
	r := newRig(t)
	path := filepath.Join(dir, "s")
	end := r.serve(t, mustListen(t, path))
	works(t, path)
	if _, err := Listen(t.Context(), path, SocketOptions{}); err == nil {
		t.Error("two listen there")
	}
	end()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
}

// TestListenMode: the socket has the mode that was asked for, whatever the umask.
func TestListenMode(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for mode, want := range map[fs.FileMode]fs.FileMode{0: 0o660, 0o600: 0o600, 0o666: 0o666} {
		path := socketIn(t)
		l, err := Listen(t.Context(), path, SocketOptions{Mode: mode})
		must(t, err)
		info, err := os.Lstat(path)
		must(t, err)
		if info.Mode().Perm() != want || info.Mode().Type() != fs.ModeSocket {
			t.Errorf("%04o: %s, want %04o", mode, info.Mode(), want)
		}
		must(t, l.Close())
	}
}

// TestListenTogether: of many processes that want the same socket at once, one has it and the others are told.
func TestListenTogether(t *testing.T) {
	path := socketIn(t)
	deadSocket(t, path)
	var wg sync.WaitGroup
	var won, told atomic.Int32
	sockets := make([]*Socket, 8)
	for i := range sockets {
		wg.Go(func() {
			l, err := Listen(t.Context(), path, SocketOptions{})
			if err == nil {
				won.Add(1)
				sockets[i] = l
			} else if _, used := errors.AsType[*InUseError](err); used {
				told.Add(1)
			} else {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || told.Load() != 7 {
		t.Errorf("%d have it, and %d are told", won.Load(), told.Load())
	}
	for _, l := range sockets {
		if l != nil {
			must(t, l.Close())
		}
	}
}

// TestListenLocked: a starter that never ends holds the next one up for ten seconds by its clock, or until it is cancelled.
func TestListenLocked(t *testing.T) {
	path := socketIn(t)
	dir, err := os.Open(filepath.Dir(path))
	must(t, err)
	defer dir.Close()
	must(t, syscall.Flock(int(dir.Fd()), syscall.LOCK_EX))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Listen(ctx, path, SocketOptions{}); err == nil || !strings.Contains(err.Error(), "the socket "+path+": its folder is locked: ") {
		t.Error("cancelled:", err)
	}
	clock := &stillClock{now: time.Unix(1, 0)}
	done := make(chan error)
	go func() {
		_, err := Listen(t.Context(), path, SocketOptions{Clock: clock})
		done <- err
	}()
	for waiting := true; waiting; {
		select {
		case err := <-done:
			if waiting = false; err == nil || !strings.Contains(err.Error(), "its folder is locked") {
				t.Error("after a while:", err)
			}
		default:
			clock.Advance(time.Second)
		}
	}
	if past := clock.Now().Sub(time.Unix(1, 0)); past < lockFor {
		t.Errorf("it waits for %s only", past)
	}
	must(t, syscall.Flock(int(dir.Fd()), syscall.LOCK_UN))
	mustListen(t, path)
}

// TestCloseLeavesAnother: what another process has put in the place of the socket stays when it is closed.
func TestCloseLeavesAnother(t *testing.T) {
	path := socketIn(t)
	l := mustListen(t, path)
	must(t, os.Rename(path, path+"2"))
	must(t, os.WriteFile(path, []byte("mine"), 0o600))
	must(t, l.Close())
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error("it accepts after Close:", err)
	}
}

// keptRig serves on a socket that is looked after all the time.
func keptRig(t *testing.T, path string) (*rig, *Socket) {
	r, l := newRig(t), mustListen(t, path)
	r.Limits.Look = time.Millisecond
	r.serve(t, l)
	return r, l
}

const madeAgain = "the socket was removed while the daemon runs; it is made again"

// TestKeepRemoved: a socket that was removed under a running server is made again, alone or with its folder, with its mode, and with one
// warning each time. Open connections stay.
func TestKeepRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	must(t, os.Mkdir(dir, 0o710))
	path := filepath.Join(dir, "s")
	r, _ := keptRig(t, path)
	_, stream := raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\n\n")
	eventually(t, "the stream", func() bool { return r.Lasting() == 1 })
	for i, remove := range []func() error{
		func() error { return os.Remove(path) },
		func() error { return os.RemoveAll(dir) },
	} {
		must(t, remove())
		eventually(t, "the socket", func() bool {
			c, err := Dial(t.Context(), path)
			if err == nil {
				_ = c.Close()
			}
			return err == nil
		})
		works(t, path)
		eventually(t, "the warning", func() bool { return strings.Count(r.log.String(), madeAgain) == i+1 })
	}
	socket, err := os.Lstat(path)
	must(t, err)
	folder, err := os.Lstat(dir)
	must(t, err)
	if socket.Mode().Perm() != 0o660 || folder.Mode().Perm() != 0o710 {
		t.Errorf("they have the modes %s and %s", socket.Mode(), folder.Mode())
	}
	if _, err := r.store.put("a", "b", Conditions{}); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(stream, nil)
	must(t, err)
	first := make([]byte, len("id: 1\n"))
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "id: 1\n" {
		t.Errorf("the stream has %q: %v", first, err)
	}
}

// TestKeepReplaced: what another process has put there is left alone, with one warning; when it goes, the socket comes back.
func TestKeepReplaced(t *testing.T) {
	const lost = "the socket was removed, and cannot be made again yet"
	path := socketIn(t)
	r, l := keptRig(t, path)
	must(t, os.Link(path, path+"2"))
	must(t, os.WriteFile(path+"3", []byte("mine"), 0o600))
	must(t, os.Rename(path+"3", path)) // at no time is there nothing, which would be another fault
	eventually(t, "the warning", func() bool { return strings.Contains(r.log.String(), lost) })
	for range 3 {
		if missing, err := l.mend(t.Context()); missing || !errors.Is(err, errReplaced) {
			t.Errorf("missing %v: %v", missing, err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("%q %v", text, err)
	}
	works(t, path+"2")
	must(t, os.Remove(path))
	eventually(t, "the socket", func() bool { return strings.Contains(r.log.String(), madeAgain) })
	works(t, path)
	if log := r.log.String(); strings.Count(log, lost) != 1 || strings.Count(log, madeAgain) != 1 || !strings.Contains(log, errReplaced.Error()) {
		t.Errorf("it logs\n%s", log)
	}
}

// TestKeepEnds: a look that comes after the end makes no socket.
func TestKeepEnds(t *testing.T) {
	path := socketIn(t)
	l := mustListen(t, path)
	must(t, l.Close())
	if missing, err := l.mend(t.Context()); !missing || err != nil {
		t.Errorf("missing %v: %v", missing, err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket is made after Close: %v", err)
	}
}

// TestKeepExposed: a folder in which everybody can put another socket is warned of.
func TestKeepExposed(t *testing.T) {
	for mode, want := range map[fs.FileMode]bool{0o700: false, 0o775: false, 0o777: true, 0o702: true, 0o777 | fs.ModeSticky: false} {
		dir := t.TempDir()
		path := filepath.Join(dir, "s")
		l := mustListen(t, path)
		must(t, os.Chmod(dir, mode))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var log lockedBuffer
		l.keep(ctx, time.Hour, slog.New(slog.NewTextHandler(&log, nil)))
		if got := strings.Contains(log.String(), "all users can write to the folder of the socket"); got != want {
			t.Errorf("%s: warned is %v, and the log %s", mode, got, &log)
		}
	}
}

// TestPeerOfASocket: the kernel says who asks, and in which groups the process was.
func TestPeerOfASocket(t *testing.T) {
	r := newRig(t)
	var got Peer
	var mu sync.Mutex
	r.Admit = func(p Peer, _ *Route) error {
		mu.Lock()
		defer mu.Unlock()
		got = p
		return nil
	}
	path, _ := r.listen(t)
	_, in := raw(t, path, "GET /v1/who HTTP/1.1\nHost: x\nConnection: close\n\n")
	if status, body := answerOf(t, in); status != 200 {
		t.Fatal(status, body)
	}
	mu.Lock()
	defer mu.Unlock()
	if int(got.UID) != os.Geteuid() || int(got.GID) != os.Getegid() || int(got.PID) != os.Getpid() || !got.Local || !got.Owner() || got.Addr != "" {
		t.Errorf("%+v", got)
	}
	groups, err := os.Getgroups()
	must(t, err)
	for _, g := range append(groups, os.Getegid()) {
		if !got.In(uint32(g)) {
			t.Errorf("it is not in the group %d", g)
		}
	}
	if got.In(1<<31 - 7) {
		t.Error("it is in a group of nobody")
	}
	for _, p := range []Peer{{}, {Addr: "x"}, {Local: true, err: errors.New("x")}, {Local: true, UID: 1<<31 - 7}} {
		if p.Owner() || p.In(p.GID+1) || !p.Local && p.In(p.GID) {
			t.Errorf("%+v is the owner, or in a group", p)
		}
	}
}

// TestPeerRefused: a process that may not use the socket is told what would, and the log names it once.
func TestPeerRefused(t *testing.T) {
	r := newRig(t)
	for range 3 {
		req, err := http.NewRequestWithContext(context.WithValue(t.Context(), peerKey{}, Peer{Local: true, UID: 12345, PID: 99}), http.MethodGet, "/v1/who", nil)
		must(t, err)
		w := answerTo(r.Server, req)
		if w.Code != 403 || !strings.Contains(w.Body.String(), "uid 12345 (pid 99) may not use this socket") || !strings.Contains(w.Body.String(), "as a member of the group of the socket") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if log := r.log.String(); strings.Count(log, "a request over the socket was refused") != 1 || !strings.Contains(log, `peer="uid 12345 (pid 99)"`) || !strings.Contains(log, "path=/v1/who") {
		t.Errorf("it logs\n%s", log)
	}
	req, err := http.NewRequestWithContext(context.WithValue(t.Context(), peerKey{}, Peer{Local: true, UID: 12345}), http.MethodGet, "/v1/public", nil)
	must(t, err)
	if w := answerTo(r.Server, req); w.Code != 200 {
		t.Errorf("what is public: %d %s", w.Code, w.Body)
	}
}
