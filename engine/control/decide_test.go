package control

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDecide: the decision of a person is told by name in the history, and another change than the one that waits is a conflict.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		body string
		code int
		want string // in the answer
		told Outcome
	}{
		{`{"approve":true,"changes":[{"resource":"print[all]","digest":"d1"}],"reason":"ticket"}`, 200, `"print[all]"`, Approved},
		{`{"approve":false,"changes":[{"resource":"print[all]","digest":"d1"}],"reason":"ticket"}`, 200, `"print[all]"`, Rejected},
		{`{"approve":true,"changes":[{"resource":"print[all]","digest":"d0"}]}`, 409, "look at it again", ""},
		{`{"approve":true,"changes":[{"resource":"print[none]","digest":"d1"}]}`, 404, "print[none]", ""},
		{`{"approve":true,"changes":[]}`, 400, "names no changes", ""},
		{`{"approve":true,"changes":[{"resource":"print[all]","digest":"d1"}],"reason":"` + strings.Repeat("x", 1001) + `"}`, 400, "1001 bytes", ""},
		{`{"changes":[{"resource":"print[all]","sum":"d1"}]}`, 400, "sum", ""},
	} {
		r := newRig(t)
		w := r.request(t, "POST", "/v1/decide", c.body)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s, want %d with %q", c.body, w.Code, w.Body, c.code, c.want)
		}
		var told Outcome
		var log Log
		if err := json.Unmarshal(r.get(t, "/v1/log?resource=print[all]").Body.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		for _, e := range log.Events {
			told = e.Outcome
			if e.Reason != "ticket" {
				t.Errorf("%s: the history has %+v", c.body, e)
			}
		}
		if told != c.told {
			t.Errorf("%s: told is %q, want %q", c.body, told, c.told)
		}
	}
}
