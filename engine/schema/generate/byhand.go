package generate

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// exporting is a line of TypeScript that exports something. Of a file without one, no other file can import anything.
var exporting = lazyregexp.New(`(?m)^export\b`)

// maxSource bounds what is read of a file by hand.
const maxSource = 1 << 20

// ByHand returns the files of TypeScript in a folder that were not generated and export something, in their order, by their paths
// below it. A pack exports them with its own ones. Tests and declarations of types without code (.d.ts) are left out, and so are hidden folders
// and installed packages. A folder that is not there has none.
func ByHand(dir string) (names []string, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "node_modules"):
			return fs.SkipDir
		case !e.Type().IsRegular() || path.Ext(base) != ".ts" || strings.Contains(strings.TrimSuffix(base, ".ts"), "."):
			return nil
		}
		ours, err := generatedFile(root, name)
		if ours || err != nil {
			return err
		}
		info, err := root.Stat(name)
		if err != nil || info.Size() > maxSource {
			return gone(err)
		}
		text, err := root.ReadFile(name)
		if err == nil && (base == "index.ts" || exporting.MatchString(string(text))) {
			names = append(names, name)
		}
		return gone(err)
	})
	return names, err
}

// gone returns an error, nil where a file has gone since it was listed.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
