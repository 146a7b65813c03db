package safepath

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// output returns where an output file is to be written: behind a link that may be followed, or in
// the place of a link that leads nowhere.
func (w Walker) output(path string) (Place, error) {
	p, err := w.Place(path)
	if err == nil && !p.Missing || err != nil && !errors.Is(err, unix.ENOENT) {
		return p, err
	}
	if err == nil {
		p.Close()
	}
	f, name, err := w.Parent(path)
	if err != nil {
		return Place{}, err
	}
	p, err = f.place(name)
	if err != nil {
		f.Close()
	}
	return p, err
}

// WriteFile replaces a file in one step, by the rules for links of this package. A present file
// keeps its owner and its mode, without setuid and setgid; a new one has perm, less the umask. With
// exact set, every one is the daemon's, with perm whatever the umask is. A link that leads nowhere
// is replaced. A device or a pipe is written to; a pipe without a reader is an error. Nothing is
// synced. Owner and mode are set before the content comes, so no other user gets to read it.
func (w Walker) WriteFile(path string, content []byte, perm uint32, exact bool) error {
	if unix.Portable {
		return plainWrite(path, content, perm)
	}
	p, err := w.output(path)
	if err != nil {
		return err
	}
	defer p.Close()
	kind := p.Stat.Mode & unix.S_IFMT
	if !p.Missing && kind != unix.S_IFREG && kind != unix.S_IFLNK {
		return p.put(p.Name, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0, content)
	}
	temp := "." + hex.EncodeToString(randomBytes()) + ".tmp"
	keeps := !p.Missing && kind == unix.S_IFREG && !exact
	setRights := func(fd int) error {
		switch {
		case exact:
			return unix.Fchmod(fd, perm)
		case keeps:
			_ = unix.Fchown(fd, int(p.Stat.Uid), int(p.Stat.Gid)) // only root may give it away
			return unix.Fchmod(fd, p.Stat.Mode&0o777)
		}
		return nil
	}
	err = p.put(temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, firstPerm(perm, keeps || exact), content, setRights)
	if err != nil {
		return errors.Join(err, p.Remove(temp))
	}
	err = p.Do(func() error { return unix.Renameat(p.fd, temp, p.fd, p.Name) })
	if err != nil {
		return errors.Join(pathError("rename", p.Path(p.Name), err), p.Remove(temp))
	}
	return nil
}

// firstPerm returns the permissions with which a file is made. One that gets others is closed until then: a user who opens it
// before may read on.
func firstPerm(perm uint32, changes bool) uint32 {
	if changes {
		return perm & 0o600
	}
	return perm
}

// OpenAppend opens a file to append to it, by the rules for links of this package, and makes it
// where it is missing. A file with a second name in a folder that other users can write is refused:
// they could have made the one of a file that is none of theirs. A pipe without a reader is an error; with a reader, writing
// waits for it. The file is the caller's.
func (w Walker) OpenAppend(path string, perm uint32) (*os.File, error) {
	if unix.Portable {
		return plainAppend(path, perm)
	}
	p, err := w.output(path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	fd, err := p.Openat(p.Name, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, perm)
	if err != nil {
		return nil, pathError("open", p.Path(p.Name), err)
	}
	st, err := fstat(fd)
	if err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1 {
		var who string
		if who, err = w.OthersWrite(p.Folder); err == nil && who != "" {
			err = &RefusedError{Element: p.Path(p.Name), UID: int(st.Uid), text: fmt.Sprintf(
				"%s has other names, and %s can write to its folder and could have made it one of another file: remove it, or name another file", short(p.Path(p.Name)), who)}
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	_ = unix.SetNonblock(fd, false)
	return os.NewFile(uintptr(fd), w.shown(path)), nil
}

// put opens a name, has it prepared, and then writes to it.
func (f Folder) put(name string, flags int, perm uint32, content []byte, prepare ...func(fd int) error) error {
	fd, err := f.Openat(name, flags, perm)
	if err != nil {
		return pathError("open", f.Path(name), err)
	}
	file := os.NewFile(uintptr(fd), f.Path(name))
	for _, do := range prepare {
		if err == nil {
			err = do(fd)
		}
	}
	if err == nil {
		_, err = file.Write(content)
	}
	return errors.Join(err, file.Close())
}

// Remove removes a name of the folder, unless it is a folder. A missing name is not an error.
func (f Folder) Remove(name string) error {
	err := f.Do(func() error { return unix.Unlinkat(f.fd, name, 0) })
	if err == unix.ENOENT {
		return nil
	}
	return pathError("remove", f.Path(name), err)
}

func randomBytes() []byte {
	b := make([]byte, 8)
	unix.RandomRead(b)
	return b
}
