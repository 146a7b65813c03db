package httpd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestEscapedPaths: an id may have every character; each segment is unescaped for itself.
func TestEscapedPaths(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	for _, id := range []string{
		"a", "a/b", "/etc/app.conf", "../../etc/passwd", "..", ".", "a:b", "a%2Fb", "ä ö", "\x00", "?#&=", "{id}", `"x"`, "file[/a b]", "a\nb", "//", "日本", ";", "+", "%",
	} {
		target := "/v1/t/" + strings.ReplaceAll(url.PathEscape(id), ".", "%2E") + "/status"
		_, in := raw(t, path, "GET "+target+" HTTP/1.1\nHost: x\nConnection: close\n\n")
		status, body := answerOf(t, in)
		var got map[string]string
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || got["id"] != id || got["table"] != "t" {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
}

// TestRawBytesAreNoSlash: a byte that should have been escaped does not change how the
// rest of the path is read.
func TestRawBytesAreNoSlash(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	for target, want := range map[string]string{
		`/v1/t/a%2Fb"c/status`:                           `a/b"c`,
		`/v1/t/a%2Fb{}/status`:                           `a/b{}`,
		`/v1/t/%E4%A4%/status`:                           "",
		`http://x/v1/t/a%2Fb"/status`:                    `a/b"`,
		`http://x/v1/t/a%2fb/status?`:                    `a/b`,
		"/v1/t/" + "\xff" + "/status":                    "",
		`/v1/t/%ff/status`:                               "",
		"/v1/t/a%2Fb" + "\xc3\xa4/status":                "a/bä",
		"http://x//v1/t/a/status":                        "",
		"/v1/t/" + strings.Repeat("%2F", 99) + "/status": strings.Repeat("/", 99),
	} {
		_, in := raw(t, path, "GET "+target+" HTTP/1.1\nHost: x\nConnection: close\n\n")
		status, body := answerOf(t, in)
		var got map[string]string
		_ = json.Unmarshal([]byte(body), &got)
		if got["id"] != want || (status == 200) != (want != "") {
			t.Errorf("%q: %d %s", target, status, body)
		}
	}
}

// TestTraversal: nothing is cleaned, nobody is redirected, and no such path reaches a handler.
func TestTraversal(t *testing.T) {
	r := newRig(t)
	path, _ := r.listen(t)
	for _, target := range []string{
		"/v1/t/..", "/v1/t/.", "/v1/../v1/public", "/v1/./public", "//v1/public", "/v1//public", "/v1/public/", "/v1/t/", "/", "", "/v1/t/a/b",
		"/..%2f..", "/v1/%2e%2e/x/y/z", "/V1/public", "/v1/public%00", "/v1/public;x", "*",
	} {
		_, in := raw(t, path, "GET "+target+" HTTP/1.1\nHost: x\nConnection: close\n\n")
		if status, body := answerOf(t, in); status != 404 && status != 400 {
			t.Errorf("%q: %d %s", target, status, body)
		}
	}
}

// TestMethods: what a path has, OPTIONS says, HEAD answers, and 405 names.
func TestMethods(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		method, target string
		status         int
		allow          string
	}{
		{"DELETE", "/v1/t/a", 405, "GET, HEAD, OPTIONS, PATCH, PUT"},
		{"OPTIONS", "/v1/t/a", 204, "GET, HEAD, OPTIONS, PATCH, PUT"},
		{"OPTIONS", "/v1/t/a:grow", 204, "GET, HEAD, OPTIONS, PATCH, POST, PUT"},
		{"OPTIONS", "/v1/public", 204, "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/v1/nothing/at/all/here", 404, ""},
		{"HEAD", "/v1/public", 200, ""},
		{"HEAD", "/v1/api:txn", 405, "OPTIONS, POST"},
		{"HEAD", "/v1/api:watch", 200, ""},
		{"TRACE", "/v1/public", 405, "GET, HEAD, OPTIONS"},
		{"BREW", "/v1/public", 405, "GET, HEAD, OPTIONS"},
		{"POST", "/openapi.json", 405, "GET, HEAD, OPTIONS"},
		{"POST", "/v1/t/a:grow", 200, ""},
		{"POST", "/v1/t/a%3Agrow", 405, "GET, HEAD, OPTIONS, PATCH, PUT"},
		{"POST", "/v1/t/a:", 405, "GET, HEAD, OPTIONS, PATCH, PUT"},
	} {
		w := r.ask(t, c.method, c.target, "")
		if w.Code != c.status || w.Header().Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q", c.method, c.target, w.Code, w.Header().Get("Allow"))
		}
		if c.status >= 400 && w.Header().Get("Content-Type") != ProblemType {
			t.Errorf("%s %s has the type %q", c.method, c.target, w.Header().Get("Content-Type"))
		}
	}
	path, _ := r.listen(t)
	_, in := raw(t, path, "HEAD /v1/public HTTP/1.1\nHost: x\n\nGET /v1/who HTTP/1.1\nHost: x\n\n")
	head, err := http.ReadResponse(in, &http.Request{Method: http.MethodHead})
	if err != nil || head.ContentLength != 6 {
		t.Fatalf("HEAD: %+v %v", head, err)
	}
	if status, body := answerOf(t, in); status != 200 || !strings.Contains(body, "uid ") {
		t.Errorf("after HEAD: %d %s", status, body)
	}
}

// TestOperation: the last colon that is not escaped parts an id from an operation.
func TestOperation(t *testing.T) {
	r := newRig(t)
	for target, want := range map[string]string{
		"/v1/t/a:grow":        `{"id":"a","operation":"grow","table":"t"}`,
		"/v1/t/a:b:grow":      `{"id":"a:b","operation":"grow","table":"t"}`,
		"/v1/t/a%3Ab:grow":    `{"id":"a:b","operation":"grow","table":"t"}`,
		"/v1/t/a%2Fb:gr%6Fw":  `{"id":"a/b","operation":"grow","table":"t"}`,
		"/v1/t/a%3Agrow:x%2F": `{"id":"a:grow","operation":"x/","table":"t"}`,
	} {
		if w := r.ask(t, "POST", target, ""); strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// TestTableRefuses: routes that cannot be served are an error before anything listens.
func TestTableRefuses(t *testing.T) {
	h := func(http.ResponseWriter, *http.Request) (any, error) { return nil, nil }
	for want, list := range map[string][]Route{
		"fit the same requests":   {{Method: "GET", Pattern: "/a/{x}", Summary: "s", Serve: h}, {Method: "GET", Pattern: "/a/{y}", Summary: "s", Serve: h}},
		"lacks a method":          {{Pattern: "/a", Summary: "s", Serve: h}},
		"lacks":                   {{Method: "GET", Pattern: "a", Summary: "s", Serve: h}},
		"a name twice":            {{Method: "GET", Pattern: "/{x}/{x}", Summary: "s", Serve: h}},
		`the segment ""`:          {{Method: "GET", Pattern: "/a//b", Summary: "s", Serve: h}},
		`the segment ".."`:        {{Method: "GET", Pattern: "/a/..", Summary: "s", Serve: h}},
		`the segment "{x}y"`:      {{Method: "GET", Pattern: "/a/{x}y", Summary: "s", Serve: h}},
		`the segment "{}" has no`: {{Method: "GET", Pattern: "/a/{}", Summary: "s", Serve: h}},
		`the segment "{x}:{}"`:    {{Method: "GET", Pattern: "/a/{x}:{}", Summary: "s", Serve: h}},
		"has no form in JSON":     {{Method: "GET", Pattern: "/a", Summary: "s", Serve: h, Answer: func() {}}},
		"has the name getAB":      {{Method: "GET", Pattern: "/a/b", Summary: "s", Serve: h}, {Method: "GET", Pattern: "/a/{b}", Summary: "s", Serve: h}},
	} {
		if _, err := NewTable(Info{}, list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("MustTable takes a wrong route")
		}
	}()
	MustTable(Info{}, []Route{{}})
}

// TestQuery: unknown parameters and repeated ones are refused, with a suggestion.
func TestQuery(t *testing.T) {
	r := newRig(t)
	for target, want := range map[string]string{
		"/v1/t/a?x=1":                 `takes no parameter \"x\"`,
		"/v1/api:watch?sinse=1":       `did you mean \"since\"?`,
		"/v1/api:watch?since=1&since": "more than once",
		"/v1/api:watch?%zz":           "cannot be read",
		"/v1/api:watch?a;b":           "cannot be read",
	} {
		if w := r.ask(t, "GET", target, ""); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// FuzzFind: what is found agrees with the mux of the standard library wherever that
// has the same rules, and names come out as they went in.
func FuzzFind(f *testing.F) {
	h := func(http.ResponseWriter, *http.Request) (any, error) { return nil, nil }
	patterns := []string{"/v1/api/{table}/{id}", "/v1/api/{table}", "/v1/api/kinds", "/v1/{a}/{b}/status", "/v1/api"}
	mux := http.NewServeMux()
	var routes []Route
	for _, p := range patterns {
		routes = append(routes, Route{Method: "GET", Pattern: p, Summary: "s", Serve: h})
	}
	table := MustTable(Info{}, routes)
	for _, p := range []string{"/v1/api/{table}/{id}", "/v1/api/{table}", "/v1/api/kinds", "/v1/api"} {
		mux.HandleFunc("GET "+p, func(http.ResponseWriter, *http.Request) {})
	}
	for _, seed := range []string{"/v1/api/a/b", "/v1/api/a%2Fb/%2e%2e", "/v1/api/kinds", "/v1/%61pi/kinds", "//", "/v1/api/a/", "/v1/api/../x", "/v1/api/a%", "/v1/api/%00/%ff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(path, "/") || strings.Contains(path, "?") {
			return
		}
		r := &http.Request{Method: "GET", URL: u, RequestURI: path, Host: "x", Header: http.Header{}}
		rt, err := table.route(r)
		if err == nil && rt.Pattern == "/v1/{a}/{b}/status" {
			rt = nil // the mux refuses this pattern beside the others
		}
		if rt != nil {
			back := rt.Pattern
			for _, p := range rt.Params {
				back = strings.Replace(back, "{"+p.Name+"}", url.PathEscape(r.PathValue(p.Name)), 1)
			}
			plain, _ := url.PathUnescape(path)
			if got, err := url.PathUnescape(back); err != nil || got != plain {
				t.Errorf("%q gives %q", path, got)
			}
		}
		if u.EscapedPath() != path {
			return // the mux reads another path
		}
		_, pattern := mux.Handler(&http.Request{Method: "GET", URL: u, Host: "x"})
		got := ""
		if err == nil && rt != nil {
			got = "GET " + rt.Pattern
		}
		if got == "GET "+DescriptionPath {
			got = ""
		}
		clean := !strings.Contains(path+"/", "//") && !strings.Contains(path+"/", "/./") && !strings.Contains(path+"/", "/../")
		valid := rawValid(path)
		if clean && valid && got != pattern {
			t.Errorf("%q: %q, the mux has %q", path, got, pattern)
		}
		if !clean && got != "" {
			t.Errorf("%q is found as %q", path, got)
		}
	})
}

func rawValid(path string) bool {
	_, err := rawPath(&http.Request{RequestURI: path, URL: &url.URL{}})
	return err == nil
}

func ExampleTable_Routes() {
	table := MustTable(Info{Title: "Numbers"}, []Route{{
		Method: "GET", Pattern: "/numbers/{name}", Summary: "One number.", Answer: 0,
		Serve: func(_ http.ResponseWriter, r *http.Request) (any, error) { return len(r.PathValue("name")), nil },
	}})
	for _, r := range table.Routes() {
		fmt.Println(r.Method, r.Pattern)
	}
	// Output:
	// GET /numbers/{name}
	// GET /openapi.json
}
