package author

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/safepath"
)

// newTSTrust makes the verb ts trust.
func newTSTrust(a *cli.App) *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use:   "trust [FOLDER]",
		Short: "Allow mgmt to run the tsc of a project",
		Long: `Trust allows the verbs that read a project's programs to run the tsc in its
node_modules. The project is the one in FOLDER, or around the current folder. Until
then, those verbs run the system's tsc, because a cloned project can contain any program
under that name.

The permission belongs to this user and the path of the folder, and covers whatever is
put there later.`,
		Example: `  mgmt ts trust web/
  mgmt ts trust --forget web/`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFolders,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return trustTS(a, dir, forget)
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "stop trusting the project")
	return cmd
}

// trustTS notes a folder, or forgets it.
func trustTS(a *cli.App, dir string, forget bool) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder: name that of the project", dir)
	}
	if err != nil && !forget {
		return err
	}
	root, err := inputs.ProjectRoot(dir)
	if err != nil {
		return err
	}
	list, path, err := inputs.TrustedProjects()
	if err != nil {
		return err
	}
	known := slices.Contains(list, root)
	switch {
	case forget && !known:
		fmt.Fprintf(a.Out, "%s is not trusted\n", render.Visible(root))
		return nil
	case !forget && known:
		fmt.Fprintf(a.Out, "%s is trusted already\n", render.Visible(root))
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
	fmt.Fprintf(a.Out, "%s is %s\n", render.Visible(root), word)
	return nil
}
