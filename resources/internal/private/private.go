package private

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine"
)

// Mode is the mode of everything that a resource keeps in its VarDir.
const Mode = 0o600

// maxPrivate bounds the bytes that are read back, against a file of another program.
const maxPrivate = 16 << 20

// Read reads a file of VarDir. A missing file gives nil and no error. A link is not
// followed.
func Read(init *engine.Init, name string) ([]byte, error) {
	data, _, err := ReadInfo(init, name)
	return data, err
}

func ReadInfo(init *engine.Init, name string) ([]byte, fs.FileInfo, error) {
	root, err := openVarDir(init)
	if err != nil || root == nil {
		return nil, nil, err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, info, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPrivate))
	return data, info, err
}

// openVarDir returns nil and no error when the folder does not exist, as under
// noop.
func openVarDir(init *engine.Init) (*os.Root, error) {
	dir, err := init.VarDir("")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return root, err
}

// Write replaces a file of VarDir at once: readers see all of the old or
// all of the new. With sync it is on the disk when it returns.
func Write(init *engine.Init, name string, data []byte, sync bool) (err error) {
	dir, err := init.VarDir("")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	// One name for the new file, since there is one writer: a crash leaves no heap of them. A
	// present file is not ours to write through.
	tmp := name + ".new"
	if err := root.RemoveAll(tmp); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.RemoveAll(tmp)
		}
	}()
	if err := writeNew(root, tmp, data, sync); err != nil {
		return err
	}
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	if err := root.Rename(tmp, name); err != nil {
		return err
	}
	if !sync {
		return nil
	}
	return syncDir(dir)
}

func writeNew(root *os.Root, name string, data []byte, sync bool) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, Mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(Mode) // whatever the umask was
	}
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
