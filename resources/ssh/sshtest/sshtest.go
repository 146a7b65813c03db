// Package sshtest runs an sshd of the system for a test: on loopback, with a folder of its own, in
// mounts of its own. It serves this machine, so a test that sets something there uses its own
// folders.
package sshtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// Server is an sshd.
type Server struct {
	// Dir has the keys and the configuration. It goes with the test.
	Dir string
	// Port is on 127.0.0.1. It was free when the server was made, and is the same after each Up.
	Port     int
	Identity string // the file with a private key that is let in
	HostKey  string // the public key of the server

	// sshd is the path of the program.
	sshd string
	// cmd is nil while the server is stopped.
	cmd *exec.Cmd
	// log has all that the server has said until it listened.
	log *bytes.Buffer
}

// Start starts one, and ends it with the test. It skips a test of a user who may not make mounts.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{Dir: t.TempDir(), sshd: enginetest.Need(t, "sshd", "openssh-server")}
	if os.Geteuid() != 0 {
		t.Skip("sshd in mounts of its own needs root")
	}
	s.Identity = filepath.Join(s.Dir, "identity")
	key := filepath.Join(s.Dir, "host_key")
	for _, path := range []string{s.Identity, key} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	s.HostKey = strings.TrimSpace(string(public))
	// The system chooses a free port. Another process may take it before sshd does: then Up fails
	// with what sshd says.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Port = l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %s\nAuthorizedKeysFile %s.pub\nStrictModes no\nPermitRootLogin yes\nUsePAM no\nPidFile none\nMaxStartups 100\n",
		s.Port, key, s.Identity)
	if err := os.WriteFile(filepath.Join(s.Dir, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(t) })
	s.Up(t)
	return s
}

// Address returns host:port.
func (s *Server) Address() string { return "127.0.0.1:" + strconv.Itoa(s.Port) }

// Up starts it again after Stop.
func (s *Server) Up(t testing.TB) {
	t.Helper()
	// sshd wants an empty folder of root's at a fixed path. In mounts of its own it gets one, and
	// the machine keeps its own /run.
	const mounts = `mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec "$0" -D -e -f "$1"`
	s.log = &bytes.Buffer{}
	s.cmd = exec.Command("unshare", "--mount", "sh", "-c", mounts, s.sshd, filepath.Join(s.Dir, "config"))
	// A test that is killed leaves no server behind: the kernel ends sshd with its parent.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		s.log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "Server listening") {
			go func() { // it ends with the last session
				for lines.Scan() {
				}
			}()
			return
		}
	}
	t.Fatalf("sshd has not started:\n%s", s.log)
}

// Stop ends the server and all of its sessions, as a machine that loses its power does to its
// clients.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	s.KillSessions(t)
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.KillSessions(t) // one that came meanwhile
	s.cmd = nil
}

// KillSessions kills the processes of sshd that serve the sessions, and not the programs in the
// sessions.
func (s *Server) KillSessions(t testing.TB) {
	t.Helper()
	for _, pid := range below(s.cmd.Process.Pid) {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && strings.HasPrefix(string(name), "sshd") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Error(err)
			}
		}
	}
}

// Freeze stops the processes that serve the sessions, as a network that is cut does: nothing is answered, and nothing is closed. The
// returned function has them go on.
func (s *Server) Freeze(t testing.TB) (thaw func()) {
	t.Helper()
	// The listening process is stopped as well: a new connection gets no answer either.
	var stopped []int
	for _, pid := range append(below(s.cmd.Process.Pid), s.cmd.Process.Pid) {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && strings.HasPrefix(string(name), "sshd") {
			if syscall.Kill(pid, syscall.SIGSTOP) == nil {
				stopped = append(stopped, pid)
			}
		}
	}
	return func() {
		for _, pid := range stopped {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// below returns the processes below one.
func below(pid int) (all []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for f := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(f); err == nil {
			all = append(append(all, child), below(child)...)
		}
	}
	return all
}

// Until waits until something is so.
func Until(t testing.TB, what string, so func() bool) {
	t.Helper()
	// It looks a hundred times a second, and gives up after a minute.
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute: not %s", what)
		}
	}
}
