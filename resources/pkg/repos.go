package pkg

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

// ModRepoArgs are those of ModRepo.
type ModRepoArgs struct {
	Repo    string  `yaml:"repo" mgmt:"required" doc:"The name of the repository."`
	URL     *string `yaml:"url" doc:"Where it is. Without it, the repository must be there. It holds no password."`
	Enabled *bool   `yaml:"enabled" doc:"Use it; a new one is used unless this is false."`
}

var repoRule = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:+@-]*$`)

// checkRepo refuses what is no name of a repository that is made or removed: what could be an option, a path or a pattern.
func checkRepo(name string) error {
	if !repoRule.MatchString(name) {
		return fmt.Errorf("%q is no name of a repository: it has letters, digits and _ . : + @ -", name)
	}
	return nil
}

// check refuses arguments that a tool would read as something else, and a password, which all could read in its arguments.
func (a *ModRepoArgs) check() error {
	if err := checkRepo(a.Repo); err != nil || a.URL == nil {
		return err
	}
	u, err := url.Parse(*a.URL)
	switch {
	case err != nil || u.Scheme == "" || strings.ContainsAny(*a.URL, " \t\n"):
		return fmt.Errorf("the url of the repository %s is no address such as https://example.com/repository", a.Repo)
	case u.User != nil:
		return fmt.Errorf("the url of the repository %s names a user: others could read that", a.Repo)
	}
	return nil
}

// upgradable reports whether a package is among those that can be upgraded.
func upgradable(ctx context.Context, list func(context.Context, RefreshArgs) (map[string]string, error), name string) (bool, error) {
	if err := CheckName(name); err != nil {
		return false, err
	}
	all, err := list(ctx, RefreshArgs{})
	_, newer := all[name]
	return newer, err
}

func (a *apk) upgradeAvailable(ctx context.Context, args NameArgs) (bool, error) {
	return upgradable(ctx, a.listUpgrades, args.Name)
}

func (a *apt) upgradeAvailable(ctx context.Context, args NameArgs) (bool, error) {
	return upgradable(ctx, a.listUpgrades, args.Name)
}

func (d *dnf) upgradeAvailable(ctx context.Context, args NameArgs) (bool, error) {
	return upgradable(ctx, d.listUpgrades, args.Name)
}

func (p *pacman) upgradeAvailable(ctx context.Context, args NameArgs) (bool, error) {
	return upgradable(ctx, p.listUpgrades, args.Name)
}

func (z *zypper) upgradeAvailable(ctx context.Context, args NameArgs) (bool, error) {
	return upgradable(ctx, z.listUpgrades, args.Name)
}

// listRepos reads two pages: which repositories are in use, and where each is.
func (d *dnf) listRepos(ctx context.Context, _ virtual.Nothing) (map[string]Repo, error) {
	base := []string{"dnf", "-q", "-C", "--setopt=color=never"}
	states, err := d.lines(ctx, nil, append(base[:4:4], "repolist", "--all")...)
	if err != nil {
		return nil, err
	}
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

func (d *dnf) getRepo(ctx context.Context, args RepoArgs) (Repo, error) {
	return oneRepo(ctx, d.listRepos, args.Repo)
}

// listRepos reads the configuration as pacman understands it. What is in it is used.
func (p *pacman) listRepos(ctx context.Context, _ virtual.Nothing) (map[string]Repo, error) {
	lines, err := p.lines(ctx, nil, "pacman-conf")
	all, name := map[string]Repo{}, ""
	for _, line := range lines {
		if section, ok := strings.CutPrefix(line, "["); ok {
			if name = strings.TrimSuffix(section, "]"); name != "options" {
				all[name] = Repo{Name: name, Enabled: true}
			}
			continue
		}
		key, value, _ := strings.Cut(line, " = ")
		if r, is := all[name]; is && key == "Server" && r.URL == "" {
			r.URL = withoutPassword(value)
			all[name] = r
		}
	}
	return all, err
}

func (p *pacman) getRepo(ctx context.Context, args RepoArgs) (Repo, error) {
	return oneRepo(ctx, p.listRepos, args.Repo)
}
