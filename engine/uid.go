package engine

import (
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// BaseUID is what the UIDs of a kind embed: whose the UID is. It has no Hash, so
// that a UID that brings an IFF of its own is not looked up by anything else.
type BaseUID struct {
	Name string // of the resource that the UID is of, or that asks by it
	Kind string // of the same resource

	// Reversed says, of a UID in a question, that the matching resource comes
	// before the asking one. Nil means true.
	Reversed *bool

	// Notifying says, of a UID in a question, that the edge carries refresh.
	Notifying bool

	// FixedOrder says, of a UID in a question, that the direction is the same one where both
	// are to go; see LeavingRes.
	FixedOrder bool

	// Flags say more of a UID that is data. A UID with methods of its own has methods for that.
	Flags UIDFlags
}

// UIDOf returns the base of a UID of this resource, or of a UID in its questions.
func UIDOf(r Res) BaseUID { return BaseUID{Name: r.Name(), Kind: r.Kind()} }

// GetName returns the name of the resource that the UID is of.
func (u *BaseUID) GetName() string { return u.Name }

// GetKind returns the kind of the resource that the UID is of.
func (u *BaseUID) GetKind() string { return u.Kind }

// String returns kind[name].
func (u *BaseUID) String() string { return u.Kind + "[" + u.Name + "]" }

// IsReversed reports whether what matches comes first.
func (u *BaseUID) IsReversed() bool { return u.Reversed == nil || *u.Reversed }

// Notifies reports whether the edge carries refresh.
func (u *BaseUID) Notifies() bool { return u.Notifying }

// HasFixedOrder reports whether the direction is the same one where both are to go.
func (u *BaseUID) HasFixedOrder() bool { return u.FixedOrder }

// IFF reports whether both are the base of the same resource. A kind that can be
// asked for has a type of its own, with its own IFF.
func (u *BaseUID) IFF(o ResUID) bool {
	b, ok := o.(*BaseUID)
	return ok && b.Kind == u.Kind && b.Name == u.Name
}

// NameUID is a resource by its kind and its name in the graph. Every resource has its
// own one without saying so, and an EdgeableRes may have more, as other names for it.
type NameUID struct {
	BaseUID
	ID string // kind[name]
}

// NameUIDOf returns the UID by which r asks for the resource of that kind and name,
// or a further name of r.
func NameUIDOf(r Res, kind, name string) *NameUID {
	return &NameUID{BaseUID: UIDOf(r), ID: schema.Ref{Kind: kind, Name: name}.ID()}
}

// String returns kind[name].
func (u *NameUID) String() string { return u.ID }

// Hash is kind[name].
func (u *NameUID) Hash() string { return u.ID }

// IFF reports whether both are the same kind and name.
func (u *NameUID) IFF(o ResUID) bool {
	n, ok := o.(*NameUID)
	return ok && n.ID == u.ID
}

// UID names a thing by data alone: a key in a space, such as a path in the space file. A kind that is made of
// data, or that is in another process, can give and ask by any UID of this type. Package traits makes those
// of the kinds that are known to others.
type UID struct {
	BaseUID
	Space string // what sort of thing the key names; "pkg with" is shown with its key behind it, and file as file[key]
	Key   string // which one; equal keys of a space are one thing
}

// UIDFlags say more of a UID.
type UIDFlags uint8

const (
	// UIDUseful says that no resource waits until the thing is gone; see ResUID.
	UIDUseful UIDFlags = 1 << iota
	// UIDBelow says that the UID means all things of the space whose keys are paths below its key. Only
	// questions have such a UID.
	UIDBelow
)

// String returns space[key].
func (u *UID) String() string {
	switch {
	case u.Flags&UIDBelow != 0:
		return u.Space + "s below " + u.Key
	case strings.Contains(u.Space, " "):
		return u.Space + " " + u.Key
	}
	return u.Space + "[" + u.Key + "]"
}

// Hash is the key.
func (u *UID) Hash() string { return u.Key }

// Useful reports whether no resource waits until the thing is gone.
func (u *UID) Useful() bool { return u.Flags&UIDUseful != 0 }

// HashPrefix returns the space and the beginning of the keys that a UID with UIDBelow means; nil for every other UID.
func (u *UID) HashPrefix() (ResUID, string) {
	if u.Flags&UIDBelow == 0 {
		return nil, ""
	}
	return &UID{Space: u.Space}, strings.TrimSuffix(u.Key, "/") + "/"
}

// IFF reports whether both name the same thing, or the other one is below this one.
func (u *UID) IFF(o ResUID) bool {
	x, ok := o.(*UID)
	switch {
	case !ok || x.Space != u.Space || x.Flags&UIDBelow != 0:
		return false
	case u.Flags&UIDBelow != 0:
		_, dir := u.HashPrefix()
		return strings.HasPrefix(x.Key, dir)
	}
	return x.Key == u.Key
}

// SpaceOf returns the space of a UID that is data, empty for one of another Go type. A UID matches only one of its
// own Go type and space.
func SpaceOf(u ResUID) string {
	if d, ok := u.(*UID); ok {
		return d.Space
	}
	return ""
}
