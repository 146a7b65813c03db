package resources

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

const (
	sshFolder = ".ssh"
	sshFile   = "authorized_keys"
)

// keysDir is a folder that is held open, with the file of keys in it.
type keysDir struct {
	dir  atomicfile.Dir
	file textFile
}

func (k *keysDir) close() { k.dir.Close() }

// openKeys opens the folder of a user's keys. A user can put what he likes below his
// home at any moment: so the folder is opened without following a link in its last
// place, it is looked at only when it is open, and all that follows is done in that one
// folder. It must be his, or, for a target elsewhere, root's or our own.
//
// A missing folder is nil, or, if make is set, an error or made in his home.
func openKeys(u account, target string, make bool) (*keysDir, error) {
	if target != "" {
		return openTarget(u, target, make)
	}
	home, err := atomicfile.OpenDir(u.home)
	if errors.Is(err, unix.ENOENT) && !make {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the home of %s: %w", u.name, err)
	}
	defer home.Close()
	dir, err := home.OpenDir(sshFolder)
	if errors.Is(err, unix.ENOENT) {
		if !make {
			return nil, nil
		}
		dir, err = makeKeysDir(home, u)
	}
	if err != nil {
		return nil, err
	}
	return holdKeys(dir, sshFile, u, func(owner int) bool { return owner == u.uid })
}

// makeKeysDir makes the folder in a home.
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

// openTarget opens the folder of a file that is named. Who may write there besides us
// and the user could have us write anywhere: such a folder is refused.
func openTarget(u account, target string, make bool) (*keysDir, error) {
	folder, name := filepath.Split(filepath.Clean(target))
	dir, err := atomicfile.OpenDir(folder)
	if errors.Is(err, unix.ENOENT) && !make {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ours := func(owner int) bool { return owner == u.uid || owner == 0 || owner == os.Geteuid() }
	return holdKeys(dir, name, u, ours)
}

// holdKeys checks an open folder, which it closes with an error.
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
	k.file = textFile{dir: dir, name: name, mode: 0o600, uid: u.uid, gid: u.gid, mine: func(st atomicfile.Stat) error {
		if int(st.UID) != u.uid {
			return notHis(dir.Path(name), u)
		}
		return nil
	}}
	return k, nil
}

func notHis(path string, u account) error {
	return fmt.Errorf("%s does not belong to %s: nothing is read or written there for him, chown it first", path, u.name)
}

func isUnknownUser(err error) bool {
	_, ok := errors.AsType[user.UnknownUserError](err)
	return ok
}
