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

// TestRetryAndResumeAreTold: the history has who has asked for a new try or the end of a pause, and the reason; a long reason is refused.
func TestRetryAndResumeAreTold(t *testing.T) {
	for _, c := range []struct {
		path, body string
		told       Outcome
	}{
		{"/v1/retry", `{"reason":"mended"}`, TriedAgain},
		{"/v1/resume", `{"resource":"print[all]","reason":"mended"}`, Resumed},
	} {
		r := newRig(t)
		if w := r.request(t, "POST", c.path, strings.Replace(c.body, "mended", strings.Repeat("x", 1001), 1)); w.Code != 400 {
			t.Errorf("%s with a long reason: %d %s", c.path, w.Code, w.Body)
		}
		if w := r.request(t, "POST", c.path, c.body); w.Code != 200 {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
		var log Log
		if err := json.Unmarshal(r.get(t, "/v1/log?outcome="+string(c.told)).Body.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		if len(log.Events) != 1 || log.Events[0].Resource == "" || log.Events[0].Reason != "mended" {
			t.Errorf("%s: the log has %+v", c.path, log.Events)
		}
	}
}

// TestLogin: a link is made for who asks, if there is a page.
func TestLogin(t *testing.T) {
	r := newRig(t)
	if w := r.request(t, "POST", "/v1/login", `{}`); w.Code != 404 || !strings.Contains(w.Body.String(), "--web") {
		t.Errorf("without a page: %d %s", w.Code, w.Body)
	}
	r.opt.Login = func(who string, readOnly bool) (*Login, error) {
		return &Login{URL: "http://127.0.0.1/#login=x", By: who, ReadOnly: readOnly}, nil
	}
	if w := r.request(t, "POST", "/v1/login", `{"read_only":true}`); w.Code != 200 || !strings.Contains(w.Body.String(), `"read_only":true`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
