package api_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

// endless is a daemon that answers with a head, and then with a unit for ever. It counts what was taken.
type endless struct {
	head, unit string
	taken      int
}

// RoundTrip implements http.RoundTripper.
func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	e.taken = 0
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(e), Request: r}, nil
}

// Read implements io.Reader.
func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		text := e.head
		if at := e.taken + n - len(e.head); at >= 0 {
			text = e.unit[at%len(e.unit):]
		} else {
			text = text[e.taken+n:]
		}
		n += copy(p[n:], text)
	}
	e.taken += n
	return n, nil
}

// TestFindingJ12Endless: a daemon whose answer has no end, or is made of objects that take far more memory than text, is given up. Streams may have any length.
func TestFindingJ12Endless(t *testing.T) {
	lines := func(e *endless, most int) (n int, err error) {
		for _, err := range api.Lines[any](t.Context(), &api.Client{HTTP: e}, api.Request{Path: "/x"}) {
			if n++; err != nil || n == most {
				return n, err
			}
		}
		return n, nil
	}
	list := func(e *endless, most int) (n int, err error) {
		for _, err := range (&api.Client{HTTP: e}).List(t.Context(), "x", nil) {
			if n++; err != nil || n == most {
				return n, err
			}
		}
		return n, nil
	}
	watch := func(e *endless, most int) (n int, err error) {
		tell := func(err error) { t.Errorf("%.20q: a loss was told: %v", e.unit, err) }
		for _, err := range (&api.Client{HTTP: e}).Watch(t.Context(), url.Values{}, clock.System{}, tell) {
			if n++; err != nil || n == most {
				return n, err
			}
		}
		return n, nil
	}
	ask := func(e *endless, _ int) (n int, err error) {
		_, err = (&api.Client{HTTP: e}).Ask(t.Context(), api.Request{Path: "/x"}, new(any))
		return 0, err
	}
	for _, c := range []struct {
		name       string
		do         func(*endless, int) (int, error)
		head, unit string
		most       int // of the bytes that are taken; 0 where the stream may go on
	}{
		{"text", ask, `"`, "x", httpd.MaxAnswer},
		{"objects", ask, "[", "{},", 4 << 20},
		{"line", lines, `"`, "x", httpd.MaxRecord},
		{"line of many lines", lines, "[", "{\n},\n", 6 << 20},
		{"lines", lines, "", "{\"a\": \"\\n\"}\n", 0},
		{"object", list, `[{"a": "`, "x", httpd.MaxRecord},
		{"list", list, "[", `{"a": "0123456789"},`, 0},
		{"message", watch, "data: ", "x", httpd.MaxRecord},
		{"no message", watch, "", "id: 1\n", httpd.MaxRecord},
		{"messages", watch, "", "id: 1\ndata: {\"action\": \"set\"}\n\n", 0},
		{"revision", watch, "", "data: {\"action\": \"" + strings.Repeat("x", 1<<20) + "\"}\n\n", httpd.MaxAnswer},
	} {
		e := &endless{head: c.head, unit: strings.Repeat(c.unit, max(1, 256<<10/len(c.unit)))}
		const enough = 20_000
		n, err := c.do(e, enough)
		long, ok := errors.AsType[*httpd.LongError](err)
		switch {
		case c.most == 0 && (err != nil || n != enough):
			t.Errorf("%s: %d came: %v", c.name, n, err)
		case c.most > 0 && (!ok || !strings.Contains(long.Error(), "ask for less")):
			t.Errorf("%s: got %v", c.name, err)
		case c.most > 0 && e.taken > 2*c.most:
			t.Errorf("%s: %d bytes were taken, want %d", c.name, e.taken, c.most)
		}
	}
}
