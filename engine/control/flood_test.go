package control

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/httpd"
)

// TestSilentFlood: two thousand connections on which nobody asks anything keep nobody out, nor do they
// cut a stream that lasts.
func TestSilentFlood(t *testing.T) {
	r := newRig(t)
	path, end := r.listen(t)
	_, in := raw(t, path, "GET /v1/events HTTP/1.1\nHost: x\n\n")
	eventually(t, "the stream", func() bool { return r.frame.Lasting() == 1 })
	for range 2000 {
		conn, err := httpd.Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if _, err := NewClient(path).Status(t.Context(), StatusQuery{}); err != nil {
		t.Error(err)
	}
	if line, err := in.ReadString('\n'); err != nil || r.frame.Lasting() != 1 {
		t.Errorf("the stream was cut: %q %v", line, err)
	}
	end()
}
