package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestVersions: ETag, 304 and 412, for each form of a condition.
func TestVersions(t *testing.T) {
	r := newRig(t)
	const thingType = "application/json"
	for i, c := range []struct {
		method, header, value string
		status                int
	}{
		{"PUT", "If-Match", `"1"`, 412}, // there is none yet
		{"PUT", "If-Match", `*`, 412},
		{"PUT", "If-None-Match", `*`, 200}, // makes version 1
		{"PUT", "If-None-Match", `*`, 412},
		{"PUT", "If-Match", `"7"`, 412},
		{"PUT", "If-Match", `W/"1"`, 412}, // a weak one never fits here
		{"PUT", "If-Match", `"7" , "1"`, 200},
		{"PUT", "If-Match", `*`, 200},
		{"PUT", "If-None-Match", `"3"`, 412},
		{"PUT", "If-None-Match", `W/"3"`, 412},
		{"PUT", "If-None-Match", `"1"`, 200},
		{"PUT", "If-Match", `4`, 400},
		{"PUT", "If-Match", `"4`, 400},
		{"PUT", "If-Match", ``, 400},
		{"PUT", "If-Match", `"4" "5"`, 400},
		{"PUT", "If-Match", strings.Repeat(`"4",`, 65), 400},
		{"GET", "If-None-Match", `"4"`, 304},
		{"GET", "If-None-Match", `W/"4"`, 304},
		{"GET", "If-None-Match", `"1","4"`, 304},
		{"GET", "If-None-Match", `*`, 304},
		{"GET", "If-None-Match", `, "1" ,, "4",`, 304},
		{"GET", "If-None-Match", `,`, 400},
		{"GET", "If-Match", `"4"`, 200},
		{"GET", "If-Match", `"1"`, 412},
		{"GET", "If-Match", `W/"4"`, 412},
		{"HEAD", "If-None-Match", `"4"`, 304},
		{"GET", "If-None-Match", `"1"`, 200},
		{"GET", "If-None-Match", `x`, 400},
		{"GET", "X-Other", ``, 200},
	} {
		w := r.ask(t, c.method, "/v1/t/a", `{"value":"v"}`, c.header, c.value, "Content-Type", thingType)
		if w.Code != c.status {
			t.Errorf("%d: %s with %s: %s is %d %s, want %d", i, c.method, c.header, c.value, w.Code, w.Body, c.status)
		}
		if c.status == 304 && (w.Body.Len() > 0 || w.Header().Get("ETag") != `"4"` || w.Header().Get("Cache-Control") != "no-cache") {
			t.Errorf("%d: 304 has %s and the head %v", i, w.Body, w.Header())
		}
	}
	if tag := quote("a \"%\x01é"); tag != `"a%20%22%25%01%C3%A9"` {
		t.Error(tag)
	}
}

// TestVersionRace: of many who write over the same version, one wins each time, and no
// write is lost.
func TestVersionRace(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	client := &http.Client{Transport: &http.Transport{DialContext: dialer(path), DisableKeepAlives: true}}
	put := func(value, header, tag string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://x/v1/t/n", strings.NewReader(`{"value":"`+value+`"}`))
		if err != nil {
			t.Error(err)
			return 0
		}
		req.Header.Set("Content-Type", "application/json; charset=UTF-8")
		req.Header.Set(header, tag)
		resp, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if got := put("0", "If-None-Match", "*"); got != 200 {
		t.Fatal(got)
	}
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < each; {
				resp, err := client.Get("http://x/v1/t/n")
				if err != nil {
					t.Error(err)
					return
				}
				var now thing
				_ = json.NewDecoder(resp.Body).Decode(&now)
				_ = resp.Body.Close()
				n, _ := strconv.Atoi(now.Value)
				switch got := put(strconv.Itoa(n+1), "If-Match", resp.Header.Get("ETag")); got {
				case 200:
					done++
				case 412:
				default:
					t.Errorf("status %d", got)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := r.store.things["n"].Value; got != strconv.Itoa(writers*each) {
		t.Errorf("%s of %d writes are left", got, writers*each)
	}
}

// TestBodies: wrong types and wrong documents, each with its place and a suggestion.
func TestBodies(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		method, target, kind, body string
		status                     int
		want                       string // in the body
	}{
		{"PUT", "/v1/t/a", "", `{}`, 415, `Content-Type: application/json`},
		{"PUT", "/v1/t/a", "text/plain", `{}`, 415, `the type \"text/plain\"`},
		{"PUT", "/v1/t/a", "application/json; charset=utf-16", `{}`, 415, ""},
		{"PUT", "/v1/t/a", ";;", `{}`, 415, ""},
		{"PUT", "/v1/t/a", "application/json", `{}`, 200, ""},
		{"PATCH", "/v1/t/a", "application/json", `{}`, 415, "application/merge-patch+json"},
		{"PATCH", "/v1/t/a", "application/merge-patch+json", `{}`, 204, ""},
		{"POST", "/v1/api:txn", "application/x-www-form-urlencoded", `{"id":"x"}`, 200, `{"id":"x"}`},
		{"POST", "/v1/api:txn", "", ``, 400, "it is empty"},
		{"POST", "/v1/api:txn", "", ` `, 400, "it is empty"},
		{"POST", "/v1/api:txn", "", `null`, 400, "it is null"},
		{"POST", "/v1/api:txn", "", `{} {}`, 400, "there is more after the object"},
		{"POST", "/v1/api:txn", "", `{} x`, 400, `"column":4`},
		{"POST", "/v1/api:txn", "", ` null`, 400, `"line":1,"column":2`},
		{"POST", "/v1/api:txn", "", "{\"id\": \"a\",\n \"id\": \"b\"}", 400, `"line":2,"column":2`},
		{"POST", "/v1/api:txn", "", `{"id": "\ud800"}`, 400, `"column":9`},
		{"POST", "/v1/api:txn", "", "{\"id\": \"\xff\"}", 400, "UTF-8"},
		{"POST", "/v1/api:txn", "", "\xef\xbb\xbf{}", 400, "cannot be read"},
		{"POST", "/v1/api:txn", "", "{\n \"idd\": 7}", 400, `"field":"idd","line":2,"column":2`},
		{"POST", "/v1/api:txn", "", "{\n \"id\": \"ä\", x}", 400, `"line":2,"column":13`},
		{"POST", "/v1/api:txn", "", "{\n \"id\": 7}", 400, `"field":"id","line":2`},
		{"POST", "/v1/api:txn", "", `{"valeu":"x"}`, 400, `did you mean \"value\"?`},
		{"POST", "/v1/api:txn", "", `{"id`, 400, "it ends too early"},
		{"POST", "/v1/api:txn", "", `[]`, 400, "send one JSON object"},
		{"POST", "/v1/wrong", "", ``, 422, `{"detail":"there is no field contnet","hint":"did you mean \"content\"?","field":"a.b[1]","file":"body","line":2,"column":3},{"detail":"mode is no number"}`},
	} {
		w := r.ask(t, c.method, c.target, c.body, "Content-Type", c.kind)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %q: %d %s", c.method, c.target, c.body, w.Code, w.Body)
		}
		if w.Code < 400 {
			continue
		}
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != c.status || p.Title == "" || p.Detail == "" || w.Header().Get("Content-Type") != ProblemType {
			t.Errorf("%q is no problem: %v %s", c.body, err, w.Body)
		}
	}
	if w := r.ask(t, "PATCH", "/v1/t/a", "{}"); w.Header().Get("Accept-Patch") != "application/merge-patch+json" {
		t.Errorf("%v", w.Header())
	}
}

// TestProblem: what each error is told as, with more members where a server has them.
func TestProblem(t *testing.T) {
	p := NewProblem(404, "there is no %s", "x").WithHint("look again")
	p.More, p.Cause = map[string]any{"error": "old"}, context.Canceled
	text, err := json.Marshal(p)
	if want := `{"status":404,"title":"Not Found","detail":"there is no x","hint":"look again","error":"old"}`; string(text) != want || err != nil {
		t.Errorf("%s %v", text, err)
	}
	if p.Error() != "there is no x, look again" || !errors.Is(p, context.Canceled) {
		t.Error(p)
	}
	p.More["bad"] = func() {}
	if _, err := json.Marshal(p); err == nil {
		t.Error("what has no form in JSON is written")
	}
	for err, want := range map[error]int{
		context.DeadlineExceeded: 504,
		context.Canceled:         503,
		errors.New("x"):          500,
		fmt.Errorf("so: %w", NewProblem(409, "taken")): 409,
		&http.MaxBytesError{Limit: 7}:                  413,
	} {
		if got := AsProblem(err); got.Status != want || got.Detail == "" {
			t.Errorf("%v is %+v", err, got)
		}
	}
	s := newRig(t)
	s.Errors = func(error) *Problem { return p }
	if w := s.ask(t, "GET", "/nothing", ""); w.Code != 500 || !strings.Contains(w.Body.String(), "has no form in JSON") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func dialer(path string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return Dial(ctx, path) }
}
