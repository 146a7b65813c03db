// Package safepath opens paths for a daemon with rights that other users of the machine lack. It is
// the one walker of paths: every kind and option that opens a path, for reading or for writing,
// goes through it.
//
// A Walker has a root folder, the user that the daemon is, and, if a resource names one, the user
// who owns the opened thing. All three are values, so that a test or a simulated machine gives its
// own.
//
// # Laws
//
//   - A folder is opened from the root, element by element, and stays open: later calls by its
//     descriptor happen in the folder that was checked, whatever becomes of the path. One openat2
//     that follows no link comes first; the walk comes only where that finds a link, or where the
//     kernel lacks it.
//   - A link is followed only if root or the daemon's own user owns it, and no other user can write
//     to its folder or replace a folder on the way there. Mode bits and access lists count. A
//     folder that all may write to, such as /tmp, is writable in spite of its sticky bit: the
//     sticky bit keeps a link from being removed, but another user can move or hard-link a link of
//     root into it.
//   - A folder with the sticky bit does not endanger the folders of root in it. So links in a
//     private folder below /tmp are followed.
//   - One exception holds. The Walker has an Owner, and every element behind the link belongs to
//     that user: the folder of the last element, the last element, and the folders on the way, as
//     far as they are not root's. Then the rest of the walk, and all that is done in the folder by
//     Folder.Do, is done as that user. So the kernel refuses every call that it would refuse that
//     user.
//   - Folders that another user owns are passed. Such a user can exchange them, but only for
//     folders of the same parent or of the user's own. The held descriptor keeps one operation in
//     one folder.
//   - OpenGuarded is stricter: it also refuses folders and files that another user can write. Only
//     there a second user may count as the daemon's own: the caller of sudo.
//   - An error names the element, the user who stands behind it, and how to proceed. A circle of
//     links ends after 40 links.
//   - Opening never blocks on a pipe, a device, or a lease that another user has taken. Only plain
//     files are opened for reading. A file system that hangs blocks the call that passes it, and no
//     other: the package holds no lock and no state.
//   - A walk needs at most two descriptors at once, whatever the depth. Nothing stays open after an
//     error.
//   - Work as another user is done on a thread of its own. A thread that does not come back to its
//     own user ends, and no other work runs on it.
//   - Built for a system other than Linux, OpenGuarded, WriteFile and OpenAppend work without these
//     rules, since no graph runs there. All else answers unix.ErrNeedsLinux.
package safepath
