package control

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/reactivegraph/mgmt/engine/httpd"
)

// maxMessage bounds a message of an agent in bytes: a proposed graph in the longest form that JSON has for it.
const maxMessage = 2 << 20

// mcpRoute is the endpoint for programs of agents. Its tools ask this API as the caller of the message, and with no more rights than
// Client.ForAgent has.
func (s *Server) mcpRoute() httpd.Route {
	agent := &Client{http: http.Client{Transport: inside{s}}, patience: clientPatience, clock: s.opt.Clock}
	h := s.opt.MCP(agent.ForAgent())
	return httpd.Route{
		Method: "POST", Pattern: "/v1/mcp", Summary: "A message of the Model Context Protocol, and its answer.",
		Doc:  "It is the streamable HTTP transport without sessions, see docs/agents.md. The header Accept has to have application/json and text/event-stream.",
		Body: map[string]any{}, MaxBody: maxMessage, Types: []string{"application/json"}, Lasting: httpd.Always,
		Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
			h.ServeHTTP(w, r)
			return nil, nil
		},
	}
}

// inside carries requests of a tool to the Server that the tool is served by. Their context has the caller of the tool.
type inside struct{ s *Server }

// RoundTrip implements http.RoundTripper.
func (t inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	w := &answered{header: http.Header{}, status: http.StatusOK}
	t.s.ServeHTTP(w, r)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// answered is an answer that stays in the process.
type answered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answered) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answered) Write(p []byte) (int, error) { return a.body.Write(p) }
