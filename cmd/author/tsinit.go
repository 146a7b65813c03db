package author

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/typescript"
)

// NewTS makes the verb ts with its own verbs. What runs a program is a flag of other verbs,
// since such a graph is run like any other.
func NewTS(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ts",
		Short: "Set up TypeScript programs that generate graphs",
		Long: `Ts sets up TypeScript programs that generate graphs (docs/typescript.md). To run such a
program, use mgmt run --ts FILE.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTSInit(a), newTSTrust(a))
	return cmd
}

// newTSInit makes the verb ts init. It has no --force: the classes are the only files that
// a second run may have to replace, and these are known by their first line.
func newTSInit(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Create a TypeScript project, or update its classes",
		Long: `Init creates a project in FOLDER (default the current one): main.ts with a first graph,
tsconfig.json, package.json, and the folder mgmt with a class for each kind, for editors
and tsc. It overwrites only the classes. Run it again to get the classes of another
version, or of --types and --plugins.`,
		Example: `  mgmt ts init web/
  mgmt plan --ts web/main.ts`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFolders,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return initTS(a, dir)
		},
	}
	cli.TypesFlag(a, cmd)
	return cmd
}

// initTS writes a project, and lists what it has written. It looks at all files of the classes before it writes, so a
// refusal leaves nothing behind.
func initTS(a *cli.App, dir string) error {
	kept, made, err := typescript.Project(a.Kinds())
	if err != nil {
		return err
	}
	var files []newFile
	var errs []error
	// The classes: an old one is replaced, and the work of an author is not.
	for _, name := range slices.Sorted(maps.Keys(made)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		was, err := gapi.Source{}.ReadRegular(context.Background(), path, cli.MaxText, "the classes of mgmt")
		switch {
		case err == nil && string(was) == made[name]:
			continue
		case err == nil && !strings.HasPrefix(string(was), typescript.Generated):
			err = fmt.Errorf("%s was written by hand, and the classes of mgmt need its name: rename it", path)
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		case err != nil:
			err = fmt.Errorf("%s: %w", path, safepath.WithoutPath(err))
		}
		errs = append(errs, err)
		files = append(files, newFile{path, []byte(made[name])})
	}
	// The other files: whatever stands at such a name counts as the author's, a broken link too.
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			files = append(files, newFile{path, []byte(kept[name])})
		} else {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, typescript.Module), 0o755); err != nil {
		return err
	}
	// Each path is printed after it was written: a failure in the middle shows how far it came.
	for _, f := range files {
		if err := cli.WriteFile(f.path, f.content); err != nil {
			return err
		}
		fmt.Fprintln(a.Out, render.Visible(f.path))
	}
	return nil
}
