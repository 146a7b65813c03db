package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// route is one endpoint. Its answer is what serve returns, in JSON, unless serve
// has written it itself and returns nil.
type route struct {
	method, path string
	params       []string // of the query; others are refused
	lasting      lasting
	serve        func(w http.ResponseWriter, r *http.Request) (any, error)
}

// lasting says which requests may take longer than an answer may; nil for none.
type lasting func(url.Values) bool

func always(url.Values) bool { return true }

// waiting are those that ask to wait for something.
func waiting(query url.Values) bool { return query.Has("wait") }

// most is how long the body may be.
func (rt *route) most() int64 {
	if rt.path == "/v1/apply" {
		return 2*MaxDocument + maxBody // with what JSON escapes
	}
	return maxBody
}

func (rt *route) lasts(r *http.Request) bool { return rt.lasting != nil && rt.lasting(r.URL.Query()) }

func (s *Server) table() []route {
	const get, post = http.MethodGet, http.MethodPost
	list := []route{
		{get, "/v1/version", nil, nil, s.getVersion},
		{post, "/v1/reload", nil, always, s.postReload},
		{post, "/v1/apply", nil, always, s.postApply},
		{get, "/v1/status", []string{"state", "all", "wait", "for_seconds"}, waiting, s.getStatus},
		{get, "/v1/resources", []string{"prefix", "limit"}, nil, s.getResources},
		{get, "/v1/why", []string{"resource", "n"}, nil, s.getWhy},
		{get, "/v1/events", []string{"since", "resource", "outcome"}, always, s.getEvents},
		{get, "/v1/log", []string{"resource", "outcome", "since", "until", "after", "before", "limit"}, nil, s.getLog},
		{get, "/v1/graph", []string{"format", "direction", "reduce"}, nil, s.getGraph},
		{post, "/v1/pause", nil, nil, s.postPause},
		{post, "/v1/resume", nil, nil, s.postResume},
		{post, "/v1/retry", nil, nil, s.postRetry},
		{get, "/v1/dump", nil, nil, s.getDump},
		{get, "/v1/metrics", nil, nil, s.getMetrics},
	}
	for _, name := range profiles() {
		list = append(list, route{get, "/debug/pprof/" + name, []string{"debug", "seconds"}, always, s.profile(name)})
	}
	return list
}

// Error is the body of an answer that is none.
type Error struct {
	Status int    `json:"-"`
	Text   string `json:"error"`
	Hint   string `json:"hint,omitempty"` // what to do
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Text
	}
	return e.Text + ", " + e.Hint
}

// bad returns the error of a request that asks for nothing there could be.
func bad(hint, format string, args ...any) error {
	return &Error{http.StatusBadRequest, fmt.Sprintf(format, args...), hint}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.admit(r); err != nil {
		s.fail(w, err)
		return
	}
	rt, err := s.route(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	if rt.lasts(r) {
		select {
		case s.streams <- struct{}{}:
			defer func() { <-s.streams }()
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // that of the request is over
		default:
			s.fail(w, &Error{http.StatusServiceUnavailable, "too many requests wait for something", "end some of them"})
			return
		}
	} else {
		ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	r.Body = http.MaxBytesReader(w, r.Body, rt.most())
	patience(w, s.slow)
	answer, err := rt.serve(w, r)
	switch {
	case err != nil:
		s.fail(w, err)
	case answer != nil:
		reply(w, http.StatusOK, answer)
	}
}

// admit refuses a peer that may not ask. Who comes over no connection of Serve
// is asked by a program that has its reasons.
func (s *Server) admit(r *http.Request) error {
	p, ok := peerOf(r.Context())
	if !ok || p.allowed {
		return nil
	}
	if n, tell := s.refused.add(time.Now()); tell {
		s.opt.Logger.Warn("a request over the socket was refused", slog.String("peer", p.String()), slog.String("path", r.URL.Path), slog.Int("others", n))
	}
	return &Error{http.StatusForbidden, p.String() + " may not use this socket", "ask as root, as the user that mgmt runs as, or as a member of the group of the socket"}
}

// route finds the endpoint, and checks the parameters.
func (s *Server) route(r *http.Request) (*route, error) {
	var other []string
	for i := range s.routes {
		rt := &s.routes[i]
		switch {
		case rt.path != r.URL.Path:
		case rt.method != r.Method:
			other = append(other, rt.method)
		default:
			return rt, rt.check(r)
		}
	}
	if other != nil {
		return nil, &Error{http.StatusMethodNotAllowed, r.Method + " is not for " + r.URL.Path, "use " + strings.Join(other, " or ")}
	}
	var paths []string
	for i := range s.routes {
		paths = append(paths, s.routes[i].path)
	}
	return nil, &Error{http.StatusNotFound, "there is no " + r.URL.Path, didYouMean(r.URL.Path, paths)}
}

func (rt *route) check(r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return bad("", "the query cannot be read: %v", err)
	}
	for key, values := range query {
		if !slices.Contains(rt.params, key) {
			return bad(didYouMean(key, rt.params), "%s takes no parameter %q", rt.path, key)
		}
		if len(values) > 1 {
			return bad("separate several values by commas", "the parameter %q is there more than once", key)
		}
	}
	return nil
}

// didYouMean asks whether one of some words was meant, or returns "".
func didYouMean(word string, among []string) string {
	if near := schema.Nearest(word, among); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// fail answers with an error. Where the answer has begun, the connection is cut
// instead, so that nobody takes it for whole.
func (s *Server) fail(w http.ResponseWriter, err error) {
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok:
	case errors.Is(err, context.DeadlineExceeded):
		e = &Error{http.StatusGatewayTimeout, "the engine did not answer in time", "look at GET /v1/dump"}
	case errors.Is(err, reactor.ErrStopped), errors.Is(err, context.Canceled):
		e = &Error{http.StatusServiceUnavailable, reactor.ErrStopped.Error(), "start it again"}
	default:
		e = &Error{http.StatusInternalServerError, err.Error(), ""}
	}
	if errors.Is(err, errBegun) {
		panic(http.ErrAbortHandler)
	}
	reply(w, e.Status, e)
}

// errBegun marks an error that came after the answer had begun.
var errBegun = errors.New("the answer has begun")

// reply writes one document.
func reply(w http.ResponseWriter, status int, doc any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		status = http.StatusInternalServerError
		buf.Reset()
		_ = enc.Encode(&Error{Text: "the answer has no form in JSON: " + err.Error()})
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes()) // who has gone needs no answer
}

// text answers with a document that is not JSON.
func text(w http.ResponseWriter, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body)
}

// patience gives a client so long from now on to take what is written.
func patience(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d)) // a recorder of tests has none
}

// decode reads the body of a request, which is an object.
func decode(r *http.Request, doc any) error {
	var body json.RawMessage
	dec := json.NewDecoder(r.Body)
	err := dec.Decode(&body)
	if err == nil {
		err = decodeObject(dec, body, doc)
	}
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &Error{http.StatusRequestEntityTooLarge, "the body is too large", fmt.Sprintf("%d bytes are the most", maxBody)}
	}
	return bad("send one JSON object as docs/api.md shows it", "the body cannot be read: %v", err)
}

// decodeObject decodes a body after which nothing else may come.
func decodeObject(rest *json.Decoder, body json.RawMessage, doc any) error {
	if string(body) == "null" {
		return errors.New("it is null") // which would leave doc as it is, and so mean everything
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(doc); err != nil {
		return err
	}
	switch _, err := rest.Token(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return errors.New("there is more after the object")
	}
}
