package traits

import (
	"github.com/reactivegraph/mgmt/engine/autoedge"
)

// The spaces of the UIDs that kinds share. A kind asks by them for the things that other kinds manage.
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

// FileUID is a path. It names a file, a folder or a link, and others may need it. path is absolute and clean, without a slash at the end.
func FileUID(base autoedge.BaseUID, path string) *autoedge.KeyUID {
	return uid(base, SpaceFile, path, 0)
}

// BelowUID means all files below a folder. A resource that reads the whole folder asks by it.
// It names no resource. path is as in FileUID.
func BelowUID(base autoedge.BaseUID, path string) *autoedge.KeyUID {
	return uid(base, SpaceFile, path, autoedge.UIDBelow)
}

// MountUID is a file system by its mount point. A resource that uses a path below it asks by it,
// and by the FileUID of each folder. path is as in FileUID.
func MountUID(base autoedge.BaseUID, path string) *autoedge.KeyUID {
	return uid(base, SpaceMount, path, 0)
}

// UserUID is a user, by name or by number. A user resource has one of each.
func UserUID(base autoedge.BaseUID, user string) *autoedge.KeyUID {
	return uid(base, SpaceUser, user, autoedge.UIDUseful)
}

// GroupUID is a group of users, by name or by number. A group resource has one of
// each.
func GroupUID(base autoedge.BaseUID, group string) *autoedge.KeyUID {
	return uid(base, SpaceGroup, group, autoedge.UIDUseful)
}

// PkgUID is a package, by name.
func PkgUID(base autoedge.BaseUID, pkg string) *autoedge.KeyUID {
	return uid(base, SpacePkg, pkg, autoedge.UIDUseful)
}

// PkgFileUID is a path that belongs to a package. A package has a UID for each of its
// files, and a resource that uses a path asks by it for that package. path is as in FileUID.
func PkgFileUID(base autoedge.BaseUID, path string) *autoedge.KeyUID {
	return uid(base, SpacePkgFile, path, autoedge.UIDUseful)
}

// SvcUID is a service, by the name of its unit without the suffix: one of the system, or of the
// user's session.
func SvcUID(base autoedge.BaseUID, svc string, session bool) *autoedge.KeyUID {
	if session {
		return uid(base, SpaceSession, svc, 0)
	}
	return uid(base, SpaceSvc, svc, 0)
}

func uid(base autoedge.BaseUID, space, key string, flags autoedge.UIDFlags) *autoedge.KeyUID {
	base.Flags = flags
	return &autoedge.KeyUID{BaseUID: base, Space: space, Key: key}
}
