package backends

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

// get is the start of an apt-get that asks nothing. The two options of dpkg take the default for
// an altered configuration file, and keep the file where there is none; see dpkg(1). By Use-Pty=0
// dpkg writes to the pipe itself.
var get = []string{
	"apt-get", "-q", "-y", "-o", "Dpkg::Use-Pty=0",
	"-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold",
}

// bring fetches the files of a transaction, which may be cut, and makes the transaction, which may
// not.
// So an end of the context during a long download leaves a sound database.
func (a *apt) bring(ctx context.Context, args ...string) error {
	fetch := slices.Concat(get, []string{"--download-only"}, args)
	err := a.change(ctx, nil, fetch...)
	if refused(err) {
		// Another dpkg was killed at it: its transaction has to be ended first.
		if err := a.mend(ctx); err != nil {
			return err
		}
		err = a.change(ctx, nil, fetch...)
	}
	if err != nil {
		return err
	}
	return a.get(ctx, args...)
}

// refused reports whether apt-get refuses to go on because dpkg was killed.
// The text has the command that apt recommends, and mend runs it.
func refused(err error) bool {
	e, ok := errors.AsType[*ToolError](err)
	return ok && strings.Contains(e.Text, "dpkg --configure -a")
}

// get is an apt-get that writes the database.
// An end of ctx does not cut it: see tools.transact.
func (a *apt) get(ctx context.Context, args ...string) error {
	return a.transact(ctx, nil, slices.Concat(get, args)...)
}

// install checks names and versions, and that apt knows the names, before it alters anything. Its
// result has the packages that have changed, dependencies included.
// A wish for recommended packages goes over apt.conf(5), in both directions. An untrusted
// repository is an error, unless the parameter allows it.
func (a *apt) install(ctx context.Context, args InstallArgs) (map[string]Change, error) {
	names := sortedKeys(args.Pkgs)
	if err := errors.Join(checkApt(names), checkVersions(args.Pkgs)); err != nil {
		return nil, err
	}
	if err := a.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	if err := a.known(ctx, names); err != nil {
		return nil, err
	}
	argv := []string{"-o", "APT::Install-Recommends=" + strconv.FormatBool(args.Recommends)}
	if args.Downgrade {
		argv = append(argv, "--allow-downgrades")
	}
	if args.Untrusted {
		argv = append(argv, "--allow-unauthenticated")
	}
	return during(ctx, a, func() error {
		return a.bring(ctx, append(append(argv, "install", "--"), with("=", args.Pkgs)...)...)
	})
}

// known refuses names that apt has never heard of: apt-get and apt-mark would read those with
// a dot or a plus as patterns.
func (a *apt) known(ctx context.Context, names []string) error {
	lines, err := a.lines(ctx, nil, append([]string{"apt-cache", "policy", "--"}, names...)...)
	if err != nil {
		return err
	}
	unknown := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		plain, _, _ := strings.Cut(n, ":")
		return slices.Contains(lines, n+":") || slices.Contains(lines, plain+":")
	})
	if len(unknown) > 0 {
		return &UnknownError{Names: unknown}
	}
	return nil
}

// remove leaves configuration files.
func (a *apt) remove(ctx context.Context, args RemoveArgs) (map[string]Change, error) {
	return a.away(ctx, "remove", args)
}

// purge removes configuration files, too, and those of packages that are removed already.
func (a *apt) purge(ctx context.Context, args RemoveArgs) (map[string]Change, error) {
	return a.away(ctx, "purge", args)
}

// away is remove and purge, by the verb of apt-get. Names that are not installed are right already.
// A package that is half installed counts as there, since apt-get remove can take it away.
func (a *apt) away(ctx context.Context, verb string, args RemoveArgs) (map[string]Change, error) {
	if err := checkApt(args.Names); err != nil {
		return nil, err
	}
	all, err := a.database(ctx, args.Names)
	if err != nil {
		return nil, err
	}
	known := a.table(all, func(d dpkg) bool { return d.installed() || verb == "purge" || d.state[1] != 'n' && d.state[1] != 'c' })
	names := slices.DeleteFunc(slices.Sorted(slices.Values(args.Names)), func(n string) bool { return known[n] == "" })
	if len(names) == 0 {
		return map[string]Change{}, nil
	}
	return during(ctx, a, func() error { return a.get(ctx, append([]string{verb, "--"}, names...)...) })
}

// autoremove removes packages that came as dependencies and are needed no more.
func (a *apt) autoremove(ctx context.Context, _ virtual.Nothing) (map[string]Change, error) {
	return during(ctx, a, func() error { return a.get(ctx, "autoremove") })
}

// upgrade brings named packages, or all, to their newest version. For all it may add and remove
// packages, as dist-upgrade does. With --only-upgrade apt-get installs no named package that is
// missing; see apt-get(8).
func (a *apt) upgrade(ctx context.Context, args UpgradeArgs) (map[string]Change, error) {
	if err := present(ctx, a.listInstalled, args.Names); err != nil {
		return nil, err
	}
	if err := a.refresh(ctx, args.Refresh); err != nil {
		return nil, err
	}
	argv := []string{"dist-upgrade"}
	if len(args.Names) > 0 {
		argv = append([]string{"install", "--only-upgrade", "--"}, args.Names...)
	}
	return during(ctx, a, func() error { return a.bring(ctx, argv...) })
}
