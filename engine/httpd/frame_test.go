package httpd

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// serving is a server of one route GET /x.
func serving(h Handler) *Server {
	return &Server{Table: MustTable(Info{}, []Route{{Method: "GET", Pattern: "/x", Summary: "s", Public: true, Versions: true, Serve: h}})}
}

// TestAnswers: what a handler returns is what a client gets, with the headers of its form.
func TestAnswers(t *testing.T) {
	returns := func(v any) Handler { return func(http.ResponseWriter, *http.Request) (any, error) { return v, nil } }
	for name, c := range map[string]struct {
		h                        Handler
		status                   int
		body, kind, cache, other string
	}{
		"a value":  {returns(map[string]string{"a": "<b>"}), 200, "{\"a\":\"<b>\"}\n", "application/json", "no-store", ""},
		"a body":   {returns(&Answer{Body: 7}), 200, "7\n", "application/json", "no-store", ""},
		"bytes":    {returns(&Answer{Body: []byte("x"), Type: "text/plain"}), 200, "x", "text/plain", "no-store", ""},
		"no bytes": {returns(&Answer{Body: []byte{}, Type: "text/plain"}), 200, "", "text/plain", "no-store", ""},
		"nothing":  {returns(&Answer{}), 204, "", "", "", ""},
		"no body":  {returns(&Answer{Status: 202}), 202, "", "", "", ""},
		"made":     {returns(&Answer{Status: 201, Location: "/x/1", Version: "7", Body: true}), 201, "true\n", "application/json", "no-cache", `"7" /x/1`},
		"no JSON":  {returns(&Answer{Body: func() {}}), 500, "", ProblemType, "no-store", ""},
		"an error": {func(http.ResponseWriter, *http.Request) (any, error) { return nil, errors.New("broken") }, 500, "", ProblemType, "no-store", ""},
		"written itself": {func(w http.ResponseWriter, _ *http.Request) (any, error) {
			_, err := w.Write([]byte("raw"))
			return nil, err
		}, 200, "raw", "", "", ""},
		"a problem with a header": {func(http.ResponseWriter, *http.Request) (any, error) {
			return nil, NewProblem(409, "taken").with("Location", "/x/2")
		}, 409, "", ProblemType, "no-store", " /x/2"},
	} {
		w := answerTo(serving(c.h), httptest.NewRequestWithContext(t.Context(), "GET", "/x", nil))
		h := w.Header()
		other := strings.TrimRight(h.Get("ETag")+" "+h.Get("Location"), " ")
		if w.Code != c.status || c.status < 400 && w.Body.String() != c.body || h.Get("Cache-Control") != c.cache || other != strings.TrimRight(c.other, " ") || c.kind != "" && h.Get("Content-Type") != c.kind {
			t.Errorf("%s: %d %q %v", name, w.Code, w.Body, h)
		}
		if c.kind != "" && h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: its type may be guessed", name)
		}
	}
}

// TestFaultsOfTheFrame: an answer that has begun is cut and not followed by another one, and a handler may cut by itself.
func TestFaultsOfTheFrame(t *testing.T) {
	for name, h := range map[string]Handler{
		"error": func(w http.ResponseWriter, _ *http.Request) (any, error) {
			w.WriteHeader(200)
			return nil, errors.New("late")
		},
		"flush": func(w http.ResponseWriter, _ *http.Request) (any, error) {
			return nil, errors.Join(http.NewResponseController(w).Flush(), errors.New("late"))
		},
		"panic": func(w http.ResponseWriter, _ *http.Request) (any, error) {
			_, _ = w.Write([]byte("x"))
			panic("late")
		},
		"cut": func(http.ResponseWriter, *http.Request) (any, error) { panic(http.ErrAbortHandler) },
	} {
		func() {
			defer func() {
				if x := recover(); x != http.ErrAbortHandler {
					t.Errorf("%s: the connection is not cut: %v", name, x)
				}
			}()
			w := answerTo(serving(h), httptest.NewRequestWithContext(t.Context(), "GET", "/x", nil))
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}()
	}
}

// TestAnswerHasItsTime: a handler whose request does not last has a context with an end, and one whose request lasts has none.
func TestAnswerHasItsTime(t *testing.T) {
	for _, lasting := range []bool{false, true} {
		s := &Server{Limits: Limits{Answer: time.Hour}}
		bounded := false
		s.Table = MustTable(Info{}, []Route{{Method: "GET", Pattern: "/x", Summary: "s", Lasting: func(url.Values) bool { return lasting }, AnyQuery: true,
			Serve: func(_ http.ResponseWriter, r *http.Request) (any, error) {
				_, bounded = r.Context().Deadline()
				if (s.Lasting() == 1) != lasting {
					t.Errorf("%d requests last", s.Lasting())
				}
				return nil, nil
			}}})
		answerTo(s, httptest.NewRequestWithContext(t.Context(), "GET", "/x", nil))
		if bounded == lasting || s.Lasting() != 0 {
			t.Errorf("lasting %v: bounded is %v, and %d last afterwards", lasting, bounded, s.Lasting())
		}
	}
}

// TestPlacesComeBack: a request that lasts gives its place back also when it fails.
func TestPlacesComeBack(t *testing.T) {
	s := &Server{Limits: Limits{Lasting: 1}}
	s.Table = MustTable(Info{}, []Route{{Method: "GET", Pattern: "/x", Summary: "s", Lasting: Always, Serve: func(http.ResponseWriter, *http.Request) (any, error) { panic("x") }}})
	for range 3 {
		if w := answerTo(s, httptest.NewRequestWithContext(t.Context(), "GET", "/x", nil)); w.Code != 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// TestBodyLimit: a route may take longer bodies than others, or shorter ones.
func TestBodyLimit(t *testing.T) {
	read := func(_ http.ResponseWriter, r *http.Request) (any, error) {
		text, err := ReadBody(r)
		return len(text), err
	}
	s := &Server{Limits: Limits{Body: 10}, Table: MustTable(Info{}, []Route{
		{Method: "POST", Pattern: "/usual", Summary: "s", Serve: read},
		{Method: "POST", Pattern: "/more", Summary: "s", MaxBody: 20, Serve: read},
		{Method: "POST", Pattern: "/less", Summary: "s", MaxBody: 5, Serve: read},
	})}
	for _, c := range []struct {
		path   string
		length int
		status int
		want   string
	}{
		{"/usual", 10, 200, "10"}, {"/usual", 11, 413, "10 bytes are the most"},
		{"/more", 20, 200, "20"}, {"/more", 21, 413, "20 bytes are the most"},
		{"/less", 5, 200, "5"}, {"/less", 6, 413, "5 bytes are the most"},
	} {
		w := answerTo(s, httptest.NewRequestWithContext(t.Context(), "POST", c.path, strings.NewReader(strings.Repeat("x", c.length))))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s with %d bytes: %d %s", c.path, c.length, w.Code, w.Body)
		}
	}
	w := answerTo(s, httptest.NewRequestWithContext(t.Context(), "POST", "/usual", io.MultiReader(strings.NewReader("x"), failing{})))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "the body cannot be read: the client has gone") {
		t.Errorf("a body that breaks off: %d %s", w.Code, w.Body)
	}
}

// failing is a reader whose other end is gone.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the client has gone") }

// TestExactFirst: of several patterns that fit, the most exact one answers, in whatever order they were given.
func TestExactFirst(t *testing.T) {
	patterns := []string{"/v/{x}", "/v/{x}:{y}", "/v/a", "/{p}/a", "/{q}/{x}", "/v/a/{z}", "/v/{x}/b", "/{u}:{v}/a"}
	for range len(patterns) {
		patterns = append(patterns[1:], patterns[0])
		var routes []Route
		for _, p := range patterns {
			routes = append(routes, Route{Method: "GET", Pattern: p, Summary: "s", Serve: func(http.ResponseWriter, *http.Request) (any, error) { return p, nil }})
		}
		table, err := NewTable(Info{}, routes)
		must(t, err)
		s := &Server{Table: table}
		for path, want := range map[string]string{
			"/v/a": "/v/a", "/v/b": "/v/{x}", "/v/a:b": "/v/{x}:{y}", "/w/a": "/{p}/a", "/w/b": "/{q}/{x}", "/v/a/b": "/v/a/{z}", "/v/c/b": "/v/{x}/b", "/a:b/a": "/{u}:{v}/a", "/v/%61": "/v/a",
		} {
			w := answerTo(s, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
			var got string
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got != want {
				t.Errorf("%q: %s is answered by %s, want %s", patterns, path, w.Body, want)
			}
		}
	}
}

// TestExtend: what a server adds to its description is added to each answer anew, and a fault of it is an error of that request alone.
func TestExtend(t *testing.T) {
	var fault error
	table := MustTable(Info{Title: "T", Version: "1", Extend: func(doc map[string]any) error {
		paths := doc["paths"].(map[string]any)
		paths["/more"] = len(paths)
		return fault
	}}, nil)
	s := &Server{Table: table}
	ask := func() *http.Response {
		return answerTo(s, httptest.NewRequestWithContext(t.Context(), "GET", DescriptionPath, nil)).Result()
	}
	for range 2 {
		var doc struct{ Paths map[string]any }
		resp := ask()
		if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil || doc.Paths["/more"] != 1.0 || len(doc.Paths) != 2 || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v %v", doc, err)
		}
	}
	fault = errors.New("the types are gone")
	if resp := ask(); resp.StatusCode != 500 {
		t.Errorf("with a fault: %d", resp.StatusCode)
	}
	if strings.Contains(string(table.Document()), "/more") {
		t.Error("the table itself is altered")
	}
	table.Document()[0] = 'x'
	table.Routes()[0].Pattern = "/altered"
	if table.Document()[0] != '{' || table.Routes()[0].Pattern != DescriptionPath {
		t.Error("what the table returns is no copy")
	}
}

// TestParameters: the description has what a parameter may be.
func TestParameters(t *testing.T) {
	table := MustTable(Info{}, []Route{{Method: "GET", Pattern: "/x/{id}", Summary: "s", Serve: func(http.ResponseWriter, *http.Request) (any, error) { return nil, nil }, Params: []Param{
		{Name: "since", Form: "date-time", Doc: "From when."}, {Name: "sort", Of: []string{"up", "down"}, Need: true}, {Name: "n", Type: "integer"}, {Name: "tags", List: true}, {Name: "X-Trace", Head: true},
	}}})
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []map[string]any
		}
	}
	must(t, json.Unmarshal(table.Document(), &doc))
	got := map[string]string{}
	for _, p := range doc.Paths["/x/{id}"]["get"].Parameters {
		name := p["name"].(string)
		delete(p, "name")
		text, err := json.Marshal(p)
		must(t, err)
		got[name] = string(text)
	}
	for name, want := range map[string]string{
		"id":      `{"in":"path","required":true,"schema":{"type":"string"}}`,
		"since":   `{"description":"From when.","in":"query","schema":{"format":"date-time","type":"string"}}`,
		"sort":    `{"in":"query","required":true,"schema":{"enum":["up","down"],"type":"string"}}`,
		"n":       `{"in":"query","schema":{"type":"integer"}}`,
		"tags":    `{"explode":false,"in":"query","schema":{"items":{"type":"string"},"type":"array"},"style":"form"}`,
		"X-Trace": `{"in":"header","schema":{"type":"string"}}`,
	} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
}

// TestDescribedTypes: a time is text, an embedded struct is no field, and a type without a form in JSON is an error that says where it is.
func TestDescribedTypes(t *testing.T) {
	type inner struct {
		A string `json:"a"`
	}
	type outer struct {
		inner
		At   time.Time         `json:"at,omitzero"`
		Own  struct{ X bool }  `json:"own"`
		Skip func()            `json:"-"`
		by   func()            // it is not exported
		Map  map[string]*inner `json:"map,omitempty"`
	}
	d := newDescriber()
	if _, err := d.Schema(outer{by: func() {}}); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d.Schemas["outer"])
	must(t, err)
	want := `{"properties":{"a":{"type":"string"},"at":{"format":"date-time","type":"string"},"map":{"additionalProperties":{"$ref":"#/components/schemas/inner"},"type":"object"},"own":{"properties":{"X":{"type":"boolean"}},"required":["X"],"type":"object"}},"required":["a","own"],"type":"object"}`
	if string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
	type bad struct {
		Deep []struct{ Call func() } `json:"deep"`
	}
	if _, err := d.Schema(bad{}); err == nil || !strings.Contains(err.Error(), "deep: Call: the type func() has no form in JSON") {
		t.Error(err)
	}
}

// brokenListener has nothing to accept.
type brokenListener struct{ net.Listener }

func (brokenListener) Accept() (net.Conn, error) { return nil, errors.New("the network is gone") }

// TestServeFails: when the listener can't go on, Serve says why, and closes it.
func TestServeFails(t *testing.T) {
	l := mustListen(t, socketIn(t))
	r := newRig(t)
	if err := r.Serve(t.Context(), brokenListener{l}); err == nil || err.Error() != "the network is gone" {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error("the listener is open:", err)
	}
}

// TestServeTwo: one server answers on two listeners, and the end of one leaves the other.
func TestServeTwo(t *testing.T) {
	r := newRig(t)
	first, end := r.listen(t)
	second, _ := r.listen(t)
	works(t, first)
	works(t, second)
	end()
	works(t, second)
}

// TestListenTCPRefuses: an address that can't be listened on is an error, and which one is said.
func TestListenTCPRefuses(t *testing.T) {
	l, err := ListenTCP("127.0.0.1:0", false)
	must(t, err)
	defer l.Close()
	for addr, want := range map[string]string{"127.0.0.1": "missing port", "[::": "missing", "127.0.0.1:http-over-there": "unknown port", l.Addr().String(): "address already in use"} {
		if _, err := ListenTCP(addr, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", addr, err, want)
		}
	}
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "[::]:0"} {
		_, err := ListenTCP(addr, false)
		if e, ok := errors.AsType[*RemoteError](err); !ok || e.Addr != addr || e.Error() != "other machines could reach "+addr {
			t.Errorf("%s: %v", addr, err)
		}
	}
	open, err := ListenTCP("0.0.0.0:0", true)
	must(t, err)
	must(t, open.Close())
}

// TestAllow: the header Allow has OPTIONS always, and HEAD with GET.
func TestAllow(t *testing.T) {
	for in, want := range map[string]string{"GET": "GET HEAD OPTIONS", "POST": "OPTIONS POST", "PUT GET GET": "GET HEAD OPTIONS PUT", "HEAD GET": "GET HEAD OPTIONS"} {
		methods := strings.Fields(in)
		if got := allow(methods); strings.Join(got, " ") != want || !slices.Equal(methods, strings.Fields(in)) {
			t.Errorf("%s: %q, want %s", in, got, want)
		}
	}
}
