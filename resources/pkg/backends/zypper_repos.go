package backends

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

// zypperNoRepos is the exit status of a zypper that has no repository at all.
const zypperNoRepos = 6

// zypperQuiet is the start of a zypper that alters nothing.
var zypperQuiet = []string{"zypper", "--non-interactive", "--no-color", "--no-refresh"}

// zypperRepos reads the repositories of a page in XML: <repo alias="..." enabled="1"><url>...</url></repo>. Of several addresses the
// last one counts. It reads the page word by word: to decode it into a struct would make the program 0.1 MB larger.
func zypperRepos(page string) (all map[string]Repo, err error) {
	all = map[string]Repo{}
	var now Repo
	var text strings.Builder
	for words := xml.NewDecoder(strings.NewReader(page)); ; {
		word, err := words.Token()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		switch w := word.(type) {
		case xml.StartElement:
			text.Reset()
			if w.Name.Local == "repo" {
				now = Repo{Name: attrOf(w, "alias"), Enabled: attrOf(w, "enabled") == "1"}
			}
		case xml.CharData:
			text.Write(w)
		case xml.EndElement:
			switch w.Name.Local {
			case "url":
				now.URL = withoutPassword(strings.TrimSpace(text.String()))
			case "repo":
				all[now.Name] = now
			}
		}
	}
}

// attrOf returns an attribute of an element; empty where it has none.
func attrOf(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// listRepos returns the repositories by their aliases. Passwords in addresses are left out.
// A zypper without any repository ends with an exit status of its own. Here the answer is then an empty list.
func (z *zypper) listRepos(ctx context.Context, _ virtual.Nothing) (map[string]Repo, error) {
	lines, err := z.lines(ctx, []int{zypperNoRepos}, append(zypperQuiet[:4:4], "--xmlout", "repos")...)
	if err != nil {
		return nil, err
	}
	all, err := zypperRepos(strings.Join(lines, "\n"))
	if err != nil {
		return nil, fmt.Errorf("zypper repos printed what cannot be read: %w", err)
	}
	return all, nil
}

// getRepo fails with virtual.ErrNotFound for an alias that zypper does not know.
func (z *zypper) getRepo(ctx context.Context, args RepoArgs) (Repo, error) {
	return oneRepo(ctx, z.listRepos, args.Repo)
}

// oneRepo returns one of the repositories of a list.
// The package managers have no cheaper question for one repository than for all.
func oneRepo(ctx context.Context, list func(context.Context, virtual.Nothing) (map[string]Repo, error), name string) (Repo, error) {
	all, err := list(ctx, virtual.Nothing{})
	if err != nil {
		return Repo{}, err
	}
	repo, there := all[name]
	if !there {
		return Repo{}, virtual.ErrNotFound
	}
	return repo, nil
}

// modRepo makes a repository, or alters the fields that differ. Another address is
// an error with the way out.
// The key of a repository is not a parameter here: zypper keeps keys for the whole machine.
// The name that people see is the alias, so both are the same. Nothing is fetched.
func (z *zypper) modRepo(ctx context.Context, args zypperModRepo) (virtual.Nothing, error) {
	if err := (&ModRepoArgs{Repo: args.Repo, URL: args.URL}).check(); err != nil {
		return virtual.Nothing{}, err
	}
	// Zypper has no command that alters the address of a repository.
	now, err := z.getRepo(ctx, RepoArgs{args.Repo})
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, virtual.ErrNotFound):
		return virtual.Nothing{}, err
	case there && args.URL != nil && !sameAddress(now.URL, *args.URL):
		return virtual.Nothing{}, fmt.Errorf("the repository %s is at %s: remove it by del_repo before it can be made at another address", args.Repo, now.URL)
	}
	if err := checkMade(there, args.Repo, args.URL); err != nil {
		return virtual.Nothing{}, err
	}
	flags := args.flags(there, now.Enabled)
	switch {
	case !there:
		argv := append(append([]string{"addrepo"}, flags...), "--name", args.Repo, *args.URL, args.Repo)
		return virtual.Nothing{}, z.run(ctx, nil, argv...)
	case len(flags) == 0:
		return virtual.Nothing{}, nil
	}
	return virtual.Nothing{}, z.run(ctx, nil, append(append([]string{"modifyrepo"}, flags...), args.Repo)...)
}

// flags returns the options by which zypper makes or alters a repository, used or not.
// A repository that is made is used, unless the parameter says no. A parameter that is nil leaves its setting.
func (a *zypperModRepo) flags(there, enabled bool) (flags []string) {
	want := enabled || !there
	if a.Enabled != nil {
		want = *a.Enabled
	}
	switch {
	case there && want == enabled:
	case want:
		flags = append(flags, "--enable")
	default:
		flags = append(flags, "--disable")
	}
	switch {
	case a.Untrusted == nil:
	case *a.Untrusted:
		flags = append(flags, "--no-gpgcheck")
	default:
		flags = append(flags, "--default-gpgcheck")
	}
	return flags
}

// sameAddress compares addresses as zypper writes them: file:/x is file:///x.
func sameAddress(a, b string) bool {
	plain := func(s string) string {
		return strings.TrimSuffix(strings.Replace(s, "file:///", "file:/", 1), "/")
	}
	return plain(a) == plain(b)
}

// delRepo asks first, because zypper fails for a repository that is not there.
func (z *zypper) delRepo(ctx context.Context, args RepoArgs) (virtual.Nothing, error) {
	if err := checkRepo(args.Repo); err != nil {
		return virtual.Nothing{}, err
	}
	if _, err := z.getRepo(ctx, args); errors.Is(err, virtual.ErrNotFound) {
		return virtual.Nothing{}, nil
	} else if err != nil {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, z.run(ctx, nil, "removerepo", args.Repo)
}

// hold keeps the versions of packages by a lock of zypper.
func (z *zypper) hold(ctx context.Context, args RemoveArgs) (virtual.Nothing, error) {
	return z.lock(ctx, "addlock", args)
}

// unhold removes such locks.
func (z *zypper) unhold(ctx context.Context, args RemoveArgs) (virtual.Nothing, error) {
	return z.lock(ctx, "removelock", args)
}

// lock is hold and unhold, by the verb of zypper.
// Packages need not be installed: a lock also keeps them from being installed.
func (z *zypper) lock(ctx context.Context, verb string, args RemoveArgs) (virtual.Nothing, error) {
	if err := checkNames(args.Names); err != nil {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, z.run(ctx, nil, append([]string{verb, "--type", "package"}, args.Names...)...)
}

// listHolds returns the names and patterns of all locks, sorted.
// A lock of zypper may be a pattern; it stands here as it is written.
func (z *zypper) listHolds(ctx context.Context, _ virtual.Nothing) ([]string, error) {
	all, err := z.search(ctx, nil, "locks")
	return append([]string{}, sortedKeys(all)...), err
}
