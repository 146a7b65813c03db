package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

// shaky is a transport whose answers are cut after some bytes, and which reaches no server now and then.
type shaky struct {
	to    http.RoundTripper
	mu    sync.Mutex
	bytes []int // of each answer; negative where no server is reached; an answer behind the last is whole
	asked []string
}

var errNoServer = errors.New("no server is there")

// RoundTrip implements http.RoundTripper.
func (s *shaky) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Header.Get("Last-Event-ID"))
	n := -1
	if len(s.bytes) == 0 {
		return s.to.RoundTrip(r)
	}
	if n, s.bytes = s.bytes[0], s.bytes[1:]; n < 0 {
		return nil, errNoServer
	}
	resp, err := s.to.RoundTrip(r)
	if err == nil {
		resp.Body = cut{io.LimitReader(resp.Body, int64(n)), resp.Body}
	}
	return resp, err
}

type cut struct {
	io.Reader
	io.Closer
}

// TestFollow: a watch that is cut at each byte, and whose server is away for a while, tells each change once and none twice.
func TestFollow(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	since := r.want(t, 201, "POST", ports, `{"id": "0", "mac": "m"}`).header.Get("ETag")
	want := []string{}
	for i := range 3 {
		r.want(t, 200, "POST", "/v1/api:txn", fmt.Sprintf(`{"operations": [
			{"op": "create", "table": "port", "object": {"id": "%d-a", "mac": "m"}},
			{"op": "create", "table": "port", "object": {"id": "%d-b", "mac": "m"}}]}`, i, i))
		want = append(want, fmt.Sprintf("%d-a", i), fmt.Sprintf("%d-b", i))
	}
	for n := 0; n < 900; n += 7 {
		tr := &shaky{to: r.client.Transport, bytes: []int{n, -1, n / 2, n}}
		var got []string
		losses := 0
		query := url.Values{"since": {strings.Trim(since, `"`)}}
		for c, err := range (&api.Client{HTTP: tr}).Watch(t.Context(), query, hasty{}, func(err error) {
			if err != nil {
				losses++
			}
		}) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Action == "create" {
				got = append(got, c.ID)
			}
			if len(got) == len(want) {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("cut after %d bytes: %q", n, got)
		}
		if len(tr.bytes) == 0 && losses != len(tr.asked)-2 {
			t.Fatalf("cut after %d bytes: %d losses were told at %d tries, one of which has met no server", n, losses, len(tr.asked))
		}
	}
}

// TestFollowFromTheBeginning: objects that were told before the cut come again, and a relist says so.
func TestFollowFromTheBeginning(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	for i := range 3 {
		r.want(t, 201, "POST", ports, fmt.Sprintf(`{"id": "%d", "mac": "m"}`, i))
	}
	tr := &shaky{to: r.client.Transport, bytes: []int{300}}
	var got []string
	for c, err := range (&api.Client{HTTP: tr}).Watch(t.Context(), nil, hasty{}, func(error) {}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(c.Action+" "+c.ID))
		if c.Action == "synced" {
			break
		}
	}
	whole := "object 0 object 1 object 2 synced"
	if text := strings.Join(got, " "); !strings.HasSuffix(text, " relist "+whole) || !strings.HasPrefix(text, "object 0 ") {
		t.Errorf("%s", text)
	}
}

// TestFollowEnds: a server that is not there at the first try, and one that refuses, end the watch.
func TestFollowEnds(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	for what, c := range map[string]struct {
		bytes []int
		table string
		want  func(error) bool
	}{
		"away":    {[]int{-1}, "port", func(err error) bool { return errors.Is(err, errNoServer) }},
		"unknown": {nil, "prot", func(err error) bool { p, ok := errors.AsType[*httpd.Problem](err); return ok && p.Status == 404 }},
	} {
		tr := &shaky{to: r.client.Transport, bytes: c.bytes}
		var last error
		for _, err := range (&api.Client{HTTP: tr}).Watch(t.Context(), url.Values{"table": {c.table}}, hasty{}, func(error) {}) {
			last = err
		}
		if !c.want(last) || len(tr.asked) != 1 {
			t.Errorf("%s: %v after %d tries", what, last, len(tr.asked))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	for c, err := range (&api.Client{HTTP: r.client.Transport}).Watch(ctx, nil, hasty{}, func(error) {}) {
		if err != nil {
			t.Error(err)
		}
		if c.Action == "synced" {
			cancel()
		}
	}
	cancel()
}

// hasty is a clock whose waits end at once.
type hasty struct{ clock.System }

// AfterFunc implements clock.Clock.
func (h hasty) AfterFunc(_ time.Duration, f func()) func() bool { return h.System.AfterFunc(0, f) }
