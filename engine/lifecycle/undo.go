package lifecycle

import (
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reversal"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Undo makes the resource that brings back the state of an image. It is of the kind and name of the reversal, valid, with the
// metaparameters of the old one as far as they make sense for a single run. noop says that it may only look. The function make
// returns an empty resource of a kind, as Registry.New does; Undo calls it for each resource that it needs.
func Undo(img *reversal.Image, rev *reversal.Reversal, make func(kind string) (engine.Res, error), noop bool) (undo engine.Res, err error) {
	err = Call("Reversed", func() (err error) {
		undo, err = undoOf(img, rev, make, noop)
		return err
	})
	if err != nil {
		return nil, err
	}
	return undo, nil
}

// undoOf is Undo without a guard.
func undoOf(img *reversal.Image, rev *reversal.Reversal, make func(kind string) (engine.Res, error), noop bool) (engine.Res, error) {
	declared, err := remake(make, rev, img.Declared)
	if err != nil {
		return nil, err
	}
	var was engine.Res
	if img.Was != nil {
		if was, err = remake(make, rev, img.Was); err != nil {
			return nil, err
		}
	}
	meta, err := undoMeta(img.Meta, noop)
	if err != nil {
		return nil, err
	}
	old, ok := engine.As[engine.ReversibleRes](declared)
	if !ok {
		return nil, fmt.Errorf("a %s can't be reversed", rev.Kind)
	}
	undo, err := old.Reversed(was)
	if err != nil {
		return nil, err
	}
	if isNil(undo) {
		return nil, errors.New("its Reversed has returned nothing")
	}
	if undo, err = Make(nil, Wanted{Kind: rev.Kind, Name: rev.Name, Ready: undo}, nil); err != nil {
		return nil, err
	}
	undo.SetMetaParams(meta)
	return undo, Validate(undo, nil)
}

// remake makes a resource of the parameters that were kept.
func remake(make func(kind string) (engine.Res, error), rev *reversal.Reversal, value map[string]any) (engine.Res, error) {
	empty, err := make(rev.Kind)
	if err != nil {
		return nil, err
	}
	return Make(nil, Wanted{Kind: rev.Kind, Name: rev.Name, Ready: empty}, func(res engine.Res) error {
		if err := fill(res, value); err != nil {
			return fmt.Errorf("what was kept of it does not fit the kind %s any more: %w", rev.Kind, err)
		}
		return nil
	})
}

// fill decodes plain values into a resource.
func fill(res engine.Res, value map[string]any) error {
	node, err := schema.NodeOf(value)
	if err != nil {
		return err
	}
	return schema.Decode(node, res).Err()
}

// undoMeta returns the metaparameters of an undoing resource.
func undoMeta(kept map[string]any, noop bool) (*engine.MetaParams, error) {
	m := new(engine.MetaParams)
	node, err := schema.NodeOf(kept)
	if err == nil {
		err = engine.DecodeMeta(node, m).Err()
	}
	if err != nil {
		return nil, fmt.Errorf("what was kept of its metaparameters does not fit any more: %w", err)
	}
	m.Reverse, m.Leaving, m.Realize, m.Hidden, m.Export, m.ExportFor = false, "", false, false, nil, 0
	m.AutoEdge, m.AutoGroup = new(false), new(false)
	if noop {
		m.Noop = new(true)
	}
	return m, nil
}
