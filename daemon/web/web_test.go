package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/records"
)

// api notes who asks for what.
type api struct {
	mu    sync.Mutex
	asked []string
	until chan struct{} // closed when a stream has ended
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, _ := httpd.PeerOf(r.Context())
	a.mu.Lock()
	a.asked = append(a.asked, r.Method+" "+r.URL.Path+" "+p.Name)
	a.mu.Unlock()
	if r.URL.Path == "/v1/events" {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(a.until)
		return
	}
	_, _ = io.WriteString(w, "{}")
}

func (a *api) last() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asked) == 0 {
		return ""
	}
	return a.asked[len(a.asked)-1]
}

// kept is a store in memory.
type kept struct {
	mu   sync.Mutex
	rows map[string][]byte
}

func (k *kept) Records(context.Context, string) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		k.mu.Lock()
		rows := maps.Clone(k.rows)
		k.mu.Unlock()
		for _, key := range slices.Sorted(maps.Keys(rows)) {
			if !yield(records.Record{Key: key, Value: rows[key]}, nil) {
				return
			}
		}
	}
}

func (k *kept) Commit(_ context.Context, writes []records.Write) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range writes {
		if w.Value == nil {
			delete(k.rows, w.Key)
		} else {
			k.rows[w.Key] = w.Value
		}
	}
	return nil
}

// still is a clock that a test moves.
type still struct {
	mu  sync.Mutex
	now time.Time
}

func (c *still) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *still) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

func (c *still) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is a server with what is around it.
type rig struct {
	*testing.T
	*Server
	api   *api
	store *kept
	clock *still
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{T: t, api: &api{until: make(chan struct{})}, store: &kept{rows: map[string][]byte{}}, clock: &still{now: time.Unix(1e9, 0)}}
	o.API, o.Store, o.Clock = r.api, r.store, r.clock
	r.begin(o)
	return r
}

func (r *rig) begin(o Options) {
	s, err := New(r.Context(), o)
	if err != nil {
		r.Fatal(err)
	}
	r.Server = s
}

// person is a browser that has logged in.
type person struct {
	r      *rig
	cookie *http.Cookie
	token  string
}

// request makes one of the page itself. Headers are pairs; an empty value takes one away.
func (p *person) request(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(p.r.Context(), method, "http://127.0.0.1:9280"+target, strings.NewReader(body))
	r.Host = "127.0.0.1:9280"
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Origin", "http://127.0.0.1:9280")
		r.Header.Set("Content-Type", "application/json")
	}
	if p.cookie != nil {
		r.AddCookie(p.cookie)
		r.Header.Set(tokenHeader, p.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Del(headers[i])
		switch {
		case headers[i] == "Host":
			r.Host = headers[i+1]
		case headers[i+1] != "":
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

func (r *rig) answer(req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

// does asks, and fails where the status is another one.
func (p *person) does(want int, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	p.r.Helper()
	w := p.r.answer(p.request(method, target, body, headers...))
	if w.Code != want {
		p.r.Errorf("%s %s %q: %d %s, want %d", method, target, headers, w.Code, w.Body, want)
	}
	return w
}

// enters logs in by a link.
func (r *rig) enters(token string) *person {
	r.Helper()
	p := &person{r: r}
	p.take(p.does(http.StatusOK, "POST", "/login", `{"link":"`+token+`"}`))
	return p
}

// take keeps the cookie and the token of an answer.
func (p *person) take(w *httptest.ResponseRecorder) {
	p.r.Helper()
	var s Session
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || s.Token == "" || len(w.Result().Cookies()) != 1 {
		p.r.Fatalf("no login: %s", w.Body)
	}
	p.cookie, p.token = w.Result().Cookies()[0], s.Token
}

func (r *rig) link(readOnly bool) string {
	token, _ := r.Link("ada", readOnly)
	return token
}

// TestLinkOpensOnce: a link logs its person in once and for a while, with a cookie that neither scripts nor other sites get.
func TestLinkOpensOnce(t *testing.T) {
	r := newRig(t, Options{})
	link := r.link(false)
	p := r.enters(link)
	if c := p.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 12*3600 {
		t.Errorf("the cookie is %s", c)
	}
	p.does(http.StatusOK, "GET", "/v1/status?all=true", "")
	if got := r.api.last(); got != "GET /v1/status ada, in the page" {
		t.Errorf("the API was asked %q", got)
	}
	nobody := &person{r: r}
	nobody.does(http.StatusUnauthorized, "POST", "/login", `{"link":"`+link+`"}`)
	nobody.does(http.StatusUnauthorized, "POST", "/login", `{}`)
	late := r.link(false)
	r.clock.pass(LinkLife)
	nobody.does(http.StatusUnauthorized, "POST", "/login", `{"link":"`+late+`"}`)
}

// TestLoginEnds: twelve hours after its begin a login ends, for streams too; so it does when the person says so, and that ends its streams.
func TestLoginEnds(t *testing.T) {
	r := newRig(t, Options{})
	p := r.enters(r.link(false))
	r.clock.pass(Life - time.Second)
	p.does(http.StatusOK, "GET", "/session", "")
	r.clock.pass(time.Second)
	p.does(http.StatusUnauthorized, "GET", "/session", "")
	p = r.enters(r.link(false))
	if len(r.store.rows) != 1 {
		t.Errorf("%d logins are kept, one of them has ended", len(r.store.rows))
	}
	streamed := make(chan *httptest.ResponseRecorder)
	go func() { streamed <- r.answer(p.request("GET", "/v1/events?since=1", "")) }()
	for r.api.last() != "GET /v1/events ada, in the page" {
		time.Sleep(time.Millisecond)
	}
	p.does(http.StatusNoContent, "POST", "/logout", `{}`)
	<-r.api.until
	<-streamed
	p.does(http.StatusUnauthorized, "GET", "/v1/status", "")
	if len(r.store.rows) != 0 {
		t.Error("the login that has ended is kept")
	}
}

// TestCookieAloneIsNothing: who has the cookie, as a server on another port of the machine gets it, has no token, and cannot even read.
func TestCookieAloneIsNothing(t *testing.T) {
	r := newRig(t, Options{})
	p, other := r.enters(r.link(false)), r.enters(r.link(false))
	for _, token := range []string{"", "x", other.token} {
		p.does(http.StatusUnauthorized, "GET", "/v1/status", "", tokenHeader, token)
		p.does(http.StatusUnauthorized, "GET", "/v1/events", "", tokenHeader, token)
		p.does(http.StatusUnauthorized, "POST", "/v1/pause", `{}`, tokenHeader, token)
		p.does(http.StatusUnauthorized, "POST", "/logout", `{}`, tokenHeader, token)
	}
	p.does(http.StatusUnauthorized, "GET", "/v1/status", "", "Cookie", "")
	if got := r.api.last(); got != "" {
		t.Errorf("the API was asked %q", got)
	}
}

// TestOtherSites: another origin, a name that leads here and is not ours, and a frame get nothing, even with cookie and token.
func TestOtherSites(t *testing.T) {
	r := newRig(t, Options{Hosts: []string{"mgmt.example.org"}})
	p := r.enters(r.link(false))
	for _, headers := range [][]string{
		{"Origin", "http://evil.example"}, {"Origin", "http://127.0.0.1:8080"}, {"Origin", "null"}, {"Origin", "http://127.0.0.1:9280.evil.example"},
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
	} {
		p.does(http.StatusForbidden, "POST", "/v1/pause", `{}`, headers...)
		p.does(http.StatusForbidden, "GET", "/v1/status", "", headers...)
		p.does(http.StatusForbidden, "POST", "/login", `{}`, headers...)
	}
	for _, host := range []string{"evil.example", "evil.example:9280", "127.0.0.1.evil.example:9280", "mgmt.example.org.evil.example", "", "localhost.evil.example"} {
		for _, target := range []string{"/", "/v1/status", "/app.js"} {
			p.does(http.StatusMisdirectedRequest, "GET", target, "", "Host", host)
		}
	}
	for _, host := range []string{"127.0.0.1:9280", "localhost:9280", "[::1]:9280", "192.0.2.7", "MGMT.example.org", "mgmt.example.org:443", "mgmt.example.org."} {
		p.does(http.StatusOK, "GET", "/v1/status", "", "Host", host)
	}
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest"}
	p.does(http.StatusOK, "GET", "/", "", append(link, "document")...)
	p.does(http.StatusForbidden, "GET", "/", "", append(link, "iframe")...)
	p.does(http.StatusForbidden, "GET", "/v1/status", "", append(link, "document")...)
	for _, target := range []string{"/", "/app.js", "/v1/status", "/nothing"} {
		h := r.answer(p.request("GET", target, "")).Header()
		policy := h.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") ||
			h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s has the headers %v", target, h)
		}
	}
}

// TestRights: who may read does not steer, and nobody reaches more of the API than the page asks for.
func TestRights(t *testing.T) {
	r := newRig(t, Options{})
	reader, steerer := r.enters(r.link(true)), r.enters(r.link(false))
	for _, verb := range []string{"pause", "resume", "retry", "decide"} {
		reader.does(http.StatusForbidden, "POST", "/v1/"+verb, `{}`)
		if r.api.last() != "" {
			t.Fatalf("the API was asked %q", r.api.last())
		}
		reader.does(http.StatusMethodNotAllowed, "GET", "/v1/"+verb, "")
	}
	reader.does(http.StatusOK, "GET", "/v1/why?resource=a", "")
	steerer.does(http.StatusOK, "POST", "/v1/pause", `{}`)
	for _, target := range []string{"/v1/apply", "/v1/reload", "/v1/login", "/v1/proposals", "/v1/api/exec", "/v1/store/x", "/v1/providers/restart", "/debug/pprof/heap", "/v1/dump", "/v1/metrics", "/v1/../v1/apply", "/v1//apply", "/v1/%61pply"} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			if w := r.answer(steerer.request(method, target, `{}`)); w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, target, w.Code)
			}
		}
	}
	if got := r.api.last(); got != "POST /v1/pause ada, in the page" {
		t.Errorf("the API was asked %q", got)
	}
}

// over makes a request come over TLS, from the holder of a certificate.
func over(r *http.Request, name string) *http.Request {
	r.TLS = &tls.ConnectionState{}
	if name != "" {
		cert := &x509.Certificate{Subject: pkix.Name{CommonName: name}}
		r.TLS.PeerCertificates, r.TLS.VerifiedChains = []*x509.Certificate{cert}, [][]*x509.Certificate{{cert}}
	}
	return r
}

// TestCertificatesAndProxies: a certificate logs its holder in, and a header only the person whom the named proxy names. A login counts for no
// other name, and the operators alone steer.
func TestCertificatesAndProxies(t *testing.T) {
	const header = "X-Remote-User"
	r := newRig(t, Options{Proxy: "proxy", Header: header, Operators: []string{"ada"}})
	asks := func(cert string, p *person, method, target string, headers ...string) *httptest.ResponseRecorder {
		body := ""
		if method == "POST" {
			body = `{}`
		}
		return r.answer(over(p.request(method, target, body, headers...), cert))
	}
	status := func(want int, cert string, p *person, method, target string, headers ...string) {
		t.Helper()
		if w := asks(cert, p, method, target, headers...); w.Code != want {
			t.Errorf("%s %s as %q %q: %d %s, want %d", method, target, cert, headers, w.Code, w.Body, want)
		}
	}
	nobody := &person{r: r}
	status(http.StatusUnauthorized, "", nobody, "POST", "/login", header, "ada")
	for _, name := range []string{"", "root (uid 0), on web1", "ada\x1b[2J", "ada, login root"} {
		status(http.StatusUnauthorized, "proxy", nobody, "POST", "/login", header, name)
		status(http.StatusUnauthorized, name, nobody, "POST", "/login")
	}
	status(http.StatusUnauthorized, "proxy", nobody, "POST", "/login")
	for cert, headers := range map[string][]string{"ada": nil, "proxy": {header, "ada"}} {
		p := &person{r: r}
		p.take(asks(cert, p, "POST", "/login", headers...))
		if !p.cookie.Secure || p.cookie.Name != "__Host-mgmt" {
			t.Errorf("the cookie over TLS is %s", p.cookie)
		}
		status(http.StatusOK, cert, p, "POST", "/v1/pause", headers...)
		if got := r.api.last(); got != "POST /v1/pause ada, in the page" {
			t.Errorf("the API was asked %q", got)
		}
		status(http.StatusUnauthorized, "bob", p, "GET", "/v1/status", headers...)
		status(http.StatusUnauthorized, "", p, "GET", "/v1/status", headers...)
		status(http.StatusUnauthorized, "proxy", p, "GET", "/v1/status", header, "bob")
	}
	p := &person{r: r}
	p.take(asks("bob", p, "POST", "/login", header, "ada"))
	status(http.StatusOK, "bob", p, "GET", "/v1/status", header, "ada")
	if got := r.api.last(); got != "GET /v1/status bob, in the page" {
		t.Errorf("the header of who is no proxy counts: %q", got)
	}
	status(http.StatusForbidden, "bob", p, "POST", "/v1/pause", header, "ada")
	none := newRig(t, Options{})
	if w := none.answer((&person{r: none}).request("POST", "/login", `{}`, header, "ada")); w.Code != http.StatusUnauthorized {
		t.Errorf("a header without a setting: %d", w.Code)
	}
}

// TestLoginsSurviveARestart: another process knows the logins, though only digests are kept; links it does not know.
func TestLoginsSurviveARestart(t *testing.T) {
	r := newRig(t, Options{})
	p, unused := r.enters(r.link(true)), r.link(false)
	for _, value := range r.store.rows {
		if strings.Contains(string(value), p.token) || strings.Contains(string(value), p.cookie.Value) {
			t.Errorf("a secret is kept: %s", value)
		}
	}
	r.begin(Options{API: r.api, Store: r.store, Clock: r.clock})
	p.does(http.StatusOK, "GET", "/v1/status", "")
	p.does(http.StatusForbidden, "POST", "/v1/pause", `{}`)
	(&person{r: r}).does(http.StatusUnauthorized, "POST", "/login", `{"link":"`+unused+`"}`)
	r.clock.pass(Life)
	r.begin(Options{API: r.api, Store: r.store, Clock: r.clock})
	p.does(http.StatusUnauthorized, "GET", "/v1/status", "")
}

// TestBounds: links and logins are bounded, and the newest count.
func TestBounds(t *testing.T) {
	r := newRig(t, Options{})
	first := r.link(false)
	for range maxLinks {
		r.clock.pass(time.Millisecond)
		r.link(false)
	}
	(&person{r: r}).does(http.StatusUnauthorized, "POST", "/login", `{"link":"`+first+`"}`)
	p := r.enters(r.link(false))
	for range maxLogins {
		r.clock.pass(time.Millisecond)
		r.enters(r.link(false))
	}
	p.does(http.StatusUnauthorized, "GET", "/session", "")
	if len(r.begun()) != maxLogins || len(r.store.rows) != maxLogins {
		t.Errorf("%d logins, %d are kept", len(r.begun()), len(r.store.rows))
	}
}

func (r *rig) begun() map[string]*login {
	r.logins.mu.Lock()
	defer r.logins.mu.Unlock()
	return maps.Clone(r.logins.begun)
}

// TestFiles: the page and its files are compressed, known by their contents, and small; their licences are there.
func TestFiles(t *testing.T) {
	r := newRig(t, Options{})
	p := &person{r: r}
	all := 0
	entries, err := dist.ReadDir("dist")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		target := "/" + e.Name()
		if e.Name() == "index.html" {
			target = "/"
		}
		plain := p.does(http.StatusOK, "GET", target, "")
		zipped := p.does(http.StatusOK, "GET", target, "", "Accept-Encoding", "gzip")
		all += zipped.Body.Len()
		if zipped.Header().Get("Content-Encoding") != "gzip" || plain.Body.Len() == 0 || plain.Header().Get("ETag") == zipped.Header().Get("ETag") {
			t.Errorf("%s: %v", target, zipped.Header())
		}
		p.does(http.StatusNotModified, "GET", target, "", "Accept-Encoding", "gzip", "If-None-Match", zipped.Header().Get("ETag"))
	}
	if all > 900<<10 {
		t.Errorf("the page has %d bytes compressed", all)
	}
	licences := p.does(http.StatusOK, "GET", "/licenses.txt", "").Body.String()
	for _, name := range []string{"preact", "cytoscape", "dagre"} {
		if !strings.Contains(licences, name) {
			t.Errorf("the licence of %s is missing", name)
		}
	}
}
