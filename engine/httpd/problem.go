package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// ProblemType is the media type of every error.
const ProblemType = "application/problem+json"

// Problem is an error as RFC 9457 writes it. As an error its text is the detail and
// the hint.
type Problem struct {
	Status int       `json:"status"`
	Title  string    `json:"title"`            // the name of the status
	Detail string    `json:"detail"`           // what is wrong
	Hint   string    `json:"hint,omitempty"`   // how to proceed
	Errors []Finding `json:"errors,omitempty"` // what is wrong with a document, all of it

	Header http.Header    `json:"-"` // more headers of the answer; nil for none
	More   map[string]any `json:"-"` // more members of the document; nil for none
	Cause  error          `json:"-"` // what Unwrap returns
}

// Finding is one place of a document that is wrong.
type Finding struct {
	Detail  string `json:"detail"`
	Hint    string `json:"hint,omitempty"`
	Field   string `json:"field,omitempty"` // the path of the field: a.b[2]
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`   // from 1 on
	Column  int    `json:"column,omitempty"` // in characters, from 1 on
	Warning bool   `json:"warning,omitempty"`
}

// NewProblem returns a problem without a hint.
func NewProblem(status int, format string, args ...any) *Problem {
	return &Problem{Status: status, Detail: fmt.Sprintf(format, args...)}
}

// WithHint sets the hint and returns p.
func (p *Problem) WithHint(hint string) *Problem {
	p.Hint = hint
	return p
}

// with sets a header and returns p.
func (p *Problem) with(key, value string) *Problem {
	if p.Header == nil {
		p.Header = http.Header{}
	}
	p.Header.Set(key, value)
	return p
}

func (p *Problem) Error() string {
	if p.Hint == "" {
		return p.Detail
	}
	return p.Detail + ", " + p.Hint
}

// Unwrap returns the cause, or nil.
func (p *Problem) Unwrap() error { return p.Cause }

// MarshalJSON writes the members, and those of More.
func (p *Problem) MarshalJSON() ([]byte, error) {
	type plain Problem
	doc := plain(*p)
	if doc.Title == "" {
		doc.Title = http.StatusText(p.Status)
	}
	text, err := json.Marshal(&doc)
	if err != nil || len(p.More) == 0 {
		return text, err
	}
	more, err := json.Marshal(p.More)
	if err != nil {
		return nil, err
	}
	return append(append(text[:len(text)-1], ','), more[1:]...), nil
}

// AsProblem returns an error as the problem that a client is told: a *Problem as it
// is, findings about a document as 422, the end of the time as 504, the end of the
// server as 503, a body that is too long as 413, and any other error as 500.
func AsProblem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		return wrong(ds)
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(e.Limit)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &Problem{Status: http.StatusGatewayTimeout, Detail: "there was no answer in time", Hint: "ask again later", Cause: err}
	case errors.Is(err, context.Canceled):
		return &Problem{Status: http.StatusServiceUnavailable, Detail: "the server ends", Hint: "ask again when it is back", Cause: err}
	default:
		return &Problem{Status: http.StatusInternalServerError, Detail: err.Error(), Cause: err}
	}
}

func tooLarge(limit int64) *Problem {
	return NewProblem(http.StatusRequestEntityTooLarge, "the body is too large").WithHint(fmt.Sprintf("%d bytes are the most", limit))
}

// wrong returns the problem of a document with such findings.
func wrong(ds schema.Diagnostics) *Problem {
	p := &Problem{Status: http.StatusUnprocessableEntity, Cause: ds}
	var texts []string
	for i := range ds {
		p.Errors = append(p.Errors, findingOf(&ds[i]))
		if ds[i].Severity == schema.Error {
			texts = append(texts, ds[i].Message)
		}
	}
	p.Detail = strings.Join(texts, "; ")
	if len(ds) > 0 {
		p.Hint = meant(ds[0].Suggestion)
	}
	return p
}

func findingOf(d *schema.Diagnostic) Finding {
	return Finding{
		Detail: d.Message, Hint: meant(d.Suggestion), Field: d.Path, Warning: d.Severity != schema.Error,
		File: d.Pos.File, Line: int(d.Pos.Line), Column: int(d.Pos.Col),
	}
}

// DidYouMean asks whether one of some words was meant, or returns "".
func DidYouMean(word string, candidates []string) string {
	return meant(schema.Nearest(word, candidates))
}

func meant(word string) string {
	if word == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", word)
}
