package pkg

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// maxConfig bounds the configuration of a package manager that is read: a much larger file is a mistake.
const maxConfig = 4 << 20

// configMode is the mode of a file that is made: the user whom apt fetches as reads it.
const configMode = 0o644

// place opens the folder of a file, for all that is done with it.
func place(path string) (dir atomicfile.Dir, name string, release func(), err error) {
	p, err := safepath.System().Place(path)
	if err != nil {
		return dir, "", nil, fmt.Errorf("%s: %w", path, err)
	}
	return atomicfile.In(p.Folder), p.Name, p.Close, nil
}

// readConfig returns the text of a file; of one that is not there none.
func readConfig(path string) (string, error) {
	dir, name, release, err := place(path)
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer release()
	text, _, err := readIn(dir, name)
	return text, err
}

func readIn(dir atomicfile.Dir, name string) (string, *atomicfile.Stat, error) {
	f, st, err := dir.Open(name)
	if errors.Is(err, unix.ENOENT) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(data) > maxConfig {
		err = fmt.Errorf("%s is larger than %d MiB: that is no configuration", dir.Path(name), maxConfig>>20)
	}
	return string(data), &st, err
}

// editConfig replaces the text of a file by what change makes of it, at once: a reader sees the old text or the new one. A missing
// file is empty text, and is made. Where the text stays the same nothing is written. If somebody else writes the file meanwhile, change
// is called again. The file goes where drop is set and nothing but blanks is left.
func editConfig(path string, drop bool, change func(old string) (string, error)) error {
	for tries := 1; ; tries++ {
		err := editOnce(path, drop, change)
		if !errors.Is(err, atomicfile.ErrChanged) || tries == 5 {
			return err
		}
	}
}

func editOnce(path string, drop bool, change func(string) (string, error)) error {
	dir, name, release, err := place(path)
	if err != nil {
		return err
	}
	defer release()
	old, st, err := readIn(dir, name)
	if err != nil {
		return err
	}
	text, err := change(old)
	if err != nil || text == old {
		return err
	}
	if st != nil {
		if now, err := dir.Lstat(name); err == nil && now != *st {
			return atomicfile.ErrChanged
		}
	}
	if drop && strings.TrimSpace(text) == "" {
		return dir.Remove(name, false)
	}
	n := atomicfile.New{
		Dir: dir, Name: name, Old: st, Mode: -1, UID: -1, GID: -1, Size: int64(len(text)),
		Fill: func(w io.Writer) error { _, err := io.WriteString(w, text); return err },
	}
	if st == nil {
		n.Mode = configMode
	}
	_, err = n.Write()
	return err
}

// partsIn returns the files of a folder whose names end so, sorted: none if there is no such folder.
func partsIn(folder string, ends ...string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if slices.Contains(ends, filepath.Ext(e.Name())) && !strings.HasPrefix(e.Name(), ".") {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths, nil
}
