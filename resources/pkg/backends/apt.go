package backends

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// Apt is the backend for Debian and its descendants: apt-get changes, dpkg-query and apt-cache
// look. The program apt is not used: apt(8) promises no stable output.
var Apt = sync.OnceValue(func() *virtual.Backend {
	b := virtual.Native("apt", newApt,
		virtual.Func("list_installed", (*apt).listInstalled),
		virtual.Func("latest_version", (*apt).latestVersion),
		virtual.Func("list_upgrades", (*apt).listUpgrades),
		virtual.Func("refresh_db", (*apt).refreshDB),
		virtual.Func("install", (*apt).install),
		virtual.Func("interrupted", (*apt).interrupted),
		virtual.Func("repair", (*apt).repair),
		virtual.Func("remove", (*apt).remove),
		virtual.Func("purge", (*apt).purge),
		virtual.Func("upgrade", (*apt).upgrade),
		virtual.Func("upgrade_available", (*apt).upgradeAvailable),
		virtual.Func("file_dict", (*apt).fileList),
		virtual.Func("mod_repo", (*apt).modRepo),
		virtual.Func("del_repo", (*apt).delRepo),
		virtual.Func("version_cmp", (*apt).versionCmp),
		virtual.Func("info_installed", (*apt).infoInstalled),
		virtual.Func("owner", (*apt).owner),
		virtual.Func("file_list", (*apt).fileList),
		virtual.Func("contents", (*apt).contents),
		virtual.Func("provided", (*apt).provided),
		virtual.Func("hold", (*apt).hold),
		virtual.Func("unhold", (*apt).unhold),
		virtual.Func("list_holds", (*apt).listHolds),
		virtual.Func("list_removed", (*apt).listRemoved),
		virtual.Func("offered", (*apt).offered),
		virtual.Func("list_repos", (*apt).listRepos),
		virtual.Func("get_repo", (*apt).getRepo),
		virtual.Func("origins", (*apt).origins),
		virtual.Func("autoremove", (*apt).autoremove))
	b.Module, b.Watch, b.Doc = "pkg", virtual.WatchFiles, "Debian, Ubuntu and their derivatives, with apt-get and dpkg-query."
	b.When, b.Needs = virtual.Match{"os_family": {"Debian"}}, []string{"apt-get", "apt-cache", "apt-mark", "dpkg-query", "dpkg"}
	return b
})

// dpkgStatus is the database of installed packages. It is written anew with each change.
const dpkgStatus = "/var/lib/dpkg/status"

// It has no other state than these facts, so any number of goroutines may ask at once.
// apt is made once for each machine. Without the fact osarch every architecture counts as the own
// one.
type apt struct {
	tools
	arch string // of the machine
	os   string // the name of the distribution
}

// The variables of the environment keep packages from asking: their scripts take the defaults, and
// keep altered configuration files.
// newApt reads facts only. debconf(7) describes the first variable, ucf(1) the last one. Those of
// needrestart list services and restart none. With the mode any, a repository out of reach is an error.
func newApt(_ context.Context, env virtual.Env) (*apt, error) {
	arch, _ := env.Facts["osarch"].(string)
	os, _ := env.Facts["os"].(string)
	t := newTools(env, judgeApt,
		"DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none", "APT_LISTBUGS_FRONTEND=none",
		"NEEDRESTART_MODE=l", "NEEDRESTART_SUSPEND=1", "UCF_FORCE_CONFFOLD=1")
	return &apt{arch: arch, os: os, tools: t.fetching(slices.Concat(get, []string{"-o", "APT::Update::Error-Mode=any", "update"})...)}, nil
}

// judgeApt tells the failures of apt apart.
// It goes by the words that apt prints in the locale C, which baseEnv sets. It returns nil where the
// words are unknown.
func judgeApt(r *engine.Result) error {
	if has(r, "Could not get lock", "Unable to lock", "Unable to acquire the dpkg frontend lock", " locked by another process") {
		e := &LockedError{Tool: "apt"}
		for _, words := range [][2]string{{"held by process ", ""}, {"lock was locked by another process with pid ", ""}} {
			if who := between(r, words[0], words[1]); len(who) > 0 {
				e.Holder = "process " + strings.TrimSuffix(who[0], ".")
			}
		}
		return e
	}
	var unknown []string
	for _, words := range [][2]string{
		{"E: Unable to locate package ", ""}, {"E: Package '", "' has no installation candidate"}, {"' for '", "' was not found"},
		{"E: Package ", " is not available"},
	} {
		unknown = append(unknown, between(r, words[0], words[1])...)
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return &UnknownError{slices.Compact(unknown), complaint(r, "E: ")}
	}
	if has(r, "E: Failed to fetch", "E: Unable to fetch some archives", "W: Failed to fetch", "E: Some index files failed to download") {
		return &UnreachableError{unfetched(r)}
	}
	return nil
}

// unfetched is why apt could not fetch files, in one line. Of a server it has one file for each reason. Once a connection has failed,
// apt says of the next files in other words that it is unable to connect, which is no other reason.
func unfetched(r *engine.Result) string {
	type failure struct {
		server, reason string
		others         int
	}
	var said []string
	var failures []failure // of those that are said
	seen := map[string]bool{}
	for _, line := range linesOf(append(bytes.Clone(r.Stderr), r.Stdout...)) {
		if !strings.HasPrefix(line, "E: Failed") && !strings.HasPrefix(line, "W: Failed") {
			continue
		}
		line = strings.TrimSpace(line)
		if seen[line] {
			continue
		}
		seen[line] = true
		_, url, _ := strings.Cut(line, "://")
		url, reason, _ := strings.Cut(url, " ")
		server, _, _ := strings.Cut(url, "/")
		i := slices.IndexFunc(failures, func(f failure) bool {
			return f.server == server && (f.reason == reason ||
				strings.Contains(f.reason, "Could not connect to ") && strings.Contains(reason, "Unable to connect to "))
		})
		if server != "" && i >= 0 {
			failures[i].others++
			continue
		}
		said, failures = append(said, line), append(failures, failure{server: server, reason: reason})
	}
	for i, f := range failures {
		if n := f.others; n == 1 {
			said[i] += " (and another file of this server)"
		} else if n > 1 {
			said[i] += fmt.Sprintf(" (and %d other files of this server)", n)
		}
	}
	if len(said) > 0 {
		r = &engine.Result{Stderr: []byte(strings.Join(said, "\n"))}
	}
	return complaint(r, "E: Failed", "W: Failed")
}

// checkApt refuses a name that apt-get would read as something else: with a dash at the
// end it removes the package.
// All faults come together, before any tool runs.
func checkApt(names []string) error {
	errs := []error{checkNames(names)}
	for _, n := range names {
		if strings.HasSuffix(n, "-") {
			errs = append(errs, fmt.Errorf("%q is no name of a package: it ends in a dash", n))
		}
	}
	return errors.Join(errs...)
}

// Watch waits for changes of the database of dpkg.
// Dpkg replaces the file, so one transaction is one event or a few.
func (a *apt) Watch(ctx context.Context, _ []string) (events.Subscription, error) {
	return a.host.Watch(ctx, []string{dpkgStatus}, events.Options{})
}

// dpkg is one package in the database.
// The first letter of state is the wish of the administrator, the second one the state.
type dpkg struct{ state, name, arch, version, source, provides, summary string }

// words of dpkg-query, in the order of the fields of dpkg
const dpkgFormat = `${db:Status-Abbrev}\t${Package}\t${Architecture}\t${Version}\t${source:Package}\t${Provides}\t${binary:Summary}\n`

// database reads the database, or its entries of the names.
// Exit status 1 means that a name is unknown: its entry is left out. It takes no lock, so it works
// while another dpkg writes.
func (a *apt) database(ctx context.Context, names []string) ([]dpkg, error) {
	lines, err := a.lines(ctx, []int{1}, append([]string{"dpkg-query", "-W", "-f=" + dpkgFormat, "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	var all []dpkg
	for _, line := range lines {
		f := strings.Split(line, "\t")
		if len(f) != 7 || len(f[0]) < 2 {
			return nil, fmt.Errorf("dpkg-query printed %q, which cannot be read", line)
		}
		all = append(all, dpkg{f[0], f[1], f[2], f[3], f[4], f[5], f[6]})
	}
	return all, nil
}

// installed reports whether it is there and set up; a package that waits for a trigger counts.
func (d dpkg) installed() bool { return strings.ContainsRune("itW", rune(d.state[1])) }

// table returns versions by name: of packages of the machine by the name alone, of all
// by name:arch.
// which chooses the packages.
func (a *apt) table(all []dpkg, which func(dpkg) bool) map[string]string {
	out := map[string]string{}
	for _, d := range all {
		if !which(d) {
			continue
		}
		out[d.name+":"+d.arch] = d.version
		if d.arch == a.arch || d.arch == "all" || a.arch == "" {
			out[d.name] = d.version
		}
	}
	return out
}

// short leaves out the names with an architecture that are there without one.
// It alters the table that it is given, and returns it.
func short(table map[string]string) map[string]string {
	maps.DeleteFunc(table, func(name, version string) bool {
		plain, _, long := strings.Cut(name, ":")
		return long && table[plain] == version
	})
	return table
}

// installed returns all installed packages and their versions.
func (a *apt) installed(ctx context.Context) (map[string]string, error) {
	all, err := a.database(ctx, nil)
	return short(a.table(all, dpkg.installed)), err
}

// listInstalled returns the named packages that are installed, or all.
func (a *apt) listInstalled(ctx context.Context, args NamesArgs) (map[string]string, error) {
	return a.list(ctx, args.Names, dpkg.installed)
}

// listRemoved returns removed packages whose configuration files are left.
func (a *apt) listRemoved(ctx context.Context, args NamesArgs) (map[string]string, error) {
	return a.list(ctx, args.Names, func(d dpkg) bool { return d.state[1] == 'c' })
}

// list returns the versions of the packages that which chooses, by the names of the question.
// A package that is in the table under its plain name and with its architecture is there for both
// questions.
func (a *apt) list(ctx context.Context, names []string, which func(dpkg) bool) (map[string]string, error) {
	if err := checkApt(names); err != nil {
		return nil, err
	}
	all, err := a.database(ctx, names)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return short(a.table(all, which)), nil
	}
	return only(a.table(all, which), names), nil
}

// provided returns the installed packages that answer to a name, virtual ones included. It reads the
// whole database, since dpkg cannot be asked for a virtual name.
func (a *apt) provided(ctx context.Context, args NamesArgs) (map[string][]string, error) {
	if err := checkApt(args.Names); err != nil {
		return nil, err
	}
	all, err := a.database(ctx, nil)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, d := range all {
		if !d.installed() {
			continue
		}
		out[d.name] = append(out[d.name], d.name)
		for part := range strings.SplitSeq(d.provides, ",") {
			if name, _, _ := strings.Cut(strings.TrimSpace(part), " "); name != "" && name != d.name {
				out[name] = append(out[name], d.name)
			}
		}
	}
	return only(out, args.Names), nil
}

// infoInstalled prefers the package of the machine's architecture where several have the name.
// The summary is the first line of the description.
func (a *apt) infoInstalled(ctx context.Context, args NamesArgs) (map[string]Info, error) {
	if err := checkApt(args.Names); err != nil {
		return nil, err
	}
	all, err := a.database(ctx, args.Names)
	out := map[string]Info{}
	for _, d := range all {
		if d.installed() && (out[d.name].Name == "" || d.arch == a.arch) {
			out[d.name] = Info{Name: d.name, Version: d.version, Arch: d.arch, Summary: &d.summary, Source: &d.source}
		}
	}
	return out, err
}

// latestVersion asks for the candidates; of all packages, where none is named.
// It reads the lists that are on the machine and fetches none.
func (a *apt) latestVersion(ctx context.Context, args NamesArgs) (map[string]string, error) {
	if err := checkApt(args.Names); err != nil {
		return nil, err
	}
	if len(args.Names) == 0 {
		return a.available(ctx)
	}
	lines, err := a.lines(ctx, nil, append([]string{"apt-cache", "policy", "--"}, args.Names...)...)
	return a.asked(candidates(lines), args.Names), err
}

// offered takes each name for offered that is on the page of apt-cache policy, also one without a candidate: it may be a virtual one.
func (a *apt) offered(ctx context.Context, args ContentsArgs) ([]string, error) {
	if err := checkApt(args.Names); err != nil {
		return nil, err
	}
	lines, err := a.lines(ctx, nil, append([]string{"apt-cache", "policy", "--"}, args.Names...)...)
	if err != nil {
		return nil, err
	}
	page := map[string]string{}
	for _, line := range lines {
		if name, ok := strings.CutSuffix(line, ":"); ok && !strings.HasPrefix(line, " ") {
			page[name] = name
		}
	}
	found := a.asked(page, args.Names)
	if len(found) < len(args.Names) {
		if listed, err := a.listed(ctx); !listed {
			return args.Names, err
		}
	}
	return slices.DeleteFunc(slices.Clone(args.Names), func(n string) bool { return found[n] == "" }), nil
}

// listed reports whether there is a list of any repository.
func (a *apt) listed(ctx context.Context) (bool, error) {
	lines, err := a.lines(ctx, nil, "apt-cache", "policy")
	return slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, " Packages") }), err
}

// asked returns the part of a table that is about the names. apt-cache takes a name that it does not know for a
// pattern, and leaves out the architecture if it is that of the machine.
func (a *apt) asked(all map[string]string, names []string) map[string]string {
	out := map[string]string{}
	for _, n := range names {
		plain, arch, _ := strings.Cut(n, ":")
		if v, ok := all[n]; ok {
			out[n] = v
		} else if v, ok := all[plain]; ok && (arch == a.arch || arch == "all") {
			out[n] = v
		}
	}
	return out
}

// candidates reads the page of apt-cache policy. An unknown package is not on that page. A package
// without a candidate is not in the result. A candidate is the version that apt-get would install,
// by apt_preferences(5).
func candidates(lines []string) map[string]string {
	out, name := map[string]string{}, ""
	for _, line := range lines {
		if !strings.HasPrefix(line, " ") {
			name = strings.TrimSuffix(line, ":")
		}
		if v, ok := strings.CutPrefix(line, "  Candidate: "); ok && v != "(none)" {
			out[name] = v
		}
	}
	return out
}

// available returns the versions in the lists of all repositories.
func (a *apt) available(ctx context.Context) (map[string]string, error) {
	lines, err := a.lines(ctx, nil, "apt-cache", "dumpavail")
	out, name := map[string]string{}, ""
	for _, line := range lines {
		if v, ok := strings.CutPrefix(line, "Package: "); ok {
			name = v
		}
		if v, ok := strings.CutPrefix(line, "Version: "); ok {
			out[name] = v
		}
	}
	return out, err
}

// listUpgrades asks what an upgrade would do.
// It simulates the upgrade, without a lock. So held packages are not in the result, and neither are
// packages with a missing dependency.
func (a *apt) listUpgrades(ctx context.Context, args RefreshArgs) (map[string]string, error) {
	if err := a.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	lines, err := a.lines(ctx, nil, "apt-get", "-s", "-q", "-o", "Debug::NoLocking=true", "dist-upgrade")
	out := map[string]string{}
	for _, line := range lines {
		// Inst name [1.0] (2.0 where [arch])
		f := strings.Fields(line)
		if len(f) > 3 && f[0] == "Inst" && strings.HasPrefix(f[2], "[") {
			out[f[1]] = strings.TrimPrefix(f[3], "(")
		}
	}
	return out, err
}

// versionCmp asks dpkg.
// Exit status 0 means yes and 1 means no; any other one is a failure.
func (a *apt) versionCmp(ctx context.Context, args CompareArgs) (int, error) {
	if err := errors.Join(CheckVersion(args.A), CheckVersion(args.B)); err != nil {
		return 0, err
	}
	for _, is := range []struct {
		relation string
		answer   int
	}{{"eq", 0}, {"lt", -1}} {
		r, err := a.ask(ctx, "dpkg", "--compare-versions", args.A, is.relation, args.B)
		switch {
		case err != nil:
			return 0, err
		case r.ExitCode == 0:
			return is.answer, nil
		case r.ExitCode != 1:
			return 0, a.failure("dpkg", r)
		}
	}
	return 1, nil
}

// owner reads lines such as "git, git-man: /usr/share/doc".
// Of several packages of one path the first counts. Diversions are not packages.
func (a *apt) owner(ctx context.Context, args PathsArgs) (map[string]string, error) {
	if err := checkPaths(args.Paths); err != nil || len(args.Paths) == 0 {
		return map[string]string{}, err
	}
	lines, err := a.lines(ctx, []int{1}, append([]string{"dpkg-query", "-S", "--"}, args.Paths...)...)
	out := map[string]string{}
	for _, line := range lines {
		names, path, ok := strings.Cut(line, ": ")
		if ok && slices.Contains(args.Paths, path) && !strings.HasPrefix(names, "diversion ") {
			name, _, _ := strings.Cut(names, ",")
			out[path], _, _ = strings.Cut(name, ":")
		}
	}
	return out, err
}

// fileList asks for the files of each package.
// The root folder is left out.
func (a *apt) fileList(ctx context.Context, args NamesArgs) (map[string][]string, error) {
	if err := checkApt(args.Names); err != nil {
		return nil, err
	}
	all, err := a.listInstalled(ctx, args)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, name := range sortedKeys(all) {
		lines, err := a.lines(ctx, nil, "dpkg-query", "-L", "--", name)
		if err != nil {
			return nil, err
		}
		out[name] = slices.DeleteFunc(lines, func(s string) bool { return !strings.HasPrefix(s, "/") || s == "/." })
	}
	return out, nil
}

// mark is hold and unhold, by the verb of apt-mark. Names that apt does not know are an error.
// A mark is kept in the database of dpkg, so it waits for the lock as an installation does.
func (a *apt) mark(ctx context.Context, verb string, names []string) (virtual.Nothing, error) {
	if err := checkApt(names); err != nil {
		return virtual.Nothing{}, err
	}
	if err := a.known(ctx, names); err != nil {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, a.transact(ctx, nil, append([]string{"apt-mark", verb, "--"}, names...)...)
}

// hold keeps packages at their version, also ones that are not installed yet.
func (a *apt) hold(ctx context.Context, args RemoveArgs) (virtual.Nothing, error) {
	return a.mark(ctx, "hold", args.Names)
}

// unhold ends that; for a package that is not held it does nothing.
func (a *apt) unhold(ctx context.Context, args RemoveArgs) (virtual.Nothing, error) {
	return a.mark(ctx, "unhold", args.Names)
}

// listHolds returns the names in the order of apt-mark, which is sorted.
func (a *apt) listHolds(ctx context.Context, _ virtual.Nothing) ([]string, error) {
	lines, err := a.lines(ctx, nil, "apt-mark", "showhold")
	return append([]string{}, lines...), err
}
