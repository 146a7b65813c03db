package httpd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// answerTo has a server answer a request that comes over no connection.
func answerTo(s *Server, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// never is a Changed that has no news.
func never() <-chan struct{} { return nil }

// streaming is a server of one stream.
func streaming(st Stream) *Server {
	s := &Server{}
	s.Table = MustTable(Info{}, []Route{{
		Method: "GET", Pattern: "/stream", Summary: "s", Lasting: Always, Public: true,
		Serve: func(w http.ResponseWriter, r *http.Request) (any, error) { return nil, s.Stream(w, r, st) },
	}})
	return s
}

// ended returns what a reader of a stream sees over a connection until its end.
func ended(t *testing.T, s *Server, accept string) (string, error) {
	t.Helper()
	r := &rig{Server: s, log: &lockedBuffer{}}
	path, _ := r.listen(t)
	_, in := raw(t, path, "GET /stream HTTP/1.1\nHost: x\nAccept: "+accept+"\n\n")
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// TestStreamPages: the first messages come first, and pages are asked for as long as there are more.
func TestStreamPages(t *testing.T) {
	pages := [][]Message{{{ID: "1", Event: "a", Data: 1}, {ID: "2", Event: "b", Data: "x"}}, nil, {{Event: "c", Data: nil}}}
	for accept, want := range map[string]string{
		"":                                   "event: hello\ndata: {\"v\":1}\n\nid: 1\nevent: a\ndata: 1\n\nid: 2\nevent: b\ndata: \"x\"\n\nevent: c\ndata: null\n\n",
		LinesType:                            "{\"v\":1}\n1\n\"x\"\nnull\n",
		"text/html, " + LinesType + ";q=0.5": "{\"v\":1}\n1\n\"x\"\nnull\n",
	} {
		n := 0
		ctx, cancel := context.WithCancel(t.Context())
		s := streaming(Stream{Changed: never, First: []Message{{Event: "hello", Data: map[string]int{"v": 1}}}, Page: func(context.Context) ([]Message, bool, error) {
			if n == len(pages) {
				cancel() // the reader goes
				return nil, false, nil
			}
			n++
			return pages[n-1], true, nil
		}})
		req := httptest.NewRequestWithContext(ctx, "GET", "/stream", nil)
		req.Header.Set("Accept", accept)
		w := answerTo(s, req)
		if w.Body.String() != want || w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" || !w.Flushed {
			t.Errorf("%q: %d %q", accept, w.Code, w.Body)
		}
		cancel()
	}
}

// TestStreamFails: a stream that can't go on is cut, so that no reader takes it for whole. What came before the fault has arrived.
func TestStreamFails(t *testing.T) {
	one := []Message{{ID: "1", Event: "a", Data: 1}}
	for name, c := range map[string]Stream{
		"page":  {Page: func(context.Context) ([]Message, bool, error) { return nil, false, errors.New("the journal is gone") }},
		"panic": {Page: func(context.Context) ([]Message, bool, error) { panic("ouch") }},
		"data":  {Page: func(context.Context) ([]Message, bool, error) { return []Message{{Data: func() {}}}, true, nil }},
		"problem": {Page: func(context.Context) ([]Message, bool, error) {
			return nil, false, NewProblem(410, "this place is gone")
		}},
	} {
		c.Changed, c.First = never, one
		text, err := ended(t, streaming(c), EventsType)
		if !errors.Is(err, io.ErrUnexpectedEOF) || text != "id: 1\nevent: a\ndata: 1\n\n" {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	first := Stream{Changed: never, First: []Message{{Data: func() {}}}, Page: func(context.Context) ([]Message, bool, error) {
		t.Error("a page is asked for after a fault")
		return nil, false, nil
	}}
	if text, err := ended(t, streaming(first), EventsType); !errors.Is(err, io.ErrUnexpectedEOF) || text != "" {
		t.Errorf("first: %q %v", text, err)
	}
}

// TestStreamHead: HEAD of a stream tells its type and asks for nothing.
func TestStreamHead(t *testing.T) {
	s := streaming(Stream{Changed: never, First: []Message{{Data: 1}}, Page: func(context.Context) ([]Message, bool, error) {
		t.Error("a page is asked for")
		return nil, false, errors.New("it is not to be asked for")
	}})
	w := answerTo(s, httptest.NewRequestWithContext(t.Context(), "HEAD", "/stream", nil))
	if w.Code != 200 || w.Header().Get("Content-Type") != EventsType || w.Body.Len() > 0 {
		t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
	}
}

// TestStreamLives: a stream without news gives a sign of life each time that Limits.Heartbeat has passed, and ends with its request.
func TestStreamLives(t *testing.T) {
	for accept, sign := range map[string]string{EventsType: ": alive\n\n", LinesType: "\n"} {
		synctest.Test(t, func(t *testing.T) {
			s := streaming(Stream{Changed: never, Page: func(context.Context) ([]Message, bool, error) { return nil, false, nil }})
			s.Limits.Heartbeat = 7 * time.Second
			ctx, cancel := context.WithTimeout(t.Context(), 36*time.Second)
			defer cancel()
			req := httptest.NewRequestWithContext(ctx, "GET", "/stream", nil)
			req.Header.Set("Accept", accept)
			began := time.Now()
			if w := answerTo(s, req); w.Body.String() != strings.Repeat(sign, 5) || time.Since(began) != 36*time.Second {
				t.Errorf("%q after %s", w.Body, time.Since(began))
			}
		})
	}
}

// TestStreamPageHangs: a page that takes longer than Limits.Answer is given up.
func TestStreamPageHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *Server
		var err error
		s = &Server{Limits: Limits{Answer: 3 * time.Second}}
		st := Stream{Changed: never, Page: func(ctx context.Context) ([]Message, bool, error) {
			<-ctx.Done()
			return nil, false, ctx.Err()
		}}
		s.Table = MustTable(Info{}, []Route{{Method: "GET", Pattern: "/stream", Summary: "s", Lasting: Always, Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
			err = s.Stream(w, r, st)
			return nil, nil
		}}})
		began := time.Now()
		answerTo(s, httptest.NewRequestWithContext(t.Context(), "GET", "/stream", nil))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestStreamMissesNothing: Changed is asked before Page, so news that comes while a page is made is seen at once.
func TestStreamMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		news, asked := make(chan struct{}), 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := streaming(Stream{
			Changed: func() <-chan struct{} {
				mu.Lock()
				defer mu.Unlock()
				return news
			},
			Page: func(context.Context) ([]Message, bool, error) {
				mu.Lock()
				defer mu.Unlock()
				if asked++; asked < 4 {
					close(news)
					news = make(chan struct{})
					return []Message{{Event: "n", Data: asked}}, false, nil
				}
				cancel()
				return nil, false, nil
			},
		})
		began := time.Now()
		w := answerTo(s, httptest.NewRequestWithContext(ctx, "GET", "/stream", nil))
		if got := strings.Count(w.Body.String(), "event: n"); got != 3 || asked != 4 || time.Since(began) != 0 {
			t.Errorf("%d messages in %d pages after %s", got, asked, time.Since(began))
		}
	})
}

// TestStreamReaderGoes: a reader that goes in the middle ends its stream alone. The others get all, each from its own place.
func TestStreamReaderGoes(t *testing.T) {
	r := newRig(t)
	r.store.page = 2
	path, _ := r.listen(t)
	gone, in := raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\n\n")
	_, other := raw(t, path, "GET /v1/api:watch HTTP/1.1\nHost: x\nAccept: application/x-ndjson\n\n")
	eventually(t, "two streams", func() bool { return r.Lasting() == 2 })
	for i := range 5 {
		_, err := r.store.put(fmt.Sprint(i), "v", Conditions{})
		must(t, err)
	}
	resp, err := http.ReadResponse(in, nil)
	must(t, err)
	_, err = io.ReadFull(resp.Body, make([]byte, len("id: 1\n")))
	must(t, err)
	must(t, gone.Close())
	eventually(t, "the end of one", func() bool { return r.Lasting() == 1 })
	for i := 5; i < 9; i++ {
		_, err := r.store.put(fmt.Sprint(i), "v", Conditions{})
		must(t, err)
	}
	resp, err = http.ReadResponse(other, nil)
	must(t, err)
	for i := range 9 {
		want := fmt.Sprintf("{\"id\":\"%d\",\"value\":\"v\"}\n", i)
		line := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, line); err != nil || string(line) != want {
			t.Fatalf("line %d is %q: %v", i, line, err)
		}
	}
}
