package traits

import "github.com/reactivegraph/mgmt/engine"

// The spaces of the UIDs that kinds share: who writes a kind asks by them for what others manage.
const (
	SpaceFile    = "file"
	SpaceMount   = "mount"
	SpaceUser    = "user"
	SpaceGroup   = "group"
	SpacePkg     = "pkg"
	SpacePkgFile = "pkg with"
	SpaceSvc     = "svc"
	SpaceSession = "svc of the session"
)

// FileUID is a path: what a file, a folder or a link is, and what others need to
// be there. path is absolute and clean, without a slash at the end.
func FileUID(base engine.BaseUID, path string) *engine.UID {
	return uid(base, SpaceFile, path, 0)
}

// BelowUID is all files below a folder: who reads a folder with what is in it asks by it.
// No resource is one. path is as in FileUID.
func BelowUID(base engine.BaseUID, path string) *engine.UID {
	return uid(base, SpaceFile, path, engine.UIDBelow)
}

// MountUID is a file system by its mount point: who uses a path below it asks by it,
// beside the FileUID of each folder. path is as in FileUID.
func MountUID(base engine.BaseUID, path string) *engine.UID {
	return uid(base, SpaceMount, path, 0)
}

// UserUID is a user, by name or by number. A user resource has one of each.
func UserUID(base engine.BaseUID, user string) *engine.UID {
	return uid(base, SpaceUser, user, engine.UIDUseful)
}

// GroupUID is a group of users, by name or by number. A group resource has one of
// each.
func GroupUID(base engine.BaseUID, group string) *engine.UID {
	return uid(base, SpaceGroup, group, engine.UIDUseful)
}

// PkgUID is a package, by name.
func PkgUID(base engine.BaseUID, pkg string) *engine.UID {
	return uid(base, SpacePkg, pkg, engine.UIDUseful)
}

// PkgFileUID is a path that belongs to a package: a package has one for each of
// its files, and who uses a path asks by it for the package that brings it. path
// is as in FileUID.
func PkgFileUID(base engine.BaseUID, path string) *engine.UID {
	return uid(base, SpacePkgFile, path, engine.UIDUseful)
}

// SvcUID is a service, by the name of its unit without the suffix: one of the system, or of the
// user's session.
func SvcUID(base engine.BaseUID, svc string, session bool) *engine.UID {
	if session {
		return uid(base, SpaceSession, svc, 0)
	}
	return uid(base, SpaceSvc, svc, 0)
}

func uid(base engine.BaseUID, space, key string, flags engine.UIDFlags) *engine.UID {
	base.Flags = flags
	return &engine.UID{BaseUID: base, Space: space, Key: key}
}
