package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// forgetful is a World that forgets a revision while a list of it is read.
type forgetful struct {
	world.World
	pages int // so many pages of records are answered
	times int // so many lists are cut
}

func (w *forgetful) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if strings.HasPrefix(prefix, "m/") && o.At != 0 && o.After != "" && w.times > 0 {
		if w.pages--; w.pages < 0 {
			w.times--
			return world.Page{}, fmt.Errorf("list at revision %d: %w", o.At, world.ErrCompacted)
		}
	}
	return w.World.List(ctx, prefix, o)
}

// TestListIsCutByCompaction: a list whose revision is forgotten half-way never looks like a whole one. The answer is 410 with a way on where nothing
// was sent yet, and else the connection is cut.
func TestListIsCutByCompaction(t *testing.T) {
	for _, path := range []string{"/v1/api/port", "/v1/api/port?limit=1000", "/v1/api/port?vlan=4095", "/v1/api:dump", "/v1/api:check", "/v1/api/port?index=mac&mac=x"} {
		w := &forgetful{World: memory.New()}
		r := newRigOn(t, w, api.Options{}, port(t))
		r.fill(t, 3500)
		w.pages, w.times = 1, 1
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://mgmt"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		whole := err == nil && (json.Valid(text) || path == "/v1/api:dump" && strings.Contains(string(text), `"end"`))
		if w.times == 0 && resp.StatusCode == 200 && whole {
			t.Errorf("%s: %d bytes look like all: ...%s", path, len(text), text[max(0, len(text)-80):])
		}
		if resp.StatusCode != 200 && resp.StatusCode != http.StatusGone {
			t.Errorf("%s: %d %.200s", path, resp.StatusCode, text)
		}
	}
}

// TestWatchIsCutByCompaction: a watch whose first list is forgotten half-way says so, and tells all objects anew in the same answer. A busy store
// would else cut a slow reader again and again.
func TestWatchIsCutByCompaction(t *testing.T) {
	w := &forgetful{World: memory.New()}
	r := newRigOn(t, w, api.Options{}, port(t))
	const all = 2500
	r.fill(t, all)
	w.pages, w.times = 1, 1
	s := r.watch(t, "", "")
	cut := 0
	for e := s.next(); e.name != "relist"; e = s.next() {
		if cut++; e.name != "object" || cut == all {
			t.Fatalf("%d: %s of %q", cut, e.name, e.data.ID)
		}
	}
	for i := range all {
		s.want("object", fmt.Sprintf("port-%06d", i))
	}
	s.want("synced", "")
	if w.times != 0 || cut == 0 {
		t.Error("nothing was cut:", cut)
	}
}

// damaged is a World whose file is damaged, or that is out of reach.
type damaged struct {
	world.World
	lasts bool
}

type fault struct{ lasts bool }

func (fault) Error() string   { return "a person has to look" }
func (f fault) Lasting() bool { return f.lasts }
func (w *damaged) Get(context.Context, string) (world.KV, error) {
	return world.KV{}, fmt.Errorf("%w: %w", world.ErrUnavailable, fault{w.lasts})
}

// TestLastingFault: a caller is told to try again only where that may help.
func TestLastingFault(t *testing.T) {
	for lasts, hint := range map[bool]string{true: "", false: "try again later"} {
		r := newRigOn(t, &damaged{memory.New(), lasts}, api.Options{}, port(t))
		if p := r.want(t, 503, "GET", ports+"/1", "").problem(t); p.Hint != hint || !strings.Contains(p.Detail, "a person has to look") {
			t.Errorf("lasts %t: %+v", lasts, p)
		}
	}
}

// TestContinueAsItCame: the header Continue may be put into the next query as it came, whatever characters the ids have. A client that escapes it gets the
// same page.
func TestContinueAsItCame(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	ids := []string{"50%", "a+b", "a b", "a&limit=1", "x#y", "ü/..", "%2F", "q?=;", "\"'", "."}
	for _, id := range ids {
		text, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		r.want(t, 201, "POST", ports, `{"id": `+string(text)+`, "mac": "m"}`)
	}
	for name, write := range map[string]func(string) string{"as it came": func(s string) string { return s }, "escaped": url.QueryEscape} {
		seen := map[string]int{}
		token := ""
		for range len(ids) + 1 {
			a := r.want(t, 200, "GET", ports+"?limit=1&continue="+write(token), "")
			for _, o := range a.value(t).([]any) {
				seen[o.(map[string]any)["id"].(string)]++
			}
			if token = a.header.Get("Continue"); token == "" {
				break
			}
		}
		for _, id := range ids {
			if seen[id] != 1 {
				t.Errorf("%s: %q comes %d times", name, id, seen[id])
			}
		}
	}
	r.want(t, 400, "GET", ports+"?continue=%21", "")
}

// TestContinueOfNoPage: a header Continue that no page had is the caller's fault. It does not begin the list anew, which a client would read for ever.
func TestContinueOfNoPage(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	r.want(t, 201, "POST", ports, `{"id": "a", "mac": "m"}`)
	for _, token := range []string{"zzz", "_w", "%FF", "a=b", "YQ=="} { // no UTF-8, no base64, with padding
		if p := r.want(t, 400, "GET", ports+"?limit=1&continue="+token, "").problem(t); !strings.Contains(p.Detail, "continue") || p.Hint == "" {
			t.Errorf("%s: %+v", token, p)
		}
	}
}
