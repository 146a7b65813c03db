package control

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/httpd"
)

type releasing struct {
	Kept
	released int
}

func (k *releasing) Release(context.Context, ...string) (bool, error) {
	k.released++
	return true, nil
}

type someGraphs struct{ Graphs }

// TestResumeReleases: a resume by who may say what the graph is ends a rollback, too; that by anybody else leaves it.
func TestResumeReleases(t *testing.T) {
	k := &releasing{}
	r := newRig(t, func(o *Options) { o.Kept, o.Graphs = k, someGraphs{} })
	for _, body := range []string{`{}`, `{"resource": "noop[a]"}`} {
		req := httptest.NewRequestWithContext(httpd.As(t.Context(), "ada"), "POST", "http://mgmt/v1/resume", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		if r.ServeHTTP(httptest.NewRecorder(), req); k.released != 0 {
			t.Errorf("%s by a reader has ended the rollback", body)
		}
		k.released = 0
		if r.request(t, "POST", "/v1/resume", body); k.released != 1 {
			t.Errorf("%s by the owner has left the rollback", body)
		}
		k.released = 0
	}
}
