package control

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// setClock is a clock of which a test sets the time.
type setClock struct {
	clock.System
	now time.Time
}

func (c *setClock) Now() time.Time { return c.now }

// propose proposes a graph, and returns the status and the text of the answer.
func propose(t *testing.T, r *rig, document, reason string) (int, string) {
	t.Helper()
	body, err := json.Marshal(ProposeRequest{Document: document, Reason: reason})
	if err != nil {
		t.Fatal(err)
	}
	w := r.request(t, "POST", "/v1/proposals", string(body))
	return w.Code, w.Body.String()
}

// TestProposalsAreBounded: in number, also of those that are decided, and in size. What is as large as it may be is taken.
func TestProposalsAreBounded(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Graphs, o.StateDir = &fakeGraphs{}, t.TempDir() })
	for _, c := range []struct {
		document, reason string
		code             int
		want             string
	}{
		{strings.Repeat("\x01", maxProposed), strings.Repeat("r", maxWords), 200, `"bytes":262144`}, // the longest in JSON
		{strings.Repeat("#", maxProposed+1), "r", 400, "longer than the maximum of 262144 bytes"},
		{"a: 1", strings.Repeat("r", maxWords+1), 400, "longer than the maximum of 1024 bytes"},
		{"a: 1", "", 400, "there is no reason"},
		{"", "r", 400, "there is no document"},
		{"a\x00", "r", 400, "there is no document"},
	} {
		if code, text := propose(t, r, c.document, c.reason); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%d bytes for %d bytes: %d %s", len(c.document), len(c.reason), code, text)
		}
	}
	for i := range maxProposals - 1 {
		if code, text := propose(t, r, fmt.Sprint("# ", i), "r"); code != 200 {
			t.Fatalf("%d: %d %s", i, code, text)
		}
	}
	if code, text := propose(t, r, "# one more", "r"); code != http.StatusConflict || !strings.Contains(text, "32 proposals wait already") {
		t.Errorf("%d %s", code, text)
	}
	for id := 1; id <= maxProposals+5; id++ {
		if w := r.request(t, "POST", fmt.Sprintf("/v1/proposals/%d/reject", id), `{}`); w.Code != 200 {
			t.Fatalf("%d: %d %s", id, w.Code, w.Body)
		}
		if code, text := propose(t, r, fmt.Sprint("# again ", id), "r"); code != 200 {
			t.Fatalf("%d: %d %s", id, code, text)
		}
	}
	list := into[Proposals](t, r, "/v1/proposals").Proposals
	if len(list) != 2*maxProposals || list[0].ID != 6 || list[0].State != ProposalRejected {
		t.Errorf("%d are left, the first is %+v", len(list), list[0])
	}
}

// TestProposalsExpire: one that nobody decides about leaves after 30 days. A decided one stays, and no number is given twice.
func TestProposalsExpire(t *testing.T) {
	c := &setClock{now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	r := newRig(t, func(o *Options) { o.Graphs, o.StateDir, o.Clock = &fakeGraphs{}, t.TempDir(), c })
	for i := range 2 {
		if code, text := propose(t, r, fmt.Sprint("# ", i), "r"); code != 200 {
			t.Fatalf("%d %s", code, text)
		}
	}
	if w := r.request(t, "POST", "/v1/proposals/1/reject", `{}`); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, step := range []struct {
		more time.Duration
		left int
	}{{30 * 24 * time.Hour, 2}, {time.Second, 1}} {
		c.now = c.now.Add(step.more)
		if list := into[Proposals](t, r, "/v1/proposals").Proposals; len(list) != step.left || list[0].ID != 1 {
			t.Errorf("after %s more there are %+v", step.more, list)
		}
	}
	if w := r.request(t, "POST", "/v1/proposals/2/approve", `{"digest":"x"}`); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if code, text := propose(t, r, "# 1", "r"); code != 200 || !strings.Contains(text, `"id":3`) {
		t.Errorf("%d %s", code, text)
	}
}

// TestDamagedProposals: a damaged file is said and kept, each one under a name of its own, and the daemon takes proposals.
func TestDamagedProposals(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "proposals.json")
	for n, damage := range []string{"", `{"last":7,"list":[{"id":7`, `{"last":7,"list":{}}`, "\x00\x00\x00"} {
		if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, func(o *Options) { o.Graphs, o.StateDir = &fakeGraphs{}, dir })
		if list := into[Proposals](t, r, "/v1/proposals").Proposals; len(list) != 0 {
			t.Errorf("%q: %+v", damage, list)
		}
		aside := fmt.Sprintf("%s.damaged-%d", path, n+1)
		if kept, err := os.ReadFile(aside); err != nil || string(kept) != damage {
			t.Errorf("%q is kept as %q, %v", damage, kept, err)
		}
		if log := r.log.String(); strings.Count(log, "the file of proposals is damaged and was set aside") != 1 || !strings.Contains(log, aside) {
			t.Errorf("%q: it logs %s", damage, log)
		}
		if code, text := propose(t, r, "# 1", "r"); code != 200 {
			t.Errorf("%q: %d %s", damage, code, text)
		}
	}
	// What can't be read at all may be whole, so it is left where it is.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *Options) { o.Graphs, o.StateDir = &fakeGraphs{}, dir })
	if w := r.get(t, "/v1/proposals"); w.Code != 500 || !strings.Contains(w.Body.String(), path) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
