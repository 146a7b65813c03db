package backends

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// skeleton is the folder that is copied for a new home.
// The path is relative to the root of the system.
const skeleton = "etc/skel"

// inside is a path of a system, as os.Root takes it.
// It is without a slash at the front, and empty for the root.
func inside(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

// steadyHome returns an error if another user can put something else in the place of
// a home, as where it is in a folder of that user. The next steps, and the tools, go
// by its path. A home that is not there yet is steady if its folder is.
func steadyHome(root, home string) error {
	w, at := safepath.System(), filepath.Join("/", root, home)
	_, err := w.Steady(filepath.Dir(at))
	if err == nil {
		_, err = w.SteadyName(at)
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("the home: %w", err)
	}
	return nil
}

// homeOf returns the home of a new user: the
// given one, or the one below /home of his name.
func homeOf(name string, a Attributes) string {
	if a.Home != nil {
		return *a.Home
	}
	return "/home/" + name
}

// steadyNewHome is steadyHome for a user whose home a tool is to make.
func steadyNewHome(root, name string, a Attributes, create bool) error {
	if !create {
		return nil
	}
	return steadyHome(root, homeOf(name, a))
}

// openSystem opens the folder of a system: no access in it leaves it by a link.
// The caller closes it.
func openSystem(root string) (*os.Root, error) { return os.OpenRoot(filepath.Join("/", root)) }

// makeHome makes the home folder of a user, with a copy of the skeleton. A present
// home is left alone. It is closed to others until all files in it belong to the
// user. If it fails, a part of the home is left, and is taken as it is by the next
// call.
func makeHome(root string, u UserInfo) error {
	r, err := openSystem(root)
	if err != nil {
		return err
	}
	defer r.Close()
	home := inside(u.Home)
	if _, err := r.Lstat(home); err == nil {
		return nil
	}
	if home == "" {
		return nil
	}
	if err := steadyHome(root, u.Home); err != nil {
		return err
	}
	if err := r.MkdirAll(path.Dir(home), 0o755); err != nil {
		return err
	}
	if err := r.Mkdir(home, 0o700); err != nil { // no other user gets in before it is complete
		return err
	}
	if err := copySkeleton(r, home, u); err != nil {
		return fmt.Errorf("the home of %s: %w", u.Name, err)
	}
	return r.Lchown(home, u.UID, u.GID)
}

// copySkeleton copies folders, plain files and links. Devices and sockets are left
// out. A missing skeleton is not an error. Modes are kept, and owners are the new
// user's.
func copySkeleton(r *os.Root, home string, u UserInfo) error {
	if st, err := r.Lstat(skeleton); err != nil || !st.IsDir() {
		return nil
	}
	return fs.WalkDir(r.FS(), skeleton, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == skeleton {
			return err
		}
		to := path.Join(home, strings.TrimPrefix(p, skeleton))
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			err = r.Mkdir(to, info.Mode().Perm())
		case d.Type()&fs.ModeSymlink != 0:
			err = copyLink(r, p, to)
		case d.Type().IsRegular():
			err = copyFile(r, p, to, info.Mode().Perm())
		default:
			return nil
		}
		if err != nil {
			return err
		}
		return r.Lchown(to, u.UID, u.GID)
	})
}

// copyLink copies a link with its target as it stands: relative targets then lead into the new home.
func copyLink(r *os.Root, from, to string) error {
	target, err := r.Readlink(from)
	if err != nil {
		return err
	}
	return r.Symlink(target, to)
}

// copyFile copies a file through memory. Files of a skeleton are small, and root's own.
func copyFile(r *os.Root, from, to string, perm fs.FileMode) error {
	data, err := r.ReadFile(from)
	if err != nil {
		return err
	}
	return r.WriteFile(to, data, perm)
}

// ownHome looks at the home folder of a user; nil if there is none, or it is not his
// own. The root, and folders directly in it, are never a home of his own: the entry
// of an account may name /var.
// It follows no link in the last place.
func ownHome(r *os.Root, u UserInfo) (fs.FileInfo, error) {
	home := inside(u.Home)
	if strings.Count(home, "/") < 1 { // not / and not /home
		return nil, nil
	}
	st, err := r.Lstat(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || !st.IsDir() || ownerOf(st) != u.UID {
		return nil, err
	}
	return st, nil
}

// ownerOf returns whose a file is.
// It is the number in the inode.
func ownerOf(st fs.FileInfo) int { return int(st.Sys().(*unix.FileStat).Uid) }

// movable reports whether the home of a user can be moved: it is his own folder and
// no other user's home, and there is nothing at the new path, which is not within
// the old one. A failure of a look means no: then only the entry changes.
func (s *state) movable(u UserInfo, to string) bool {
	for fields := range s.passwd().rows() {
		if len(fields) == passwdFields && fields[0] != u.Name && path.Clean(fields[passwdHome]) == path.Clean(u.Home) {
			return false
		}
	}
	r, err := openSystem(s.root)
	if err != nil {
		return false
	}
	defer r.Close()
	if st, err := ownHome(r, u); err != nil || st == nil || strings.HasPrefix(inside(to)+"/", inside(u.Home)+"/") {
		return false
	}
	_, err = r.Lstat(inside(to))
	return errors.Is(err, fs.ErrNotExist)
}

// makeAbove makes the folder that a home is to be in. It belongs to root, and has
// the mode 0755.
// Folders that are there keep their owner and mode.
func makeAbove(root, home string) error {
	if err := steadyHome(root, home); err != nil {
		return err
	}
	r, err := openSystem(root)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.MkdirAll(path.Dir(inside(home)), 0o755)
}

// moveHome moves a home folder within its file system. Another file system is an
// error, for a copy would take long and could be cut.
func moveHome(root, from, to string) error {
	if err := makeAbove(root, to); err != nil {
		return err
	}
	if err := steadyHome(root, from); err != nil {
		return err
	}
	r, err := openSystem(root)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Rename(inside(from), inside(to))
}

// giveHome gives the user's files in his home to the numbers that he has from now
// on. Files of others in it keep their owners. A home that is not his own is left
// alone.
func giveHome(root string, was, now UserInfo) error {
	if was.UID == now.UID && was.GID == now.GID {
		return nil
	}
	r, err := openSystem(root)
	if err != nil {
		return err
	}
	defer r.Close()
	u := now
	u.UID = was.UID
	st, err := ownHome(r, u)
	if err != nil || st == nil {
		return err
	}
	if err := steadyHome(root, now.Home); err != nil {
		return err
	}
	above, name := filepath.Split(filepath.Join("/", root, now.Home))
	dir, err := atomicfile.OpenDir(filepath.Clean(above))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := give(dir, name, was, now); err != nil {
		return fmt.Errorf("the home of %s: %w", now.Name, err)
	}
	return nil
}

// give gives a file to the new numbers, as far as it had the old ones, and before it its contents:
// so until the end the rest of the work is known. The user may be exchanging names meanwhile, so
// the file that was looked at is given.
func give(dir atomicfile.Dir, name string, was, now UserInfo) error {
	st, err := dir.Lstat(name)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err == nil && st.IsDir() {
		err = giveBelow(dir, name, was, now)
	}
	if err != nil {
		return err
	}
	uid, gid := -1, -1
	if int(st.UID) == was.UID {
		uid = now.UID
	}
	if int(st.GID) == was.GID {
		gid = now.GID
	}
	if uid < 0 && gid < 0 {
		return nil
	}
	_, err = dir.SetAttrs(name, st, -1, uid, gid)
	return err
}

// giveBelow gives the contents of a folder that is open, so no exchanged link leads
// elsewhere.
// Entries that vanish meanwhile are passed over.
func giveBelow(dir atomicfile.Dir, name string, was, now UserInfo) error {
	sub, err := dir.OpenDir(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	names, err := sub.Names()
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := give(sub, n, was, now); err != nil {
			return err
		}
	}
	return nil
}

// removeHome removes the home folder of a user, if it is his own. It follows no
// link, and leaves the folder above.
func removeHome(root string, u UserInfo) error {
	r, err := openSystem(root)
	if err != nil {
		return err
	}
	defer r.Close()
	if st, err := ownHome(r, u); err != nil || st == nil {
		return err
	}
	if err := steadyHome(root, u.Home); err != nil {
		return err
	}
	return r.RemoveAll(inside(u.Home))
}

// processOf returns a process that runs as a user; 0 if there is none. It reads the
// owners of the folders in proc, and opens none of them. A process that starts later
// is not seen.
// It costs one look at each process.
func processOf(proc string, uid int) (int, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return 0, fmt.Errorf("whether the user has processes can't be told: %w", err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Lstat(filepath.Join(proc, e.Name()), &st) == nil && int(st.Uid) == uid {
			return pid, nil
		}
	}
	return 0, nil
}
