package backends

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// Where apk has its repositories, one to a line.
// The format is that of apk-repositories(5).
const (
	apkRepos     = "/etc/apk/repositories"
	apkRepoParts = "/etc/apk/repositories.d"
)

// apkLine is a repository: perhaps commented out, perhaps with a tag, and its address or the path of a folder.
var apkLine = lazyregexp.New(`^(\s*(?:#\s*)?)(@\S+\s+)?([a-z][a-z0-9+.-]*:\S+|/\S+)\s*$`)

// apkRepo reads a line. A comment of several words does not match, so prose never becomes a
// repository. A tag is left out of the address: it restricts which packages apk takes from there.
func apkRepo(line string) (address string, off, ok bool) {
	m := apkLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	if m == nil {
		return "", false, false
	}
	return m[3], strings.Contains(m[1], "#"), true
}

// repoFiles returns the files that name repositories. The first is where a new one goes.
func (a *apk) repoFiles() ([]string, error) {
	parts, err := partsIn(a.at(apkRepoParts), ".list")
	return append([]string{a.at(apkRepos)}, parts...), err
}

// listRepos returns the repositories, each under its address. Repositories that are commented out
// are not used.
// An address that stands in several lines counts as used if one of them is used.
func (a *apk) listRepos(_ context.Context, _ virtual.Nothing) (map[string]Repo, error) {
	files, err := a.repoFiles()
	if err != nil {
		return nil, err
	}
	all := map[string]Repo{}
	for _, path := range files {
		text, err := readConfig(path)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			if address, off, ok := apkRepo(line); ok {
				name := withoutPassword(address)
				all[name] = Repo{Name: name, URL: name, Enabled: !off || all[name].Enabled}
			}
		}
	}
	return all, nil
}

// getRepo fails with virtual.ErrNotFound for a repository that no file names.
func (a *apk) getRepo(ctx context.Context, args RepoArgs) (Repo, error) {
	return oneRepo(ctx, a.listRepos, args.Repo)
}

// checkApkRepo refuses any text but the name of a repository of apk.
// The error shows no password. A name with a tag is refused too, since the address alone is the
// name.
func checkApkRepo(name string) error {
	if address, off, ok := apkRepo(name); !ok || off || address != name {
		return fmt.Errorf("%q is no repository of apk: write its address, or the path of a folder", withoutPassword(name))
	}
	if strings.HasPrefix(name, "/") {
		return nil
	}
	return checkAddress(name, name)
}

// modRepo makes a line, or comments it out, or in.
// Other lines, their order and comments stay. A line that is right already is not written.
func (a *apk) modRepo(_ context.Context, args apkModRepo) (virtual.Nothing, error) {
	if err := checkApkRepo(args.Repo); err != nil {
		return virtual.Nothing{}, err
	}
	if args.URL != nil && plainAddress(*args.URL) != plainAddress(args.Repo) {
		return virtual.Nothing{}, fmt.Errorf("the url %s is not that of the repository %s: with apk the name is the address", withoutPassword(*args.URL), args.Repo)
	}
	found := false
	err := a.editRepos(args.Repo, func(line string, off bool) string {
		found = true
		if args.Enabled == nil || *args.Enabled != off {
			return line
		}
		if off {
			return strings.TrimLeft(line, "# \t")
		}
		return "#" + strings.TrimLeft(line, " \t")
	})
	if err != nil || found {
		return virtual.Nothing{}, err
	}
	line := args.Repo + "\n"
	if args.Enabled != nil && !*args.Enabled {
		line = "#" + line
	}
	return virtual.Nothing{}, editConfig(a.at(apkRepos), false, func(old string) (string, error) {
		if old != "" && !strings.HasSuffix(old, "\n") {
			old += "\n"
		}
		return old + line, nil
	})
}

// delRepo removes the lines of a repository in all files. That there is none is right.
func (a *apk) delRepo(_ context.Context, args RepoArgs) (virtual.Nothing, error) {
	if err := checkApkRepo(args.Repo); err != nil {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, a.editRepos(args.Repo, func(string, bool) string { return "" })
}

// editRepos has alter make the lines anew that name a repository. All else stays.
// A part that is empty afterwards goes; the main file stays even then. Errors of several files come
// together.
func (a *apk) editRepos(repo string, alter func(line string, off bool) string) error {
	files, err := a.repoFiles()
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range files {
		errs = append(errs, editConfig(path, path != a.at(apkRepos), func(old string) (string, error) {
			var out strings.Builder
			for line := range strings.Lines(old) {
				address, off, ok := apkRepo(line)
				if ok && plainAddress(address) == plainAddress(repo) {
					line = alter(line, off)
				}
				out.WriteString(line)
			}
			return out.String(), nil
		}))
	}
	return errors.Join(errs...)
}
