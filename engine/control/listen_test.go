package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/safepath"
)

// socketIn returns a path for a socket.
func socketIn(t testing.TB) string { return filepath.Join(t.TempDir(), "s") }

func mustListen(t testing.TB, path string) *Listener {
	t.Helper()
	l, err := Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// leaveStale leaves a socket on which nobody listens.
func leaveStale(t testing.TB, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSocketMode: whatever the umask.
func TestSocketMode(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o777} {
		old := unix.Umask(mask)
		path := filepath.Join(t.TempDir(), "s")
		_ = os.Chmod(filepath.Dir(path), 0o700)
		_ = os.Chmod(filepath.Dir(filepath.Dir(path)), 0o700)
		l := mustListen(t, path)
		unix.Umask(old)
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm() != Mode || info.Mode().Type() != os.ModeSocket {
			t.Errorf("umask %o: %v, %v", mask, info.Mode(), err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("closed twice: %v", err)
		}
	}
}

// TestStale: a socket of one that was killed is replaced.
func TestStale(t *testing.T) {
	path := socketIn(t)
	leaveStale(t, path)
	mustListen(t, path)
}

// TestBusy: one on which somebody listens stays, and who that is is told.
func TestBusy(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	_, err := Listen(t.Context(), path)
	busy, ok := errors.AsType[*BusyError](err)
	if !ok || busy.Daemon.PID != os.Getpid() || !strings.Contains(err.Error(), "with the state folder /var/lib/x) answers on "+path) {
		t.Errorf("%v", err)
	}
	if _, err := NewClient(path).Version(t.Context()); err != nil {
		t.Errorf("it answers no more: %v", err)
	}
}

// TestForeign: what is not ours stays.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	other, err := net.Listen("unix", filepath.Join(dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: readTimeout}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(other) })
	defer wg.Wait()
	defer srv.Close()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "file"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"other":    "another program listens on",
		"file":     "it is no socket, remove it",
		"link":     "it is no socket, remove it",
		"dangling": "it is no socket, remove it",
		"no/such":  "no such file or directory",
	} {
		if _, err := Listen(t.Context(), filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "file")); string(text) != "mine" || err != nil {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// TestLongPath: a path that does not fit into an address is used all the same.
func TestLongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 50))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l := mustListen(t, path)
	conn, err := httpd.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("it leaves %v", list)
	}
}

// TestRace: of many that start at once over a stale socket, one gets it, and it
// is that one which answers.
func TestRace(t *testing.T) {
	const starters = 6
	for range 10 {
		path := socketIn(t)
		leaveStale(t, path)
		var wg sync.WaitGroup
		results := make(chan error, starters)
		ctx, cancel := context.WithCancel(t.Context())
		for range starters {
			r := newRig(t)
			wg.Go(func() {
				l, err := Listen(t.Context(), path)
				results <- err
				if err == nil {
					_ = r.Serve(ctx, l)
				}
			})
		}
		won := 0
		for range starters {
			err := <-results
			if busy, ok := errors.AsType[*BusyError](err); err == nil {
				won++
			} else if !ok || busy.Daemon == nil {
				t.Error(err)
			}
		}
		if _, err := NewClient(path).Version(t.Context()); err != nil || won != 1 {
			t.Errorf("%d have won: %v", won, err)
		}
		cancel()
		wg.Wait()
	}
}

// TestCloseLeavesAnother: a socket that has taken the place of ours stays.
func TestCloseLeavesAnother(t *testing.T) {
	path := socketIn(t)
	l := mustListen(t, path)
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	mustListen(t, path)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if conn, err := httpd.Dial(t.Context(), path); err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
}

// asOther makes this test binary ask as another user; see TestAskAsOther.
const asOther = "MGMT_CONTROL_TEST_SOCKET"

// TestAskAsOther is not a test but what the one below runs as another user.
func TestAskAsOther(t *testing.T) {
	path := os.Getenv(asOther)
	if path == "" {
		return
	}
	c := NewClient(path)
	_, err := c.Version(t.Context())
	if e, ok := errors.AsType[*Error](err); ok {
		os.Exit(e.Status % 256)
	}
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		return
	}
	p, err := c.Propose(t.Context(), ProposeRequest{Document: fmt.Sprintf("# %d\n", os.Getpid()), Reason: "to try it"})
	if err != nil {
		t.Fatal(err)
	}
	_, review := c.Review(t.Context(), p.ID)
	_, approve := c.Approve(t.Context(), p.ID, ApproveRequest{Digest: digest(fmt.Sprintf("# %d\n", os.Getpid()), "")})
	_, reject := c.Reject(t.Context(), p.ID, RejectRequest{})
	for _, err := range []error{review, approve, reject} {
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != http.StatusForbidden {
			t.Errorf("review, approve or reject: %v", err)
		}
	}
}

// TestPeers: a stranger is refused even if the mode of the socket lets him in; a
// member of the socket's group is not, and may propose a graph but not decide. It needs root, to be somebody else.
func TestPeers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can ask as somebody else")
	}
	g := &fakeGraphs{}
	r := newRig(t, func(o *Options) { o.Graphs, o.StateDir = g, "" })
	dir, err := os.MkdirTemp("", "mgmt-control-") // t.TempDir is not open to others
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	l := mustListen(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = r.Serve(ctx, l) })
	defer wg.Wait()
	defer cancel()
	binary := filepath.Join(dir, "test")
	self, err := os.Executable()
	if err == nil {
		err = errors.Join(copyFile(self, binary), os.Chmod(dir, 0o755), os.Chmod(path, 0o666), os.Chown(path, -1, 4242))
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cred syscall.Credential
		code int
	}{
		"a stranger":                {syscall.Credential{Uid: 65534, Gid: 65534}, http.StatusForbidden % 256},
		"of the group":              {syscall.Credential{Uid: 65534, Gid: 4242}, 0},
		"of the group among others": {syscall.Credential{Uid: 65534, Gid: 65534, Groups: manyGroups(4242)}, 0},
		"of many groups but not it": {syscall.Credential{Uid: 65534, Gid: 65534, Groups: manyGroups(4243)}, http.StatusForbidden % 256},
		"root":                      {syscall.Credential{}, 0},
	} {
		cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^TestAskAsOther$")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asOther+"="+path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &c.cred}
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != c.code {
			t.Errorf("%s: code %d, want %d (%v):\n%s", name, got, c.code, err, out)
		}
	}
	if len(g.applied) > 0 {
		t.Errorf("applied is %q", g.applied)
	}
	if !strings.Contains(r.log.String(), "a request over the socket was refused") || !strings.Contains(r.log.String(), "uid 65534") {
		t.Errorf("it logs %s", r.log)
	}
}

// manyGroups returns a hundred groups, the last of which is given.
func manyGroups(last uint32) []uint32 {
	var list []uint32
	for i := range uint32(99) {
		list = append(list, 50000+i)
	}
	return append(list, last)
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// TestFindingA11SocketBehindALink: the socket is not made where the link of another user leads.
func TestFindingA11SocketBehindALink(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("this test needs root")
		}
		t.Skip("this test needs root")
	}
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(dir+"/victim", 0o700), os.Symlink("victim", dir+"/link"), os.Lchown(dir+"/link", 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), dir+"/link/s")
	if err == nil {
		_ = l.Close()
	}
	if !errors.Is(err, safepath.ErrRefused) {
		t.Errorf("the error is %v", err)
	}
	if list, _ := os.ReadDir(dir + "/victim"); len(list) != 0 {
		t.Errorf("there is %v", list)
	}
}
