package enginetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// canary is what must never be seen again. It is long and odd enough that no other text
// holds it by chance.
const canary = "canary-7f3d1b"

// lawSecret: a secret parameter appears in no log, no error, no change and no text of
// the resource. The same holds for a plain parameter that was received from a secret.
// Only a change of the field that received it is an exception: the engine itself
// redacts it. Each parameter has a resource of its own, so that the error can name it.
func lawSecret(e *env) error {
	res, err := e.loose()
	if err != nil {
		return err
	}
	t, v, err := fields(res)
	if err != nil {
		return err
	}
	for _, f := range t.Fields {
		if f.Type.HoldsSecret() && plant(v.FieldByIndex(f.Index), f.Type) {
			if err := e.watchCanary(f, false); err != nil {
				return fmt.Errorf("secret in %s: %w", f.Key, err)
			}
		}
	}
	for _, key := range e.Received {
		f := t.Field(key)
		if f == nil {
			return fmt.Errorf("the suite's Received names %q, which is no parameter", key)
		}
		if err := e.watchCanary(f, true); err != nil {
			return fmt.Errorf("secret received in %s: %w", key, err)
		}
	}
	return nil
}

// plant puts the canary into the first place of a value that can hold a text. It makes
// a list or a map of one element where that is needed. It returns false for a value
// that cannot hold a text.
func plant(v reflect.Value, t *schema.Type) bool {
	switch {
	case !v.CanSet():
		return false
	case v.Type() == reflect.TypeFor[schema.Secret]():
		v.Set(reflect.ValueOf(schema.NewSecret(canary)))
	case v.Kind() == reflect.String:
		v.SetString(canary)
	case v.Kind() == reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if !plant(p.Elem(), t) {
			return false
		}
		v.Set(p)
	case v.Kind() == reflect.Slice && t.Kind == schema.KindList:
		list := reflect.MakeSlice(v.Type(), 1, 1)
		if !plant(list.Index(0), t.Elem) {
			return false
		}
		v.Set(list)
	case v.Kind() == reflect.Map && t.Kind == schema.KindMap:
		elem := reflect.New(v.Type().Elem()).Elem()
		if !plant(elem, t.Elem) {
			return false
		}
		m := reflect.MakeMap(v.Type())
		m.SetMapIndex(reflect.ValueOf("CANARY").Convert(v.Type().Key()), elem)
		v.Set(m)
	case t.Kind == schema.KindStruct:
		return plantStruct(v, t)
	default:
		return false
	}
	return true
}

// plantStruct plants into the first field that can hold a secret.
func plantStruct(v reflect.Value, t *schema.Type) bool {
	for _, f := range t.Fields {
		if f.Type.HoldsSecret() && plant(v.FieldByIndex(f.Index), f.Type) {
			return true
		}
	}
	return false
}

// watchCanary plants the canary into a parameter, runs the resource, and looks through
// all that it says. A resource may refuse the value, as long as the refusal does not
// quote it.
func (e *env) watchCanary(f *schema.Field, received bool) error {
	dir, err := e.dir()
	if err != nil {
		return err
	}
	res, err := e.make(dir)
	if err != nil {
		return err
	}
	if !plant(sideOf(res).FieldByIndex(f.Index), f.Type) {
		return fmt.Errorf("a %s cannot hold a text", f.Type)
	}
	if err := res.Validate(); err != nil {
		return seek("the error of Validate", err.Error()) // refused: nothing more can be seen
	}
	r, err := e.rigOf(res, dir, e.machine())
	if err != nil {
		return seek("the error", err.Error())
	}
	// The sender marks the value as a secret, as the engine does for a value that came
	// from one.
	if received {
		from := &engine.Send{Res: schema.Ref{Kind: "sender", Name: "x"}, Key: "x", Changed: true, Secret: true}
		r.fake.SetRecv(map[string]*engine.Send{f.Key: from})
		if rr, ok := engine.As[engine.RecvableRes](res); ok {
			rr.SetRecv(map[string]*engine.Send{f.Key: from})
		}
	}
	for _, apply := range []bool{false, true, true} {
		_, changes, err := r.run(apply)
		if err := r.heard(f, received, changes, err); err != nil {
			return err
		}
	}
	return r.close()
}

// heard looks for the secret in all that a run has said. A change is searched as text,
// in full, and as JSON.
func (r *rig) heard(f *schema.Field, received bool, changes []engine.Change, err error) error {
	if err != nil {
		if err := seek("the error of CheckApply", err.Error()); err != nil {
			return err
		}
	}
	for _, line := range r.fake.Logs() {
		if err := seek("the log", line); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if received && (c.Field == f.Key || strings.HasPrefix(c.Field, f.Key+".") || strings.HasPrefix(c.Field, f.Key+"[")) {
			continue
		}
		data, _ := json.Marshal(c)
		if err := seek("a Change", fmt.Sprintf("%v %+v %#v %s %s", c.From, c, c.To, c, data)); err != nil {
			return err
		}
	}
	return seek("String", r.res.String())
}

// seek looks for the secret in a text; its error shows the place and not the secret.
func seek(where, text string) error {
	if strings.Contains(text, canary) {
		return fmt.Errorf("%s shows it: %s", where, strings.ReplaceAll(text, canary, "<<the secret>>"))
	}
	return nil
}
