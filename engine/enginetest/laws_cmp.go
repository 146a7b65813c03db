package enginetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

// lawCmp: Cmp finds equal resources equal, tells different ones apart, gives the same
// answer from both sides, and alters neither. The engine keeps a running vertex where
// Cmp says equal. So a Cmp that overlooks a parameter loses an edit. A Cmp that differs
// for nothing restarts the vertex at each swap.
func lawCmp(e *env) error {
	dir, err := e.dir()
	if err != nil {
		return err
	}
	a, err := e.make(dir)
	if err != nil {
		return err
	}
	b, err := e.make(dir)
	if err != nil {
		return err
	}
	for _, pair := range [][2]engine.Res{{a, a}, {a, b}, {b, a}} {
		if err := pure("Cmp", func() error { return pair[0].Cmp(pair[1]) }, pair[:]...); err != nil {
			return fmt.Errorf("equal resources told apart by Cmp: %w", err)
		}
	}
	if err := e.cmpStranger(a); err != nil {
		return err
	}
	others, err := e.variants(dir)
	if err != nil {
		return err
	}
	// Each pair of variants is compared once; apart asks in both directions.
	for i, v := range others {
		for _, o := range append([]variant{{"the resource of New", a}}, others[:i]...) {
			if err := apart(v, o); err != nil {
				return err
			}
		}
	}
	return e.cmpFields(dir, a)
}

// variant is a resource with the name that errors give it.
type variant struct {
	name string
	res  engine.Res
}

// variants makes one resource for each declared difference. The variants come in the
// order of their names.
func (e *env) variants(dir string) ([]variant, error) {
	var vs []variant
	for _, name := range slices.Sorted(maps.Keys(e.Variants)) {
		res, err := e.make(dir)
		if err != nil {
			return nil, err
		}
		e.Variants[name](res)
		vs = append(vs, variant{"variant " + name, res})
	}
	return vs, nil
}

// apart checks that Cmp differs in both directions. Cmp is asked for an error only; its
// words are for users and may differ.
func apart(v, o variant) error {
	for _, pair := range [][2]variant{{v, o}, {o, v}} {
		var got error
		err := pure("Cmp", func() error { got = pair[0].res.Cmp(pair[1].res); return nil }, pair[0].res, pair[1].res)
		switch {
		case err != nil:
			return err
		case got == nil:
			return fmt.Errorf("not told apart by Cmp: %s, and %s", pair[0].name, pair[1].name)
		}
	}
	return nil
}

// stranger is a resource of another kind. It embeds no real resource, so every method
// but those below would panic. Cmp must look at the kind before anything else.
type stranger struct {
	traits.Base
	engine.Res
}

func (s *stranger) Kind() string                       { return s.Base.Kind() }
func (s *stranger) SetKind(k string)                   { s.Base.SetKind(k) }
func (s *stranger) Name() string                       { return s.Base.Name() }
func (s *stranger) SetName(n string)                   { s.Base.SetName(n) }
func (s *stranger) MetaParams() *engine.MetaParams     { return s.Base.MetaParams() }
func (s *stranger) SetMetaParams(m *engine.MetaParams) { s.Base.SetMetaParams(m) }
func (s *stranger) String() string                     { return s.Base.String() }

// cmpStranger compares with a resource of another kind, which must be an error and no
// panic.
func (e *env) cmpStranger(a engine.Res) error {
	s := &stranger{}
	s.SetKind("stranger")
	s.SetName(a.Name())
	var got error
	if err := guard("Cmp with another kind", func() error { got = a.Cmp(s); return nil }); err != nil {
		return err
	}
	if got == nil {
		return errors.New("not told apart by Cmp: a resource of another kind")
	}
	return nil
}

// cmpFields alters one parameter after the other, and expects Cmp to see it. A
// read-only parameter is left out, since no graph can set it. So is one for which the
// suite's CmpIgnores has a reason.
func (e *env) cmpFields(dir string, a engine.Res) error {
	t, v, err := fields(a)
	if err != nil {
		return err
	}
	for _, f := range t.Fields {
		if f.Role == schema.RoleReadOnly || slices.Contains(e.CmpIgnores, f.Key) {
			continue
		}
		b, err := e.make(dir)
		if err != nil {
			return err
		}
		field := sideOf(b).FieldByIndex(f.Index)
		// A type that mutate cannot change is skipped: its differences need a variant
		// of the suite.
		if !field.CanSet() || !mutate(field, f.Type) || schema.Equal(field.Interface(), v.FieldByIndex(f.Index).Interface()) {
			continue
		}
		if err := apart(variant{"one with another " + f.Key, b}, variant{"the resource of New", a}); err != nil {
			return err
		}
	}
	return nil
}
