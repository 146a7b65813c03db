package backends

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

// aptRepo has the facts of a repository, and the facts that only apt tells.
type aptRepo struct {
	Repo   `yaml:",inline"`
	Source string `yaml:"source" doc:"The file that names it, and the number of its line or stanza."`
}

// aptTargets has apt write a line for each list of packages that it fetches, or would: without the
// option only for lists that it has. Of a repository without components it writes the word as it
// stands here.
var aptTargets = []string{"apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI)\t$(RELEASE)\t$(COMPONENT)\t$(SOURCESENTRY)", "Created-By: Packages"}

// listRepos returns the repositories: the used ones as apt says, and the switched-off ones as its
// files say. Each is named as in a line of sources.list: where it is, the release, the component.
// It reads configuration only, and no network is needed.
func (a *apt) listRepos(ctx context.Context, _ virtual.Nothing) (map[string]aptRepo, error) {
	lines, err := a.lines(ctx, nil, aptTargets...)
	if err != nil {
		return nil, err
	}
	all := map[string]aptRepo{}
	for _, line := range lines {
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("apt-get indextargets printed %q, which cannot be read", line)
		}
		f[0] = withoutPassword(f[0])
		f[2] = strings.ReplaceAll(f[2], "$(COMPONENT)", "")
		name := strings.Join(strings.Fields(strings.Join(f[:3], " ")), " ")
		all[name] = aptRepo{Repo{Name: name, URL: f[0], Enabled: true}, f[3]}
	}
	return all, a.disabled(all)
}

// getRepo fails with virtual.ErrNotFound for a name that neither apt nor its files have.
func (a *apt) getRepo(ctx context.Context, args RepoArgs) (aptRepo, error) {
	all, err := a.listRepos(ctx, virtual.Nothing{})
	if err != nil {
		return aptRepo{}, err
	}
	repo, there := all[args.Repo]
	if !there {
		return aptRepo{}, virtual.ErrNotFound
	}
	return repo, nil
}

// withoutPassword leaves out of an address who may read there. An answer of the daemon, the log
// and errors show addresses only in this form. It returns any other text as it is.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	u.User = nil
	return u.String()
}
