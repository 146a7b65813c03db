package safepath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Where the program was built for a system other than Linux, it runs no graph. So no file decides what root
// does there, no link is a danger, and files are opened and replaced as by any other program.

// plainWrite is WriteFile of such a program.
func plainWrite(path string, content []byte, perm uint32) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	was, err := os.Stat(path)
	if err == nil && !was.Mode().IsRegular() {
		return os.WriteFile(path, content, 0)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".*.tmp")
	if err != nil {
		return err
	}
	mode := os.FileMode(perm)
	if was != nil {
		mode = was.Mode().Perm()
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Chmod(f.Name(), mode)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// plainAppend is OpenAppend of such a program.
func plainAppend(path string, perm uint32) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOCTTY, os.FileMode(perm))
}

// WithoutPath returns an error without the path, for a caller that shows the path as the place.
func WithoutPath(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
