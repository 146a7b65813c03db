package generate

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Drift is how the files of a folder differ from the generated ones, each list in the order of
// the paths.
type Drift struct {
	Changed []string // they have another text
	Missing []string
	Stale   []string // they were generated, and their definitions are gone
}

// Empty reports whether nothing differs.
func (d Drift) Empty() bool { return len(d.Changed)+len(d.Missing)+len(d.Stale) == 0 }

// Compare says how a folder differs from the files. A folder that is not there is an empty one.
func Compare(dir string, files Files) (Drift, error) {
	var d Drift
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		d.Missing = slices.Sorted(maps.Keys(files))
		return d, nil
	}
	if err != nil {
		return d, err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := root.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			d.Missing = append(d.Missing, name)
		case err != nil:
			return d, err
		case !bytes.Equal(text, files[name]):
			d.Changed = append(d.Changed, name)
		}
	}
	d.Stale, err = stale(root, files)
	return d, err
}

// stale finds the files that were generated and are not any more. Hidden folders and installed
// packages of others are passed over.
func stale(root *os.Root, files Files) ([]string, error) {
	var found []string
	err := fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != ".":
			return nil // a Sync has removed the folder since
		case err != nil:
			return err
		case e.IsDir() && name != "." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules"):
			return fs.SkipDir
		case !e.Type().IsRegular() || files[name] != nil:
			return nil
		}
		ours, err := generatedFile(root, name)
		if ours {
			found = append(found, name)
		}
		return err
	})
	return found, err
}

// generatedFile reports whether a file begins with the mark. JSON has no comments, and has it
// in its first key.
func generatedFile(root *os.Root, name string) (bool, error) {
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // a Sync has brought it to its place since
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(bufio.NewReader(f), 256))
	if err != nil {
		return false, err
	}
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	if bytes.Equal(bytes.TrimSpace(first), []byte("{")) {
		first, _, _ = bytes.Cut(rest, []byte("\n"))
	}
	return bytes.Contains(first, []byte(mark)), nil
}

// Sync brings a folder to the files. It writes the files that differ, and removes others whose
// definitions are gone, with folders that become empty. Files that it has not generated stay,
// but for one of a name that is generated. All new texts are on the disk before the first file
// is replaced, and each is replaced at once. After an error some files may be new, and nothing else
// is left. Of two that begin together on one folder the later gets an error, and does nothing.
func Sync(dir string, files Files) (Drift, error) {
	if len(files) > 0 {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return Drift{}, err
		}
	}
	unlock, err := lock(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Drift{}, nil // and nothing is to be there
	}
	if err != nil {
		return Drift{}, err
	}
	defer unlock()
	d, err := Compare(dir, files)
	if err != nil {
		return d, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return d, err
	}
	defer root.Close()
	staged := staging{root: root}
	for _, name := range slices.Concat(d.Changed, d.Missing) {
		if err := staged.add(name, files[name]); err != nil {
			staged.undo()
			return d, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := staged.put(); err != nil {
		return d, err
	}
	for _, name := range d.Stale {
		if err := root.Remove(name); err != nil {
			return d, err
		}
		for up := path.Dir(name); up != "." && root.Remove(up) == nil; up = path.Dir(up) {
		} // until a folder is not empty
	}
	return d, nil
}

// lock has one Sync at a time alter a folder. The kernel ends the lock with the process. On a system
// without such locks the user takes care.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil && !errors.Is(err, unix.ErrNeedsLinux) {
		_ = f.Close()
		return nil, fmt.Errorf("another process generates files in %s: nothing is done; wait for its end, and do it again (%w)", dir, err)
	}
	return func() { _ = f.Close() }, nil
}

// staging has the texts that are on the disk and not in their places yet. It knows what it has made,
// so that undo removes nothing of others.
type staging struct {
	root    *os.Root
	files   []staged
	folders []string // a folder after its parent
}

// staged is a text that waits for its place.
type staged struct{ at, name string }

// add writes a text next to its place, and has it on the disk when it returns. Its name there is one that
// no file has. After a kill the next Sync finds the text by its mark, and removes it.
func (s *staging) add(name string, text []byte) error {
	if err := s.folder(path.Dir(name)); err != nil {
		return err
	}
	at := name + "." + rand.Text() + ".new~"
	f, err := s.root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	s.files = append(s.files, staged{at, name})
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// put brings all texts to their places. After an error the rest is gone.
func (s *staging) put() error {
	for i, f := range s.files {
		if err := s.root.Rename(f.at, f.name); err != nil {
			s.files = s.files[i:]
			s.undo()
			return err
		}
	}
	return nil
}

// folder makes a folder with its parents.
func (s *staging) folder(dir string) error {
	if dir == "." {
		return nil
	}
	if err := s.folder(path.Dir(dir)); err != nil {
		return err
	}
	err := s.root.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil // where it is a file, opening a file below it fails
	}
	if err == nil {
		s.folders = append(s.folders, dir)
	}
	return err
}

// undo removes all that was made. A folder that another program has filled meanwhile stays.
func (s *staging) undo() {
	for _, f := range s.files {
		_ = s.root.Remove(f.at)
	}
	for _, dir := range slices.Backward(s.folders) {
		_ = s.root.Remove(dir)
	}
}

// Replace puts a new text into the place of a file, at once. After an error the file is as it was.
func Replace(root *os.Root, name string, text []byte) error {
	staged := staging{root: root}
	if err := staged.add(name, text); err != nil {
		staged.undo()
		return err
	}
	return staged.put()
}
