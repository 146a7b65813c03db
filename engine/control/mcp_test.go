package control

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// TestMCPAsksAsTheCaller: what a tool proposes is of the one who has sent the message, and a tool can't decide or steer.
func TestMCPAsksAsTheCaller(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Graphs, o.StateDir = &fakeGraphs{}, t.TempDir()
		o.MCP = func(c *Client) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				p, err := c.Propose(r.Context(), ProposeRequest{Document: "resources: {}", Reason: "test"})
				if err != nil {
					http.Error(w, err.Error(), http.StatusTeapot)
					return
				}
				if st, err := c.Status(r.Context(), StatusQuery{All: true}); err != nil || len(st.Resources) != 4 {
					t.Errorf("%+v, %v", st, err)
				}
				if _, err := c.Why(r.Context(), "svc[none]", 1); err == nil || !strings.Contains(err.Error(), "not in the graph") {
					t.Errorf("an unknown resource: %v", err)
				}
				if _, err := c.Pause(r.Context(), PauseRequest{For: 60}); err == nil {
					t.Error("a tool can pause")
				}
				if _, err := c.Decide(r.Context(), DecideRequest{Approve: true, Changes: []reactor.Proposal{{Resource: "print[all]", Digest: "d1"}}}); err == nil {
					t.Error("a tool can approve")
				}
				_ = json.NewEncoder(w).Encode(p)
			})
		}
	})
	path, _ := r.listen(t)
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return httpd.Dial(ctx, path) }}}
	resp, err := c.Post("http://mgmt/v1/mcp", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var p Proposal
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || !strings.Contains(p.By, "uid ") {
		t.Errorf("%d %s: proposed by %q, %v", resp.StatusCode, text, p.By, err)
	}
	if w := r.request(t, http.MethodPost, "/v1/mcp", string(bytes.Repeat([]byte("x"), maxMessage+1))); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a huge message: %d", w.Code)
	}
}
