package backends

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/inifile"
)

// listRepos reads two pages: which repositories are in use, and where each is.
// Both pages are for people, so lines that do not fit are passed over.
func (d *dnf) listRepos(ctx context.Context, _ virtual.Nothing) (map[string]Repo, error) {
	// The cache is enough (-C): no address is asked, so the answer comes without a network.
	base := []string{"dnf", "-q", "-C", "--setopt=color=never"}
	states, err := d.lines(ctx, nil, append(base[:4:4], "repolist", "--all")...)
	if err != nil {
		return nil, err
	}
	// The state is the last word of a line, since names of repositories have blanks.
	all := map[string]Repo{}
	for _, line := range states {
		f := strings.Fields(line)
		if n := len(f); n > 1 && (f[n-1] == "enabled" || f[n-1] == "disabled") {
			all[f[0]] = Repo{Name: f[0], Enabled: f[n-1] == "enabled"}
		}
	}
	if len(all) == 0 {
		return all, nil
	}
	// The first address of a repository counts. A list of mirrors is one, too.
	pages, err := d.lines(ctx, nil, append(base[:4:4], "repoinfo", "--all")...)
	id := ""
	for _, line := range pages {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "Repo-id":
			id = value
		case "Repo-baseurl", "Repo-metalink", "Repo-mirrors":
			if r, known := all[id]; known && r.URL == "" {
				address, _, _ := strings.Cut(value, " ")
				r.URL = withoutPassword(strings.TrimSuffix(address, ","))
				all[id] = r
			}
		}
	}
	return all, err
}

// getRepo fails with virtual.ErrNotFound for a name that dnf does not know.
func (d *dnf) getRepo(ctx context.Context, args RepoArgs) (Repo, error) {
	return oneRepo(ctx, d.listRepos, args.Repo)
}

// The folders from which dnf reads its repositories. A new one gets a file of its own in the first
// folder.
var (
	dnfRepoParts = []string{"/etc/yum.repos.d", "/etc/distro.repos.d"}
	dnfConf      = "/etc/dnf/dnf.conf"
)

// dnfStyle is how dnf writes its sections and settings.
var dnfStyle = inifile.Style{Separator: "=", Prefix: "[", Suffix: "]"}

// repoFile returns the file that has a section; if there is none, the file that is to get it.
// The first file in the order of the folders counts, as for dnf.
func (d *dnf) repoFile(repo string) (path string, there bool, err error) {
	var files []string
	for _, folder := range dnfRepoParts {
		parts, err := partsIn(d.at(folder), ".repo")
		if err != nil {
			return "", false, err
		}
		files = append(files, parts...)
	}
	for _, path := range append(files, d.at(dnfConf)) {
		text, err := readConfig(path)
		if err != nil {
			return "", false, err
		}
		if inifile.Parse(text, dnfStyle).Has(repo) {
			return path, true, nil
		}
	}
	return filepath.Join(d.at(dnfRepoParts[0]), repo+".repo"), false, nil
}

// modRepo alters the section of a repository where it stands, or makes one in a file of its own. All else in the files stays.
// Nothing is fetched. The name of the file is that of the repository, which checkRepo keeps from
// being a path.
func (d *dnf) modRepo(_ context.Context, args ModRepoArgs) (virtual.Nothing, error) {
	if err := errors.Join(args.check(), notMain(args.Repo)); err != nil {
		return virtual.Nothing{}, err
	}
	path, there, err := d.repoFile(args.Repo)
	if err == nil {
		err = checkMade(there, args.Repo, args.URL)
	}
	if err != nil {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, editConfig(path, false, func(old string) (string, error) {
		f := inifile.Parse(old, dnfStyle)
		err := dnfSection(f, path, args)
		return f.String(), err
	})
}

// notMain refuses the section of dnf's own settings.
// dnf.conf(5) has the section main for the options of dnf.
func notMain(repo string) error {
	if repo == "main" {
		return errors.New("main is no repository: it is the section for dnf itself")
	}
	return nil
}

// dnfSection makes a section as it should be.
// Settings that are right are not touched, so their comments and blanks stay. A new address replaces
// lists of mirrors, which would else win.
// gpgcheck is written only where it has to change: a missing one follows the section main.
func dnfSection(f *inifile.File, path string, args ModRepoArgs) error {
	set := func(name, value string) error {
		return f.Set(inifile.Setting{Section: args.Repo, Name: name, Value: value})
	}
	var errs []error
	if !f.Has(args.Repo) {
		errs = append(errs, set("name", args.Repo), set("baseurl", *args.URL), set("enabled", "1"))
	}
	if now := f.Values(args.Repo, "baseurl"); args.URL != nil && !slices.Equal(now, []string{*args.URL}) {
		if line := f.Continued(args.Repo, "baseurl"); line > 0 {
			return fmt.Errorf("%s:%d: baseurl goes on over several lines: make it one", path, line)
		}
		f.Remove(args.Repo, "mirrorlist")
		f.Remove(args.Repo, "metalink")
		errs = append(errs, set("baseurl", *args.URL))
	}
	if args.Enabled != nil && *args.Enabled != isOn(f.Values(args.Repo, "enabled"), true) {
		errs = append(errs, set("enabled", digit(*args.Enabled)))
	}
	if args.Untrusted != nil && *args.Untrusted == isOn(f.Values(args.Repo, "gpgcheck"), *args.Untrusted) {
		errs = append(errs, set("gpgcheck", digit(!*args.Untrusted)))
	}
	if args.Key != nil {
		errs = append(errs, set("gpgkey", "file://"+*args.Key))
	}
	return errors.Join(errs...)
}

// isOn reads a setting that is true or false; the last one counts.
// none is the answer where the setting is missing.
func isOn(values []string, none bool) bool {
	if len(values) == 0 {
		return none
	}
	return slices.Contains([]string{"1", "yes", "true", "on", "enabled", "always"}, strings.ToLower(values[len(values)-1]))
}

// digit is the word of dnf for a switch.
func digit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// delRepo removes the section of a repository, and a file that then is empty.
// A repository that is not there is right already. The file of dnf itself stays, also when it is empty.
func (d *dnf) delRepo(_ context.Context, args RepoArgs) (virtual.Nothing, error) {
	if err := errors.Join(checkRepo(args.Repo), notMain(args.Repo)); err != nil {
		return virtual.Nothing{}, err
	}
	path, there, err := d.repoFile(args.Repo)
	if err != nil || !there {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, editConfig(path, path != d.at(dnfConf), func(old string) (string, error) {
		f := inifile.Parse(old, dnfStyle)
		f.RemoveSection(args.Repo)
		return f.String(), nil
	})
}
