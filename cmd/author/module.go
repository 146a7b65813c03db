package author

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/gapi/fetch"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// moduleFlags are those of the verbs of modules.
// The store is read once for each verb, and its lock file is written once at the end.
type moduleFlags struct {
	app *cli.App
	// lock is a path from the present folder. Folders of modules count from the folder of this
	// file.
	lock  string // the lock file
	store fetch.Store
	// before tells at the end whether anything has to be written.
	before []byte // the lock file as it was read
}

// NewModule makes the verb module.
// No other verb fetches modules, and no daemon does. The reading of a graph does not, either.
func NewModule(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "module",
		Short: "Fetch and update modules from git and archives",
		Long: `Module fetches modules from git and archives. A fetched module is a folder next to the
graph, which uses it like any other: use: [{module: ./modules/nginx}]. The file
modules.lock records the source of each module, its commit or checksum, and its files.

Commit modules.lock, with the folders or without them: mgmt module get without an
argument fetches missing folders. Only this verb fetches, so a daemon starts without
a network.`,
	}
	cmd.AddCommand(newModuleGet(a), newModuleList(a), newModuleVerify(a), newModuleUpdate(a), newModuleRemove(a))
	return cmd
}

// flags adds the flags that all verbs of modules have, and opens the store before the verb runs.
func (f *moduleFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.lock, "lock", fetch.LockFile, "lock `file`; module folders are relative to its folder")
	_ = cmd.MarkFlagFilename("lock", "lock")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.open(); err != nil {
			return err
		}
		// The lock file is written also after a failure: the modules that came until then are
		// there.
		return errors.Join(run(cmd, args), f.close())
	}
}

// alone has one verb at a time alter the modules of a folder. Of two that had read the lock file, the second one would write it without the module of
// the first. The kernel ends the lock with the process, however that ends. Another system has no such lock, and its users take care themselves.
// It is called after flags, so the folder is locked before the lock file is read. The lock is
// flock(2) on the folder itself, which leaves no file behind. A second verb is refused at once
// and does not wait.
func (f *moduleFlags) alone(cmd *cobra.Command) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := os.Open(filepath.Dir(f.lock))
		if err != nil {
			return err
		}
		defer dir.Close()
		if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil && !errors.Is(err, unix.ErrNeedsLinux) {
			return fmt.Errorf("another mgmt module alters the modules of %s: nothing is done; wait for its end, and do it again (%w)", filepath.Dir(f.lock), err)
		}
		return run(cmd, args)
	}
}

// open reads the lock file.
// A missing lock file is an empty one. The judge parses the text of a module, so a folder without
// a valid module is refused before it is written.
// Errors of the lock file are all its faults, with their places. The verb has altered nothing by
// then.
func (f *moduleFlags) open() error {
	f.store.Dir, f.store.Client = filepath.Dir(f.lock), http.DefaultClient
	f.store.Judge = func(file string, src []byte) (string, error) {
		d, ds := yaml.ModuleText(file, src)
		return d.Name, ds.Err()
	}
	if err := f.store.Read(f.lock, yaml.Document); err != nil {
		return err
	}
	f.before = f.store.Lock.Text()
	return nil
}

// close writes the lock file where it has changed. An unasked file is not made: verify works in a folder
// that is read-only. A verb that has failed for one of several modules keeps the others.
// The file is replaced in one step, so a verb that is killed leaves the old one.
func (f *moduleFlags) close() error {
	text := f.store.Lock.Text()
	if string(text) == string(f.before) {
		return nil
	}
	return cli.WriteFile(f.lock, text)
}

// named returns the entries of some folders, or all of them. Unknown ones are told together. A folder may be written as a graph writes it.
// The entries are pointers into the lock file, and hold until one of them is removed.
func (f *moduleFlags) named(args []string) (list []*fetch.Entry, err error) {
	all := f.store.Lock.Modules
	if len(args) == 0 {
		for i := range all {
			list = append(list, &all[i])
		}
		return list, nil
	}
	// The verbs that fetch or compare do nothing at all where a name is wrong.
	var errs []error
	for _, arg := range args {
		e := f.store.Lock.Find(f.relative(arg))
		if e == nil {
			errs = append(errs, fmt.Errorf("%s has no module in %s; mgmt module list shows them", f.lock, arg))
			continue
		}
		list = append(list, e)
	}
	return list, errors.Join(errs...)
}

// relative returns a folder as the lock file names it.
// A shell completes paths from the present folder, so an argument is one of those.
func (f *moduleFlags) relative(arg string) string {
	if rel, err := filepath.Rel(f.store.Dir, arg); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(filepath.Clean(arg))
}

// complete completes folders of the lock file.
// It takes no lock, and an unreadable lock file offers nothing.
func (f *moduleFlags) complete(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if f.open() != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []cobra.Completion
	for _, e := range f.store.Lock.Modules {
		words = append(words, filepath.Join(f.store.Dir, e.Folder))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// forceFlag adds the flag of the verbs that replace folders.
// Without it an altered folder is never overwritten.
func (f *moduleFlags) forceFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.store.Force, "force", false, "overwrite or remove even folders that were changed, or created by someone else")
}

// newModuleGet makes the verb module get.
// An archive has no default checksum: the first download would be trusted, from any sender.
func newModuleGet(a *cli.App) *cobra.Command {
	f := &moduleFlags{app: a}
	var o fetch.Order
	cmd := &cobra.Command{
		Use:   "get [SOURCE]",
		Short: "Fetch a module, or all missing modules in the lock file",
		Long: `Get fetches a module into a folder. SOURCE is the address or path of a git repository,
at a commit, tag or branch, or of an archive (tar, tar.gz, zip) with its checksum. The
lock file records the commit, even for a tag or branch. SOURCE may end in a revision:
URL@v1.

Without SOURCE, get fetches the modules in the lock file that are missing, and checks
that their content is the same as before.

Get refuses archives with links, devices, or names that lead out of the archive. It does
not overwrite a folder that was changed.`,
		Example: `  mgmt module get https://example.org/nginx.git --rev v1.2
  mgmt module get https://example.org/nginx.git@8d3f0c4b6a1e5d2f7c9b0a8e6d4c2b1a3f5e7d9c
  mgmt module get https://example.org/site-1.0.tar.gz --sha256 77c1... --folder modules/site
  mgmt module get`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			if o != (fetch.Order{}) {
				return errors.New("these flags are for a source: name a repository or an archive")
			}
			return f.restore(cmd.Context())
		}
		o.Source = args[0]
		// A revision behind the source counts only where no flag says another one. The address of
		// an archive may have an @ in it, so nothing is cut off there.
		if o.SHA256 == "" && !fetch.IsArchive(o.Source) {
			if source, rev, ok := cutRev(o.Source); ok && o.Rev == "" {
				o.Source, o.Rev = source, rev
			}
		} else if o.Rev != "" {
			return errors.New("--rev is for a repository of git, and --sha256 for an archive")
		}
		if o.Folder != "" {
			o.Folder = f.relative(o.Folder)
		}
		e, err := f.store.Get(cmd.Context(), o)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s is %s\n", f.shown(e), origin(e))
		fmt.Fprintf(a.Out, "A graph uses it with use: [{module: ./%s}]; mgmt doc ./%s shows its inputs.\n", f.shown(e), f.shown(e))
		return nil
	}
	f.flags(cmd)
	f.alone(cmd)
	f.forceFlag(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.Rev, "rev", "", "`commit`, tag or branch of a repository (default its default branch)")
	fl.StringVar(&o.SHA256, "sha256", "", "`checksum` of an archive")
	fl.StringVar(&o.Path, "path", "", "`folder` of the module in the source (default its root)")
	fl.StringVar(&o.Folder, "folder", "", "`folder` to write (default modules/ and the name of the module)")
	_ = cmd.MarkFlagDirname("folder")
	return cmd
}

// cutRev divides URL@REV, the form in which a revision is often written down. The flag is there for revisions with an @ or a
// colon in them. An @ in front of a host, as in git@host:path, is another one.
// False means that the source has no revision, and is returned whole.
func cutRev(source string) (url, rev string, ok bool) {
	i := strings.LastIndex(source, "@")
	if i < 0 || strings.ContainsAny(source[i:], ":") || strings.Contains(source[:i], "://") && strings.Count(source[:i], "/") < 3 {
		return source, "", false
	}
	return source[:i], source[i+1:], source[i+1:] != ""
}

// shown names the folder of an entry from here.
// It is relative to the present folder, as a user would type it.
// A name in a lock file may come from elsewhere, so control characters are made visible.
func (f *moduleFlags) shown(e *fetch.Entry) string {
	return render.Visible(filepath.Join(f.store.Dir, e.Folder))
}

// origin says where a module is from.
// The first 12 digits of a commit or a checksum are shown, which is enough for a person to
// compare.
// The lock file was judged when it was read, so a commit and a checksum have at least 12 digits.
func origin(e *fetch.Entry) string {
	if e.Archive != "" {
		return render.Visible(e.Archive) + ", sha256 " + e.SHA256[:12]
	}
	ref := ""
	if e.Ref != "" {
		ref = " (" + e.Ref + ")"
	}
	return render.Visible(e.Git) + " at " + e.Commit[:12] + render.Visible(ref)
}

// restore fetches the missing modules, one after the other: most people have few of them, and their servers are the same ones. It goes on after a failure, so that one source that is away does not hide the others.
// A folder that is there and right costs no request. An altered one is an error, or with --force
// is fetched anew.
func (f *moduleFlags) restore(ctx context.Context) error {
	if len(f.store.Lock.Modules) == 0 {
		return fmt.Errorf("there is nothing in %s: name a repository or an archive", f.lock)
	}
	var errs []error
	for i := range f.store.Lock.Modules {
		e := &f.store.Lock.Modules[i]
		err := f.store.State(e)
		switch {
		case err == nil:
			continue
		case errors.Is(err, os.ErrNotExist), f.store.Force:
			if err = f.store.Restore(ctx, e); err == nil {
				fmt.Fprintf(f.app.Out, "%s is %s\n", f.shown(e), origin(e))
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.shown(e), err))
		}
	}
	return errors.Join(errs...)
}

// moduleOut is a module in JSON.
// Its keys are those of the lock file, with the state.
type moduleOut struct {
	Folder  string `json:"folder"`
	Git     string `json:"git,omitempty"`
	Ref     string `json:"ref,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Archive string `json:"archive,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
	Path    string `json:"path,omitempty"`
	// Digest is the checksum over the names and the contents of the files of the folder.
	Digest string `json:"digest"`
	State  string `json:"state"` // ok, missing or altered
}

// stateWord names the state of a folder.
// A folder that can't be read counts as altered, since its content is unknown.
func stateWord(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, os.ErrNotExist):
		return "missing"
	}
	return "altered"
}

// newModuleList makes the verb module list.
// The states are compared anew at each call, since an editor announces no change.
func newModuleList(a *cli.App) *cobra.Command {
	f := &moduleFlags{app: a}
	var output cli.Output
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the modules in the lock file, with their state",
		Long:    `List shows each module in the lock file, its source, and whether its folder is ok, missing or altered.`,
		Example: `  mgmt module list`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			out := []moduleOut{}
			for _, e := range f.store.Lock.Modules {
				out = append(out, moduleOut{e.Folder, e.Git, e.Ref, e.Commit, e.Archive, e.SHA256, e.Path, e.Digest, stateWord(f.store.State(&e))})
			}
			return output.Write(a.Out, out, func(w io.Writer) error {
				for i, m := range out {
					fmt.Fprintf(w, "%s  %s  %s\n", f.shown(&f.store.Lock.Modules[i]), m.State, origin(&f.store.Lock.Modules[i]))
				}
				return nil
			})
		},
	}
	f.flags(cmd)
	cli.Forms(cmd, &output, "output format", []moduleOut{}, "text")
	return cmd
}

// newModuleVerify makes the verb module verify.
// Its exit code is for a workflow.
// It never writes, so it may run as a user who owns none of the files.
func newModuleVerify(a *cli.App) *cobra.Command {
	f := &moduleFlags{app: a}
	cmd := &cobra.Command{
		Use:   "verify [FOLDER...]",
		Short: "Check module folders against the lock file",
		Long: `Verify checks the files of modules against the checksums in the lock file. It needs no
network. The exit code is 4 if a folder is missing or was changed.`,
		Example:           `  mgmt module verify`,
		ValidArgsFunction: f.complete,
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := f.named(args)
			if err != nil {
				return err
			}
			bad := false
			for _, e := range list {
				err := f.store.State(e)
				bad = bad || err != nil
				fmt.Fprintf(a.Out, "%s  %s\n", f.shown(e), stateWord(err))
				// An altered folder is said by its word. Another error, such as a missing
				// permission, needs its text.
				if err != nil && !errors.Is(err, fetch.ErrAltered) {
					fmt.Fprintf(a.Err, "%s: %s\n", f.shown(e), render.Visible(err.Error()))
				}
			}
			if bad {
				return cli.WithCode(cli.ExitFailed, nil)
			}
			return nil
		},
	}
	f.flags(cmd)
	return cmd
}

// newModuleUpdate makes the verb module update.
// A module that was got at a commit has been pinned by a person, so it is left alone unless it is named.
// It goes on after a failure, and its error names each module that stays as it was.
func newModuleUpdate(a *cli.App) *cobra.Command {
	f := &moduleFlags{app: a}
	var rev string
	cmd := &cobra.Command{
		Use:   "update [FOLDER...]",
		Short: "Update modules to the newest commit of their branch or tag",
		Long: `Update fetches the newest commit of the branch or tag that a module follows. Without
FOLDER, it updates every module that follows a branch or tag. With --rev, the module
follows another revision from now on.`,
		Example: `  mgmt module update
  mgmt module update modules/nginx --rev v1.3`,
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := f.named(args)
			if err != nil {
				return err
			}
			if rev != "" && len(args) != 1 {
				return errors.New("--rev is for one module: name its folder")
			}
			// An entry without Ref was got at a commit, or is an archive.
			if len(args) == 0 {
				list = slices.DeleteFunc(list, func(e *fetch.Entry) bool { return e.Ref == "" })
			}
			var errs []error
			for _, e := range list {
				changed, err := f.store.Update(cmd.Context(), e, rev)
				switch {
				case err != nil:
					errs = append(errs, fmt.Errorf("%s: %w", f.shown(e), err))
				case changed:
					fmt.Fprintf(a.Out, "%s is %s\n", f.shown(e), origin(e))
				default:
					fmt.Fprintf(a.Out, "%s is up to date\n", f.shown(e))
				}
			}
			return errors.Join(errs...)
		},
	}
	f.flags(cmd)
	f.alone(cmd)
	f.forceFlag(cmd)
	cmd.Flags().StringVar(&rev, "rev", "", "`commit`, tag or branch to follow (default that of the last get)")
	return cmd
}

// newModuleRemove makes the verb module remove.
// A graph that uses the module still names it: validate tells that.
// All names are tried, also where one is unknown: the entries that were found go.
func newModuleRemove(a *cli.App) *cobra.Command {
	f := &moduleFlags{app: a}
	cmd := &cobra.Command{
		Use:               "remove FOLDER...",
		Short:             "Remove modules and their entries in the lock file",
		Long:              `Remove deletes module folders and their entries in the lock file. It keeps folders that were changed.`,
		Example:           `  mgmt module remove modules/nginx`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: f.complete,
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := f.named(args)
			var folders []string
			for _, e := range list { // an entry moves when one before it is removed
				folders = append(folders, e.Folder)
			}
			errs := []error{err}
			for _, folder := range folders {
				errs = append(errs, f.store.Remove(folder))
			}
			return errors.Join(errs...)
		},
	}
	f.flags(cmd)
	f.alone(cmd)
	f.forceFlag(cmd)
	return cmd
}
