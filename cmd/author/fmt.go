package author

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// fmtFlags are the flags of fmt.
// Without any of them the result goes to standard output.
type fmtFlags struct {
	// list and diff may come with write. check excludes it, since check promises to alter nothing.
	write, diff, list, check bool
}

// NewFmt makes the verb fmt.
// The types of --types matter, since their parameters may have words of other tools too.
// The exit code is 0 also where something was altered; only --check has code 2.
func NewFmt(a *cli.App) *cobra.Command {
	f := &fmtFlags{}
	cmd := &cobra.Command{
		Use:   "fmt [FILE | FOLDER | -]...",
		Short: "Format graph files",
		Long: `Fmt rewrites graph files in the standard format: two spaces per level, lists at the
indentation of their key, at most one blank line in a row. Comments and their
alignment, the order of keys and the meaning stay. In YAML, words of other tools
that mgmt understands become its own: package becomes pkg, ensure becomes state.

Fmt prints the result on standard output. FOLDER selects its *.yaml, *.yml and
*.toml files; - or no argument reads standard input.`,
		Example: `  mgmt fmt -w graph.yaml
  mgmt fmt --check .        # ends with code 2 when a file is not in its usual form`,
		RunE: func(_ *cobra.Command, args []string) error { return f.run(a, args) },
	}
	fl := cmd.Flags()
	fl.BoolVarP(&f.write, "write", "w", false, "write the result to the file")
	fl.BoolVarP(&f.diff, "diff", "d", false, "show a diff")
	fl.BoolVarP(&f.list, "list", "l", false, "list the files that are not formatted")
	fl.BoolVar(&f.check, "check", false, "like --list, and exit with code 2 if there are any")
	cli.TypesFlag(a, cmd)
	cli.Exclude(cmd, "write", "check")
	return cmd
}

// run formats all files before it tells the first error. Without files on a terminal it
// would wait for input in vain, so that is an error.
// A file that is wrong does not keep the others from being written.
func (f *fmtFlags) run(a *cli.App, args []string) error {
	if len(args) == 0 {
		if cli.TerminalSize(fileOf(a.In)) != nil {
			return errors.New("name the files to format, or - for standard input")
		}
		args = []string{"-"}
	}
	paths, err := graphFiles(a, args)
	if err != nil {
		return err
	}
	changed, bad := false, false
	for _, path := range paths {
		diff, err := f.one(a, path)
		if err != nil {
			bad = true
			render.PrintError(a.Err, a.Program(), path, err)
		}
		changed = changed || diff
	}
	switch {
	case bad:
		return cli.WithCode(cli.ExitUsage, nil)
	case changed && f.check:
		return cli.WithCode(cli.ExitChange, nil)
	default:
		return nil
	}
}

// fileOf lets TerminalSize look at an input.
func fileOf(r io.Reader) io.Writer {
	f, _ := r.(*os.File)
	return f
}

// graphFiles replaces the folders among some paths by the graph files in them.
// A folder is not searched below: a graph is the files of one folder.
// A path that does not exist is an error before any file is read.
func graphFiles(a *cli.App, args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		info, err := a.Asking().Stat(context.Background(), arg)
		if arg == "-" || err == nil && !info.IsDir() {
			paths = append(paths, arg)
			continue
		}
		if err != nil {
			return nil, err
		}
		// ReadDir sorts by name, so the output has the same order on every machine.
		entries, err := os.ReadDir(arg)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsDir() && yaml.NotationOf(e.Name()).Folder {
				paths = append(paths, filepath.Join(arg, e.Name()))
			}
		}
	}
	return paths, nil
}

// one formats one file, and reports whether it was not in its usual form.
// With --write an unchanged file is not touched, so its time stays.
func (f *fmtFlags) one(a *cli.App, path string) (bool, error) {
	src, err := inputs.ReadInput(a, path)
	if err != nil {
		return false, err
	}
	out, err := formatted(a, path, src)
	if err != nil {
		return false, err
	}
	changed := !bytes.Equal(src, out)
	// The path is as the user has given it, so that another program can take it.
	if changed && (f.list || f.check) {
		fmt.Fprintln(a.Out, cli.OnTerminal(a.Out, path))
	}
	if changed && f.diff {
		fmt.Fprint(a.Out, cli.OnTerminal(a.Out, udiff.Unified(path, path, string(src), string(out))))
	}
	switch {
	case f.write && path != "-":
		if !changed {
			return false, nil
		}
		return changed, cli.WriteFile(path, out)
	case f.list, f.check, f.diff:
		return changed, nil
	}
	_, err = io.WriteString(a.Out, cli.OnTerminal(a.Out, string(out)))
	return changed, err
}

// formatted returns a source in its usual form. The path says its notation.
func formatted(a *cli.App, path string, src []byte) ([]byte, error) {
	n := yaml.GraphNotation(path, src)
	ours, err := translated(a, n, src)
	if err != nil {
		return nil, err
	}
	return n.Format(ours)
}

// translated returns a source with our words in the place of those of other tools, where
// that says the same. Where it can't, the source stays.
// The result is parsed again and dropped if it has more faults than the source.
// A file of data or of tests declares nothing, and has no words to translate.
func translated(a *cli.App, n yaml.Notation, src []byte) ([]byte, error) {
	d := yaml.Declare(src)
	if d == nil || n.Rewrite == nil {
		return src, nil
	}
	_, list := gapi.Translate(a.Kinds(), d)
	out, err := n.Rewrite(src, list)
	if err != nil {
		return nil, err
	}
	if again := yaml.Declare(out); again == nil || len(again.Problems) > len(d.Problems) {
		return src, nil
	}
	return out, nil
}
