package httpd

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestBefore: what looks at a request before its route has the last word, and may set headers also of refusals. A person whom a server in front
// has named is admitted behind it, and holds nothing of the machine.
func TestBefore(t *testing.T) {
	var peer Peer
	inner := &Server{Table: MustTable(Info{}, []Route{{Method: "GET", Pattern: "/v1/who", Summary: "Who.", Serve: func(_ http.ResponseWriter, r *http.Request) (any, error) {
		peer, _ = PeerOf(r.Context())
		return struct{}{}, nil
	}}})}
	s := &Server{
		Table: MustTable(Info{}, []Route{{Method: "GET", Pattern: "/", Public: true, Summary: "Who.", Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
			r2 := r.Clone(As(r.Context(), "ada"))
			r2.URL.Path, r2.RequestURI = "/v1/who", "/v1/who"
			inner.ServeHTTP(w, r2)
			return nil, nil
		}}}),
		Before: func(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
			w.Header().Set("X-Guard", "yes")
			if r.Host == "evil" {
				return r, NewProblem(http.StatusForbidden, "no")
			}
			return r, nil
		},
	}
	for host, want := range map[string]int{"evil": 403, "good": 200} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != want || w.Header().Get("X-Guard") != "yes" {
			t.Errorf("%s: %d %v", host, w.Code, w.Header())
		}
	}
	if peer.String() != "ada" || peer.Owner() || peer.In(0) {
		t.Errorf("the peer is %+v", peer)
	}
	for _, path := range []string{"//", "/./", "/../"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://good"+path, http.NoBody)
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
