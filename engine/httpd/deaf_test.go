package httpd

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are pipes in memory, so a server can be tested in virtual time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (*pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// inVirtualTime serves a rig over a pipe in a bubble of its own. The test talks by the other end.
func inVirtualTime(t *testing.T, test func(t *testing.T, r *rig, c net.Conn, in *bufio.Reader)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, l := newRig(t), &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		end := r.serve(t, l)
		here, there := net.Pipe()
		l.conns <- there
		test(t, r, here, bufio.NewReader(here))
		must(t, here.Close())
		end()
	})
}

// asks sends one request over a pipe.
func asks(t *testing.T, c net.Conn, request string) {
	t.Helper()
	if _, err := io.WriteString(c, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
}

// TestDeafClientIsCut: a client that takes no answer is cut after Limits.Slow, also where the answer is an error.
func TestDeafClientIsCut(t *testing.T) {
	for _, target := range []string{"/v1/public", "/nothing", "/v1/public?x=1", "/v1/t/a/../b"} {
		inVirtualTime(t, func(t *testing.T, _ *rig, c net.Conn, _ *bufio.Reader) {
			asks(t, c, "GET "+target+" HTTP/1.1\nHost: x\n\n")
			began := time.Now()
			must(t, c.SetWriteDeadline(began.Add(time.Hour)))
			_, err := io.WriteString(c, "GET /v1/public HTTP/1.1\r\n")
			if took := time.Since(began); errors.Is(err, os.ErrDeadlineExceeded) || took > 30*time.Second {
				t.Errorf("%s: after %s: %v", target, took, err)
			}
		})
	}
}

// TestKeptConnection: a connection that asks now and then lives on, whatever the answers are.
func TestKeptConnection(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, _ *rig, c net.Conn, in *bufio.Reader) {
		for i, target := range append([]string{"/v1/public"}, strings.Fields(strings.Repeat("/nothing ", 20))...) {
			asks(t, c, "GET "+target+" HTTP/1.1\nHost: x\n\n")
			if status, body := answerOf(t, in); status != 200 && i == 0 || status != 404 && i > 0 {
				t.Fatalf("%d: %d %s", i, status, body)
			}
			time.Sleep(4 * time.Second)
		}
	})
}

// TestBodyOfALastingRequest: also the body of a request that lasts has to arrive within Limits.Read. Then the request lasts.
func TestBodyOfALastingRequest(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, r *rig, c net.Conn, in *bufio.Reader) {
		began := time.Now()
		asks(t, c, "POST /v1/wait HTTP/1.1\nHost: x\nContent-Length: 100\n\n{")
		if status, body := answerOf(t, in); status != 400 || !strings.Contains(body, "it has not come in time") || time.Since(began) != 10*time.Second {
			t.Errorf("half a body: %d %s after %s", status, body, time.Since(began))
		}
		synctest.Wait()
		if r.Lasting() != 0 {
			t.Error("it holds a place")
		}
	})
	for _, body := range []string{"Content-Length: 8\n\n{\"id\":\"\"", "Transfer-Encoding: chunked\n\n8\n{\"id\":\"\"\n1\n}\n0\nTrailer: x\n\n"} {
		inVirtualTime(t, func(t *testing.T, _ *rig, c net.Conn, in *bufio.Reader) {
			began := time.Now()
			asks(t, c, "POST /v1/wait HTTP/1.1\nHost: x\n"+strings.Replace(body, "8\n\n{\"id\":\"\"", "9\n\n{\"id\":\"\"}", 1))
			if status, text := answerOf(t, in); status != 200 || time.Since(began) != time.Hour {
				t.Errorf("a whole body: %d %s after %s", status, text, time.Since(began))
			}
		})
	}
}

// TestAnnouncedBody: a caller that asks whether to send a body that is too long is told so, and not to send it.
func TestAnnouncedBody(t *testing.T) {
	for length, want := range map[string]int{"65537": 413, "9": 200} {
		inVirtualTime(t, func(t *testing.T, _ *rig, c net.Conn, in *bufio.Reader) {
			asks(t, c, "POST /v1/api:txn HTTP/1.1\nHost: x\nExpect: 100-continue\nContent-Length: "+length+"\n\n")
			status, body := answerOf(t, in)
			if want == 200 && status == 100 {
				asks(t, c, `{"id":""}`)
				status, body = answerOf(t, in)
			}
			if status != want {
				t.Errorf("%s bytes: %d %s", length, status, body)
			}
		})
	}
}

// timed is a recorder that knows whether an answer has a deadline.
type timed struct {
	*httptest.ResponseRecorder
	until time.Time
	late  bool // the answer began without one
}

func (w *timed) SetWriteDeadline(until time.Time) error {
	w.until = until
	return nil
}

func (w *timed) WriteHeader(status int) {
	w.late = w.late || w.until.IsZero()
	w.ResponseRecorder.WriteHeader(status)
}

// TestEachAnswerHasItsTime: no answer begins before the client has a time to take it.
func TestEachAnswerHasItsTime(t *testing.T) {
	r := newRig(t)
	for request, want := range map[string]int{
		"GET /v1/public": 200, "OPTIONS /v1/public": 204, "DELETE /v1/public": 405, "GET /nothing": 404, "GET /v1/public?x=1": 400,
		"PUT /v1/t/a": 415, "GET /v1/panic": 500, "GET /v1/t/none": 404,
	} {
		method, target, _ := strings.Cut(request, " ")
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody))
		if w.Code != want || w.late {
			t.Errorf("%s: %d, without a deadline: %t", request, w.Code, w.late)
		}
	}
}

// TestDeafClients: clients that ask on and on and take no answer keep no other client out, though they are never silent.
func TestDeafClients(t *testing.T) {
	r := newRig(t)
	r.Limits.Connections, r.Limits.Slow = 2, time.Hour
	path, _ := r.listen(t)
	requests := strings.Repeat("GET /nothing HTTP/1.1\nHost: x\n\n", 1<<14)
	for range 2 {
		conn, _ := raw(t, path, "")
		must(t, conn.SetWriteDeadline(time.Now().Add(500*time.Millisecond))) // by then it is full, or the test shows less
		if _, err := io.WriteString(conn, strings.ReplaceAll(requests, "\n", "\r\n")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the server has read on and on: %v", err)
		}
	}
	works(t, path)
}
