package gapi

import (
	"errors"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
)

// kindInfo is what the builder needs to know of one kind.
type kindInfo struct {
	engine.Kind
	named     bool // it has a field name
	commented bool // it has a field comment
	refers    bool // a parameter may be a reference
	readOnly  []string
	secrets   []string // parameters whose type is a secret, or has one in it
}

// goKind is how a ready resource is looked up: two of one kind may be of
// different types, or state different abilities.
type goKind struct {
	name string
	key  engine.AbilityKey
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
		if f.Type.HoldsSecret() {
			info.secrets = append(info.secrets, f.Key)
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

// kindEntry is what was found out about a kind: info, or why there is none.
type kindEntry struct {
	info *kindInfo
	why  schema.Diagnostic
}

// targeted reports whether resources of the kind may be about another machine.
func (e kindEntry) targeted() bool { return e.info != nil && e.info.Abilities.Targeted }

// targetOf returns the target that a declaration gives, empty for none.
func targetOf(d *Declaration) string {
	if d.Res != nil {
		return targets.Of(d.Res)
	}
	if n := d.Value.Get(targets.Key); n != nil && n.Kind != schema.NodeList && n.Kind != schema.NodeMap && n.Kind != schema.NodeNull {
		return n.Text
	}
	return ""
}

// BareName is the name of the thing of a declaration, without the target that its name in a graph has.
func BareName(k engine.Kind, d Declaration) string {
	if !k.Abilities.Targeted {
		return d.Name
	}
	return targets.Unqualify(d.Name, targetOf(&d))
}

// Qualified returns a declaration under the name that it has in a graph: with its target, where it has one.
func Qualified(reg *engine.Registry, d Declaration) Declaration {
	if on := targetOf(&d); on != "" && d.Name != "" {
		if k, err := reg.Kind(strings.ToLower(d.Kind)); err == nil && k.Abilities.Targeted {
			d.Name = targets.Qualify(d.Name, on)
		}
	}
	return d
}

// kindOf returns what is known of an item's kind, or nil after reporting, once
// for each place where the kind was written, why nothing is.
func (b *builder) kindOf(it *item) *kindInfo {
	if it.Res != nil {
		return b.goKindOf(it)
	}
	e := b.entry(it.kind)
	at := kindAt{it.kind, it.KindPos}
	if e.info == nil && (it.KindPos.IsZero() || !b.reported[at]) {
		b.reported[at] = true
		d := e.why
		d.Pos, d.Resource = orPos(it.KindPos, it.Pos), it.id
		b.add(d)
	}
	return e.info
}

// kindsNamed reports kinds that can't be used and have no resource.
func (b *builder) kindsNamed() {
	for _, k := range b.d.Kinds {
		at := kindAt{strings.ToLower(k.Kind), k.Pos}
		if e := b.entry(at.kind); e.info == nil && !b.reported[at] {
			b.reported[at] = true
			d := e.why
			d.Pos = k.Pos
			b.add(d)
		}
	}
}

// entry finds out about a kind once.
func (b *builder) entry(kind string) kindEntry {
	e, ok := b.kinds[kind]
	if !ok {
		e = b.findKind(kind)
		b.kinds[kind] = e
	}
	return e
}

func (b *builder) findKind(kind string) kindEntry {
	k, err := b.reg.Kind(kind)
	if unknown, ok := errors.AsType[*engine.UnknownKindError](err); ok {
		return kindEntry{why: schema.Diagnostic{Message: "unknown resource kind " + quote(kind) + unknownKind(kind), Suggestion: near(kind, unknown)}}
	}
	if err != nil {
		return kindEntry{why: schema.Diagnostic{Message: err.Error()}}
	}
	return kindEntry{info: newKindInfo(k)}
}

// near returns the kind that was probably meant; a word of another tool means another one.
func near(kind string, unknown *engine.UnknownKindError) string {
	if unknownKind(kind) != "" {
		return ""
	}
	return unknown.Near
}

// goKindOf returns what is known of the type of a ready resource, or nil after reporting, once, why nothing is.
func (b *builder) goKindOf(it *item) *kindInfo {
	info, err := b.askGoKind(it)
	if err != nil {
		b.errorf(it, it.Pos, "%v", err)
	}
	return info
}

// askGoKind asks a ready resource, if it is the first one of its type that states the same abilities.
func (b *builder) askGoKind(it *item) (info *kindInfo, err error) {
	defer callsafe.Recover("Abilities or Sends", &err)
	key := goKind{it.kind, engine.AbilityKeyOf(it.Res)}
	if key == b.lastKind {
		return b.lastInfo, nil
	}
	info, ok := b.known[key]
	if !ok {
		info, ok = b.goKinds[key]
	}
	if !ok {
		b.goKinds[key] = nil
		if info, err = readGoKind(it); err != nil {
			return nil, err
		}
		b.goKinds[key] = info
		if b.known != nil && key.key.Stated == (engine.Abilities{}) { // stated ones may be another key each time
			b.known[key] = info
		}
	}
	b.lastKind, b.lastInfo = key, info
	return info, nil
}

func readGoKind(it *item) (*kindInfo, error) {
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
