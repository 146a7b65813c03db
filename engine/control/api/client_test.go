package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

// carrier answers each request with one answer. It counts the bodies that are open, and notes the requests.
type carrier struct {
	status int
	header http.Header
	body   string
	cut    error // what a read returns after the body; io.EOF where it is nil
	err    error // of the transport

	open  int
	asked []string
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.asked = append(c.asked, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL, body, r.Header.Get("Accept"))))
	if c.err != nil {
		return nil, c.err
	}
	c.open++
	return &http.Response{Status: fmt.Sprintf("%d %s", c.status, http.StatusText(c.status)), StatusCode: c.status, Header: c.header, Body: &carried{c, strings.NewReader(c.body)}}, nil
}

// carried is the body of an answer.
type carried struct {
	of   *carrier
	text *strings.Reader
}

func (b *carried) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if err != nil && b.of.cut != nil {
		err = b.of.cut
	}
	return n, err
}

func (b *carried) Close() error {
	b.of.open--
	return nil
}

// TestClientProblems: whatever an answer that is none says, the error is a Problem with its status, and the body is closed.
func TestClientProblems(t *testing.T) {
	for name, c := range map[string]struct {
		carrier carrier
		want    httpd.Problem
	}{
		"a problem":     {carrier{status: 409, body: `{"status":409,"title":"Conflict","detail":"it is taken","hint":"take another one","code":"x"}`}, httpd.Problem{Status: 409, Detail: "it is taken", Hint: "take another one"}},
		"a page":        {carrier{status: 502, body: `<html>bad</html>`}, httpd.Problem{Status: 502, Detail: "the answer is 502 Bad Gateway"}},
		"nothing":       {carrier{status: 500}, httpd.Problem{Status: 500, Detail: "the answer is 500 Internal Server Error"}},
		"no detail":     {carrier{status: 404, body: `{"error":"x"}`}, httpd.Problem{Status: 404, Detail: "the answer is 404 Not Found"}},
		"another place": {carrier{status: 301, header: http.Header{"Location": {"http://other/"}}}, httpd.Problem{Status: 301, Detail: "the answer is 301 Moved Permanently"}},
		"too long":      {carrier{status: 400, body: `{"detail":"` + strings.Repeat("x", 1<<20) + `"}`}, httpd.Problem{Status: 400, Detail: "the answer is 400 Bad Request"}},
		"cut":           {carrier{status: 400, body: `{"detail":"x"`, cut: io.ErrUnexpectedEOF}, httpd.Problem{Status: 400, Detail: "the answer is 400 Bad Request"}},
	} {
		_, err := (&api.Client{HTTP: &c.carrier}).Do(t.Context(), api.Request{Method: "GET", Path: "/v1/api"})
		p, ok := errors.AsType[*httpd.Problem](err)
		if !ok || p.Status != c.want.Status || p.Detail != c.want.Detail || p.Hint != c.want.Hint {
			t.Errorf("%s: %+v", name, p)
		}
		if c.carrier.open != 0 || len(c.carrier.asked) != 1 {
			t.Errorf("%s: %d bodies are open after %d requests", name, c.carrier.open, len(c.carrier.asked))
		}
	}
	gone := errors.New("the wire is cut")
	if _, err := (&api.Client{HTTP: &carrier{err: gone}}).Ask(t.Context(), api.Request{Method: "GET", Path: "/"}, nil); err != gone {
		t.Error("an error of the transport does not come as it was:", err)
	}
	if _, err := (&api.Client{HTTP: &carrier{}}).Do(t.Context(), api.Request{Method: "G E T", Path: "/"}); err == nil {
		t.Error("a method that is none is sent")
	}
}

// TestClientAsk: a request is sent as it was given, and an answer is read without the loss of a digit.
func TestClientAsk(t *testing.T) {
	c := &carrier{status: 200, header: http.Header{"Etag": {`"7"`}}, body: `{"n": 12345678901234567890, "f": 1.10}`}
	var out any
	head, err := (&api.Client{HTTP: c}).Ask(t.Context(), api.Request{Method: "PUT", Path: api.PathOf("port", "a/b", "x y"), Query: url.Values{"dry": {"true"}, "a": {"&"}}, Body: []byte("{}"), Header: []string{"Accept", "x", "Odd"}}, &out)
	if err != nil || head.Get("Etag") != `"7"` || fmt.Sprint(out) != "map[f:1.10 n:12345678901234567890]" {
		t.Error(head, out, err)
	}
	if want := `PUT http://mgmt/v1/api/port/a%2Fb/x%20y?a=%26&dry=true {} x`; !slices.Equal(c.asked, []string{want}) {
		t.Errorf("%q", c.asked)
	}
	c.body = "not to be read"
	if _, err := (&api.Client{HTTP: c}).Ask(t.Context(), api.Request{Method: "GET", Path: "/v1/api"}, nil); err != nil {
		t.Error("an answer that is not wanted:", err)
	}
	if _, err := (&api.Client{HTTP: c}).Ask(t.Context(), api.Request{Method: "GET", Path: "/v1/api"}, &out); err == nil || !strings.HasPrefix(err.Error(), "the answer to GET /v1/api cannot be read: ") {
		t.Error(err)
	}
	if c.open != 0 {
		t.Errorf("%d bodies are open", c.open)
	}
}

// listed returns what a List yields: ids, and the error.
func listed(c *carrier) (ids []string, err error) {
	for o, e := range (&api.Client{HTTP: c}).List(context.Background(), "port", nil) {
		if err != nil {
			return ids, fmt.Errorf("%v is yielded after the error %w", o, err)
		}
		if err = e; err == nil {
			ids = append(ids, fmt.Sprint(o["id"]))
		}
	}
	return ids, err
}

// TestClientList: objects come one by one. What is cut, or is no list, is an error, after the objects that came before.
func TestClientList(t *testing.T) {
	for body, c := range map[string]struct {
		ids  string
		fail bool
	}{
		`[]`:                               {"", false},
		`[{"id":"a"},{"id":"b"}]`:          {"a b", false},
		" [\n{\"id\":\"a\"}\n]\n":          {"a", false},
		`[{"id":12345678901234567890}]`:    {"12345678901234567890", false},
		``:                                 {"", true},
		`[`:                                {"", true},
		`[{"id":"a"}`:                      {"a", true},
		`[{"id":"a"},`:                     {"a", true},
		`[{"id":"a"},{"id":"b"`:            {"a", true},
		`[{"id":"a"},7]`:                   {"a", true},
		`{}`:                               {"", true},
		`{"detail":"a proxy has no list"}`: {"", true},
		`null`:                             {"", true},
		`"x"`:                              {"", true},
		`<html>`:                           {"", true},
	} {
		car := &carrier{status: 200, body: body}
		ids, err := listed(car)
		if strings.Join(ids, " ") != c.ids || (err != nil) != c.fail || car.open != 0 {
			t.Errorf("%s: %q %v, %d bodies are open", body, ids, err, car.open)
		}
	}
	gone := errors.New("the wire is cut")
	car := &carrier{status: 200, body: `[{"id":"a"}`, cut: gone}
	if ids, err := listed(car); len(ids) != 1 || !errors.Is(err, gone) {
		t.Error("an answer that is cut:", ids, err)
	}
	if ids, err := listed(&carrier{status: 404, body: `{"detail":"there is no table"}`}); len(ids) != 0 || err == nil || err.Error() != "there is no table" {
		t.Error("a problem:", ids, err)
	}
}

// TestClientStops: a reader that has enough ends the answer.
func TestClientStops(t *testing.T) {
	car := &carrier{status: 200, body: `[{"id":"a"},{"id":"b"}]`}
	for range (&api.Client{HTTP: car}).List(t.Context(), "port", nil) {
		break
	}
	car.body = "{}\n{}\n"
	for range api.Lines[api.Dumped](t.Context(), &api.Client{HTTP: car}, api.Request{Method: "GET", Path: "/v1/api:dump"}) {
		break
	}
	if car.open != 0 {
		t.Errorf("%d bodies are open", car.open)
	}
	if want := []string{"GET http://mgmt/v1/api/port", "GET http://mgmt/v1/api:dump  " + httpd.LinesType}; !slices.Equal(car.asked, want) {
		t.Errorf("%q", car.asked)
	}
}

// TestClientLines: values come line by line; the end between two lines is no error, and any other end is one.
func TestClientLines(t *testing.T) {
	type line struct{ N int }
	gone := errors.New("the wire is cut")
	for body, c := range map[string]struct {
		cut  error
		sum  int
		fail bool
	}{
		"":                         {nil, 0, false},
		"{\"N\":1}\n\n{\"N\":2}\n": {nil, 3, false},
		"{\"N\":1}\n{\"N\"":        {nil, 1, true},
		"{\"N\":1}\n{\"N\":\"x\"}": {nil, 1, true},
		"{\"N\":4}\n":              {gone, 4, true},
	} {
		car, sum := &carrier{status: 200, body: body, cut: c.cut}, 0
		var err error
		for v, e := range api.Lines[line](t.Context(), &api.Client{HTTP: car}, api.Request{Method: "GET", Path: "/"}) {
			sum, err = sum+v.N, e
		}
		if sum != c.sum || (err != nil) != c.fail || c.cut != nil && !errors.Is(err, c.cut) || car.open != 0 {
			t.Errorf("%q: %d %v, %d bodies are open", body, sum, err, car.open)
		}
	}
	for v, err := range api.Lines[line](t.Context(), &api.Client{HTTP: &carrier{err: gone}}, api.Request{Method: "GET", Path: "/"}) {
		if v.N != 0 || err != gone {
			t.Error(v, err)
		}
	}
}

// TestClientTables: the tables tell what a program needs before it writes an object.
func TestClientTables(t *testing.T) {
	r := newRig(t, api.Options{}, port(t), define(t, zone))
	c := &api.Client{HTTP: r.client.Transport}
	all, err := c.Tables(t.Context(), "")
	if err != nil || len(all) != 2 || all[0].Table != "port" || all[1].Table != "zone" {
		t.Fatalf("%+v %v", all, err)
	}
	one, err := c.Tables(t.Context(), "port")
	if err != nil || len(one) != 1 || one[0].Doc != "A port." || one[0].Model != "Port" || one[0].ReadOnly || len(one[0].Indexes) < 2 {
		t.Fatalf("%+v %v", one, err)
	}
	got := map[string]string{}
	for _, f := range one[0].Fields {
		text, err := json.Marshal(map[string]any{"json": f.JSON, "required": f.Required, "secret": f.Secret, "refers": f.Refers})
		if err != nil {
			t.Fatal(err)
		}
		got[f.Name] = string(text)
	}
	for name, want := range map[string]string{
		"mac":  `{"json":"string","refers":"","required":true,"secret":false}`,
		"vlan": `{"json":"integer","refers":"","required":false,"secret":false}`,
		"up":   `{"json":"boolean","refers":"","required":false,"secret":false}`,
		"tags": `{"json":"array","refers":"","required":false,"secret":false}`,
		"key":  `{"json":"string","refers":"","required":false,"secret":true}`,
		"peer": `{"json":"string","refers":"port","required":false,"secret":false}`,
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	_, err = c.Tables(t.Context(), "prot")
	if p, ok := errors.AsType[*httpd.Problem](err); !ok || p.Status != http.StatusNotFound || !strings.Contains(p.Error(), "port") {
		t.Error(err)
	}
}

// TestClientListOfAServer: a list over the wire has each object once, and the condition of the query.
func TestClientListOfAServer(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	r.fill(t, 120)
	c := &api.Client{HTTP: r.client.Transport}
	seen := map[string]bool{}
	for o, err := range c.List(t.Context(), "port", nil) {
		if err != nil {
			t.Fatal(err)
		}
		id := o["id"].(string)
		if n, ok := o["vlan"].(json.Number); seen[id] || !ok || id != fmt.Sprintf("port-%06s", n) {
			t.Errorf("%s with the vlan %v", id, o["vlan"])
		}
		seen[id] = true
	}
	if len(seen) != 120 {
		t.Errorf("%d objects", len(seen))
	}
	some := 0
	for _, err := range c.List(t.Context(), "port", url.Values{"vlan": {"7"}}) {
		if err != nil {
			t.Fatal(err)
		}
		some++
	}
	if some != 1 {
		t.Errorf("%d objects with the vlan 7", some)
	}
}
