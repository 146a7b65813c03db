package backends

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/inifile"
)

// ignorePkg is the setting in which pacman is told what to keep; its values are names and patterns.
// Pacman has no command for this: the setting in its file is the only way.
const ignorePkg = "IgnorePkg"

// hold adds names to the setting. A missing package is an error. A held package stays in it once.
// The names are added in their order, so equal calls write equal files.
func (p *pacman) hold(ctx context.Context, args RemoveArgs) (virtual.Nothing, error) {
	if err := present(ctx, p.listInstalled, args.Names); err != nil {
		return virtual.Nothing{}, err
	}
	held, err := p.listHolds(ctx, virtual.Nothing{})
	if err != nil {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, p.editIgnored(func(now []string) []string {
		for _, name := range slices.Sorted(slices.Values(args.Names)) {
			if !slices.Contains(held, name) && !slices.Contains(now, name) {
				now = append(now, name)
			}
		}
		return now
	})
}

// unhold takes names out of the setting. A name that pacman keeps all the same, by a pattern or in
// a file that is included, is an error.
// Pacman itself says afterwards whether a name is still kept, since it alone reads all files.
func (p *pacman) unhold(ctx context.Context, args RemoveArgs) (virtual.Nothing, error) {
	if err := checkNames(args.Names); err != nil {
		return virtual.Nothing{}, err
	}
	err := p.editIgnored(func(now []string) []string {
		return slices.DeleteFunc(now, func(name string) bool { return slices.Contains(args.Names, name) })
	})
	if err != nil {
		return virtual.Nothing{}, err
	}
	held, err := p.listHolds(ctx, virtual.Nothing{})
	if err != nil {
		return virtual.Nothing{}, err
	}
	if still := slices.DeleteFunc(held, func(n string) bool { return !slices.Contains(args.Names, n) }); len(still) > 0 {
		return virtual.Nothing{}, fmt.Errorf("pacman keeps %s all the same: %s or a file that it includes has the name in another place: see pacman-conf", strings.Join(still, ", "), p.at(pacmanConf))
	}
	return virtual.Nothing{}, nil
}

// editIgnored alters the list of packages that pacman is told to keep. Several lines become one.
// Other settings, comments and their order stay. A file without a difference is not written.
// The format is that of pacman.conf(5): words with blanks between them.
func (p *pacman) editIgnored(change func(now []string) []string) error {
	return editConfig(p.at(pacmanConf), false, func(old string) (string, error) {
		f := inifile.Parse(old, inifile.Usual)
		var now []string
		for _, value := range f.Values(pacmanOptions, ignorePkg) {
			now = append(now, strings.Fields(value)...)
		}
		want := change(slices.Clone(now))
		switch {
		case slices.Equal(now, want):
			return old, nil
		case len(want) == 0:
			f.Remove(pacmanOptions, ignorePkg)
			return f.String(), nil
		}
		if err := f.Set(inifile.Setting{Section: pacmanOptions, Name: ignorePkg, Value: strings.Join(want, " ")}); err != nil {
			return "", fmt.Errorf("%s: %w", p.at(pacmanConf), err)
		}
		return f.String(), nil
	})
}

// listHolds asks pacman-conf, which knows included files, too. The result is sorted.
func (p *pacman) listHolds(ctx context.Context, _ virtual.Nothing) ([]string, error) {
	lines, err := p.lines(ctx, nil, "pacman-conf", ignorePkg)
	slices.Sort(lines)
	return append([]string{}, slices.Compact(lines)...), err
}

// heldBack returns which of the names are installed and held, and the others. Pacman itself only
// asks before it alters a named package, and is told yes.
// A name that is not installed is free: there is no version to keep.
func (p *pacman) heldBack(ctx context.Context, names []string) (held, free []string, err error) {
	all, err := p.listHolds(ctx, virtual.Nothing{})
	if err != nil || len(all) == 0 {
		return nil, names, err
	}
	have, err := p.listInstalled(ctx, NamesArgs{names})
	for _, name := range names {
		if have[name] != "" && slices.Contains(all, name) {
			held = append(held, name)
		} else {
			free = append(free, name)
		}
	}
	return held, free, err
}

// upgradeFree returns which of the names may be upgraded. Held names with a newer version are an
// error.
func (p *pacman) upgradeFree(ctx context.Context, names []string) ([]string, error) {
	held, free, err := p.heldBack(ctx, names)
	if err != nil || len(held) == 0 {
		return free, err
	}
	// Only a held package with a newer version keeps an upgrade from its end. The others are as new as they may be.
	newer, err := p.pairs(ctx, append([]string{"pacman", "-Qu"}, held...)...)
	if err == nil && len(newer) > 0 {
		err = &HeldError{sortedKeys(newer)}
	}
	return free, err
}

// keepHeld leaves held packages out of the wanted ones, if any version is allowed. Another version
// is refused.
func (p *pacman) keepHeld(ctx context.Context, pkgs map[string]string) (map[string]string, error) {
	held, free, err := p.heldBack(ctx, sortedKeys(pkgs))
	if err != nil || len(held) == 0 {
		return pkgs, err
	}
	have, err := p.listInstalled(ctx, NamesArgs{held})
	// An empty version means any: the installed one will do.
	refused := slices.DeleteFunc(held, func(n string) bool { return pkgs[n] == "" || pkgs[n] == have[n] })
	if len(refused) > 0 {
		err = errors.Join(err, &HeldError{refused})
	}
	rest := map[string]string{}
	for _, name := range free {
		rest[name] = pkgs[name]
	}
	return rest, err
}
