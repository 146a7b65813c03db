package gapi

import (
	"errors"
	"reflect"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// kindInfo is what the builder needs to know of one kind.
type kindInfo struct {
	engine.Kind
	named     bool // it has a field name
	commented bool // it has a field comment
	refers    bool // a parameter may be a reference
	readOnly  []string
}

// goKind is how a ready resource is looked up: two of one kind may be of
// different Go types.
type goKind struct {
	name string
	t    reflect.Type
}

func newKindInfo(k engine.Kind) *kindInfo {
	info := &kindInfo{
		Kind:      k,
		named:     k.Type.Field("name") != nil,
		commented: k.Type.Field("comment") != nil,
		refers:    hasRef(k.Type),
	}
	for _, f := range k.Type.Fields {
		if f.Role == schema.RoleReadOnly {
			info.readOnly = append(info.readOnly, f.Key)
		}
	}
	return info
}

func hasRef(t *schema.Type) bool {
	if t == nil {
		return false
	}
	if t.Kind == schema.KindRef {
		return true
	}
	for _, f := range t.Fields {
		if hasRef(f.Type) {
			return true
		}
	}
	return hasRef(t.Elem)
}

// kindOf returns what is known of an item's kind, or nil after reporting why
// nothing is.
func (b *builder) kindOf(it *item) *kindInfo {
	if it.Res != nil {
		return b.goKindOf(it)
	}
	if info, ok := b.kinds[it.kind]; ok {
		if info == nil {
			b.unknownKind(it)
		}
		return info
	}
	var info *kindInfo
	if b.reg.Has(it.kind) {
		if k, err := b.describe(it); err == nil {
			info = newKindInfo(k)
		} else {
			b.errorf(it, orPos(it.KindPos, it.Pos), "%v", err)
			b.reported[kindAt{it.kind, it.KindPos}] = true
		}
	} else {
		b.unknownKind(it)
	}
	b.kinds[it.kind] = info
	return info
}

func (b *builder) describe(it *item) (k engine.Kind, err error) {
	defer catch("Default", &err)
	return b.reg.Kind(it.kind)
}

// unknownKind reports a kind once for each place where it was written.
func (b *builder) unknownKind(it *item) {
	at := kindAt{it.kind, it.KindPos}
	if b.reported[at] && !it.KindPos.IsZero() {
		return
	}
	b.reported[at] = true
	_, err := b.reg.New(it.kind)
	d := schema.Diagnostic{Pos: orPos(it.KindPos, it.Pos), Resource: it.id, Message: "unknown resource kind " + quote(it.kind)}
	if e, ok := errors.AsType[*engine.UnknownKindError](err); ok {
		d.Suggestion = e.Near
	}
	b.add(d)
}

func (b *builder) goKindOf(it *item) *kindInfo {
	key := goKind{it.kind, reflect.TypeOf(it.Res)}
	if info, ok := b.goKinds[key]; ok {
		return info
	}
	info, err := readGoKind(it)
	if err != nil {
		b.errorf(it, it.Pos, "%v", err)
	}
	b.goKinds[key] = info
	return info
}

func readGoKind(it *item) (info *kindInfo, err error) {
	defer catch("Sends", &err)
	t, err := schema.Of(it.Res)
	if err != nil {
		return nil, err
	}
	a, err := engine.AbilitiesOf(it.Res)
	if err != nil {
		return nil, err
	}
	return newKindInfo(engine.Kind{Name: it.kind, Type: t, Abilities: a}), nil
}
