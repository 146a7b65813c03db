package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
)

// TestHosts: the members of the store with their states, and a store that is away, broken or missing.
func TestHosts(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	members := []hosts.Member{
		{Name: "a", Version: "v1", Since: at, Facts: map[string]any{"os": "Debian"}, State: hosts.MemberState{Graph: "g", Converged: true, Since: at, OK: 3}},
		{Name: "b", Version: "v1", State: hosts.MemberState{Converged: true, Failed: 1}},
		{Name: "c", Version: "v1", State: hosts.MemberState{Other: 1}},
		{Name: "broken"},
	}
	var fault error
	r := newRig(t, func(o *Options) {
		o.Hosts = func(context.Context) (*Hosts, error) { return HostsOf(members), fault }
	})
	path, _ := r.listen(t)
	all, err := NewClient(path).Hosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range all.Hosts {
		got = append(got, h.Name+" "+h.State)
	}
	if want := "a converged,b failing,c working,broken "; strings.Join(got, ",") != want {
		t.Errorf("%v, want %s", got, want)
	}
	if a := all.Hosts[0]; a.OK != 3 || !a.Since.Equal(at) || !a.Started.Equal(at) || a.Facts["os"] != "Debian" || a.Graph != "g" {
		t.Errorf("the first is %+v", a)
	}
	fault = fmt.Errorf("%w: the cable is out", world.ErrUnavailable)
	if w := r.get(t, "/v1/hosts"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "cable") {
		t.Errorf("without the store: %d %s", w.Code, w.Body)
	}
	fault = errors.New("odd")
	if w := r.get(t, "/v1/hosts"); w.Code != http.StatusInternalServerError {
		t.Errorf("with a fault: %d", w.Code)
	}
	if w := newRig(t).get(t, "/v1/hosts"); w.Code != http.StatusNotFound {
		t.Errorf("no store: %d", w.Code)
	}
}
