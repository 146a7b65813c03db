package backends

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// Zypper is the backend for openSUSE and SUSE Linux Enterprise. Its purge is missing: rpm always
// keeps altered files.
var Zypper = sync.OnceValue(func() *virtual.Backend {
	b := virtual.Native("zypper", newZypper,
		virtual.Func("list_installed", (*zypper).listInstalled),
		virtual.Func("latest_version", (*zypper).latestVersion),
		virtual.Func("list_upgrades", (*zypper).listUpgrades),
		virtual.Func("refresh_db", (*zypper).refreshDB),
		virtual.Func("install", (*zypper).install),
		virtual.Func("interrupted", (*zypper).interrupted),
		virtual.Func("repair", (*zypper).repair),
		virtual.Func("remove", (*zypper).remove),
		virtual.Func("upgrade", (*zypper).upgrade),
		virtual.Func("upgrade_available", (*zypper).upgradeAvailable),
		virtual.Func("file_dict", (*zypper).fileList),
		virtual.Func("list_repos", (*zypper).listRepos),
		virtual.Func("get_repo", (*zypper).getRepo),
		virtual.Func("mod_repo", (*zypper).modRepo),
		virtual.Func("del_repo", (*zypper).delRepo),
		virtual.Func("hold", (*zypper).hold),
		virtual.Func("unhold", (*zypper).unhold),
		virtual.Func("list_holds", (*zypper).listHolds),
		virtual.Func("version_cmp", (*zypper).versionCmp),
		virtual.Func("info_installed", (*zypper).infoInstalled),
		virtual.Func("owner", (*zypper).owner),
		virtual.Func("file_list", (*zypper).fileList),
		virtual.Func("contents", (*zypper).contents),
		virtual.Func("provided", (*zypper).provided))
	b.Module, b.Watch, b.Doc = "pkg", virtual.WatchFiles, "openSUSE and SUSE Linux Enterprise, with zypper and rpm."
	b.When, b.Needs = virtual.Match{"os_family": {"Suse"}}, []string{"zypper", "rpm"}
	return b
})

// zypper changes packages; rpm answers about the installed ones. It has no state of its own.
type zypper struct{ rpm }

// newZypper asks nothing of the machine. That both tools are there was checked by Needs.
func newZypper(_ context.Context, env virtual.Env) (*zypper, error) {
	return &zypper{rpm{newTools(env, judgeZypper).fetching("zypper", "--non-interactive", "--no-color", "refresh")}}, nil
}

// The exit statuses of zypper that mean something to us.
// zypper(8) lists them in its section about exit codes.
const (
	zypperLocked  = 7
	zypperUnknown = 104
)

// zypperFine are the exit statuses of a success that has something to say. An update, a reboot or
// a restart is needed, a repository was skipped, or a script of a package failed.
var zypperFine = []int{100, 101, 102, 103, 106}

// judgeZypper turns a failed run into an error with the reason, by the exit status and by words. It
// returns nil where both are unknown.
// The exit status counts more than words, which depend on the release of zypper.
func judgeZypper(r *engine.Result) error {
	if r.ExitCode == zypperLocked || has(r, "can't create transaction lock") {
		e := &LockedError{Tool: "zypper"}
		if who := between(r, "application with pid ", " "); len(who) > 0 {
			e.Holder = "process " + who[0]
		}
		return e
	}
	names := unknownNames(r, [2]string{"Package '", "' not found"}, [2]string{"No provider of '", "' found"}, [2]string{"'", "' not found in package names"})
	for i, name := range names {
		names[i], _, _ = strings.Cut(name, "=")
	}
	if r.ExitCode == zypperUnknown || len(names) > 0 {
		return &UnknownError{names, ""}
	}
	if has(r, "Could not refresh the repositories", "Some of the repositories have not been refreshed", "Failed to download", "is invalid.", "Download (curl) error", "File './") {
		return &UnreachableError{complaint(r, "Problem retrieving", "[", "File '", "Download (curl) error", " Error message: ", "Error message: ")}
	}
	return nil
}

// run makes a transaction by a zypper that never asks, and fetches no lists by itself.
// Options for zypper itself have to stand before its verb; global has those.
func (z *zypper) run(ctx context.Context, global []string, args ...string) error {
	return z.transact(ctx, zypperFine, append(append([]string{"zypper", "--non-interactive", "--no-color", "--no-refresh"}, global...), args...)...)
}

// search reads a table: S | Name | Type | Version | Arch | Repository. The newest version of each stands first.
// The columns are found by their titles, since their number differs between releases.
// Packages that no repository has any more stand below System Packages, and are left out.
func (z *zypper) search(ctx context.Context, ok []int, args ...string) (map[string]string, error) {
	lines, err := z.lines(ctx, ok, append([]string{"zypper", "--non-interactive", "--no-color", "--no-refresh", "--quiet"}, args...)...)
	out := map[string]string{}
	var columns []string
	for _, line := range lines {
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) < 3:
		case columns == nil:
			columns = cells
		default:
			name, version, repo := "", "", ""
			for i, c := range columns[:min(len(columns), len(cells))] {
				switch c {
				case "Name":
					name = cells[i]
				case "Version", "Available Version":
					version = cells[i]
				case "Repository":
					repo = cells[i]
				}
			}
			if _, known := out[name]; !known && repo != "(System Packages)" {
				out[name] = version
			}
		}
	}
	return out, err
}

// latestVersion reads the lists that are on the machine and fetches none.
func (z *zypper) latestVersion(ctx context.Context, args NamesArgs) (map[string]string, error) {
	if err := checkNames(args.Names); err != nil {
		return nil, err
	}
	all, err := z.search(ctx, []int{zypperUnknown}, append([]string{"search", "--details", "--match-exact", "--type", "package"}, args.Names...)...)
	return only(all, args.Names), err
}

// listUpgrades returns the newest version of each package that has a newer one.
// Locked packages are not among them: zypper leaves them out itself.
func (z *zypper) listUpgrades(ctx context.Context, args RefreshArgs) (map[string]string, error) {
	if err := z.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	return z.search(ctx, zypperFine, "list-updates")
}

// install refuses an older version unless Downgrade allows it, before zypper runs.
func (z *zypper) install(ctx context.Context, args InstallArgs) (map[string]Change, error) {
	if err := errors.Join(checkNames(sortedKeys(args.Pkgs)), checkVersions(args.Pkgs)); err != nil {
		return nil, err
	}
	if err := z.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	var global []string
	argv := []string{"install", "--auto-agree-with-licenses", "--no-recommends"}
	if args.Recommends {
		argv[2] = "--recommends"
	}
	if args.Downgrade {
		argv = append(argv, "--oldpackage")
	}
	if args.Untrusted {
		global = append(global, "--no-gpg-checks")
	}
	if err := errors.Join(literal(ctx, z.latestVersion, sortedKeys(args.Pkgs)), z.forward(ctx, args)); err != nil {
		return nil, err
	}
	return during(ctx, z, func() error { return z.run(ctx, global, append(argv, with("=", args.Pkgs)...)...) })
}

// remove leaves altered configuration files, as rpm always does.
func (z *zypper) remove(ctx context.Context, args RemoveArgs) (map[string]Change, error) {
	names, err := z.there(ctx, z, args.Names)
	if err != nil || len(names) == 0 {
		return map[string]Change{}, err
	}
	return during(ctx, z, func() error { return z.run(ctx, nil, append([]string{"remove"}, names...)...) })
}

// upgrade brings named packages, or all, to their newest version. A missing one is an error.
// Licences are agreed to, since no person could be asked.
func (z *zypper) upgrade(ctx context.Context, args UpgradeArgs) (map[string]Change, error) {
	if err := present(ctx, z.listInstalled, args.Names); err != nil {
		return nil, err
	}
	if err := z.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	return during(ctx, z, func() error {
		return z.run(ctx, nil, append([]string{"update", "--auto-agree-with-licenses"}, args.Names...)...)
	})
}
