package control

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// sent notes which requests would reach the daemon, and sends none.
type sent []string

var errSent = errors.New("sent")

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	*s = append(*s, r.Method+" "+r.URL.Path)
	return nil, errSent
}

// TestAgentIsRefusedByDefault: of all routes of the API, a client for agents sends only what it lists, of which only POST /v1/proposals alters
// something. So a new route is refused until somebody lists it.
func TestAgentIsRefusedByDefault(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(described(), &doc); err != nil {
		t.Fatal(err)
	}
	got := &sent{}
	c := (&Client{http: http.Client{Transport: got}}).ForAgent()
	refused := 0
	for path, methods := range doc.Paths {
		for method := range methods {
			req, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), "http://mgmt"+strings.ReplaceAll(path, "{id}", "1"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := c.http.Do(req); err == nil {
				_ = resp.Body.Close()
				t.Errorf("%s %s is answered", method, path)
			} else if !errors.Is(err, errSent) {
				refused++
			}
		}
	}
	for _, r := range *got {
		if !strings.HasPrefix(r, "GET ") && r != "POST /v1/proposals" || strings.HasSuffix(r, "/review") {
			t.Errorf("an agent may send %s", r)
		}
	}
	for _, r := range agentMay {
		if !slices.Contains(*got, r) {
			t.Errorf("%s is listed for agents, and no route", r)
		}
	}
	if len(*got) != len(agentMay) || refused == 0 {
		t.Errorf("%d routes are sent and %d refused: %q", len(*got), refused, *got)
	}
}
