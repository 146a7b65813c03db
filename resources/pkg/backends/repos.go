package backends

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// ModRepoArgs are those of ModRepo.
// A pointer is nil for a field that stays as it is.
type ModRepoArgs struct {
	Repo      string  `yaml:"repo" mgmt:"required" doc:"The name of the repository, as list_repos gives it."`
	URL       *string `yaml:"url" doc:"Where it is. Without it, the repository must be there, or its name has the address. It holds no password."`
	Enabled   *bool   `yaml:"enabled" doc:"Use it; a new one is used unless this is false."`
	Untrusted *bool   `yaml:"untrusted" doc:"Take packages without a signature; where it is not given, what the package manager does by itself."`
	Key       *string `yaml:"key" doc:"The file with the key that signs it; an absolute path."`
}

// zypperModRepo are the parameters of ModRepo that zypper has. Keys are rpm's there, for all repositories.
type zypperModRepo struct {
	Repo      string  `yaml:"repo" mgmt:"required"`
	URL       *string `yaml:"url"`
	Enabled   *bool   `yaml:"enabled"`
	Untrusted *bool   `yaml:"untrusted"`
}

// pacmanModRepo are the parameters that pacman has, whose keys are in a ring of its own.
type pacmanModRepo = zypperModRepo

// apkModRepo are the parameters that apk has, which trusts the keys in /etc/apk/keys.
type apkModRepo struct {
	Repo    string  `yaml:"repo" mgmt:"required"`
	URL     *string `yaml:"url"`
	Enabled *bool   `yaml:"enabled"`
}

// repoRule is the form of the name of a repository: no blank, and nothing that a package manager could read as an option.
var repoRule = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.:+@-]*$`)

// checkRepo refuses any text but the name of a repository to make or remove. Other texts could be
// an option, a path or a pattern.
func checkRepo(name string) error {
	if !repoRule.MatchString(name) {
		return fmt.Errorf("%q is no name of a repository: it has letters, digits and _ . : + @ -", name)
	}
	return nil
}

// check refuses arguments that a tool would read as something else, and a password, which all could read in its arguments.
// The arguments of a process are readable for all users in /proc.
func (a *ModRepoArgs) check() error {
	if err := errors.Join(checkRepo(a.Repo), a.checkKey()); err != nil || a.URL == nil {
		return err
	}
	return checkAddress(a.Repo, *a.URL)
}

// checkKey refuses a key that is not a file: it would go into a line of configuration.
func (a *ModRepoArgs) checkKey() error {
	if a.Key == nil || strings.HasPrefix(*a.Key, "/") && !strings.ContainsFunc(*a.Key, notInAddress) && !strings.ContainsAny(*a.Key, ",[]#\"") {
		return nil
	}
	return fmt.Errorf("the key %q of the repository %s is no absolute path of a file", *a.Key, a.Repo)
}

// checkAddress refuses any text but the address of a repository, and an address with a user or a
// password.
// Its error shows no password, whatever was given.
func checkAddress(repo, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme == "" || strings.ContainsFunc(address, notInAddress):
		return fmt.Errorf("the url of the repository %s is no address such as https://example.com/repository", withoutPassword(repo))
	case u.User != nil:
		return fmt.Errorf("the url of the repository %s names a user: others could read that", withoutPassword(repo))
	}
	return nil
}

// notInAddress reports whether a character would end a word or a line of a configuration.
func notInAddress(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// checkMade refuses to make a repository without an address.
func checkMade(there bool, repo string, url *string) error {
	if there || url != nil {
		return nil
	}
	return fmt.Errorf("there is no repository %s: give its url to make it", repo)
}

// upgradable reports whether a package can be upgraded.
// It reads the lists that are on the machine.
// The function list is that of the backend, and is asked without a refresh.
func upgradable(ctx context.Context, list func(context.Context, RefreshArgs) (map[string]string, error), name string) (bool, error) {
	if err := CheckName(name); err != nil {
		return false, err
	}
	all, err := list(ctx, RefreshArgs{})
	_, newer := all[name]
	return newer, err
}

// The five functions are for callers who know the function of Salt.
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
