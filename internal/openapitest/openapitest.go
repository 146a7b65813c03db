// Package openapitest compares the answers that the tests of a server see with the description that it gives of itself, as a
// client that was generated from it would meet them.
package openapitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Spec is a description that answers are compared with. Its methods may be called from many goroutines.
type Spec struct {
	t     testing.TB
	doc   *openapi3.T
	paths []path // the more exact one first

	mu  sync.Mutex
	saw map[string]bool
}

// path is a path of the description, ready to be matched.
type path struct {
	fits *regexp.Regexp
	item *openapi3.PathItem
}

// New reads a description. Its methods fail t.
func New(t testing.TB, doc []byte) *Spec {
	t.Helper()
	s := &Spec{t: t, saw: map[string]bool{}}
	var err error
	if s.doc, err = openapi3.NewLoader().LoadFromData(doc); err != nil {
		t.Fatal(err)
	}
	patterns := s.doc.Paths.Keys()
	slices.SortFunc(patterns, func(a, b string) int { return len(expression(b, "")) - len(expression(a, "")) })
	for _, p := range patterns {
		s.paths = append(s.paths, path{regexp.MustCompile("^" + expression(p, "[^/]+") + "$"), s.doc.Paths.Value(p)})
	}
	return s
}

// expression returns the regular expression of a pattern, in which each parameter is something.
func expression(pattern, something string) string {
	var b strings.Builder
	for {
		text, rest, more := strings.Cut(pattern, "{")
		b.WriteString(regexp.QuoteMeta(text))
		if !more {
			return b.String()
		}
		b.WriteString(something)
		_, pattern, _ = strings.Cut(rest, "}")
	}
}

// Saw reports whether an answer of a status was compared: "PUT 200".
func (s *Spec) Saw(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saw[what]
}

// Recorded compares an answer that a handler has given without a connection. A nil Spec compares nothing.
func (s *Spec) Recorded(method, path string, w *httptest.ResponseRecorder) {
	if s == nil {
		return
	}
	s.t.Helper()
	s.check(method, path, w.Code, w.Header(), w.Body.Bytes())
}

// Transport returns a transport that compares each answer. A stream is compared without its messages.
func (s *Spec) Transport(next http.RoundTripper) http.RoundTripper { return &transport{s, next} }

type transport struct {
	spec *Spec
	next http.RoundTripper
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	see := func(body []byte) {
		t.spec.check(r.Method, r.URL.EscapedPath(), resp.StatusCode, resp.Header, body)
	}
	if streams(resp.Header) || resp.ContentLength == 0 {
		see(nil)
		return resp, nil
	}
	resp.Body = &seen{ReadCloser: resp.Body, see: see}
	return resp, nil
}

// seen hands the begin of a body on when all of it was read. One that is cut is no answer.
type seen struct {
	io.ReadCloser
	begin []byte
	see   func([]byte)
}

func (s *seen) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.begin = append(s.begin, p[:min(n, maxBody+1-len(s.begin))]...)
	if errors.Is(err, io.EOF) && s.see != nil {
		s.see(s.begin)
		s.see = nil
	}
	return n, err
}

// CloseIdleConnections serves http.Client.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// streams reports whether an answer has no end of its own.
func streams(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "text/event-stream" || kind == "application/x-ndjson"
}

// maxBody bounds the bodies that are compared with their schemas. A longer one is a list of the same objects.
const maxBody = 32 << 10

func (s *Spec) check(method, target string, status int, h http.Header, body []byte) {
	s.t.Helper()
	if err := s.compare(method, target, status, h, body); err != nil {
		s.t.Errorf("the description lacks an answer to %s %.200s: %d %s %.300q: %v", method, target, status, h.Get("Content-Type"), body, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saw[method+" "+strconv.Itoa(status)] = true
}

// compare says how an answer differs from the description.
func (s *Spec) compare(method, target string, status int, h http.Header, body []byte) error {
	if method == http.MethodOptions {
		return nil // it tells the methods of a path, and is none of them
	}
	op := s.operation(method, target)
	if op == nil {
		if status >= 400 {
			return nil
		}
		return errors.New("there is no such operation")
	}
	declared := op.Responses.Status(status)
	if declared == nil && status >= 400 {
		declared = op.Responses.Default()
	}
	if declared == nil {
		return errors.New("the status is not declared")
	}
	for name := range h {
		same := func(other string) bool { return strings.EqualFold(name, other) }
		if !slices.ContainsFunc(ofAll, same) && !slices.ContainsFunc(slices.Collect(maps.Keys(declared.Value.Headers)), same) {
			return fmt.Errorf("the header %s is not declared", name)
		}
	}
	if method == http.MethodHead || status == http.StatusNotModified {
		return nil
	}
	return fits(declared.Value.Content, h, body)
}

// ofAll are the headers that each answer may have, which no description repeats.
var ofAll = []string{"Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "X-Content-Type-Options"}

// operation returns the description of what a request asks for, nil where there is none.
func (s *Spec) operation(method, target string) *openapi3.Operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	target, _, _ = strings.Cut(target, "?")
	for _, p := range s.paths {
		if !p.fits.MatchString(target) {
			continue
		}
		if op := p.item.Operations()[method]; op != nil {
			return op
		}
	}
	return nil
}

// fits compares a body with the declared types.
func fits(content openapi3.Content, h http.Header, body []byte) error {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if len(content) == 0 {
		if len(body) > 0 {
			return errors.New("no body is declared")
		}
		return nil
	}
	of := content[kind]
	if of == nil {
		return fmt.Errorf("the type %q is not declared", kind)
	}
	if of.Schema == nil || kind != "application/json" && kind != "application/problem+json" || len(body) > maxBody {
		return nil
	}
	var doc any
	if err := json.Unmarshal(body, &doc); err != nil {
		return err
	}
	return of.Schema.Value.VisitJSON(doc, openapi3.EnableJSONSchema2020())
}
