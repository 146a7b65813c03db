package backends

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/textpart"
)

// maxConfig bounds the configuration of a package manager that is read: a much larger file is a mistake.
const maxConfig = 4 << 20

// configMode is the mode of a file that is made: the user whom apt fetches as reads it.
const configMode = 0o644

// configAt returns a file whose folder is held open until release is called.
// A link that another user could exchange on the way is an error. The caller calls release once.
func configAt(path string) (f textpart.File, release func(), err error) {
	p, err := safepath.System().Place(path)
	if err != nil {
		return f, nil, fmt.Errorf("%s: %w", path, err)
	}
	return textpart.File{Dir: atomicfile.In(p.Folder), Name: p.Name, Max: maxConfig, Mode: configMode, UID: -1, GID: -1}, p.Close, nil
}

// readConfig returns the text of a file, empty for a missing file.
// A text of more than maxConfig bytes is an error.
func readConfig(path string) (string, error) {
	f, release, err := configAt(path)
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer release()
	text, _, err := f.Read()
	return text, err
}

// editConfig replaces the text of a file by the result of change. A missing file is empty text, and
// is made. If another process writes the file meanwhile, change is called again. The file goes where
// drop is set and nothing but blanks is left.
// A text that stays the same is not written. The new file has the owner and the mode of the old one.
func editConfig(path string, drop bool, change func(old string) (string, error)) error {
	return atomicfile.Retry(func() error {
		f, release, err := configAt(path)
		if err != nil {
			return err
		}
		defer release()
		f.Drop = drop
		return f.Edit(change)
	})
}

// partsIn returns the files of a folder whose names end so, sorted: none if there is no such folder.
// Hidden files are left out, as package managers do.
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
