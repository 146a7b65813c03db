package backends

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
	"github.com/reactivegraph/mgmt/resources/internal/inifile"
)

// pacmanConf is the configuration of pacman: its own settings, and a section for each repository, in the order in which they count.
const pacmanConf = "/etc/pacman.conf"

// pacmanOptions is the section of pacman's own settings.
const pacmanOptions = "options"

// listRepos reads the configuration as pacman understands it; a section that is commented out is a
// repository that is not used.
// pacman-conf prints the settings that count, with those of included files. It does not know sections that are commented out, so
// these come from the text of the file.
func (p *pacman) listRepos(ctx context.Context, _ virtual.Nothing) (map[string]Repo, error) {
	lines, err := p.lines(ctx, nil, "pacman-conf")
	if err != nil {
		return nil, err
	}
	all, name := map[string]Repo{}, ""
	for _, line := range lines {
		if section, ok := strings.CutPrefix(line, "["); ok {
			if name = strings.TrimSuffix(section, "]"); name != pacmanOptions {
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
	text, err := readConfig(p.at(pacmanConf))
	for name, s := range sleeping(text) {
		if _, used := all[name]; !used {
			all[name] = Repo{Name: name, URL: withoutPassword(s.server)}
		}
	}
	return all, err
}

// getRepo fails with virtual.ErrNotFound for a name that pacman.conf does not have.
func (p *pacman) getRepo(ctx context.Context, args RepoArgs) (Repo, error) {
	return oneRepo(ctx, p.listRepos, args.Repo)
}

// asleep is a section that is commented out: its lines stand together, from the first to before the last.
// The numbers count lines from 0.
type asleep struct {
	from, to int
	server   string
}

// These find the head and the settings of a section that is commented out, as the packagers of pacman write it: with one sign,
// and at most one blank.
var (
	sleepHead    = lazyregexp.New(`^#\s?\[([^\]]+)\]\s*$`)
	sleepSetting = lazyregexp.New(`^#\s?(Server|CacheServer|Include|SigLevel|Usage)\s*=\s*(.*)$`)
)

// sleeping returns the sections of a text that are commented out. Only a section with an address,
// or with an included list, counts.
// Other commented text is not a section: its head and settings must follow one another.
func sleeping(text string) map[string]asleep {
	all, name, now := map[string]asleep{}, "", asleep{}
	end := func() {
		if name != "" && now.to > now.from+1 {
			all[name] = now
		}
		name = ""
	}
	for i, line := range strings.Split(text, "\n") {
		if m := sleepHead.FindStringSubmatch(line); m != nil {
			end()
			name, now = m[1], asleep{from: i, to: i + 1}
			continue
		}
		m := sleepSetting.FindStringSubmatch(line)
		if m == nil {
			end()
			continue
		}
		now.to = i + 1
		if m[1] == "Server" && now.server == "" {
			now.server = strings.TrimSpace(m[2])
		}
	}
	end()
	return all
}

// wake takes the signs away from a section that is commented out, and reports whether there was one.
// Only the lines of that section change.
// Pacman has no switch for a repository. A comment sign is how its users switch one off, so modRepo does the same.
func wake(text, repo string) (string, bool) {
	s, is := sleeping(text)[repo]
	if !is {
		return text, false
	}
	lines := strings.Split(text, "\n")
	for i := s.from; i < s.to; i++ {
		lines[i] = strings.TrimLeft(lines[i], "# ")
	}
	return strings.Join(lines, "\n"), true
}

// lull comments a section out, up to its last setting.
// Comments and blank lines in it stay as they are.
func lull(text, repo string) string {
	lines := strings.Split(text, "\n")
	in, last := -1, -1
	for i := 0; i <= len(lines); i++ {
		body := ""
		if i < len(lines) {
			body = strings.TrimSpace(lines[i])
		}
		if i == len(lines) || strings.HasPrefix(body, "[") {
			for j := in; in >= 0 && j <= last; j++ {
				if b := strings.TrimSpace(lines[j]); b != "" && !strings.HasPrefix(b, "#") {
					lines[j] = "#" + b
				}
			}
			in = -1
			if body == "["+repo+"]" {
				in = i
			}
		}
		if in >= 0 && body != "" && !strings.HasPrefix(body, "#") {
			last = i
		}
	}
	return strings.Join(lines, "\n")
}

// checkRepository refuses any section but a repository, and a repository of another file.
// A section that is in no file at all passes, since modRepo may make it.
func (p *pacman) checkRepository(ctx context.Context, repo, text string) error {
	if repo == pacmanOptions {
		return errors.New("options is no repository: it is the section for pacman itself")
	}
	if inifile.Parse(text, inifile.Usual).Has(repo) {
		return nil
	}
	lines, err := p.lines(ctx, nil, "pacman-conf", "--repo-list")
	if err == nil && slices.Contains(lines, repo) {
		err = fmt.Errorf("the repository %s is not in %s, but in a file that this includes: edit it there", repo, p.at(pacmanConf))
	}
	return err
}

// modRepo alters the section of a repository, or makes it. The section of an unused repository is
// commented out.
// A woken section that no parameter switches on is commented out again.
func (p *pacman) modRepo(ctx context.Context, args pacmanModRepo) (virtual.Nothing, error) {
	if err := (&ModRepoArgs{Repo: args.Repo, URL: args.URL}).check(); err != nil {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, p.editConf(ctx, args.Repo, func(old string) (string, error) {
		// A section that is used counts more than one of the same name that is commented out.
		text, woken := wake(old, args.Repo)
		if inifile.Parse(old, inifile.Usual).Has(args.Repo) {
			text, woken = old, false
		}
		f := inifile.Parse(text, inifile.Usual)
		err := checkMade(f.Has(args.Repo), args.Repo, args.URL)
		if err == nil {
			err = pacmanSection(f, args)
		}
		if err != nil {
			return "", err
		}
		if off := args.Enabled != nil && !*args.Enabled; off || woken && args.Enabled == nil {
			return lull(f.String(), args.Repo), nil
		}
		return f.String(), nil
	})
}

// pacmanSection makes a section as it should be.
// An address replaces an included list of mirrors, which would else count, too.
// A parameter that is nil leaves its setting as it is.
func pacmanSection(f *inifile.File, args pacmanModRepo) error {
	var errs []error
	set := func(name, value string) {
		errs = append(errs, f.Set(inifile.Setting{Section: args.Repo, Name: name, Value: value}))
	}
	if args.URL != nil && !slices.Equal(f.Values(args.Repo, "Server"), []string{*args.URL}) {
		f.Remove(args.Repo, "Include")
		set("Server", *args.URL)
	}
	switch {
	case args.Untrusted == nil:
	case *args.Untrusted:
		set("SigLevel", "Optional TrustAll")
	default:
		f.Remove(args.Repo, "SigLevel")
	}
	return errors.Join(errs...)
}

// delRepo removes the section of a repository, also if it is commented out.
// A repository that is not there is right already. The packages from it stay installed.
func (p *pacman) delRepo(ctx context.Context, args RepoArgs) (virtual.Nothing, error) {
	if err := checkRepo(args.Repo); err != nil {
		return virtual.Nothing{}, err
	}
	return virtual.Nothing{}, p.editConf(ctx, args.Repo, func(text string) (string, error) {
		// There may be several sections of one name, and all of them go: a rest would come back with the next modRepo.
		for woken := true; woken; {
			f := inifile.Parse(text, inifile.Usual)
			f.RemoveSection(args.Repo)
			text, woken = wake(f.String(), args.Repo)
		}
		return text, nil
	})
}

// editConf edits what pacman.conf says of a repository.
// change may be called twice, if another process writes the file meanwhile.
// Its error names the file, and nothing is written then.
func (p *pacman) editConf(ctx context.Context, repo string, change func(string) (string, error)) error {
	return editConfig(p.at(pacmanConf), false, func(old string) (string, error) {
		if err := p.checkRepository(ctx, repo, old); err != nil {
			return "", err
		}
		text, err := change(old)
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.at(pacmanConf), err)
		}
		return text, nil
	})
}
