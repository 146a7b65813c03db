package backends

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

// versionlock is the start of the dnf command that keeps versions. It only has to know the
// installed packages.
var versionlock = []string{"dnf", "-y", "-q", "--setopt=color=never", "--setopt=exit_on_lock=True", "--disablerepo=*", "versionlock"}

// errNoVersionlock says that dnf cannot keep versions.
var errNoVersionlock = errors.New("dnf has no command versionlock: install python3-dnf-plugin-versionlock (dnf-plugins-core on Debian)")

// lockVersions runs one of the verbs of versionlock.
// It waits for locks, but is not a transaction: it writes one small file.
func (d *dnf) lockVersions(ctx context.Context, args ...string) error {
	err := d.change(ctx, nil, slices.Concat(versionlock, args)...)
	return noVersionlock(err)
}

// noVersionlock turns the error of an unknown command into an error with the missing package.
func noVersionlock(err error) error {
	if e, ok := errors.AsType[*ToolError](err); ok && strings.Contains(e.Text, "versionlock") && (strings.Contains(e.Text, "No such command") || strings.Contains(e.Text, "Unknown argument")) {
		return errNoVersionlock
	}
	return err
}

// hold locks the version that is installed: dnf by itself would lock each that a repository has.
// Packages that are held already are not named again, since dnf would add a second lock.
func (d *dnf) hold(ctx context.Context, args RemoveArgs) (virtual.Nothing, error) {
	if err := present(ctx, d.listInstalled, args.Names); err != nil {
		return virtual.Nothing{}, err
	}
	have, err := d.infos(ctx, args.Names)
	if err != nil {
		return virtual.Nothing{}, err
	}
	held, err := d.listHolds(ctx, virtual.Nothing{})
	if err != nil {
		return virtual.Nothing{}, err
	}
	var specs []string
	for _, name := range sortedKeys(have) {
		if !slices.Contains(held, name) {
			v := splitEVR(have[name].Version)
			specs = append(specs, name+"-"+v[0]+":"+v[1]+"-"+v[2])
		}
	}
	if len(specs) == 0 {
		return virtual.Nothing{}, nil
	}
	return virtual.Nothing{}, d.lockVersions(ctx, append([]string{"add"}, specs...)...)
}

// unhold ends that; names that are not held are right already.
func (d *dnf) unhold(ctx context.Context, args RemoveArgs) (virtual.Nothing, error) {
	if err := checkNames(args.Names); err != nil {
		return virtual.Nothing{}, err
	}
	held, err := d.listHolds(ctx, virtual.Nothing{})
	if err != nil {
		return virtual.Nothing{}, err
	}
	names := slices.DeleteFunc(slices.Sorted(slices.Values(args.Names)), func(n string) bool { return !slices.Contains(held, n) })
	if len(names) == 0 {
		return virtual.Nothing{}, nil
	}
	return virtual.Nothing{}, d.lockVersions(ctx, append([]string{"delete"}, names...)...)
}

// listHolds reads lines such as tiny-0:1.0-1.*, or those of a newer dnf: Package name: tiny.
func (d *dnf) listHolds(ctx context.Context, _ virtual.Nothing) ([]string, error) {
	lines, err := d.lines(ctx, nil, append(slices.Clone(versionlock), "list")...)
	if err != nil {
		return nil, noVersionlock(err)
	}
	names := []string{}
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "Package name: "); ok {
			names = append(names, strings.TrimSpace(name))
		} else if name, ok := lockedName(line); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// withoutHeld takes held packages out of a table: dnf itself lists them among the upgrades.
func (d *dnf) withoutHeld(ctx context.Context, table map[string]string) error {
	held, err := d.listHolds(ctx, virtual.Nothing{})
	for _, name := range held {
		delete(table, name)
	}
	if errors.Is(err, errNoVersionlock) {
		return nil
	}
	return err
}

// kept returns an error if held names have a newer version: dnf has nothing to do then, and says no
// more.
func (d *dnf) kept(ctx context.Context, names []string) error {
	newer, err := d.query(ctx, "--upgrades", "--latest-limit=1")
	newer = only(newer, names)
	if err != nil || len(newer) == 0 {
		return err
	}
	held, err := d.listHolds(ctx, virtual.Nothing{})
	held = slices.DeleteFunc(held, func(n string) bool { return newer[n] == "" })
	if len(held) == 0 || errors.Is(err, errNoVersionlock) {
		return nil
	}
	return errors.Join(err, &HeldError{held})
}

// lockedName reads the name of name-epoch:version-release.arch; ! before it keeps a version out.
// Parts are counted from the end, since a name may have hyphens and a version has none.
func lockedName(line string) (string, bool) {
	f := strings.Split(line, "-")
	if len(f) < 3 || strings.ContainsAny(line, " \t!#") || !strings.Contains(f[len(f)-2], ":") {
		return "", false
	}
	return strings.Join(f[:len(f)-2], "-"), true
}
