package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// Error is the body of an answer that is none. The daemon writes it as problem+json,
// with more members: see httpd.Problem.
// A Client returns it too, with the status of the answer.
type Error struct {
	Status int    `json:"-"`
	Text   string `json:"error"`
	Hint   string `json:"hint,omitempty"` // the way to go on
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Text
	}
	return e.Text + ", " + e.Hint
}

// bad returns the error of a request that asks for nothing there could be.
func bad(hint, format string, args ...any) error {
	return &Error{http.StatusBadRequest, fmt.Sprintf(format, args...), hint}
}

// problem is what a client is told of an error. The member error is as old as the API,
// and says what detail says.
func problem(err error) *httpd.Problem {
	p := httpd.AsProblem(known(err))
	if p.More == nil {
		p.More = map[string]any{}
	}
	p.More["error"] = p.Detail
	return p
}

// known puts the words of this API on errors that it has a word for.
// An error that it does not know stays as it is, and httpd answers it as a failure of the
// server.
func known(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &httpd.Problem{Status: e.Status, Detail: e.Text, Hint: e.Hint}
	}
	if _, ok := errors.AsType[*httpd.Problem](err); ok {
		return err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &httpd.Problem{Status: http.StatusGatewayTimeout, Detail: "the engine did not answer in time", Hint: "look at GET /v1/dump"}
	case errors.Is(err, reactor.ErrStopped), errors.Is(err, context.Canceled):
		return &httpd.Problem{Status: http.StatusServiceUnavailable, Detail: reactor.ErrStopped.Error(), Hint: "start it again"}
	default:
		return err
	}
}

// text returns a document that is not JSON as an answer.
func text(kind string, body []byte) *httpd.Answer { return &httpd.Answer{Type: kind, Body: body} }
