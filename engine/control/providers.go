package control

import (
	"context"
	"fmt"
	"net/http"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Providers are the programs of a daemon that serve kinds. Its methods may be called by many goroutines, and do not block.
type Providers interface {
	List() []Provider // in the order of their descriptors
	// Restart has a provider started anew, or at once where it pauses. It reports whether there is a provider of the name,
	// and whether a resource needs it, so that there is a process at all.
	Restart(name string) (found, running bool)
}

// ProviderList is the answer of GET /v1/providers.
type ProviderList struct {
	Providers []Provider `json:"providers"`
}

// Provider is how one of them does.
type Provider struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`         // of its schema file
	Phase    string   `json:"phase"`           // stopped, starting, ready, backoff or broken
	PID      int      `json:"pid,omitempty"`   // 0 where no process is the daemon's own
	Starts   int      `json:"starts"`          // since the first resource needed it
	Since    string   `json:"since,omitempty"` // of the last start, as RFC 3339 has it
	Error    string   `json:"error,omitempty"` // with backoff and broken
	Kinds    []string `json:"kinds"`
	Hash     string   `json:"hash"`               // of the schema file; the program has to know the same
	Attached bool     `json:"attached,omitempty"` // another one has started it
}

// RestartRequest is the body of POST /v1/providers/restart.
type RestartRequest struct {
	Provider string `json:"provider" doc:"The name of the provider."`
}

// Restarted is its answer.
type Restarted struct {
	Provider string `json:"provider"`
}

// providerRoutes are the endpoints about providers. The second one alters the work of the daemon, so it needs the right to write to the
// socket, as a pause does.
func (s *Server) providerRoutes() []httpd.Route {
	return []httpd.Route{
		{Method: "GET", Pattern: "/v1/providers", Summary: "The providers of kinds, with the phase of each.", Answer: ProviderList{}, Serve: s.getProviders},
		{
			Method: "POST", Pattern: "/v1/providers/restart", Summary: "Start a provider anew. Its resources go on.",
			Body: RestartRequest{}, Answer: Restarted{}, Errors: []int{http.StatusNotFound, http.StatusConflict}, Serve: s.postRestart,
		},
	}
}

// providers returns those of the daemon. The list is made for each question, and nothing of it is kept: a phase may last
// milliseconds.
func (s *Server) providers() []Provider {
	if s.opt.Providers == nil {
		return []Provider{}
	}
	return s.opt.Providers.List()
}

// A daemon without a folder of providers has an empty list, and no error: a script can ask every daemon.
func (s *Server) getProviders(http.ResponseWriter, *http.Request) (any, error) {
	return ProviderList{s.providers()}, nil
}

// postRestart does not wait for the new process. Calls that the old one works at may end first, which takes as long as its grace. The
// caller learns the rest from GET /v1/providers.
func (s *Server) postRestart(_ http.ResponseWriter, r *http.Request) (any, error) {
	var req RestartRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	var names []string
	for _, p := range s.providers() {
		names = append(names, p.Name)
	}
	var found, running bool
	if s.opt.Providers != nil {
		found, running = s.opt.Providers.Restart(req.Provider)
	}
	switch {
	case !found:
		hint := "mgmt plugin status lists them"
		if near := schema.Nearest(req.Provider, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return nil, &Error{http.StatusNotFound, "there is no provider " + req.Provider, hint}
	case !running:
		return nil, &Error{http.StatusConflict, "no resource needs the provider " + req.Provider + ", so it does not run", ""}
	}
	return Restarted(req), nil
}

// Providers asks for the providers of the daemon. A daemon of an earlier version has no such answer, and the error says so.
func (c *Client) Providers(ctx context.Context) (*ProviderList, error) {
	return ask[ProviderList](ctx, c, http.MethodGet, "/v1/providers", nil, nil)
}

// RestartProvider has a provider started anew.
func (c *Client) RestartProvider(ctx context.Context, name string) (*Restarted, error) {
	return ask[Restarted](ctx, c, http.MethodPost, "/v1/providers/restart", nil, RestartRequest{name})
}
