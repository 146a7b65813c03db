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

	// Firmly says, of a UID in a question, that the direction is the same one where both
	// are to go; see LeavingRes.
	Firmly bool
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

// Firm reports whether the direction is the same one where both are to go.
func (u *BaseUID) Firm() bool { return u.Firmly }

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

// FileUID is a path. It names a file, a folder or a link, and others may need it.
// Path is absolute and clean, without a slash at the end.
type FileUID struct {
	BaseUID
	Path string
}

// String returns file[path].
func (u *FileUID) String() string { return "file[" + u.Path + "]" }

// Hash is the path.
func (u *FileUID) Hash() string { return u.Path }

// IFF reports whether both are the same path.
func (u *FileUID) IFF(o ResUID) bool {
	f, ok := o.(*FileUID)
	return ok && f.Path == u.Path
}

// BelowUID is all files below a folder: a reader of a whole folder asks by it.
// No resource is one. Path is as in FileUID.
type BelowUID struct {
	BaseUID
	Path string
}

// String returns files below path.
func (u *BelowUID) String() string { return "files below " + u.Path }

// Among says that all FileUIDs below the path are meant.
func (u *BelowUID) Among() (ResUID, string) {
	return (*FileUID)(nil), strings.TrimSuffix(u.Path, "/") + "/"
}

// IFF reports whether the other one is a file below the folder.
func (u *BelowUID) IFF(o ResUID) bool {
	f, ok := o.(*FileUID)
	_, dir := u.Among()
	return ok && strings.HasPrefix(f.Path, dir)
}

// MountUID is a file system by its mount point: a user of a path below it asks by
// it, and by the FileUID of each folder. Path is as in FileUID.
type MountUID struct {
	BaseUID
	Path string
}

// String returns mount[path].
func (u *MountUID) String() string { return "mount[" + u.Path + "]" }

// Hash is the path.
func (u *MountUID) Hash() string { return u.Path }

// IFF reports whether both are the same path.
func (u *MountUID) IFF(o ResUID) bool {
	f, ok := o.(*MountUID)
	return ok && f.Path == u.Path
}

// UserUID is a user, by name or by number. A user resource has one of each.
type UserUID struct {
	BaseUID
	User string
}

// String returns user[name].
func (u *UserUID) String() string { return "user[" + u.User + "]" }

// Hash is the name or number.
func (u *UserUID) Hash() string { return u.User }

// Useful says that nobody waits until the user is gone.
func (u *UserUID) Useful() bool { return true }

// IFF reports whether both are the same name or number.
func (u *UserUID) IFF(o ResUID) bool {
	f, ok := o.(*UserUID)
	return ok && f.User == u.User
}

// GroupUID is a group of users, by name or by number. A group resource has one of
// each.
type GroupUID struct {
	BaseUID
	Group string
}

// String returns group[name].
func (u *GroupUID) String() string { return "group[" + u.Group + "]" }

// Hash is the name or number.
func (u *GroupUID) Hash() string { return u.Group }

// Useful says that nobody waits until the group is gone.
func (u *GroupUID) Useful() bool { return true }

// IFF reports whether both are the same name or number.
func (u *GroupUID) IFF(o ResUID) bool {
	f, ok := o.(*GroupUID)
	return ok && f.Group == u.Group
}

// PkgUID is a package, by name.
type PkgUID struct {
	BaseUID
	Pkg string
}

// String returns pkg[name].
func (u *PkgUID) String() string { return "pkg[" + u.Pkg + "]" }

// Hash is the name.
func (u *PkgUID) Hash() string { return u.Pkg }

// Useful says that nobody waits until the package is gone.
func (u *PkgUID) Useful() bool { return true }

// IFF reports whether both are the same package.
func (u *PkgUID) IFF(o ResUID) bool {
	f, ok := o.(*PkgUID)
	return ok && f.Pkg == u.Pkg
}

// PkgFileUID is a path that belongs to a package: a package has one for each of
// its files, and who uses a path asks by it for the package that brings it. Path
// is as in FileUID.
type PkgFileUID struct {
	BaseUID
	Path string
}

// String returns pkg with the path.
func (u *PkgFileUID) String() string { return "pkg with " + u.Path }

// Hash is the path.
func (u *PkgFileUID) Hash() string { return u.Path }

// Useful says that nobody waits until the package is gone.
func (u *PkgFileUID) Useful() bool { return true }

// IFF reports whether both are the same path.
func (u *PkgFileUID) IFF(o ResUID) bool {
	f, ok := o.(*PkgFileUID)
	return ok && f.Path == u.Path
}

// SvcUID is a service, by the name of its unit without the suffix.
type SvcUID struct {
	BaseUID
	Svc     string
	Session bool // of the user's session and not of the system
}

// String returns svc[name].
func (u *SvcUID) String() string { return "svc[" + u.Svc + "]" }

// Hash is the name.
func (u *SvcUID) Hash() string { return u.Svc }

// IFF reports whether both are the same service of the same manager.
func (u *SvcUID) IFF(o ResUID) bool {
	f, ok := o.(*SvcUID)
	return ok && f.Svc == u.Svc && f.Session == u.Session
}
