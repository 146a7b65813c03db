package author

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/format"
	"go/scanner"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/generate"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
	"github.com/reactivegraph/mgmt/gapi"
)

// The verbs of idl have only flags, places and words here. The compiler is
// engine/schema/idl, and the targets are in engine/schema/generate.

// NewIDL makes the verb idl with its own verbs. None of them asks a daemon, so they
// work on every system.
func NewIDL(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "idl",
		Short: "Generate TypeScript packs and provider stubs from type definitions",
		Long: `Idl compiles definitions of resource types, written in a subset of Go (structs, enums and
constants), into packs for TypeScript programs, Go stubs for providers, schemas and
pages. docs/idl.md shows how to write a type.

Idl needs no Go toolchain. It reports all errors at once, with their positions, and
writes nothing if there are any.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newIDLBuild(a), newIDLCheck(a), newIDLDiff(a), newIDLSchema(a), newIDLDocs(a), newIDLFmt(a))
	return cmd
}

// idlFlags are those of the verbs that compile. Each verb has one of its own, made with
// the verb.
type idlFlags struct {
	name, version string
	// Folders of outputs; empty for none. They are the targets typescript and go of --out.
	pack, provider string
	out            []string // TARGET=FOLDER
}

// flags adds the flags of all verbs that compile.
func (f *idlFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "package", "", "package `name`, the start of every token (default the folder above that of the definitions)")
	_ = cmd.RegisterFlagCompletionFunc("package", cobra.NoFileCompletions)
	cmd.ValidArgsFunction = completeFolders
}

// outFlags adds the places of the outputs. Each may be left out.
func (f *idlFlags) outFlags(cmd *cobra.Command) {
	f.flags(cmd)
	fl := cmd.Flags()
	fl.Var((*cli.Place)(&f.pack), "out-pack", "`folder` of the TypeScript pack")
	fl.Var((*cli.Place)(&f.provider), "out-provider", "`folder` of the provider's Go stubs and schema")
	fl.StringArrayVar(&f.out, "out", nil, "another output, `TARGET=FOLDER`; targets are "+strings.Join(generate.Names(), ", "))
	fl.StringVar(&f.version, "package-version", "0.0.0", "package `version` in the schema of the provider")
	_ = cmd.MarkFlagDirname("out-pack")
	_ = cmd.MarkFlagDirname("out-provider")
	_ = cmd.RegisterFlagCompletionFunc("package-version", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("out", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var words []string
		for _, name := range generate.Names() {
			words = append(words, name+"=")
		}
		return words, cobra.ShellCompDirectiveNoSpace
	})
}

// completeFolders completes an argument that is a folder. Definitions are never given
// as single files: a module is a folder.
func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// compile compiles the definitions in a folder. Positions of findings begin with the
// folder, as the user has named it. Links that lead out of the folder are not followed.
// An error is schema.Diagnostics for faults of definitions, and of another type for a folder that
// cannot be read.
func (f *idlFlags) compile(ctx context.Context, dir string) (*idl.Package, error) {
	name := f.name
	if name == "" {
		at, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		// Definitions are in PACKAGE/idl by custom, so the folder above has the name of the package.
		name = tokenName(filepath.Base(filepath.Dir(at)))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// os.Root follows no link out of the folder, so a foreign repository cannot have other files
	// read.
	p, found := idl.Compile(ctx, root.FS(), idl.Options{Package: name, Root: importedAs(dir)})
	for i := range found {
		found[i].Pos.File = filepath.Join(dir, found[i].Pos.File)
		for j := range found[i].Related {
			found[i].Related[j].Pos.File = filepath.Join(dir, found[i].Related[j].Pos.File)
		}
	}
	return p, found.Err()
}

// tokenName reduces the name of a folder to the begin of a token.
func tokenName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// importedAs returns the path by which Go imports a folder, from the go.mod above it;
// empty where there is none. Only the line with the module is read, so a file that is
// wrong elsewhere does no harm.
// The go command is not asked: the machine of an author may have none.
func importedAs(dir string) string {
	at, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for up := at; ; up = filepath.Dir(up) {
		if text, err := (gapi.Source{}).ReadRegular(context.Background(), filepath.Join(up, "go.mod"), 1<<20, ""); err == nil {
			for line := range strings.Lines(string(text)) {
				if module, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
					rel, err := filepath.Rel(up, at)
					if err != nil {
						return ""
					}
					return path.Join(strings.Trim(strings.TrimSpace(module), `"`), filepath.ToSlash(rel))
				}
			}
		}
		// The root of the file system is its own parent.
		if up == filepath.Dir(up) {
			return ""
		}
	}
}

// idlOutput is one folder with all that is generated into it.
type idlOutput struct {
	dir   string
	files generate.Files
}

// outputs generates all that the flags ask for. A folder may have several targets:
// their files are one set, so neither target removes those of the other.
func (f *idlFlags) outputs(p *idl.Package) ([]idlOutput, error) {
	wanted := slices.Clone(f.out)
	if f.pack != "" {
		wanted = append(wanted, "typescript="+f.pack)
	}
	if f.provider != "" {
		wanted = append(wanted, "go="+f.provider)
	}
	var all []idlOutput
	for _, w := range wanted {
		name, dir, ok := strings.Cut(w, "=")
		if !ok || dir == "" {
			return nil, fmt.Errorf("--out=%s: write TARGET=FOLDER, such as markdown=docs", w)
		}
		target, err := generate.Find(name)
		if err != nil {
			return nil, fmt.Errorf("--out=%s: %w", w, err)
		}
		var byHand []string
		if name == "typescript" {
			if byHand, err = generate.ByHand(dir); err != nil {
				return nil, err
			}
		}
		// A target only makes texts. Nothing is written before all targets have made theirs.
		files, err := target.Files(p, generate.Options{Version: f.version, Stubs: importedAs(dir), ByHand: byHand})
		if err != nil {
			return nil, err
		}
		dir = filepath.Clean(dir)
		i := slices.IndexFunc(all, func(o idlOutput) bool { return o.dir == dir })
		if i < 0 {
			all, i = append(all, idlOutput{dir, generate.Files{}}), len(all)
		}
		maps.Copy(all[i].files, files)
	}
	return all, nil
}

// newIDLBuild makes the verb idl build. Its two flags for outputs are those of the
// design document; --out has the other targets.
func newIDLBuild(a *cli.App) *cobra.Command {
	f := &idlFlags{}
	cmd := &cobra.Command{
		Use:   "build FOLDER",
		Short: "Generate packs, stubs and schemas from the definitions in a folder",
		Long: `Build compiles the definitions in a folder and writes each output. A definition file
becomes one file of the same name in the pack (ec2/vpc.ts) and in the provider
(ec2/vpc_stub.go). The pack also exports the handwritten files next to its own.

Build removes files whose definitions are gone, and keeps handwritten files unless an
output has their name. Outputs may share a folder, but none may be inside the folder of
another. If there are errors, build writes nothing. It lists the files that it wrote or
removed.`,
		Example: `  mgmt idl build idl/ --out-pack=pack/ --out-provider=provider/
  mgmt idl build idl/ --out markdown=docs/ --out python=stubs/`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.build(cmd.Context(), a, args[0]) },
	}
	f.outFlags(cmd)
	return cmd
}

// build writes the outputs when all of them are there. A fault of one target keeps all
// from being written.
// The folders are written one after the other. In each, a full disk is met before a file is replaced,
// see generate.Sync.
func (f *idlFlags) build(ctx context.Context, a *cli.App, dir string) error {
	outputs, err := f.all(ctx, a, dir)
	if err != nil {
		return err
	}
	if len(outputs) == 0 {
		return errors.New("nothing is asked for; give --out-pack, --out-provider or --out")
	}
	for _, o := range outputs {
		drift, err := generate.Sync(o.dir, o.files)
		if err != nil {
			return err
		}
		sayDrift(a, o.dir, drift, "wrote", "wrote", "removed")
	}
	return nil
}

// apart refuses outputs in Go below the folder of the definitions: the next build would read them as definitions. It refuses outputs
// inside each other, too: each output removes what it has not made itself.
func apart(dir string, outputs []idlOutput) error {
	var wrong []error
	for _, o := range outputs {
		// Other outputs, such as pages, may lie there: only .go files are read as definitions.
		goes := slices.ContainsFunc(o.files.Names(), func(name string) bool { return path.Ext(name) == ".go" })
		if goes && liesIn(o.dir, dir) {
			wrong = append(wrong, fmt.Errorf("the output folder %s lies in the folder of the definitions, %s, and the next build would read its .go files as definitions: name a folder next to it, such as --out-provider=%s",
				o.dir, filepath.Clean(dir), filepath.Join(dir, "..", "provider")))
		}
	}
	for i, o := range outputs {
		for _, other := range outputs[:i] {
			inner, outer := o.dir, other.dir
			if liesIn(outer, inner) {
				inner, outer = outer, inner
			}
			if liesIn(inner, outer) {
				wrong = append(wrong, fmt.Errorf("the output folder %s lies in the output folder %s, which would take its files for old ones of its own and remove them: name folders next to each other, or the same one for both", inner, outer))
			}
		}
	}
	return errors.Join(wrong...)
}

// liesIn reports whether a path is a folder, or is below it. Links count as the folders that they lead to, and neither need be there.
func liesIn(at, dir string) bool {
	folder, err := os.Stat(dir)
	if err != nil {
		// Nothing leads into a folder that is yet to be made but its own path.
		rel, err := filepath.Rel(target(dir), target(at))
		return err == nil && filepath.IsLocal(rel)
	}
	up, err := filepath.Abs(at)
	for err == nil {
		// A part of the path may not be there yet. Then its parents are looked at.
		if real, lost := filepath.EvalSymlinks(up); lost == nil {
			up = real
		}
		if info, lost := os.Stat(up); lost == nil && os.SameFile(info, folder) {
			return true
		}
		if up == filepath.Dir(up) {
			return false
		}
		up = filepath.Dir(up)
	}
	return false
}

// target returns the path that a path leads to: links are followed as far as it is there.
func target(at string) string {
	at, err := filepath.Abs(at)
	if err != nil {
		return at
	}
	rest := ""
	for up := at; ; up = filepath.Dir(up) {
		if real, err := filepath.EvalSymlinks(up); err == nil {
			return filepath.Join(real, rest)
		}
		if up == filepath.Dir(up) {
			return at
		}
		rest = filepath.Join(filepath.Base(up), rest)
	}
}

// all compiles, and generates all outputs. Nothing is written yet. Findings are printed
// at once, each on a line with its place.
func (f *idlFlags) all(ctx context.Context, a *cli.App, dir string) ([]idlOutput, error) {
	p, err := f.compile(ctx, dir)
	if err != nil {
		return nil, findings(a, dir, err)
	}
	outputs, err := f.outputs(p)
	return outputs, cmp.Or(err, apart(dir, outputs))
}

// findings prints the faults of definitions, and returns the error that is left to say.
// Each fault stands on a line of its own and begins with its place, so editors find it.
func findings(a *cli.App, dir string, err error) error {
	if _, ok := errors.AsType[schema.Diagnostics](err); !ok {
		return err
	}
	render.PrintError(a.Err, a.Program(), dir, err)
	return cli.WithCode(cli.ExitUsage, nil)
}

// sayDrift lists files with a word before each. A user can give each path to
// another verb.
func sayDrift(a *cli.App, dir string, d generate.Drift, changed, missing, stale string) {
	for _, list := range []struct {
		word  string
		names []string
	}{{changed, d.Changed}, {missing, d.Missing}, {stale, d.Stale}} {
		for _, name := range list.names {
			fmt.Fprintf(a.Out, "%s %s\n", list.word, render.Visible(filepath.Join(dir, name)))
		}
	}
}

// newIDLCheck makes the verb idl check. It is for machines that build: the outputs are
// files of the repository.
// The codes are 0 for up to date, 1 for a fault, and 2 for a difference.
func newIDLCheck(a *cli.App) *cobra.Command {
	f := &idlFlags{}
	cmd := &cobra.Command{
		Use:   "check FOLDER",
		Short: "Check that definitions are valid and outputs are up to date",
		Long: `Check compiles the definitions in a folder and compares each output with the files on
disk. It changes nothing. If build would write or remove files, check lists them and exits
with code 2.`,
		Example: `  mgmt idl check idl/ --out-pack=pack/ --out-provider=provider/`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.check(cmd.Context(), a, args[0]) },
	}
	f.outFlags(cmd)
	return cmd
}

// check compares the outputs with the disk. Without outputs it judges the definitions
// alone.
func (f *idlFlags) check(ctx context.Context, a *cli.App, dir string) error {
	outputs, err := f.all(ctx, a, dir)
	if err != nil {
		return err
	}
	same := true
	for _, o := range outputs {
		drift, err := generate.Compare(o.dir, o.files)
		if err != nil {
			return err
		}
		same = same && drift.Empty()
		sayDrift(a, o.dir, drift, "changed", "missing", "stale")
	}
	if !same {
		return cli.WithCode(cli.ExitChange, nil)
	}
	return nil
}

// newIDLDiff makes the verb idl diff. It reads two folders, so a checkout of the last
// release is enough.
func newIDLDiff(a *cli.App) *cobra.Command {
	f := &idlFlags{}
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Classify changes of definitions as breaking, compatible or cosmetic",
		Long: `Diff compares the definitions in two folders. Each line has the level of a change, the
declaration or property, and the difference. A breaking change stops an existing graph,
program or resource from working. The exit code is 0 if there are no or only cosmetic
changes, 2 if the others are compatible, and 4 if one is breaking.`,
		Example: `  git worktree add old v1.0.0 && mgmt idl diff old/idl idl`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.diff(cmd.Context(), a, args[0], args[1], output)
		},
	}
	f.flags(cmd)
	cli.Forms(cmd, &output, "output format", []changeJSON{}, "text")
	return cmd
}

// diff prints the changes, and ends with a code for the gravest. Both folders have the
// same name of the package, so tokens differ only where modules do.
func (f *idlFlags) diff(ctx context.Context, a *cli.App, old, now string, form cli.Output) error {
	// Else the folders of two checkouts would give two names, and each token would differ.
	f.name = cmp.Or(f.name, "package")
	// Both are compiled before an error ends the verb, so that all findings are told at once.
	before, errOld := f.compile(ctx, old)
	if errOld != nil {
		errOld = findings(a, old, errOld)
	}
	after, err := f.compile(ctx, now)
	if err != nil {
		err = findings(a, now, err)
	}
	if err = cmp.Or(errOld, err); err != nil {
		return err
	}
	changes := idl.Diff(before, after)
	if err := sayChanges(a, changes, form); err != nil {
		return err
	}
	worst := idl.Cosmetic
	for _, c := range changes {
		worst = max(worst, c.Level)
	}
	// The index is the level: cosmetic, compatible, breaking.
	return cli.WithCode([...]int{cli.ExitOK, cli.ExitChange, cli.ExitFailed}[worst], nil)
}

// changeJSON is a change between two definitions in JSON.
type changeJSON struct {
	Level   string `json:"level"` // cosmetic, compatible or breaking
	Message string `json:"message"`
	Path    string `json:"path"`
}

// sayChanges writes changes as lines, or as a list of JSON. A change has no place in
// JSON: it may be in either folder.
func sayChanges(a *cli.App, changes []idl.Change, form cli.Output) error {
	out := []changeJSON{}
	for _, c := range changes {
		out = append(out, changeJSON{c.Level.String(), c.Message, c.Path})
	}
	return form.Write(a.Out, out, func(w io.Writer) error {
		for _, c := range changes {
			fmt.Fprintln(w, render.Visible(fmt.Sprintf("%-10s  %s: %s", c.Level, c.Path, c.Message)))
		}
		return nil
	})
}

// newIDLSchema makes the verb idl schema. A provider in another language than Go has no
// stubs, and needs this file.
func newIDLSchema(a *cli.App) *cobra.Command {
	f := &idlFlags{}
	cmd := &cobra.Command{
		Use:   "schema FOLDER",
		Short: "Print the schema of a provider",
		Long: `Schema compiles the definitions in a folder and prints the schema of a provider, from
which mgmt learns its kinds: one JSON document with the type of each resource, as in
docs/reference/types.md. Providers in any language start with it.`,
		Example: `  mgmt idl schema idl/ > schema.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := f.compile(cmd.Context(), args[0])
			if err != nil {
				return findings(a, args[0], err)
			}
			text, err := generate.Schema(p, generate.Options{Version: f.version})
			if err != nil {
				return err
			}
			_, err = a.Out.Write(text)
			return err
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&f.version, "package-version", "0.0.0", "package `version`")
	_ = cmd.RegisterFlagCompletionFunc("package-version", cobra.NoFileCompletions)
	return cmd
}

// newIDLDocs makes the verb idl docs. It writes to standard output only, for a look at
// the pages.
func newIDLDocs(a *cli.App) *cobra.Command {
	f := &idlFlags{}
	cmd := &cobra.Command{
		Use:   "docs FOLDER",
		Short: "Print the pages of all modules as Markdown",
		Long: `Docs compiles the definitions in a folder and prints the pages of its modules, one after
the other. To write them to files, use build with --out markdown=FOLDER.`,
		Example: `  mgmt idl docs idl/ | less`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// The folder is never written: the texts go to standard output.
			f.out = []string{"markdown=."}
			outputs, err := f.all(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			for _, o := range outputs {
				for _, name := range o.files.Names() {
					if _, err := a.Out.Write(o.files[name]); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	f.flags(cmd)
	return cmd
}

// newIDLFmt makes the verb idl fmt. The machine of an author may have no Go, and so no
// gofmt.
func newIDLFmt(a *cli.App) *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:   "fmt FOLDER",
		Short: "Format definitions like gofmt",
		Long: `Fmt formats the .go files in a folder and below like gofmt, and lists the files that it
changed. With --check, it changes nothing and exits with code 2 if it would.`,
		Example:           `  mgmt idl fmt idl/`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFolders,
		RunE:              func(_ *cobra.Command, args []string) error { return formatIDL(a, args[0], check) },
	}
	cmd.Flags().BoolVar(&check, "check", false, "list unformatted files, change none, and exit with code 2 if there are any")
	return cmd
}

// formatIDL formats all files. Where a file can't be read as Go, none is altered.
func formatIDL(a *cli.App, dir string, check bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := generate.Files{}
	var wrong []error
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path.Ext(name) != ".go" {
			return err
		}
		text, err := root.ReadFile(name)
		if err != nil {
			return err
		}
		usual, err := format.Source(text)
		switch {
		case err != nil:
			wrong = append(wrong, faultsOf(filepath.Join(dir, name), err))
		case !bytes.Equal(text, usual):
			files[name] = usual
		}
		return nil
	})
	if err := errors.Join(append(wrong, err)...); err != nil {
		return err
	}
	for _, name := range files.Names() {
		if !check {
			if err := generate.Replace(root, name, files[name]); err != nil {
				return err
			}
		}
		fmt.Fprintln(a.Out, render.Visible(filepath.Join(dir, name)))
	}
	if check && len(files) > 0 {
		return cli.WithCode(cli.ExitChange, nil)
	}
	return nil
}

// faultsOf gives each fault of a file its file, line and column.
func faultsOf(file string, err error) error {
	list, ok := errors.AsType[scanner.ErrorList](err)
	if !ok {
		return fmt.Errorf("%s: %w", file, err)
	}
	var all []error
	for _, e := range list {
		e.Pos.Filename = file
		all = append(all, e)
	}
	return errors.Join(all...)
}
