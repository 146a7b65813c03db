package control

import (
	"context"
	"net/http"
	"time"

	"github.com/reactivegraph/mgmt/engine/httpd"
)

// LoginRequest is the body of POST /v1/login.
type LoginRequest struct {
	ReadOnly bool `json:"read_only,omitempty"` // the link lets nobody steer
}

// Login is a link that opens the page of the daemon once.
type Login struct {
	URL      string    `json:"url"`
	Until    time.Time `json:"until"` // when it can no longer be used
	By       string    `json:"by"`    // who has asked for it, and is the speaker of what is done with it
	ReadOnly bool      `json:"read_only,omitempty"`
}

// postLogin lets who may use the socket, and so steer, log in to the page.
func (s *Server) postLogin(_ http.ResponseWriter, r *http.Request) (any, error) {
	var req LoginRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	if s.opt.Login == nil {
		return nil, &Error{http.StatusNotFound, "the daemon serves no page", "start it with --web 127.0.0.1:9280, or write web: 127.0.0.1:9280 in its configuration"}
	}
	return s.opt.Login(speaker(r), req.ReadOnly)
}

// Login asks for a link that opens the page once.
func (c *Client) Login(ctx context.Context, req LoginRequest) (*Login, error) {
	return ask[Login](ctx, c, http.MethodPost, "/v1/login", nil, req)
}
