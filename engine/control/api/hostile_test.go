package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// send hands a request to the server without a connection.
func (r *rig) send(method, path, query string, body []byte, header ...string) *httptest.ResponseRecorder {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil // it is no path, so no client can send it
	}
	u.RawQuery = query
	req := &http.Request{Method: method, URL: u, RequestURI: u.RequestURI(), Header: http.Header{}, Host: "mgmt", ProtoMajor: 1, ProtoMinor: 1}
	req = req.WithContext(context.Background())
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if method == "PATCH" {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.frame.ServeHTTP(w, req)
	r.spec.Recorded(method, u.EscapedPath(), w)
	return w
}

// Things that callers send by mistake, or on purpose.
var (
	oddIDs = []string{
		"1", "a/b", "/", "//", "../../etc/passwd", "..", ".", "%", "%2F", "\x00", "a\x00b", "\xff\xfe", "a:add", ":", "?", "#", " ", "\u202e", "\U0001f642",
		"m//port/1", "port/1/quiet", strings.Repeat("x", 3000), strings.Repeat("/", 300), strings.Repeat("é", 800), "status", "api", "v1",
	}
	oddBodies = []string{
		``, `{`, `null`, `[]`, `"x"`, `7`, `{}`, `{"id": "1"}`, `{"id": 7}`, `{"id": null, "mac": "m"}`, `{"mac": "m"}`, `{"mac": 7}`, `{"mac": ["m"]}`, `{"mac": {"a": 1}}`,
		`{"mac": "m", "unknown": 1}`, `{"mac": "m", "": 1}`, `{"vlan": 1e400}`, `{"vlan": 1.5}`, `{"vlan": 99999999999999999999}`, `{"vlan": "x"}`, `{"vlan": -0}`,
		`{"tags": "a"}`, `{"tags": [[["a"]]]}`, `{"tags": [null]}`, `{"tags": {"a": 1}}`, `{"address": []}`, `{"address": {"ip": {}}}`, `{"key": "(secret)"}`, `{"key": 7}`,
		`{"topic": 7}`, `{"topic": "a/b"}`, `{"topic": "\u0000"}`, `{"topic": "", "mac": "m"}`, `{"version": -1}`, `{"version": "x"}`, `{"version": 9223372036854775807, "mac": "m"}`,
		`{"peer": 7}`, `{"peer": "none", "mac": "m"}`, "\xff\xfe", "{\"mac\": \"\xff\"}", `{"mac": "\ud800"}`, strings.Repeat(`{"address":`, 2000) + "1" + strings.Repeat("}", 2000),
		strings.Repeat("[", 5000), `{"field": "tags", "value": 1}`, `{"field": "tags", "value": null}`, `{"field": 7, "value": "x"}`, `{"field": "tags"}`, `{"field": "", "value": ""}`,
		`{"operations": []}`, `{"operations": [7]}`, `{"operations": [{"op": "delete", "table": "port", "id": ""}]}`, `{"operations": [{"op": "call", "table": "port", "id": "1"}]}`,
		`{"operations": [{"op": "create", "table": "port", "object": {"id": "x", "mac": "m"}}, {"op": "create", "table": "port", "object": {"id": "x", "mac": "m"}}]}`,
		`{"operations": [{"op": "apply", "table": "port", "object": {"id": "x", "mac": "m"}, "if_rev": 1e9}]}`, `{"operations": [{"op": "patch", "table": "Address", "object": {}}]}`,
	}
	oddQueries = []string{"", "dry_run=1", "dry_run=x", "index=mac&mac=%00", "limit=-1", "limit=99999999999999999999", "first=x", "continue=%25zz", "where.=1", "where.vlan=x", "a.b.c=1",
		"tags=", "address=1", "resolve=shallow", "topic=%2F,,", "key=x", "table=none", "since=-1", ";", "%"}
	oddPaths = []string{"/v1/api/port", "/v1/api/Port", "/v1/api/none", "/v1/api/Address", "/v1/api:txn", "/v1/api", "/v1/api/", "/v1/api:check", "/v1/api:migrate", "/v1/api:none"}
	methods  = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
)

// TestHostile: whatever a caller sends, the answer is never about a fault of the server.
func TestHostile(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m", "key": "k", "tags": ["a"]}`)
	try := func(method, path, query, body string) {
		w := r.send(method, path, query, []byte(body))
		if w != nil && (w.Code >= 500 || w.Code == 0) {
			t.Errorf("%s %.200q?%s %.200q: %d %s", method, path, query, body, w.Code, w.Body)
		}
	}
	for _, method := range methods {
		for _, body := range oddBodies {
			for _, path := range append([]string{ports + "/1", ports + "/1:add", ports + "/1:none", ports + "/1/status"}, oddPaths...) {
				try(method, path, "dry_run=1", body)
				try(method, path, "", body)
			}
		}
		for _, id := range oddIDs {
			for _, path := range []string{ports + "/" + api.Escape(id), ports + "/" + id, ports + "/" + api.Escape(id) + ":add", "/v1/api/" + api.Escape(id), ports + "/" + api.Escape(id) + "/status"} {
				try(method, path, "", `{"mac": "m"}`)
			}
		}
		for _, query := range oddQueries {
			for _, path := range append([]string{ports + "/1"}, oddPaths...) {
				try(method, path, query, `{"mac": "m"}`)
			}
		}
	}
}

// FuzzCaller is TestHostile with what a machine makes up.
func FuzzCaller(f *testing.F) {
	for i, id := range oddIDs {
		f.Add(uint8(i), "port", id, oddQueries[i%len(oddQueries)], []byte(oddBodies[i%len(oddBodies)]))
	}
	r := newRig(f, api.Options{}, port(f))
	f.Fuzz(func(t *testing.T, method uint8, table, id, query string, body []byte) {
		for _, path := range []string{api.PathOf(table), api.PathOf(table, id), api.PathOf(table, id) + ":add", "/v1/api:txn"} {
			w := r.send(methods[int(method)%len(methods)], path, query, body)
			if w != nil && (w.Code >= 500 || w.Code == 0) {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	})
}

// TestTooMuch: a value of 2 MiB and a transaction of 129 operations are refused with the limit, and change nothing.
func TestTooMuch(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	r.want(t, 201, "POST", ports, `{"id": "1", "mac": "m"}`)
	big := strings.Repeat("x", 2<<20)
	for _, c := range [][3]string{
		{"POST", ports, `{"id": "2", "mac": "` + big + `"}`}, {"PUT", ports, `{"id": "1", "mac": "` + big + `"}`},
		{"PATCH", ports + "/1", `{"mac": "` + big + `"}`}, {"POST", ports + "/1:add", `{"field": "tags", "value": "` + big + `"}`},
		{"POST", "/v1/api:txn", `{"operations": [{"op": "create", "table": "port", "object": {"id": "2", "mac": "` + big + `"}}]}`},
	} {
		p := r.want(t, 413, c[0], c[1], c[2]).problem(t)
		if !strings.Contains(p.Detail+p.Hint, "1048576") && !strings.Contains(p.Detail, "1556480") {
			t.Errorf("%s %s: the answer has no figure: %+v", c[0], c[1], p)
		}
	}
	var ops []string
	for i := range 129 {
		ops = append(ops, fmt.Sprintf(`{"op": "apply", "table": "port", "object": {"id": "new-%d", "mac": "m"}}`, i))
	}
	p := r.want(t, 413, "POST", "/v1/api:txn", `{"operations": [`+strings.Join(ops, ",")+`]}`).problem(t)
	if !strings.Contains(p.Detail, "128") {
		t.Errorf("the answer has no figure: %+v", p)
	}
	if list := r.want(t, 200, "GET", ports, "").value(t).([]any); len(list) != 1 {
		t.Errorf("there are %d objects", len(list))
	}
}

// meddler is a World in which another writer comes between two lists.
type meddler struct {
	world.World
	once  sync.Once
	table string // before whose list
	do    func()
}

func (m *meddler) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if strings.HasPrefix(prefix, "i/"+m.table+"/") {
		m.once.Do(m.do)
	}
	return m.World.List(ctx, prefix, o)
}

// TestWatchEmptyStore: a watch that has listed its first table while the store was empty tells what came to that table while
// it listed the others.
func TestWatchEmptyStore(t *testing.T) {
	w := &meddler{World: memory.New(), table: "zone"}
	r := newRigOn(t, w, api.Options{}, port(t), define(t, zone))
	w.do = func() {
		if a := r.send("POST", ports, "", []byte(`{"id": "1", "mac": "m"}`)); a.Code != 201 {
			t.Error(a.Body)
		}
	}
	s := r.watch(t, "?table=port,zone", "")
	s.want("synced", "")
	s.want("create", "1")
}
