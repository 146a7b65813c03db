package native

import (
	"context"
	"errors"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/gapi"
)

// Accepting returns Options.Accept for objects that other hosts may write. It takes out the metaparameters that do not count. Its
// error says why the host does not take the object over. nil rules are the default.
func Accepting(kinds func() *engine.Registry, rules *lend.Rules) func(*gapi.Declaration) error {
	return func(d *gapi.Declaration) error {
		t, err := rules.Judge(kinds(), lend.Foreign{Kind: d.Kind, Name: d.Name, Value: d.Value, Meta: d.Meta, Wiring: wiring(d)})
		if err == nil {
			d.Value, d.Meta = t.Value, t.Meta
		}
		return err
	}
}

// wiring returns the keys of a declaration that tie it to other resources.
func wiring(d *gapi.Declaration) (keys []string) {
	if len(d.Recv) > 0 {
		keys = append(keys, "recv")
	}
	for _, key := range model.Edges {
		if len(*edges(d, key)) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// AdmitRemote is for model.NB.Guarded, where clients of other machines write: they may make, alter and remove the objects that this host takes
// over from others, and those of models that are no kinds.
func AdmitRemote(kinds func() *engine.Registry, rules *lend.Rules) func(context.Context, *model.Tx, []model.Altered) error {
	accept := Accepting(kinds, rules)
	judge := func(o *model.Object) error {
		if o == nil || o.Model().Kind() == "" {
			return nil
		}
		d, err := Declaration(o)
		if err != nil {
			return nil // Admission tells of it
		}
		given := d.Meta
		if err := accept(d); err != nil {
			return fault(o, "id", "a client of another machine may not write it: "+err.Error(), "")
		}
		if given != nil && (d.Meta == nil || len(given.Pairs) > len(d.Meta.Pairs)) {
			return fault(o, "meta", "a client of another machine may give only "+strings.Join(lend.Metas, ", ")+" of the metaparameters", "")
		}
		return nil
	}
	return func(_ context.Context, _ *model.Tx, changes []model.Altered) error {
		var errs []error
		for _, c := range changes {
			err := judge(c.Now)
			if err == nil {
				err = judge(c.Was) // else it could take away, or take over, what the operator has written
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
}
