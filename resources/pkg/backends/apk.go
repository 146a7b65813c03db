package backends

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// Apk is the backend for Alpine. A version that is wanted is kept in its world, so that
// no upgrade replaces it; it knows no recommended packages.
// The version is written into /etc/apk/world by apk itself, as name=version; see apk-world(5).
var Apk = sync.OnceValue(func() *virtual.Backend {
	b := virtual.Native("apk", newApk,
		virtual.Func("list_installed", (*apk).listInstalled),
		virtual.Func("latest_version", (*apk).latestVersion),
		virtual.Func("list_upgrades", (*apk).listUpgrades),
		virtual.Func("refresh_db", (*apk).refreshDB),
		virtual.Func("install", (*apk).install),
		virtual.Func("interrupted", (*apk).interrupted),
		virtual.Func("repair", (*apk).repair),
		virtual.Func("remove", (*apk).remove),
		virtual.Func("purge", (*apk).purge),
		virtual.Func("upgrade", (*apk).upgrade),
		virtual.Func("upgrade_available", (*apk).upgradeAvailable),
		virtual.Func("file_dict", (*apk).fileList),
		virtual.Func("list_repos", (*apk).listRepos),
		virtual.Func("get_repo", (*apk).getRepo),
		virtual.Func("mod_repo", (*apk).modRepo),
		virtual.Func("del_repo", (*apk).delRepo),
		virtual.Func("version_cmp", (*apk).versionCmp),
		virtual.Func("info_installed", (*apk).infoInstalled),
		virtual.Func("owner", (*apk).owner),
		virtual.Func("file_list", (*apk).fileList),
		virtual.Func("provided", (*apk).provided))
	b.Module, b.Watch, b.Doc = "pkg", virtual.WatchFiles, "Alpine, with apk."
	b.When, b.Needs = virtual.Match{"os_family": {"Alpine"}}, []string{"apk"}
	return b
})

// apkFiles are the database of apk, where it is and where it is going to be.
var apkFiles = []string{"/lib/apk/db/installed", "/usr/lib/apk/db/installed"}

// apk has no state of its own: each answer comes from the machine, so any number of goroutines may
// ask at once.
type apk struct{ tools }

// newApk asks nothing of the machine. That apk is there was checked by Needs.
func newApk(_ context.Context, env virtual.Env) (*apk, error) {
	return &apk{newTools(env, judgeApk).fetching("apk", "--no-progress", "update")}, nil
}

// judgeApk turns a failed run into an error with the reason, by the words that apk prints. It
// returns nil where the words are unknown; the caller then shows them as they are. The exit status
// of apk does not tell its failures apart, so the words decide. The lock comes first: a locked apk
// also prints later errors.
func judgeApk(r *engine.Result) error {
	if has(r, "Unable to lock database") {
		return &LockedError{Tool: "apk"}
	}
	if names := unknownNames(r, [2]string{"  ", " (no such package)"}); len(names) > 0 {
		return &UnknownError{names, ""}
	}
	if names := unknownNames(r, [2]string{"breaks: world[", "="}); len(names) > 0 {
		return &UnknownError{names, complaint(r, "  ")}
	}
	if has(r, "temporary error (try again later)", "network error", "unable to fetch", "Unable to open repository", "WARNING: fetching", "package mentioned in index not found") {
		return &UnreachableError{complaint(r, "ERROR: ", "WARNING: ")}
	}
	return nil
}

// Watch waits for changes of the database of apk.
// Apk replaces the file at its end, so one transaction is one event.
func (a *apk) Watch(ctx context.Context, _ []string) (events.Subscription, error) {
	return a.host.Watch(ctx, apkFiles, events.Options{})
}

// splitApk parts the name and the version of name-1.0-r0.
// Both the version and the release begin with a hyphen, and a name may have hyphens itself.
func splitApk(s string) (name, version string, ok bool) {
	at := strings.LastIndexByte(s, '-')
	if at > 0 {
		at = strings.LastIndexByte(s[:at], '-')
	}
	if at <= 0 {
		return "", "", false
	}
	return s[:at], s[at+1:], true
}

// table reads lines that begin with name-version; the newest of each counts, which
// apk prints last.
// The parameter ok has the exit statuses besides 0 that are a success.
func (a *apk) table(ctx context.Context, ok []int, argv ...string) (map[string]string, error) {
	lines, err := a.lines(ctx, ok, argv...)
	out := map[string]string{}
	for _, line := range lines {
		if f := strings.Fields(line); len(f) > 0 {
			if name, version, ok := splitApk(f[0]); ok {
				out[name] = version
			}
		}
	}
	return out, err
}

// installed returns all installed packages and their versions. It reads no lists of repositories.
func (a *apk) installed(ctx context.Context) (map[string]string, error) {
	return a.table(ctx, nil, "apk", "info", "-v")
}

// listInstalled asks for all packages and chooses the named ones; missing ones are left out.
func (a *apk) listInstalled(ctx context.Context, args NamesArgs) (map[string]string, error) {
	if err := checkNames(args.Names); err != nil {
		return nil, err
	}
	all, err := a.installed(ctx)
	return only(all, args.Names), err
}

// provided returns the installed packages that answer to a name, virtual ones included.
// apk info -e fails for a name without a package, which counts as an empty answer.
func (a *apk) provided(ctx context.Context, args NamesArgs) (map[string][]string, error) {
	return each(args.Names, CheckName, func(name string) ([]string, error) { return a.asked(ctx, "apk", "info", "-e", name) })
}

// latestVersion reads the lists that are on the machine and fetches none.
func (a *apk) latestVersion(ctx context.Context, args NamesArgs) (map[string]string, error) {
	if err := checkNames(args.Names); err != nil {
		return nil, err
	}
	argv := []string{"apk", "--no-network", "search"}
	if len(args.Names) > 0 {
		argv = append(append(argv, "-x"), args.Names...)
	}
	return a.table(ctx, nil, argv...)
}

// listUpgrades reads lines such as: git-2.40.0-r0 < 2.40.1-r0
func (a *apk) listUpgrades(ctx context.Context, args RefreshArgs) (map[string]string, error) {
	if err := a.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	lines, err := a.lines(ctx, nil, "apk", "--no-network", "version", "-l", "<")
	out := map[string]string{}
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < 3 || f[1] != "<" {
			continue
		}
		if name, _, ok := splitApk(f[0]); ok {
			out[name] = f[2]
		}
	}
	return out, err
}

// run makes a transaction. It fetches packages while it writes.
// With --no-progress the output has whole lines, by which judgeApk finds a reason.
func (a *apk) run(ctx context.Context, args ...string) error {
	return a.transact(ctx, nil, append([]string{"apk", "--no-progress"}, args...)...)
}

// install checks all names and versions before it runs anything. Its result has the packages that
// have changed, dependencies included.
func (a *apk) install(ctx context.Context, args InstallArgs) (map[string]Change, error) {
	if err := errors.Join(checkNames(sortedKeys(args.Pkgs)), checkVersions(args.Pkgs)); err != nil {
		return nil, err
	}
	if err := a.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	argv := []string{"add"}
	if args.Untrusted {
		argv = append(argv, "--allow-untrusted")
	}
	return during(ctx, a, func() error { return a.run(ctx, append(argv, with("=", args.Pkgs)...)...) })
}

// remove leaves altered configuration files.
func (a *apk) remove(ctx context.Context, args RemoveArgs) (map[string]Change, error) {
	return a.away(ctx, args.Names)
}

// purge removes configuration files, altered ones too.
func (a *apk) purge(ctx context.Context, args RemoveArgs) (map[string]Change, error) {
	return a.away(ctx, args.Names, "--purge")
}

// away removes those of the names that are installed; missing ones are right already.
func (a *apk) away(ctx context.Context, wanted []string, flags ...string) (map[string]Change, error) {
	names, err := a.there(ctx, a, wanted)
	if err != nil || len(names) == 0 {
		return map[string]Change{}, err
	}
	return during(ctx, a, func() error { return a.run(ctx, append(append([]string{"del"}, flags...), names...)...) })
}

// upgrade brings named packages, or all, to their newest version. A missing one is an error, since
// apk would install it.
func (a *apk) upgrade(ctx context.Context, args UpgradeArgs) (map[string]Change, error) {
	if err := present(ctx, a.listInstalled, args.Names); err != nil {
		return nil, err
	}
	if err := a.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	argv := []string{"upgrade"}
	if len(args.Names) > 0 {
		argv = append([]string{"add", "--upgrade"}, args.Names...)
	}
	return during(ctx, a, func() error { return a.run(ctx, argv...) })
}

// versionCmp reads one of the signs that apk compares by.
// apk has rules of its own for suffixes such as _rc1, so they are not written here again.
func (a *apk) versionCmp(ctx context.Context, args CompareArgs) (int, error) {
	if err := errors.Join(CheckVersion(args.A), CheckVersion(args.B)); err != nil {
		return 0, err
	}
	lines, err := a.lines(ctx, nil, "apk", "version", "-t", args.A, args.B)
	if err != nil {
		return 0, err
	}
	switch sign := strings.Join(lines, ""); sign {
	case "<":
		return -1, nil
	case "=":
		return 0, nil
	case ">":
		return 1, nil
	default:
		return 0, fmt.Errorf("apk cannot compare the versions %s and %s: it says %q", args.A, args.B, sign)
	}
}

// owner reads lines such as: /bin/busybox is owned by busybox-1.36.1-r2
func (a *apk) owner(ctx context.Context, args PathsArgs) (map[string]string, error) {
	check := func(path string) error { return checkPaths([]string{path}) }
	found, err := each(args.Paths, check, func(path string) ([]string, error) {
		lines, err := a.asked(ctx, "apk", "info", "--who-owns", path)
		for _, line := range lines {
			if _, owner, ok := strings.Cut(line, " is owned by "); ok {
				if name, _, ok := splitApk(owner); ok {
					return []string{name}, err
				}
			}
		}
		return nil, err
	})
	return firsts(found), err
}

// fileList asks with -q, which leaves the headings out; the paths have no slash before them.
// Without names it asks about every installed package in turn, which takes seconds on a large
// machine.
func (a *apk) fileList(ctx context.Context, args NamesArgs) (map[string][]string, error) {
	names := args.Names
	if len(names) == 0 {
		all, err := a.installed(ctx)
		if err != nil {
			return nil, err
		}
		names = sortedKeys(all)
	}
	return each(names, CheckName, func(name string) ([]string, error) {
		lines, err := a.asked(ctx, "apk", "info", "-q", "-L", name)
		var files []string
		for _, line := range lines {
			if line != "" {
				files = append(files, "/"+line)
			}
		}
		return files, err
	})
}

// apkListed is a line such as: busybox-1.36.1-r2 x86_64 {busybox} (GPL-2.0-only) [installed]
var apkListed = lazyregexp.New(`^(\S+) (\S+) \{([^}]*)\}`)

// infoInstalled reads one line for each package. Lines that do not look so are passed over.
func (a *apk) infoInstalled(ctx context.Context, args NamesArgs) (map[string]Info, error) {
	if err := checkNames(args.Names); err != nil {
		return nil, err
	}
	lines, err := a.lines(ctx, nil, append([]string{"apk", "--no-network", "list", "--installed"}, args.Names...)...)
	out := map[string]Info{}
	for _, line := range lines {
		m := apkListed.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if name, version, ok := splitApk(m[1]); ok {
			out[name] = Info{Name: name, Version: version, Arch: m[2], Source: &m[3]}
		}
	}
	return only(out, args.Names), err
}
