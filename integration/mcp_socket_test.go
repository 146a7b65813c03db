package integration_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reactivegraph/mgmt/internal/await"
)

// overSocket is a client of HTTP, each of whose requests is a connection to the daemon.
func overSocket(d *realDaemon) *http.Client {
	var dial net.Dialer
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial.DialContext(ctx, "unix", d.path("state/mgmt.sock"))
		},
		DisableKeepAlives: true,
	}}
}

// TestAgentOverTheSocket: /v1/mcp of the daemon has the tools that ask it, proposes as the caller, and goes on whatever clients send: no messages, huge
// ones, a thousand at once, and clients that neither read nor end what they have begun.
func TestAgentOverTheSocket(t *testing.T) {
	d := newDaemon(t, t.TempDir(), onefile)
	d.start()
	d.has("wanted", "right")
	c := overSocket(d)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://mgmt/v1/mcp", HTTPClient: c, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{T: t, d: d, session: s}
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 8 {
		t.Errorf("%v: %+v", err, list)
	}
	file := "file[" + d.path("wanted") + "]"
	if got := a.good("resource", map[string]any{"resource": file}, nil); !strings.Contains(got.text, `"declared":"right\\n"`) && !strings.Contains(got.text, `"declared":"right\n"`) {
		t.Errorf("the resource is %s", got.text)
	}
	if got := a.good("propose", map[string]any{"graph": "resources: {}\n", "reason": "over the socket"}, nil); !strings.Contains(got.text, "uid ") {
		t.Errorf("nobody has proposed %s", got.text)
	}
	if got := a.call("resource", map[string]any{"resource": "file[/none]"}); !got.bad {
		t.Errorf("an unknown resource is %s", got.text)
	}
	post := func(text string) (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://mgmt/v1/mcp", strings.NewReader(text))
		if err != nil {
			return 0, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := c.Do(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, err
	}
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"status","arguments":{}}}`
	for _, text := range []string{"", "{", "\x00", "null", "[]", `{"jsonrpc":"1.0"}`, strings.Repeat("[", 100_000), "[" + strings.Repeat(call+",", 100) + call + "]"} {
		if code, err := post(text); err != nil || code >= 500 {
			t.Errorf("%.30q: %d, %v", text, code, err)
		}
	}
	// An answer may come before all is sent; then the connection ends under the rest.
	if code, err := post(strings.Repeat("x", 3<<20)); err == nil && code != http.StatusRequestEntityTooLarge {
		t.Errorf("a huge message: %d", code)
	}
	if testing.Short() {
		return // make check has the flood
	}
	before := goroutines(t, c)
	for range 70 {
		conn, err := net.Dial("unix", d.path("state/mgmt.sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "POST /v1/mcp HTTP/1.1\r\nHost: mgmt\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(call), call)
	}
	var mu sync.Mutex
	codes := map[int]int{}
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			code, _ := post(call) // a connection too many is closed: 0
			mu.Lock()
			codes[code]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if t.Logf("the answers: %v", codes); codes[200] == 0 || codes[200]+codes[503]+codes[0] != 1000 {
		t.Errorf("the answers are %v", codes)
	}
	if code, err := post(call); err != nil || code != 200 {
		t.Errorf("after all that: %d, %v", code, err)
	}
	await.Until(t, "nothing is left of them", func() bool { return goroutines(t, c) < before+100 }) // each connection that is there has one or two
}

// goroutines asks how many the daemon has.
func goroutines(t *testing.T, c *http.Client) (n int) {
	t.Helper()
	resp, err := c.Get("http://mgmt/debug/pprof/goroutine?debug=1")
	if err != nil {
		return 1 << 20
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK {
		_, err = fmt.Sscanf(string(text), "goroutine profile: total %d", &n)
	}
	if err != nil || n == 0 {
		return 1 << 20
	}
	return n
}
