package integration_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/internal/await"
)

// manager is what systemd is to a service: it hears what the service tells.
type manager struct {
	t    *testing.T
	conn *net.UnixConn

	mu    sync.Mutex
	heard []string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{t: t, conn: conn}
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.heard = append(m.heard, string(buf[:n]))
			m.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = conn.Close()
		wg.Wait()
	})
	return m
}

// hears waits until one datagram has all of the assignments, and forgets it and those
// before it.
func (m *manager) hears(assignments ...string) {
	m.t.Helper()
	found := await.Eventually(func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		for i, datagram := range m.heard {
			if hasAll(datagram, assignments) {
				m.heard = m.heard[i+1:]
				return true
			}
		}
		return false
	})
	if !found {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.t.Fatalf("the service does not say %q, but %q", assignments, m.heard)
	}
}

// hasAll reports whether lines of text begin with each of the assignments.
func hasAll(text string, assignments []string) bool {
	for _, a := range assignments {
		if !strings.Contains("\n"+text, "\n"+a) {
			return false
		}
	}
	return true
}

// TestService starts the program as systemd does, and looks at all that it tells.
func TestService(t *testing.T) {
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir, state := t.TempDir(), t.TempDir()
	graph, file := filepath.Join(dir, "g.yaml"), filepath.Join(dir, "x")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(graph, []byte(strings.ReplaceAll(text, "$DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("resources: {file: [{name: $DIR/x, content: one}]}")
	m := newManager(t)
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "mgmt"), "run", "--yaml", graph, "--no-watch", "--prefix", state)
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+m.conn.LocalAddr().String(), "WATCHDOG_USEC=1000000")
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	signal := func(sig os.Signal) {
		t.Helper()
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	m.hears("READY=1", "STATUS=")
	m.hears("STATUS=converged: 1 ok")
	m.hears("WATCHDOG=1")
	m.hears("WATCHDOG=1")

	put("resources: {file: [{name: $DIR/x, content: two}]}")
	signal(syscall.SIGHUP)
	m.hears("RELOADING=1", "MONOTONIC_USEC=")
	m.hears("READY=1")
	if !await.Eventually(func() bool { text, _ := os.ReadFile(file); return string(text) == "two" }) {
		t.Error("the reload has not changed anything")
	}

	put("resources: {fiel: [{name: a}]}")
	signal(syscall.SIGHUP)
	m.hears("RELOADING=1", "MONOTONIC_USEC=")
	m.hears("READY=1", "STATUS=graph refused (1 error), the last good one stays in effect: ")

	signal(syscall.SIGQUIT)
	if !await.Eventually(func() bool {
		list, _ := filepath.Glob(filepath.Join(state, "dump-*.txt"))
		return len(list) == 1 && fileSize(t, list[0]) > 0
	}) {
		t.Error("SIGQUIT leaves no dump")
	}
	m.hears("WATCHDOG=1")

	signal(syscall.SIGTERM)
	m.hears("STOPPING=1", "STATUS=stopping")
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%v:\n%s", err, log.String())
		}
	case <-time.After(await.Left()):
		t.Fatal("it does not end")
	}
}
