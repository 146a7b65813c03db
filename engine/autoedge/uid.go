package autoedge

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// BaseUID is what the UIDs of a kind embed: whose the KeyUID is. It has no Hash, so
// that a KeyUID that brings an IFF of its own is not looked up by anything else.
type BaseUID struct {
	Name string // of the resource that the KeyUID is of, or that asks by it
	Kind string // of the same resource

	// Reversed says, of a KeyUID in a question, that the matching resource comes
	// before the asking one. Nil means true.
	Reversed *bool

	// Notifying says, of a KeyUID in a question, that the edge carries refresh.
	Notifying bool

	// FixedOrder says, of a KeyUID in a question, that the direction is the same one where both
	// are to go; see engine.LeavingRes.
	FixedOrder bool

	// Flags say more of a KeyUID that is data. A KeyUID with methods of its own has methods for that.
	Flags UIDFlags
}

// Resource is what a KeyUID has to know of the resource that it is of: every engine.Res is one.
type Resource interface {
	Kind() string
	Name() string
}

// UIDOf returns the base of a KeyUID of this resource, or of a KeyUID in its questions.
func UIDOf(r Resource) BaseUID { return BaseUID{Name: r.Name(), Kind: r.Kind()} }

// GetName returns the name of the resource that the KeyUID is of.
func (u *BaseUID) GetName() string { return u.Name }

// GetKind returns the kind of the resource that the KeyUID is of.
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
func (u *BaseUID) IFF(o UID) bool {
	b, ok := o.(*BaseUID)
	return ok && b.Kind == u.Kind && b.Name == u.Name
}

// NameUIDOf returns the KeyUID by which r asks for the resource of that kind and name,
// or a further name of r. Every resource has such a KeyUID without saying so, and an engine.EdgeableRes may have more.
func NameUIDOf(r Resource, kind, name string) *KeyUID { return NameUID(UIDOf(r), kind, name) }

// NameUID is a resource by its kind and its name in the graph. It has no space: its key is the id of the resource.
func NameUID(base BaseUID, kind, name string) *KeyUID {
	return &KeyUID{BaseUID: base, Key: schema.Ref{Kind: kind, Name: name}.ID()}
}

// KeyUID names a thing by data alone: a key in a space, such as a path in the space file. A kind that is made of
// data, or that is in another process, can give and ask by any KeyUID of this type. All UIDs of this module are of
// this type; package traits makes those of the kinds that are known to others.
type KeyUID struct {
	BaseUID
	Space string // what sort of thing the key names; "pkg with" is shown with its key behind it, and file as file[key]; empty for a resource (NameUID)
	Key   string // which one; equal keys of a space are one thing. Between parts of a key stands a NUL, which is shown as a slash
}

// UIDFlags say more of a KeyUID.
type UIDFlags uint8

const (
	// UIDUseful says that no resource waits until the thing is gone; see KeyUID.
	UIDUseful UIDFlags = 1 << iota
	// UIDBelow says that the KeyUID means all things of the space whose keys are paths below its key. Only
	// questions have such a KeyUID.
	UIDBelow
)

// String returns space[key], or the key alone where there is no space.
func (u *KeyUID) String() string {
	key := strings.ReplaceAll(u.Key, "\x00", "/")
	switch {
	case u.Flags&UIDBelow != 0:
		return u.Space + "s below " + key
	case u.Space == "":
		return key
	case strings.Contains(u.Space, " "):
		return u.Space + " " + key
	}
	return u.Space + "[" + key + "]"
}

// Hash is the key.
func (u *KeyUID) Hash() string { return u.Key }

// Useful reports whether no resource waits until the thing is gone.
func (u *KeyUID) Useful() bool { return u.Flags&UIDUseful != 0 }

// HashPrefix returns the space and the beginning of the keys that a KeyUID with UIDBelow means; nil for every other KeyUID.
func (u *KeyUID) HashPrefix() (UID, string) {
	if u.Flags&UIDBelow == 0 {
		return nil, ""
	}
	return &KeyUID{Space: u.Space}, strings.TrimSuffix(u.Key, "/") + "/"
}

// IFF reports whether both name the same thing, or the other one is below this one.
func (u *KeyUID) IFF(o UID) bool {
	x, ok := o.(*KeyUID)
	switch {
	case !ok || x.Space != u.Space || x.Flags&UIDBelow != 0:
		return false
	case u.Flags&UIDBelow != 0:
		_, dir := u.HashPrefix()
		return strings.HasPrefix(x.Key, dir)
	}
	return x.Key == u.Key
}

// NamedBy returns the id of the resource that a NameUID means, empty for every other KeyUID.
func NamedBy(u UID) string {
	if d, ok := u.(*KeyUID); ok && d.Space == "" {
		return d.Key
	}
	return ""
}

// SpaceOf returns the space of a KeyUID that is data, empty for one of another Go type. A KeyUID matches only one of its
// own Go type and space.
func SpaceOf(u UID) string {
	if d, ok := u.(*KeyUID); ok {
		return d.Space
	}
	return ""
}

// Needs is an iterator over the needs of a resource. Next gives candidates,
// Test is told which of them were found and answers whether to go on.
type Needs interface {
	Next() []UID
	Test([]bool) bool
}

// KeyUID is one name of the thing that a resource manages. A KeyUID may have a method Hash() string, equal for UIDs that match, so
// that it is looked up and not searched. A KeyUID in a question may have a method Notifies() bool: then a change of the first
// resource refreshes the second. It may have a method HasFixedOrder() bool: then its direction is the same where both are to go
// (engine.LeavingRes). A KeyUID that names a resource may have a method Useful() bool. While that resource is to go, only a resource that is
// to go as well finds it then, since no resource waits for the end of a thing that it needs. And it may have a method HashPrefix()
// (KeyUID, string): then it means all resources that have a KeyUID of the type and space of the first and with a Hash that begins
// with the second; a nil first means none. KeyUID is a KeyUID that is data.
type UID interface {
	fmt.Stringer
	GetName() string
	GetKind() string
	IFF(UID) bool
	IsReversed() bool // the one that matches comes before the one that asks
}
