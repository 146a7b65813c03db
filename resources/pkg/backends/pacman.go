package backends

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// Pacman is the backend for Arch and its descendants. It installs a version only if the
// repositories have just that one, and it knows no recommended packages.
var Pacman = sync.OnceValue(func() *virtual.Backend {
	b := virtual.Native("pacman", newPacman,
		virtual.Func("list_installed", (*pacman).listInstalled),
		virtual.Func("latest_version", (*pacman).latestVersion),
		virtual.Func("list_upgrades", (*pacman).listUpgrades),
		virtual.Func("refresh_db", (*pacman).refreshDB),
		virtual.Func("install", (*pacman).install),
		virtual.Func("interrupted", (*pacman).interrupted),
		virtual.Func("repair", (*pacman).repair),
		virtual.Func("remove", (*pacman).remove),
		virtual.Func("purge", (*pacman).purge),
		virtual.Func("upgrade", (*pacman).upgrade),
		virtual.Func("upgrade_available", (*pacman).upgradeAvailable),
		virtual.Func("file_dict", (*pacman).fileList),
		virtual.Func("list_repos", (*pacman).listRepos),
		virtual.Func("get_repo", (*pacman).getRepo),
		virtual.Func("mod_repo", (*pacman).modRepo),
		virtual.Func("del_repo", (*pacman).delRepo),
		virtual.Func("hold", (*pacman).hold),
		virtual.Func("unhold", (*pacman).unhold),
		virtual.Func("list_holds", (*pacman).listHolds),
		virtual.Func("version_cmp", (*pacman).versionCmp),
		virtual.Func("info_installed", (*pacman).infoInstalled),
		virtual.Func("owner", (*pacman).owner),
		virtual.Func("file_list", (*pacman).fileList),
		virtual.Func("contents", (*pacman).contents),
		virtual.Func("provided", (*pacman).provided))
	b.Module, b.Watch, b.Doc = "pkg", virtual.WatchFiles, "Arch and its derivatives, with pacman."
	b.When, b.Needs = virtual.Match{"os_family": {"Arch"}}, []string{"pacman", "vercmp"}
	return b
})

// pacmanLocal has a folder for each package that is installed.
const pacmanLocal = "/var/lib/pacman/local"

// pacmanInstall are the parameters of Install that pacman has; it does not know the others.
type pacmanInstall struct {
	Pkgs       map[string]string `yaml:"pkgs" mgmt:"required,min=1"`
	Refresh    bool              `yaml:"refresh"`
	Downgrade  bool              `yaml:"downgrade"`
	Recommends bool              `yaml:"recommends"`
}

// Default is that of InstallArgs.
func (pacmanInstall) Default() pacmanInstall { return pacmanInstall{Recommends: true} }

// pacman has no state of its own, so any number of goroutines may ask at once.
type pacman struct{ tools }

// newPacman asks nothing of the machine. That pacman is there was checked by Needs.
// To install a package after the lists were fetched, without an upgrade of all, is a partial upgrade. The manual of
// Arch advises against that, so refresh stays the wish of the caller.
func newPacman(_ context.Context, env virtual.Env) (*pacman, error) {
	return &pacman{newTools(env, judgePacman).fetching(slices.Concat(pacmanRun, []string{"-Sy"})...)}, nil
}

// judgePacman turns a failed run into an error with the reason, by the words that pacman prints.
// It returns nil where the words are unknown. pacman names no process for a lock: its lock is a
// file, which a killed pacman leaves behind.
func judgePacman(r *engine.Result) error {
	if has(r, "unable to lock database") {
		return &LockedError{"pacman", "the program that made /var/lib/pacman/db.lck (remove it if no pacman runs)"}
	}
	if names := unknownNames(r, [2]string{"error: target not found: ", ""}, [2]string{"was not found", ""}); len(names) > 0 {
		for i, n := range names {
			names[i], _, _ = strings.Cut(n, "=")
		}
		return &UnknownError{names, ""}
	}
	if has(r, "failed retrieving file", "failed to synchronize all databases", "failed to update ", "could not open file", "failed to retrieve some files") {
		return &UnreachableError{complaint(r, "error: ")}
	}
	return nil
}

// Watch waits for changes of the database of pacman.
// Each package has a folder, so each change of one is an event.
func (p *pacman) Watch(ctx context.Context, _ []string) (events.Subscription, error) {
	return p.host.Watch(ctx, []string{pacmanLocal}, events.Options{Contents: true})
}

// installed returns all installed packages and their versions.
func (p *pacman) installed(ctx context.Context) (map[string]string, error) {
	return p.pairs(ctx, "pacman", "-Q")
}

// pairs reads lines with a name and a version; none where pacman finds nothing.
// Exit status 1 means that pacman has found nothing: the result is empty.
func (p *pacman) pairs(ctx context.Context, argv ...string) (map[string]string, error) {
	lines, err := p.lines(ctx, []int{1}, argv...)
	out := map[string]string{}
	for _, line := range lines {
		if f := strings.Fields(line); len(f) > 1 {
			out[f[0]] = f[len(f)-1] // name old -> new, or name version
		}
	}
	return out, err
}

// listInstalled leaves out packages that only provide a name.
func (p *pacman) listInstalled(ctx context.Context, args NamesArgs) (map[string]string, error) {
	if err := checkNames(args.Names); err != nil {
		return nil, err
	}
	all, err := p.pairs(ctx, append([]string{"pacman", "-Q"}, args.Names...)...)
	return only(all, args.Names), err // that of a virtual one is under another name
}

// provided returns the installed packages that answer to a name, virtual ones included.
func (p *pacman) provided(ctx context.Context, args NamesArgs) (map[string][]string, error) {
	return each(args.Names, CheckName, func(name string) ([]string, error) { return p.asked(ctx, "pacman", "-Qq", name) })
}

// latestVersion reads pages of "Key : value"; of all packages, where none is named, a
// list of "repository name version".
// Of several repositories the first counts, as for pacman itself.
func (p *pacman) latestVersion(ctx context.Context, args NamesArgs) (map[string]string, error) {
	if err := checkNames(args.Names); err != nil {
		return nil, err
	}
	out := map[string]string{}
	if len(args.Names) == 0 {
		lines, err := p.lines(ctx, nil, "pacman", "-Sl")
		for _, line := range lines {
			if f := strings.Fields(line); len(f) > 2 && out[f[1]] == "" {
				out[f[1]] = f[2]
			}
		}
		return out, err
	}
	lines, err := p.lines(ctx, []int{1}, append([]string{"pacman", "-Si"}, args.Names...)...)
	name := ""
	for _, line := range lines {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "Name":
			name = strings.TrimSpace(value)
		case "Version":
			if out[name] == "" {
				out[name] = strings.TrimSpace(value)
			}
		}
	}
	return out, err
}

// listUpgrades leaves held packages out: no upgrade would touch them.
func (p *pacman) listUpgrades(ctx context.Context, args RefreshArgs) (map[string]string, error) {
	if err := p.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	all, err := p.pairs(ctx, "pacman", "-Qu")
	maps.DeleteFunc(all, func(_, version string) bool { return version == "[ignored]" }) // it is held
	return all, err
}

// pacmanRun is the start of a pacman that changes something.
var pacmanRun = []string{"pacman", "--noconfirm", "--noprogressbar", "--color=never"}

// run makes a transaction.
func (p *pacman) run(ctx context.Context, args ...string) error {
	return p.transact(ctx, nil, slices.Concat(pacmanRun, args)...)
}

// install leaves a held package as it is, unless another version of it is wanted: that is an error.
// --needed keeps a package that is up to date from being installed again. A wanted version is
// checked by pacman, which fails if the repositories have another one.
func (p *pacman) install(ctx context.Context, args pacmanInstall) (map[string]Change, error) {
	if err := errors.Join(checkNames(sortedKeys(args.Pkgs)), checkVersions(args.Pkgs)); err != nil {
		return nil, err
	}
	if err := p.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	pkgs, err := p.keepHeld(ctx, args.Pkgs)
	if err != nil || len(pkgs) == 0 {
		return map[string]Change{}, err
	}
	return during(ctx, p, func() error { return p.run(ctx, append([]string{"-S", "--needed"}, with("=", pkgs)...)...) })
}

// remove leaves altered configuration files under another name.
func (p *pacman) remove(ctx context.Context, args RemoveArgs) (map[string]Change, error) {
	return p.away(ctx, "-R", args.Names)
}

// purge removes configuration files, altered ones too.
func (p *pacman) purge(ctx context.Context, args RemoveArgs) (map[string]Change, error) {
	return p.away(ctx, "-Rn", args.Names)
}

// away removes those of the names that are installed. Dependencies stay.
// A package that others need is an error of pacman, and nothing is removed.
func (p *pacman) away(ctx context.Context, flag string, wanted []string) (map[string]Change, error) {
	names, err := p.there(ctx, p, wanted)
	if err != nil || len(names) == 0 {
		return map[string]Change{}, err
	}
	return during(ctx, p, func() error { return p.run(ctx, append([]string{flag}, names...)...) })
}

// upgrade brings named packages, or all, to their newest version. A missing one is an error.
func (p *pacman) upgrade(ctx context.Context, args UpgradeArgs) (map[string]Change, error) {
	if err := present(ctx, p.listInstalled, args.Names); err != nil {
		return nil, err
	}
	if err := p.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	argv := []string{"-Su"}
	if len(args.Names) > 0 {
		free, err := p.upgradeFree(ctx, args.Names)
		if err != nil || len(free) == 0 {
			return map[string]Change{}, err
		}
		argv = append([]string{"-S", "--needed"}, free...)
	}
	return during(ctx, p, func() error { return p.run(ctx, argv...) })
}

// versionCmp asks vercmp, which is a part of pacman: its rules are not written here again. The
// sign of the result counts, as in vercmp(8).
func (p *pacman) versionCmp(ctx context.Context, args CompareArgs) (int, error) {
	if err := errors.Join(CheckVersion(args.A), CheckVersion(args.B)); err != nil {
		return 0, err
	}
	lines, err := p.lines(ctx, nil, "vercmp", args.A, args.B)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.Join(lines, ""))
}

// owner returns the package of each path. A path of no package is left out.
func (p *pacman) owner(ctx context.Context, args PathsArgs) (map[string]string, error) {
	check := func(path string) error { return checkPaths([]string{path}) }
	found, err := each(args.Paths, check, func(path string) ([]string, error) { return p.asked(ctx, "pacman", "-Qqo", path) })
	return firsts(found), err
}

// fileList returns files and folders without a slash at the end, as the other backends do.
func (p *pacman) fileList(ctx context.Context, args NamesArgs) (map[string][]string, error) {
	names := args.Names
	if len(names) == 0 {
		all, err := p.installed(ctx)
		if err != nil {
			return nil, err
		}
		names = sortedKeys(all)
	}
	found, err := each(names, CheckName, func(name string) ([]string, error) { return p.asked(ctx, "pacman", "-Qql", name) })
	for _, paths := range found {
		for i, path := range paths {
			paths[i] = strings.TrimSuffix(path, "/")
		}
	}
	return found, err
}

// infoInstalled reads pages of "Key : value", with an empty line behind each.
func (p *pacman) infoInstalled(ctx context.Context, args NamesArgs) (map[string]Info, error) {
	if err := checkNames(args.Names); err != nil {
		return nil, err
	}
	lines, err := p.lines(ctx, []int{1}, append([]string{"pacman", "--color=never", "-Qi"}, args.Names...)...)
	out, now := map[string]Info{}, Info{}
	for _, line := range lines {
		key, value, _ := strings.Cut(line, " : ")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "Name":
			now = Info{Name: value}
		case "Version":
			now.Version = value
		case "Description":
			now.Summary = &value
		case "Architecture":
			now.Arch = value
			out[now.Name] = now
		}
	}
	return only(out, args.Names), err
}
