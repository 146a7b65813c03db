package mcp

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestServeEnds: however a client ends, the server ends with it and leaves no goroutine, also where calls have no answer yet.
func TestServeEnds(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"validate","arguments":{"graph":"resources: {noop: [{name: a}]}"}}}` + "\n"
	for _, text := range []string{"", "{\n", call, strings.Repeat(call, 100), call[:50], strings.Repeat("[", 1000) + "\n", "\x00\n"} {
		in, send := io.Pipe()
		said, out := io.Pipe()
		a := &cli.App{In: in, Out: out, Err: io.Discard}
		d := remote.Daemon{}
		d.Socket.Path = t.TempDir() + "/none"
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = serve(t.Context(), a, &d) // an error of what is no message
			_ = in.Close()
			_ = out.Close()
		}()
		if _, err := io.WriteString(send, hello); err != nil {
			t.Fatal(err)
		}
		read := bufio.NewReader(said)
		if line, err := read.ReadString('\n'); err != nil || !strings.Contains(line, "serverInfo") {
			t.Errorf("%v: %s", err, line)
		}
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, read) // ends with the server
		}()
		_, _ = io.WriteString(send, text) // it may end before it has read all
		_ = send.Close()
		<-ended
		<-drained
	}
}
