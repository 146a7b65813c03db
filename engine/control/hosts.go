package control

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Hosts are the hosts that share a store: those that are there, and those that the operator has admitted. They are sorted by name.
type Hosts struct {
	Hosts      []Host `json:"hosts"`
	Incomplete string `json:"incomplete,omitempty"` // why hosts that are gone are missing
}

// Gone is the state of a host that the operator has admitted and that is not there. Since is when it last said that it is there, by its
// own clock; the zero time for never.
const Gone = "gone"

// Host is one of them.
type Host struct {
	Name    string         `json:"name"`
	State   string         `json:"state"` // converged, working, failing or gone; empty where its record can't be read
	Since   time.Time      `json:"since"` // when it has come to the state
	Graph   string         `json:"graph"`
	OK      int            `json:"ok"` // its resources, by state
	Failed  int            `json:"failed"`
	Blocked int            `json:"blocked"`
	Other   int            `json:"other"`
	Version string         `json:"version"` // of mgmt
	Started time.Time      `json:"started"` // when its daemon has started
	Facts   map[string]any `json:"facts"`
}

// HostsOf returns members of a store as the API shows them. A verb that asks a store itself shows the same.
func HostsOf(members []hosts.Member) *Hosts {
	all := &Hosts{Hosts: make([]Host, 0, len(members))}
	for _, m := range members {
		st := &m.State
		h := Host{
			Name: m.Name, State: st.Word(), Since: st.Since, Graph: st.Graph, OK: st.OK, Failed: st.Failed, Blocked: st.Blocked, Other: st.Other,
			Version: m.Version, Started: m.Since, Facts: m.Facts,
		}
		if m.Version == "" && m.Facts == nil {
			h.State = ""
		}
		all.Hosts = append(all.Hosts, h)
	}
	return all
}

// errNoHosts is the answer of a daemon that has no store.
var errNoHosts = &Error{http.StatusNotFound, "this daemon shares no store", "ask a daemon that runs with --world"}

func (s *Server) getHosts(_ http.ResponseWriter, r *http.Request) (any, error) {
	if s.opt.Hosts == nil {
		return nil, errNoHosts
	}
	all, err := s.opt.Hosts(r.Context())
	if errors.Is(err, world.ErrUnavailable) {
		return nil, &Error{http.StatusServiceUnavailable, err.Error(), "the daemon goes on without its store; ask again when it is back"}
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Hosts asks for the hosts that share the daemon's store.
func (c *Client) Hosts(ctx context.Context) (*Hosts, error) {
	return ask[Hosts](ctx, c, http.MethodGet, "/v1/hosts", nil, nil)
}
