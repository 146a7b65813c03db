package inputs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/typescript"
)

// ProjectRoot is the folder of the project around one, without links.
func ProjectRoot(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	root := typescript.RootOf(filepath.Join(abs, "main.ts"))
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if strings.ContainsAny(root, "\n\x00") {
		return "", fmt.Errorf("%s can't be noted: there is a new line in it", render.Visible(root))
	}
	return root, nil
}

// trustedProject reports whether the tsc of a project may be run. Where the list can't be read, none is.
func trustedProject(root string) bool {
	list, _, err := TrustedProjects()
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return slices.Contains(list, root)
}

// TrustedProjects returns the noted folders, and the path of the list: in the folder of the user for settings, or in /etc/mgmt for
// root, whose daemon has no home. A list that another user could write is refused.
func TrustedProjects() (list []string, path string, err error) {
	dir := "/etc"
	if os.Geteuid() != 0 || os.Getenv("XDG_CONFIG_HOME") != "" {
		if dir, err = os.UserConfigDir(); err != nil {
			return nil, "", err
		}
	}
	path = filepath.Join(dir, "mgmt", "ts-trusted")
	w := safepath.System()
	f, err := gapi.Source{Guard: &w}.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	if err != nil {
		return nil, path, fmt.Errorf("%s: %w", path, safepath.WithoutPath(err))
	}
	defer f.Close()
	text, err := gapi.ReadBounded(f, 1<<20, "the list of trusted projects")
	if err != nil {
		return nil, path, fmt.Errorf("%s: %w", path, safepath.WithoutPath(err))
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); filepath.IsAbs(line) {
			list = append(list, line)
		}
	}
	return list, path, nil
}
