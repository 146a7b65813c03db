package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// statuses are those of the classes of errors; a class that is absent is about the store.
var statuses = map[model.Code]int{
	model.UnknownModel:  http.StatusNotFound,
	model.NotFound:      http.StatusNotFound,
	model.UnknownCall:   http.StatusNotFound,
	model.UnknownIndex:  http.StatusBadRequest,
	model.UnknownField:  http.StatusUnprocessableEntity,
	model.Validation:    http.StatusUnprocessableEntity,
	model.BadValue:      http.StatusUnprocessableEntity,
	model.BadReference:  http.StatusUnprocessableEntity,
	model.RefNotFound:   http.StatusUnprocessableEntity,
	model.HookFailed:    http.StatusUnprocessableEntity,
	model.SecretRefused: http.StatusUnprocessableEntity,
	model.ReadOnly:      http.StatusMethodNotAllowed,
	model.Exists:        http.StatusConflict,
	model.Conflict:      http.StatusConflict,
	model.Multiple:      http.StatusConflict,
}

// maxTexts is how many faults the text of an answer has. The list errors has all of them. A transaction may have thousands, and
// an answer has its text twice: as detail and as error.
const maxTexts = 10

// problem turns an error into the answer that the frame gives. The status is that of the first fault, unless another
// one is given for the faults of the caller.
// Errors of the frame stay as they are. All faults of an object come at once, in the order of the body.
func problem(err error, instead ...int) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*httpd.Problem](err); ok {
		return err
	}
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		return httpd.AsProblem(ds)
	}
	faults := model.Faults(err)
	if len(faults) == 0 || errors.Is(err, world.ErrUnavailable) || errors.Is(err, world.ErrClosed) {
		return storeProblem(err) // also where a hook has met it: the object has no fault that is known
	}
	status, ok := statuses[faults[0].Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	if ok && len(instead) > 0 {
		status = instead[0]
	}
	p := &httpd.Problem{Status: status, Cause: err, More: map[string]any{"code": faults[0].Code}}
	var texts []string
	for _, f := range faults {
		finding := findingOf(f)
		p.Errors = append(p.Errors, finding)
		texts = append(texts, finding.Detail)
	}
	if more := len(texts) - maxTexts; more > 0 {
		texts = append(texts[:maxTexts], fmt.Sprintf("and %d more faults, which errors has", more))
	}
	p.Detail, p.Hint = strings.Join(texts, "; "), p.Errors[0].Hint
	if status == http.StatusNotFound {
		named := *faults[0]
		named.Suggestion = "" // which is the hint
		p.Detail = named.Error()
	}
	return p
}

// findingOf returns a fault with its place. The object is that of the request, so its name is not repeated.
func findingOf(f *model.Error) httpd.Finding {
	out := httpd.Finding{Detail: f.Message, Field: f.Field, Line: int(f.Pos.Line), Column: int(f.Pos.Col)}
	if f.Message == "" {
		out.Detail = string(f.Code)
	}
	if f.Err != nil {
		out.Detail += ": " + f.Err.Error()
	}
	if f.Suggestion != "" {
		out.Hint = fmt.Sprintf("did you mean %q?", f.Suggestion)
	}
	return out
}

// lasting is an error of a store that no later try ends, such as a damaged file.
type lasting interface{ Lasting() bool }

// storeProblem returns the answer to an error of the store itself.
// A limit is the caller's fault and has the figure. A store that cannot be reached is not: the caller may try again.
func storeProblem(err error) error {
	if e, ok := errors.AsType[*world.LimitError](err); ok {
		return &httpd.Problem{Status: http.StatusRequestEntityTooLarge, Detail: e.Error(), Hint: "send less at once", Cause: err}
	}
	switch {
	case errors.Is(err, world.ErrCompacted):
		return &httpd.Problem{Status: http.StatusGone, Detail: err.Error(), Hint: "begin anew with the list", Cause: err}
	case errors.Is(err, world.ErrRefused):
		return &httpd.Problem{Status: http.StatusUnprocessableEntity, Detail: err.Error(), Cause: err}
	case errors.Is(err, world.ErrUnavailable), errors.Is(err, world.ErrClosed):
		p := &httpd.Problem{Status: http.StatusServiceUnavailable, Detail: err.Error(), Hint: "try again later", Cause: err}
		if l := lasting(nil); errors.As(err, &l) && l.Lasting() {
			p.Hint = "" // the error itself says what a person has to do
		}
		return p
	}
	return err
}
