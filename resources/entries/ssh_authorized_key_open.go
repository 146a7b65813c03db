package entries

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
)

// The path is the default of AuthorizedKeysFile in sshd_config(5). A server with another path
// needs the attribute target.
const (
	sshFolder = ".ssh"
	sshFile   = "authorized_keys"
)

// keysDir is a folder that is held open, with the file of keys in it.
// The caller of openKeys owns it and has to close it.
type keysDir struct {
	dir  atomicfile.Dir
	file textfile.File
}

func (k *keysDir) close() { k.dir.Close() }

// openKeys opens the folder of a user's keys. A user can put anything below his home at any moment.
// So the folder is looked at only when it is open, and all later steps are done in it.
// It must be his, or, for a target elsewhere, root's or our own.
//
// A missing folder is nil, or, if make is set, an error or made in his home.
//
// The rules are those of StrictModes in sshd_config(5): sshd ignores a file that other users can
// write.
func openKeys(by safepath.Walker, u account, target string, make bool) (*keysDir, error) {
	w := by.ForOwner(u.uid)
	if target != "" {
		return openTarget(w, u, target, make)
	}
	dir, name, err := keysPlace(w, u)
	if errors.Is(err, unix.ENOENT) {
		if !make {
			return nil, nil
		}
		return freshKeys(w, u)
	}
	if err != nil {
		return nil, err
	}
	return holdKeys(dir, name, u, func(owner int) bool { return owner == u.uid })
}

// keysPlace opens the folder of the keys in a home. A link there is followed as the user
// who owns it. One of root's or our own has no such user, and is not followed.
func keysPlace(w safepath.Walker, u account) (atomicfile.Dir, string, error) {
	if !w.Trusts(uint32(u.uid)) {
		p, err := w.Place(filepath.Join(u.home, sshFolder, sshFile))
		return atomicfile.In(p.Folder), p.Name, err
	}
	f, err := w.Folder(u.home)
	if err != nil {
		return atomicfile.Dir{}, "", err
	}
	home := atomicfile.In(f)
	defer home.Close()
	dir, err := home.OpenDir(sshFolder)
	return dir, sshFile, err
}

// freshKeys makes the folder of the keys.
func freshKeys(w safepath.Walker, u account) (*keysDir, error) {
	f, err := w.Folder(u.home)
	if err != nil {
		return nil, fmt.Errorf("the home of %s: %w", u.name, err)
	}
	home := atomicfile.In(f)
	defer home.Close()
	dir, err := makeKeysDir(home, u)
	if err != nil {
		return nil, err
	}
	return holdKeys(dir, sshFile, u, func(owner int) bool { return owner == u.uid })
}

// makeKeysDir makes the folder in a home.
// The folder is made as our own and given away afterwards. If another one is there by then, the
// error is ErrChanged, and the next try looks again.
func makeKeysDir(home atomicfile.Dir, u account) (atomicfile.Dir, error) {
	if st, err := home.Self(); err != nil || int(st.UID) != u.uid {
		return atomicfile.Dir{}, errors.Join(notHis(home.Path(""), u), err)
	}
	if err := home.Mkdir(sshFolder, 0o700); err != nil {
		return atomicfile.Dir{}, err
	}
	st, err := home.Lstat(sshFolder)
	if err != nil {
		return atomicfile.Dir{}, err
	}
	if !st.IsDir() || int(st.UID) != os.Geteuid() {
		return atomicfile.Dir{}, atomicfile.ErrChanged
	}
	if _, err := home.SetAttrs(sshFolder, st, 0o700, u.uid, u.gid); err != nil {
		return atomicfile.Dir{}, err
	}
	return home.OpenDir(sshFolder)
}

// openTarget opens the folder of a file that is named. Another user who may write there could have
// us write anywhere: such a folder is refused.
func openTarget(w safepath.Walker, u account, target string, make bool) (*keysDir, error) {
	dir, name, err := targetPlace(w, u, target)
	if errors.Is(err, unix.ENOENT) && !make {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ours := func(owner int) bool { return owner == u.uid || owner == 0 || owner == os.Geteuid() }
	return holdKeys(dir, name, u, ours)
}

// targetPlace is keysPlace for a file that is named.
func targetPlace(w safepath.Walker, u account, target string) (atomicfile.Dir, string, error) {
	if w.Trusts(uint32(u.uid)) {
		f, name, err := w.Parent(target)
		return atomicfile.In(f), name, err
	}
	p, err := w.Place(target)
	return atomicfile.In(p.Folder), p.Name, err
}

// holdKeys checks an open folder, which it closes with an error.
// The owner of an existing file is checked at each read and write, since it can be exchanged in
// between.
func holdKeys(dir atomicfile.Dir, name string, u account, ours func(owner int) bool) (*keysDir, error) {
	st, err := dir.Self()
	switch {
	case err != nil:
	case !ours(int(st.UID)):
		err = notHis(dir.Path(""), u)
	case st.Perm()&0o022 != 0:
		err = fmt.Errorf("%s can be written to by others: chmod go-w %[1]s first", dir.Path(""))
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	k := &keysDir{dir: dir}
	k.file = textfile.In(dir, name, 0o600)
	k.file.UID, k.file.GID, k.file.Mine = u.uid, u.gid, func(st atomicfile.Stat) error {
		if int(st.UID) != u.uid {
			return notHis(dir.Path(name), u)
		}
		return nil
	}
	return k, nil
}

// notHis names the way out: nothing is given to the user by mgmt itself, since the file may be a
// trap.
func notHis(path string, u account) error {
	return fmt.Errorf("%s does not belong to %s: nothing is read or written there for him, chown it first", path, u.name)
}

// isUnknownUser tells a missing user from a question that failed, also in a wrapped error.
func isUnknownUser(err error) bool {
	_, ok := errors.AsType[user.UnknownUserError](err)
	return ok
}
