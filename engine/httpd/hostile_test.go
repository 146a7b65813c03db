package httpd

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowHead: who sends the head of a request byte by byte is cut off.
func TestSlowHead(t *testing.T) {
	r := newRig(t)
	r.Limits.Head = 100 * time.Millisecond
	path, _ := r.listen(t)
	conn, in := raw(t, path, "GET /v1/public HTTP/1.1\nHost: x\n")
	var wg sync.WaitGroup
	wg.Go(func() { // until the server has cut it
		for {
			if _, err := io.WriteString(conn, "X: y\r\n"); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	answer, _ := io.ReadAll(in)
	_ = conn.Close()
	wg.Wait()
	if strings.Contains(string(answer), "200") {
		t.Errorf("it is answered with %s", answer)
	}
	works(t, path)
}

// TestSlowBody: who announces a body and does not send it gets no place for ever.
func TestSlowBody(t *testing.T) {
	r := newRig(t)
	r.Limits.Read = 100 * time.Millisecond
	path, _ := r.listen(t)
	_, in := raw(t, path, "POST /v1/api:txn HTTP/1.1\nHost: x\nContent-Length: 100\n\n{")
	if status, body := answerOf(t, in); status != 400 || !strings.Contains(body, "cannot be read") {
		t.Errorf("%d %s", status, body)
	}
	if rest, err := io.ReadAll(in); err == nil && len(rest) > 0 {
		t.Errorf("then it sends %s", rest)
	}
	works(t, path)
}

// TestHugeHead and body: each has its answer, and the server goes on.
func TestHugeHead(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	for _, request := range []string{
		"GET /v1/public HTTP/1.1\nHost: x\nX: " + strings.Repeat("y", 64<<10) + "\n\n",
		"GET /v1/public HTTP/1.1\nHost: x\n" + strings.Repeat("X: y\n", 16<<10) + "\n",
		"GET /v1/" + strings.Repeat("a/", 32<<10) + " HTTP/1.1\nHost: x\n\n",
	} {
		conn, err := Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")) // it may cut us off
		answer, _ := io.ReadAll(conn)
		if len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 431") {
			t.Errorf("%.30q is answered with %.80s", request, answer)
		}
		_ = conn.Close()
	}
	works(t, path)
}

func TestHugeBody(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	for _, head := range []string{"Content-Length: 1073741824", "Transfer-Encoding: chunked"} {
		body := `{"id":"` + strings.Repeat("x", 128<<10)
		if strings.HasPrefix(head, "Transfer") {
			body = strconv.FormatInt(int64(len(body)), 16) + "\r\n" + body + "\r\n"
		}
		conn, err := Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "POST /v1/api:txn HTTP/1.1\r\nHost: x\r\n"+head+"\r\n\r\n"+body)
		status, answer := answerOf(t, bufio.NewReader(conn))
		if status != 413 || !strings.Contains(answer, "65536 bytes are the most") {
			t.Errorf("%s: %d %s", head, status, answer)
		}
		_ = conn.Close()
	}
	works(t, path)
}

// TestHalfClosed: who closes one side still gets the answer, and no place for ever.
func TestHalfClosed(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	conn, in := raw(t, path, "GET /v1/public HTTP/1.1\nHost: x\n\n")
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if status, body := answerOf(t, in); status != 200 || body != "hello\n" {
		t.Errorf("%d %s", status, body)
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection stays: %v", err)
	}
	_, in = raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\n\n")
	eventually(t, "the stream", func() bool { return r.Lasting() == 1 })
	conn2, _ := raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\n\n")
	eventually(t, "two streams", func() bool { return r.Lasting() == 2 })
	_ = conn2.Close()
	eventually(t, "the end of one", func() bool { return r.Lasting() == 1 })
	_ = in
}

// TestManyConnections: silent connections keep nobody out, nor do they cut a stream.
func TestManyConnections(t *testing.T) {
	r := newRig(t)
	r.Limits.Connections = 16
	path, _ := r.listen(t)
	_, in := raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\n\n")
	eventually(t, "the stream", func() bool { return r.Lasting() == 1 })
	for range 100 {
		raw(t, path, "")
	}
	works(t, path)
	if line, err := in.ReadString('\n'); err != nil || r.Lasting() != 1 {
		t.Errorf("the stream was cut: %q %v", line, err)
	}
}

// TestSilentReader: a reader of a stream that stops reading is cut, and holds meanwhile
// neither the writers nor more than a page.
func TestSilentReader(t *testing.T) {
	r := newRig(t)
	r.Limits.Slow = 50 * time.Millisecond
	path, _ := r.listen(t)
	_, in := raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\n\n")
	eventually(t, "the stream", func() bool { return r.Lasting() == 1 })
	long := strings.Repeat("x", 16<<10)
	for i := range 200 {
		if _, err := r.store.put(strconv.Itoa(i), long, Conditions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the cut", func() bool { return r.Lasting() == 0 })
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the stream ends as if it were whole, with %d bytes", len(text))
	}
	works(t, path)
}

// TestBoundedStreams: one more than may last is told so, and the short requests go on.
func TestBoundedStreams(t *testing.T) {
	r := newRig(t)
	r.Limits.Lasting = 3
	path, _ := r.listen(t)
	for i := range 3 {
		raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\n\n")
		eventually(t, "a stream", func() bool { return r.Lasting() == i+1 })
	}
	_, in := raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\nConnection: close\n\n")
	if status, body := answerOf(t, in); status != 503 || !strings.Contains(body, "end some of them") {
		t.Errorf("%d %s", status, body)
	}
	works(t, path)
}

// TestResume: who comes back after the last id misses nothing and gets nothing twice.
func TestResume(t *testing.T) {
	r := newRig(t)
	r.store.page = 3
	path, _ := r.listen(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for i := range 100 {
			_, _ = r.store.put(strconv.Itoa(i), "v", Conditions{})
		}
	})
	last, seen := "0", 0
	for seen < 100 {
		conn, in := raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\nLast-Event-ID: "+last+"\n\n")
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.Header.Get("Content-Type") != EventsType {
			t.Fatal(resp, err)
		}
		lines := bufio.NewReader(resp.Body)
		for range 7 {
			if seen == 100 {
				break
			}
			id, _ := lines.ReadString('\n')
			event, _ := lines.ReadString('\n')
			data, _ := lines.ReadString('\n')
			empty, err := lines.ReadString('\n')
			seen++
			if id != "id: "+strconv.Itoa(seen)+"\n" || event != "event: put\n" || empty != "\n" || err != nil || !strings.Contains(data, `"id":"`+strconv.Itoa(seen-1)+`"`) {
				t.Fatalf("message %d is %q %q %q %q %v", seen, id, event, data, empty, err)
			}
			last = strconv.Itoa(seen)
		}
		_ = conn.Close()
	}
}

// TestLinesAndHeartbeat: as lines, with empty ones as signs of life.
func TestLinesAndHeartbeat(t *testing.T) {
	r := newRig(t)
	r.Limits.Heartbeat = time.Millisecond
	path, _ := r.listen(t)
	_, in := raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\nAccept: application/x-ndjson\n\n")
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(resp.Body)
	for range 3 {
		if line, err := lines.ReadString('\n'); line != "\n" || err != nil {
			t.Errorf("%q %v", line, err)
		}
	}
	if _, err := r.store.put("a", "b", Conditions{}); err != nil {
		t.Fatal(err)
	}
	line := "\n"
	for line == "\n" && err == nil {
		line, err = lines.ReadString('\n')
	}
	if line != `{"id":"a","value":"b"}`+"\n" || err != nil {
		t.Errorf("%q %v", line, err)
	}
}

// TestFrame: no id and no word can end a field of an event.
func TestFrame(t *testing.T) {
	f := &feed{}
	got, err := f.frame(&Message{ID: "1\n\ndata: x", Event: "a\r\nid: 2", Data: "l1\nl2"})
	if want := "id: 1data: x\nevent: aid: 2\ndata: \"l1\\nl2\"\n\n"; string(got) != want || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, err := f.frame(&Message{Data: func() {}}); err == nil {
		t.Error("what has no form in JSON is sent")
	}
}

// TestPanic: a fault of one request is one answer of 500, which does not show it.
func TestPanic(t *testing.T) {
	r := newRig(t)
	w := r.ask(t, "GET", "/v1/panic", "")
	if w.Code != 500 || strings.Contains(w.Body.String(), "ouch") || !strings.Contains(r.log.String(), "panic=ouch") || !strings.Contains(r.log.String(), "rig_test.go") {
		t.Errorf("%d %s, and it logs %s", w.Code, w.Body, r.log)
	}
}

// TestHalfAnAnswer: one that breaks off is not taken for whole.
func TestHalfAnAnswer(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	_, in := raw(t, path, "GET /v1/half HTTP/1.1\nHost: x\n\n")
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("it ends with %v", err)
	}
	works(t, path)
}

// TestNoAnswerInTime: a handler that hangs is given up after the limit, in virtual time.
func TestNoAnswerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		start := time.Now()
		if w := r.ask(t, "GET", "/v1/hang", ""); w.Code != 504 || time.Since(start) != 10*time.Second {
			t.Errorf("%d %s after %s", w.Code, w.Body, time.Since(start))
		}
	})
}

// TestShutdown: the end cuts streams, hanging requests and silent connections, and
// leaves no socket.
func TestShutdown(t *testing.T) {
	r := newRig(t)
	r.Limits.Answer = time.Hour
	path, end := r.listen(t)
	_, stream := raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\n\n")
	_, hang := raw(t, path, "GET /v1/hang HTTP/1.1\nHost: x\n\n")
	_, silent := raw(t, path, "GET /v1")
	eventually(t, "the stream", func() bool { return r.Lasting() == 1 })
	end()
	for _, in := range []*bufio.Reader{stream, hang, silent} {
		if _, err := io.Copy(io.Discard, in); err != nil && !errors.Is(err, os.ErrClosed) && !strings.Contains(err.Error(), "reset") {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
}

// asClient makes this test binary hold a stream open; see TestKilledPeer.
const asClient = "MGMT_HTTPD_TEST_SOCKET"

// TestAsClient is not a test but what the one below kills.
func TestAsClient(t *testing.T) {
	path := os.Getenv(asClient)
	if path == "" {
		return
	}
	_, stream := raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\n\n")
	_, _ = io.Copy(io.Discard, stream) // a process in which nobody waits for the network ends: the runtime calls it a deadlock
}

// TestKilledPeer: a caller that dies leaves its place.
func TestKilledPeer(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestAsClient$")
	cmd.Env = append(os.Environ(), asClient+"="+path)
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if text, _ := os.ReadFile(said.Name()); t.Failed() {
			t.Logf("the client said %q", text)
		}
	})
	eventually(t, "the stream", func() bool { return r.Lasting() == 1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the end of the stream", func() bool { return r.Lasting() == 0 })
	works(t, path)
}

// TestPlainTCP: an unknown caller reaches what is public, and nothing else.
func TestPlainTCP(t *testing.T) {
	if _, err := ListenTCP("0.0.0.0:0", false); err == nil {
		t.Error("other machines may reach it")
	} else if _, ok := errors.AsType[*RemoteError](err); !ok {
		t.Error(err)
	}
	l, err := ListenTCP("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	r.serve(t, l)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]int{"/v1/public": 200, "/v1/who": 403, "/openapi.json": 403, "/nothing": 403} {
		resp, err := client.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
}

// TestPublicServer: where every route is for everybody, so are the description and the
// answer that a path does not exist, and the log stays empty.
func TestPublicServer(t *testing.T) {
	l, err := ListenTCP("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	r.Table = MustTable(Info{}, []Route{{
		Method: "GET", Pattern: "/metrics", Summary: "s", Public: true, AnyQuery: true,
		Serve: func(http.ResponseWriter, *http.Request) (any, error) { return 7, nil },
	}})
	r.serve(t, l)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for request, want := range map[string]int{
		"GET /metrics": 200, "GET /metrics?a=1&a=2": 200, "GET /openapi.json": 200, "GET /nothing": 404, "OPTIONS /metrics": 204, "HEAD /metrics": 200, "POST /metrics": 405,
	} {
		method, path, _ := strings.Cut(request, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path, nil)
		must(t, err)
		resp, err := client.Do(req)
		must(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", request, resp.StatusCode, want)
		}
	}
	if text := r.log.String(); text != "" {
		t.Errorf("it logs %s", text)
	}
}

// TestAdmit: the server may refuse a known caller, by route.
func TestAdmit(t *testing.T) {
	r := newRig(t)
	r.Admit = func(p Peer, rt *Route) error {
		if rt.Pattern == "/v1/who" && p.Owner() {
			return NewProblem(http.StatusForbidden, "%s may not ask who it is", p)
		}
		return nil
	}
	path, _ := r.listen(t)
	_, in := raw(t, path, "GET /v1/who HTTP/1.1\nHost: x\nConnection: close\n\n")
	if status, body := answerOf(t, in); status != 403 || !strings.Contains(body, "uid "+strconv.Itoa(os.Geteuid())) {
		t.Errorf("%d %s", status, body)
	}
	works(t, path)
}
