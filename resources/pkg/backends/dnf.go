package backends

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// Dnf is the backend for Fedora, Red Hat and their descendants. Its purge is missing: rpm always
// keeps altered files.
var Dnf = sync.OnceValue(func() *virtual.Backend {
	b := virtual.Native("dnf", newDnf,
		virtual.Func("list_installed", (*dnf).listInstalled),
		virtual.Func("latest_version", (*dnf).latestVersion),
		virtual.Func("list_upgrades", (*dnf).listUpgrades),
		virtual.Func("refresh_db", (*dnf).refreshDB),
		virtual.Func("install", (*dnf).install),
		virtual.Func("interrupted", (*dnf).interrupted),
		virtual.Func("repair", (*dnf).repair),
		virtual.Func("remove", (*dnf).remove),
		virtual.Func("upgrade", (*dnf).upgrade),
		virtual.Func("upgrade_available", (*dnf).upgradeAvailable),
		virtual.Func("file_dict", (*dnf).fileList),
		virtual.Func("list_repos", (*dnf).listRepos),
		virtual.Func("get_repo", (*dnf).getRepo),
		virtual.Func("mod_repo", (*dnf).modRepo),
		virtual.Func("del_repo", (*dnf).delRepo),
		virtual.Func("hold", (*dnf).hold),
		virtual.Func("unhold", (*dnf).unhold),
		virtual.Func("list_holds", (*dnf).listHolds),
		virtual.Func("version_cmp", (*dnf).versionCmp),
		virtual.Func("info_installed", (*dnf).infoInstalled),
		virtual.Func("owner", (*dnf).owner),
		virtual.Func("file_list", (*dnf).fileList),
		virtual.Func("contents", (*dnf).contents),
		virtual.Func("provided", (*dnf).provided),
		virtual.Func("autoremove", (*dnf).autoremove))
	b.Module, b.Watch, b.Doc = "pkg", virtual.WatchFiles, "Fedora, Red Hat and their derivatives, with dnf and rpm."
	b.When, b.Needs = virtual.Match{"os_family": {"RedHat"}}, []string{"dnf", "rpm"}
	return b
})

// dnf changes packages; rpm answers about the installed ones. It has no state of its own.
type dnf struct{ rpm }

// newDnf asks nothing of the machine. That both tools are there was checked by Needs. A repository out of reach is an
// error, whatever its own settings say.
func newDnf(_ context.Context, env virtual.Env) (*dnf, error) {
	t := newTools(env, judgeDnf).fetching(slices.Concat(dnfRun, []string{"--setopt=*.skip_if_unavailable=False", "--refresh", "makecache"})...)
	return &dnf{rpm{t}}, nil
}

// judgeDnf turns a failed run into an error with the reason. A name may be unknown because a
// repository could not be reached, so both errors may come together.
// The words are those of dnf 4 and dnf 5, in the locale C. dnf has the exit status 1 for most
// failures.
func judgeDnf(r *engine.Result) error {
	if has(r, " already locked by ", "Failed to obtain the transaction lock", "Waiting for process with pid", "Failed to obtain the metadata lock", "Failed to obtain rpm transaction lock", "can't create transaction lock") {
		e := &LockedError{Tool: "dnf"}
		for _, words := range [][2]string{{"process with pid ", " "}, {" already locked by ", ""}} {
			if who := between(r, words[0], words[1]); len(who) > 0 {
				e.Holder = "process " + who[0]
			}
		}
		return e
	}
	var errs []error
	if names := unknownNames(r, [2]string{"Unable to find a match: ", ""}, [2]string{"No match for argument: ", ""}); len(names) > 0 {
		errs = append(errs, &UnknownError{plainNames(names), ""}) // perhaps because of the next error
	}
	if has(r, "Failed to download metadata", "Errors during downloading metadata", "Error downloading packages", "Cannot download", "No more mirrors to try", "Cache-only enabled but no cache") {
		errs = append(errs, &UnreachableError{complaint(r, "Error: Failed", "Errors during downloading", "  - ")})
	}
	return errors.Join(errs...)
}

// behindName is the version behind the name of a package.
var behindName = lazyregexp.New(`-[0-9].*$`)

// plainNames leaves out versions, as in name-1.0-1.
func plainNames(specs []string) []string {
	for i, s := range specs {
		specs[i] = behindName.ReplaceAllString(s, "")
	}
	return specs
}

// dnfRun is the start of a dnf that changes something. It is not told to be quiet: then it would not say why a
// repository cannot be reached.
var dnfRun = []string{"dnf", "-y", "--setopt=color=never", "--setopt=exit_on_lock=True"}

// run makes a transaction.
// Dnf does not wait for a lock by itself, by exit_on_lock: tools.transact waits, and ends with ctx.
func (d *dnf) run(ctx context.Context, args ...string) error {
	return d.transact(ctx, nil, slices.Concat(dnfRun, args)...)
}

// query asks about packages in the repositories, as they are known: nothing is fetched.
// Without lists there are none.
// -C of dnf(8) answers from the cache, even if it is too old. An epoch of 0 is left out of a
// version.
func (d *dnf) query(ctx context.Context, args ...string) (map[string]string, error) {
	argv := append([]string{"dnf", "-q", "-C", "--setopt=color=never", "repoquery", "--qf", `%{name} %{epoch}:%{version}-%{release}` + "\n"}, args...)
	lines, err := d.lines(ctx, nil, argv...)
	if _, none := errors.AsType[*UnreachableError](err); none {
		return map[string]string{}, nil
	}
	out := map[string]string{}
	for _, line := range lines {
		if name, version, ok := strings.Cut(line, " "); ok {
			out[name] = evr(version)
		}
	}
	return out, err
}

// latestVersion reads the lists that are on the machine and fetches none.
func (d *dnf) latestVersion(ctx context.Context, args NamesArgs) (map[string]string, error) {
	if err := checkNames(args.Names); err != nil {
		return nil, err
	}
	all, err := d.query(ctx, append([]string{"--latest-limit=1"}, args.Names...)...)
	return only(all, args.Names), err
}

// listUpgrades leaves held packages out.
func (d *dnf) listUpgrades(ctx context.Context, args RefreshArgs) (map[string]string, error) {
	if err := d.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	all, err := d.query(ctx, "--upgrades", "--latest-limit=1")
	if err != nil || len(all) == 0 {
		return all, err
	}
	return all, d.withoutHeld(ctx, all)
}

// install refuses names that dnf would take for patterns, and downgrades that are not allowed, before
// it alters anything.
// dnf downgrades without a question if a wanted version is older, so forward looks first.
func (d *dnf) install(ctx context.Context, args InstallArgs) (map[string]Change, error) {
	if err := errors.Join(checkNames(sortedKeys(args.Pkgs)), checkVersions(args.Pkgs)); err != nil {
		return nil, err
	}
	if err := d.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	argv := []string{"--setopt=install_weak_deps=" + title(args.Recommends), "--setopt=allow_downgrade=" + title(args.Downgrade)}
	if args.Untrusted {
		argv = append(argv, "--nogpgcheck")
	}
	if err := errors.Join(literal(ctx, d.latestVersion, sortedKeys(args.Pkgs)), d.forward(ctx, args)); err != nil {
		return nil, err
	}
	return during(ctx, d, func() error { return d.run(ctx, append(append(argv, "install"), with("-", args.Pkgs)...)...) })
}

// title is True or False, as the options of dnf are written.
func title(b bool) string {
	s := strconv.FormatBool(b)
	return strings.ToUpper(s[:1]) + s[1:]
}

// remove leaves dependencies, which autoremove takes, and altered configuration files.
// By itself dnf(8) would remove unneeded dependencies too, which no other backend does.
func (d *dnf) remove(ctx context.Context, args RemoveArgs) (map[string]Change, error) {
	names, err := d.there(ctx, d, args.Names)
	if err != nil || len(names) == 0 {
		return map[string]Change{}, err
	}
	return during(ctx, d, func() error {
		return d.run(ctx, append([]string{"--setopt=clean_requirements_on_remove=False", "remove"}, names...)...)
	})
}

// autoremove removes packages that came as dependencies and are needed no more.
func (d *dnf) autoremove(ctx context.Context, _ virtual.Nothing) (map[string]Change, error) {
	return during(ctx, d, func() error { return d.run(ctx, "autoremove") })
}

// upgrade brings named packages, or all, to their newest version. If nothing happened because names
// are held, that is an error.
// dnf ends with success in that case, so the held names are asked for afterwards.
func (d *dnf) upgrade(ctx context.Context, args UpgradeArgs) (map[string]Change, error) {
	if err := present(ctx, d.listInstalled, args.Names); err != nil {
		return nil, err
	}
	if err := d.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	changes, err := during(ctx, d, func() error { return d.run(ctx, append([]string{"upgrade"}, args.Names...)...) })
	if err == nil && len(changes) == 0 && len(args.Names) > 0 {
		err = d.kept(ctx, args.Names)
	}
	return changes, err
}
