package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// postObject answers 201 with the place of the new object. A dry run has made none, so its answer is 200 without a place.
func (a *API) postObject(_ http.ResponseWriter, r *http.Request) (any, error) {
	o, dry, err := a.one(r, create, "")
	if err != nil {
		return nil, err
	}
	if dry {
		return answerOf(o, http.StatusOK)
	}
	answer, err := answerOf(o, http.StatusCreated)
	if err == nil {
		answer.Location = location(o)
	}
	return answer, err
}

// putTable merges fields into the object that the body names, putObject replaces that of the path, and patchObject merges
// as RFC 7396 says.
func (a *API) putTable(_ http.ResponseWriter, r *http.Request) (any, error) {
	return a.altered(r, update)
}

func (a *API) putObject(_ http.ResponseWriter, r *http.Request) (any, error) {
	return a.altered(r, replace)
}

func (a *API) patchObject(_ http.ResponseWriter, r *http.Request) (any, error) {
	return a.altered(r, patch)
}

// altered changes an object. The answer has the object where the writer wants it back, and after a dry run.
func (a *API) altered(r *http.Request, v verb) (any, error) {
	o, dry, err := a.one(r, v, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if dry || represented(r) {
		return answerOf(o, http.StatusOK)
	}
	return &httpd.Answer{Version: versionOf(o)}, nil
}

// deleteObject answers 204. The hosts undo the resource where its meta says so.
func (a *API) deleteObject(_ http.ResponseWriter, r *http.Request) (any, error) {
	thing, err := truth(r.URL.Query(), "remove")
	if err != nil {
		return nil, err
	}
	if dry, err := truth(r.URL.Query(), "dry_run"); err == nil && thing && !dry {
		return a.removeObject(r)
	}
	if _, _, err := a.one(r, remove, r.PathValue("id")); err != nil {
		return nil, err
	}
	return &httpd.Answer{}, nil
}

// postOperation answers with the object after the operation, since a caller seldom knows what that has made of it.
func (a *API) postOperation(_ http.ResponseWriter, r *http.Request) (any, error) {
	o, _, err := a.one(r, call, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return answerOf(o, http.StatusOK)
}

// one makes the one change that a request asks for.
// Its errors are answers of the frame. The object is that of the transaction, so its revision is that of the change,
// and not that of a later writer.
func (a *API) one(r *http.Request, v verb, id string) (o *model.Object, dry bool, err error) {
	m, err := a.model(r)
	if err != nil {
		return nil, false, err
	}
	op := &operation{verb: v, model: m, id: id, name: r.PathValue("operation"), check: conditions(r)}
	if op.body, err = body(r, v); err != nil {
		return nil, false, err
	}
	if v == update {
		op.id = idIn(op.body)
	}
	if dry, err = truth(r.URL.Query(), "dry_run"); err != nil {
		return nil, false, err
	}
	err = a.transact(r.Context(), dry, func(tx *model.Tx) error {
		o, err = op.do(tx)
		return err
	})
	return o, dry, problem(op.positioned(err))
}

// transact makes changes at once, or tries whether they could be made.
func (a *API) transact(ctx context.Context, dry bool, f func(*model.Tx) error) error {
	if dry {
		return a.nb.DryRun(ctx, f)
	}
	_, err := a.nb.Txn(ctx, f)
	return err
}

// body reads the JSON of a request. A call without arguments needs none.
// A body that is too long is refused by the frame before it is in memory.
func body(r *http.Request, v verb) (*schema.Node, error) {
	if v == remove || v == call && r.ContentLength == 0 {
		return nil, nil
	}
	text, err := httpd.ReadBody(r)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// idIn returns the id in the JSON of an object, or nothing.
func idIn(n *schema.Node) string {
	if id := n.Get("id"); id != nil && id.Kind == schema.NodeString {
		return id.Text
	}
	return ""
}

// conditions returns a function that compares the conditions of a request with an object, nil for none.
// A header that cannot be read names no version, so the change is refused and not made without the condition.
func conditions(r *http.Request) func(*model.Object) error {
	c, err := httpd.ConditionsOf(r)
	return func(o *model.Object) error {
		switch {
		case err != nil: // no version is written so
			return httpd.NewProblem(http.StatusPreconditionFailed, "the condition names no version").WithHint(`write the ETag as it came, in quotes: If-Match: "7"`)
		case o == nil:
			return c.Check("")
		}
		return c.Check(versionOf(o))
	}
}

// errorsAs returns an error as a problem.
func errorsAs(err error) *httpd.Problem {
	if p, ok := errors.AsType[*httpd.Problem](err); ok {
		return p
	}
	return httpd.AsProblem(err)
}
