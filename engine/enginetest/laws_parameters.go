package enginetest

import (
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// lawParameters: Init, CheckApply and Cleanup alter no parameter. The graph owns the parameters: the
// engine compares them with those of the next graph, and assigns received values.
func lawParameters(e *env) error {
	dir, err := e.dir()
	if err != nil {
		return err
	}
	res, err := e.make(dir)
	if err != nil {
		return err
	}
	before, err := parameters(res)
	if err != nil {
		return err
	}
	r, err := e.rigOf(res, dir, e.machine())
	if err != nil {
		return err
	}
	if err := before.same(res, "Init"); err != nil {
		return err
	}
	// The second apply finds all right, and takes another path through the resource.
	for _, apply := range []bool{false, true, true} {
		if _, _, err := r.run(apply); err != nil {
			return err
		}
		if err := before.same(res, fmt.Sprintf("CheckApply(%t)", apply)); err != nil {
			return err
		}
	}
	return errors.Join(r.close(), before.same(res, "Cleanup"))
}

// wanted is what the parameters of a resource were, by key, as text. Texts are
// compared, since a copy of the value could share parts with the resource.
type wanted map[string]string

// parameters returns the parameters of a resource except its read-only ones.
func parameters(res engine.Res) (wanted, error) {
	t, _, err := fields(res)
	if err != nil {
		return nil, err
	}
	w := wanted{}
	for _, f := range t.Fields {
		if f.Role == schema.RoleReadOnly {
			continue
		}
		v, err := schema.Get(res, f.Key)
		if err != nil {
			return nil, err
		}
		w[f.Key] = dump(v)
	}
	return w, nil
}

// same says which parameters a method has altered. It shows no value: one may be a
// secret. The error says how to repair it. All altered parameters are named at once.
func (w wanted) same(res engine.Res, method string) error {
	now, err := parameters(res)
	if err != nil {
		return err
	}
	var errs []error
	for key, was := range w {
		if now[key] != was {
			errs = append(errs, fmt.Errorf("%s alters the parameter %s; keep a copy of it in a field of its own", method, key))
		}
	}
	return errors.Join(errs...)
}
