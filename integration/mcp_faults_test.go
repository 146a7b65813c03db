package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAgentOfASilentDaemon: a daemon that does not answer holds up the one question. Other tools answer meanwhile, and the client may give the question up.
func TestAgentOfASilentDaemon(t *testing.T) {
	d := newDaemon(t, t.TempDir(), onefile)
	if err := os.Mkdir(d.path("state"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(d.path("state"), "mgmt.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			asked <- c
		}
	}()
	a := agentOf(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: "status"})
		done <- err
	}()
	c := <-asked
	a.good("kinds", nil, nil)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the question ends with %v", err)
	}
	// The program gives the question up, too, and not at the end of its patience.
	if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
	_ = c.Close()
	a.good("kinds", nil, nil)
}

// rawAgent starts the program without a client of the protocol.
func rawAgent(t *testing.T, d *realDaemon) (in io.WriteCloser, out *bufio.Reader, end func() string) {
	t.Helper()
	cmd := asked(t, d, "mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out = bufio.NewReader(read)
	return in, out, func() string {
		_ = in.Close()
		rest, _ := io.ReadAll(out)
		_ = cmd.Wait()
		return fmt.Sprintf("%s%s%v", rest, log.String(), cmd.ProcessState)
	}
}

const helloAgent = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"

// TestAgentOfABrokenClient: what is no message, or too long, ends the program with an exit code, and without a panic. Nothing is proposed.
func TestAgentOfABrokenClient(t *testing.T) {
	d := newDaemon(t, t.TempDir(), onefile)
	d.start()
	d.has("wanted", "right")
	long := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"propose","arguments":{"reason":"long","graph":"` + strings.Repeat("#", 3<<20) + `"}}}`
	for _, text := range []string{
		"{\n", "\x00\x01\x02\n", "[]\n", "null\n", "{\"jsonrpc\":\"1.0\"}\n", `{"jsonrpc":"2.0","id":{},"method":"tools/call"}` + "\n",
		strings.Repeat("[", 100_000) + "\n", long + "\n", long[:1<<20], "",
	} {
		in, out, end := rawAgent(t, d)
		if _, err := io.WriteString(in, helloAgent); err != nil {
			t.Fatal(err)
		}
		if line, err := out.ReadString('\n'); err != nil || !strings.Contains(line, `"serverInfo"`) {
			t.Fatalf("%v: %s", err, line)
		}
		_, _ = io.WriteString(in, text) // it may end before it has read all
		if said := end(); strings.Contains(said, "panic") || strings.Contains(said, "goroutine") || !strings.Contains(said, "exit status") {
			t.Errorf("%.60q: %s", text, said)
		}
	}
	if out, err := asked(t, d, "proposals").CombinedOutput(); err != nil || string(out) != "nothing is proposed\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAgentIsKilled: the daemon goes on, what was proposed waits, and the next one goes on with it.
func TestAgentIsKilled(t *testing.T) {
	d := newDaemon(t, t.TempDir(), onefile)
	d.start()
	d.has("wanted", "right")
	a := agentOf(t, d)
	a.good("propose", map[string]any{"graph": "resources: {}\n", "reason": "before it is killed"}, nil)
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := a.session.Wait(); err == nil && a.cmd.ProcessState == nil {
		t.Error("the session goes on")
	}
	if out := agentOf(t, d).good("proposals", nil, nil); !strings.Contains(out.text, "before it is killed") {
		t.Errorf("the next one sees\n%s", out.text)
	}
	// The daemon is killed in the middle of a proposal's life, too.
	d.stop(syscall.SIGKILL)
	d = d.again()
	d.start()
	b := agentOf(t, d)
	d.until("the new daemon answers", func() bool { return !b.call("status", nil).bad })
	if out := b.good("proposals", nil, nil); !strings.Contains(out.text, "before it is killed") {
		t.Errorf("after the daemon was killed it has\n%s", out.text)
	}
}
