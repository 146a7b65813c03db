package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/typescript"
)

// newTSTrust makes the verb ts trust.
func newTSTrust(a *app) *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use:   "trust [FOLDER]",
		Short: "Allow the tsc that a project brings to be run",
		Long: `Trust notes that the tsc in node_modules of a project may be run by the verbs that read its programs, of
the project in FOLDER, or around the current folder. Until then they take the tsc of the system, for a project
that was cloned to be looked at can bring any program under that name.

The folder is noted by its path, for this user alone. What is put there later is trusted, too.`,
		Example: `  mgmt ts trust web/
  mgmt ts trust --forget web/`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFolders,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.trustTS(dir, forget)
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "trust it no longer")
	return cmd
}

// trustTS notes a folder, or forgets it.
func (a *app) trustTS(dir string, forget bool) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder: name that of the project", dir)
	}
	if err != nil && !forget {
		return err
	}
	root, err := projectRoot(dir)
	if err != nil {
		return err
	}
	list, path, err := trustedProjects()
	if err != nil {
		return err
	}
	known := slices.Contains(list, root)
	switch {
	case forget && !known:
		fmt.Fprintf(a.out, "%s is not trusted\n", visible(root))
		return nil
	case !forget && known:
		fmt.Fprintf(a.out, "%s is trusted already\n", visible(root))
		return nil
	case forget:
		list = slices.DeleteFunc(list, func(p string) bool { return p == root })
	default:
		list = append(list, root)
	}
	slices.Sort(list)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("# Projects whose own tsc mgmt may run: mgmt ts trust.\n")
	for _, p := range list {
		text.WriteString(p + "\n")
	}
	if err := safepath.System().WriteFile(path, []byte(text.String()), 0o644, false); err != nil {
		return err
	}
	word := "trusted"
	if forget {
		word = "trusted no longer"
	}
	fmt.Fprintf(a.out, "%s is %s\n", visible(root), word)
	return nil
}

// projectRoot is the folder of the project around one, without links.
func projectRoot(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	root := typescript.RootOf(filepath.Join(abs, "main.ts"))
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if strings.ContainsAny(root, "\n\x00") {
		return "", fmt.Errorf("%s can't be noted: there is a new line in it", visible(root))
	}
	return root, nil
}

// trustedProject reports whether the tsc of a project may be run. Where the list can't be read, none is.
func trustedProject(root string) bool {
	list, _, err := trustedProjects()
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return slices.Contains(list, root)
}

// trustedProjects returns the noted folders, and the path of the list: in the folder of the user for settings, or in /etc/mgmt for
// root, whose daemon has no home. A list that another user could write is refused.
func trustedProjects() (list []string, path string, err error) {
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
