package account

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// skeleton is the folder of which a new home is a copy.
const skeleton = "etc/skel"

// inside is a path of a system, as os.Root takes it.
func inside(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

// openSystem opens the folder of a system: what is done in it leaves it by no link.
func openSystem(root string) (*os.Root, error) { return os.OpenRoot(filepath.Join("/", root)) }

// makeHome makes the home folder of a user, with a copy of the skeleton. One that is
// there is left alone.
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
	if err := r.MkdirAll(path.Dir(home), 0o755); err != nil {
		return err
	}
	if err := r.Mkdir(home, 0o700); err != nil {
		return err
	}
	if err := copySkeleton(r, home, u); err != nil {
		return fmt.Errorf("the home of %s: %w", u.Name, err)
	}
	return r.Lchown(home, u.UID, u.GID)
}

// copySkeleton copies folders, plain files and links.
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

func copyLink(r *os.Root, from, to string) error {
	target, err := r.Readlink(from)
	if err != nil {
		return err
	}
	return r.Symlink(target, to)
}

func copyFile(r *os.Root, from, to string, perm fs.FileMode) error {
	data, err := r.ReadFile(from)
	if err != nil {
		return err
	}
	return r.WriteFile(to, data, perm)
}

// removeHome removes the home folder of a user who is gone, if it was his.
func removeHome(root string, u UserInfo) error {
	r, err := openSystem(root)
	if err != nil {
		return err
	}
	defer r.Close()
	home := inside(u.Home)
	if strings.Count(home, "/") < 1 { // not / and not /home
		return nil
	}
	st, err := r.Lstat(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != u.UID {
		return fmt.Errorf("the home %s of %s is another one's, and is left as it is", u.Home, u.Name)
	}
	return r.RemoveAll(home)
}

// processOf returns a process that runs as a user; 0 if there is none.
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
