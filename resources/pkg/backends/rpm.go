package backends

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// rpm is the common part of all package managers above rpm: the installed packages.
// It has no state of its own and alters nothing; dnf and zypper do.
// dnf and zypper embed it, so its methods are functions of both backends.
type rpm struct{ tools }

// rpmFiles are those in which rpm keeps its database, one of them for each of its
// formats. The folder is not watched: to look makes files in it.
var rpmFiles = []string{
	"/var/lib/rpm/rpmdb.sqlite", "/var/lib/rpm/Packages", "/var/lib/rpm/Packages.db",
	"/usr/lib/sysimage/rpm/rpmdb.sqlite", "/usr/lib/sysimage/rpm/Packages.db",
}

// rpmFormat has the fields of infos, separated by tabs, which no field contains.
const rpmFormat = `%{NAME}\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\t%{ARCH}\t%{SOURCERPM}\t%{SUMMARY}\n`

// Watch waits for changes of the database of rpm.
// Of the files most are missing on any machine; a watch of a missing file waits for it.
func (r *rpm) Watch(ctx context.Context, _ []string) (events.Subscription, error) {
	return r.host.Watch(ctx, rpmFiles, events.Options{})
}

// infos reads the database, or its entries of the names; of several versions the last one. It
// takes no lock. Keys of repositories, which rpm lists as packages, are left out. A name that is
// not installed has no record, and is not an error.
func (r *rpm) infos(ctx context.Context, names []string) (map[string]Info, error) {
	if err := checkNames(names); err != nil {
		return nil, err
	}
	argv, ok := []string{"rpm", "-qa", "--qf", rpmFormat}, []int(nil)
	if len(names) > 0 {
		// The exit status is the number of names that are not installed.
		argv, ok = append([]string{"rpm", "-q", "--qf", rpmFormat}, names...), []int{len(names) & 0xff}
		for n := range min(len(names), 255) {
			ok = append(ok, n)
		}
	}
	lines, err := r.lines(ctx, ok, argv...)
	if err != nil {
		return nil, err
	}
	out := map[string]Info{}
	for _, line := range lines {
		f := strings.Split(line, "\t")
		if len(f) != 5 || f[0] == "gpg-pubkey" {
			continue // package x is not installed
		}
		if len(names) > 0 && !slices.Contains(names, f[0]) {
			continue // rpm was given a name with a version, which is none
		}
		out[f[0]] = Info{Name: f[0], Version: evr(f[1]), Arch: f[2], Source: &f[3], Summary: &f[4]}
	}
	return out, nil
}

// evr leaves out an epoch that is none.
// rpm writes an epoch that is not set as 0; both mean the same in a comparison.
func evr(s string) string { return strings.TrimPrefix(s, "0:") }

// installed returns all installed packages and their versions.
func (r *rpm) installed(ctx context.Context) (map[string]string, error) {
	return r.listInstalled(ctx, NamesArgs{})
}

// listInstalled returns the named packages that are installed, or all.
func (r *rpm) listInstalled(ctx context.Context, args NamesArgs) (map[string]string, error) {
	infos, err := r.infos(ctx, args.Names)
	out := map[string]string{}
	for name, info := range infos {
		out[name] = info.Version
	}
	return out, err
}

// infoInstalled returns the records of the named packages that are installed, or all.
func (r *rpm) infoInstalled(ctx context.Context, args NamesArgs) (map[string]Info, error) {
	return r.infos(ctx, args.Names)
}

// longName is a name that the tools above rpm may take for a shorter one with a version or an architecture.
var longName = lazyregexp.New(`-[0-9]|[.:]`)

// literal refuses names that no repository has literally, though a tool would find something for
// them.
// Dnf would read such a name as a name with a version, and could install another package.
// Short names without a digit behind a hyphen cost no question.
func literal(ctx context.Context, latest func(context.Context, NamesArgs) (map[string]string, error), names []string) error {
	long := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !longName.MatchString(n) })
	if len(long) == 0 {
		return nil
	}
	known, err := latest(ctx, NamesArgs{long})
	if err != nil {
		return err
	}
	if unknown := slices.DeleteFunc(long, func(n string) bool { return known[n] != "" }); len(unknown) > 0 {
		return &UnknownError{Names: unknown}
	}
	return nil
}

// provided returns the installed packages that answer to a name, virtual ones included.
func (r *rpm) provided(ctx context.Context, args NamesArgs) (map[string][]string, error) {
	return each(args.Names, CheckName, func(name string) ([]string, error) {
		return r.asked(ctx, "rpm", "-q", "--whatprovides", "--qf", `%{NAME}\n`, name)
	})
}

// asked is lines where a failure means that there are none.
// It fails only if the tool cannot be run at all.
func (t *tools) asked(ctx context.Context, argv ...string) ([]string, error) {
	result, err := t.ask(ctx, argv...)
	if err != nil || result.ExitCode != 0 {
		return nil, err
	}
	return linesOf(result.Stdout), nil
}

// each asks about one after the other. Those about which nothing is said are left out.
// All names are checked before the first question. It costs one run of a tool for each name.
func each(names []string, check func(string) error, ask func(string) ([]string, error)) (map[string][]string, error) {
	for _, name := range names {
		if err := check(name); err != nil {
			return nil, err
		}
	}
	out := map[string][]string{}
	for _, name := range names {
		lines, err := ask(name)
		if err != nil {
			return nil, err
		}
		if len(lines) > 0 {
			out[name] = lines
		}
	}
	return out, nil
}

// fileList returns the files and folders of the named packages, or of all.
func (r *rpm) fileList(ctx context.Context, args NamesArgs) (map[string][]string, error) {
	names := args.Names
	if len(names) == 0 {
		all, err := r.installed(ctx)
		if err != nil {
			return nil, err
		}
		names = sortedKeys(all)
	}
	return each(names, CheckName, func(name string) ([]string, error) { return r.asked(ctx, "rpm", "-ql", name) })
}

// owner returns the package of each path. A path of no package is left out.
func (r *rpm) owner(ctx context.Context, args PathsArgs) (map[string]string, error) {
	check := func(path string) error { return checkPaths([]string{path}) }
	found, err := each(args.Paths, check, func(path string) ([]string, error) {
		return r.asked(ctx, "rpm", "-qf", "--qf", `%{NAME}\n`, path)
	})
	return firsts(found), err
}

// firsts returns the first of each.
// No list may be empty.
func firsts(found map[string][]string) map[string]string {
	out := map[string]string{}
	for key, list := range found {
		out[key] = list[0]
	}
	return out
}

// versionCmp asks rpm about epoch, version and release in turn. As in dependencies, the release
// counts only if both have one. The texts are checked and quoted, since rpm evaluates them as a
// program. One run of rpm compares all three parts, and the first difference counts.
func (r *rpm) versionCmp(ctx context.Context, args CompareArgs) (int, error) {
	if err := errors.Join(CheckVersion(args.A), CheckVersion(args.B)); err != nil {
		return 0, err
	}
	a, b := splitEVR(args.A), splitEVR(args.B)
	var asks []string
	for i := range a {
		if a[i] != "" && b[i] != "" {
			asks = append(asks, fmt.Sprintf("rpm.vercmp(%q,%q)", a[i], b[i]))
		}
	}
	lines, err := r.lines(ctx, nil, "rpm", "--eval", "%{lua:print("+strings.Join(asks, ",")+")}")
	if err != nil {
		return 0, err
	}
	for word := range strings.FieldsSeq(strings.Join(lines, " ")) {
		if n, err := strconv.Atoi(word); err != nil || n != 0 {
			return n, err
		}
	}
	return 0, nil
}

// forward refuses versions that are older than the installed one. Dnf would make a downgrade of
// them, and zypper nothing at all.
// Packages without a wanted version, or not installed, pass. Each of the others costs one run of
// rpm.
func (r *rpm) forward(ctx context.Context, args InstallArgs) error {
	pinned := slices.DeleteFunc(sortedKeys(args.Pkgs), func(n string) bool { return args.Pkgs[n] == "" })
	if args.Downgrade || len(pinned) == 0 {
		return nil
	}
	have, err := r.listInstalled(ctx, NamesArgs{pinned})
	if err != nil {
		return err
	}
	for _, name := range pinned {
		if have[name] == "" {
			continue
		}
		order, err := r.versionCmp(ctx, CompareArgs{A: args.Pkgs[name], B: have[name]})
		if err != nil {
			return err
		}
		if order < 0 {
			return fmt.Errorf("%s is installed in version %s, and %s would be a downgrade, which is not allowed", name, have[name], args.Pkgs[name])
		}
	}
	return nil
}

// splitEVR returns epoch, version and release; the epoch is 0 if there is none, the release empty.
// It reads only; whether the parts make sense is for rpm to say.
func splitEVR(s string) [3]string {
	epoch, rest, ok := strings.Cut(s, ":")
	if !ok {
		epoch, rest = "0", s
	}
	version, release := rest, ""
	if i := strings.LastIndexByte(rest, '-'); i >= 0 {
		version, release = rest[:i], rest[i+1:]
	}
	return [3]string{epoch, version, release}
}

// unknownNames returns the names that a tool does not know: the text between each two words, split
// by blanks or commas.
func unknownNames(r *engine.Result, words ...[2]string) []string {
	var names []string
	for _, w := range words {
		for _, found := range between(r, w[0], w[1]) {
			names = append(names, strings.Fields(strings.ReplaceAll(found, ",", " "))...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
