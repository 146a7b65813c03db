package pkg

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/pkg/backends"
	"github.com/reactivegraph/mgmt/traits"
)

var _ engine.SurveyedRes = (*Res)(nil)

// coming is what packages bring that are not installed, as one package manager has
// told it last: for as long as its lists and its database stay as they are, it is
// not asked again. It lives as long as the kind, and is safe for concurrent use.
type coming struct {
	mu     sync.Mutex
	lists  string // the stamp of the lists
	brings map[string][]string
	stamp  string          // of the database
	there  map[string]bool // installed
}

// databaseStamps are the stamps of what coming is read from. Tests set others, so
// that they need no package manager.
type databaseStamps struct{ lists, database func(backend string) string }

// surveyTime is how long package managers may take to tell what packages bring.
const surveyTime = 30 * time.Second

// Survey tells the files of the installed packages, and the files that the packages to install will bring. So resources that need them come after them. It asks a package
// manager only for what it has on this machine, once for all of them, and not at all
// where it has no such lists. The engine calls it before Init, with all packages of
// one GroupKey. With an error edges may be missing, and the graph is taken
// nevertheless.
func (r *Res) Survey(ctx context.Context, h engine.Host, members []engine.Res) ([]engine.Surveyed, error) {
	all := make([]engine.Surveyed, len(members))
	add := func(i int, file string) {
		all[i].UIDs = append(all[i].UIDs, traits.PkgFileUID(autoedge.UIDOf(members[i]), file))
	}
	for i, m := range members {
		for _, file := range backends.KnownFiles(m.Name()) {
			for _, p := range spellings(file) {
				add(i, p)
			}
		}
	}
	names := wanted(members)
	if len(names) == 0 {
		return all, nil
	}
	ctx, cancel := clock.WithTimeout(ctx, engine.ClockOf(cmp.Or(r.Host(), h)), surveyTime, nil)
	defer cancel()
	by, brings, err := r.survey(ctx, cmp.Or(r.Host(), h), names)
	for i, m := range members {
		for _, file := range brings[m.Name()] {
			add(i, file)
			all[i].Why = "which it will bring, as the lists of " + by + " tell"
		}
	}
	return all, err
}

// wanted returns the names of the packages that are to be installed.
func wanted(members []engine.Res) (names []string) {
	for _, m := range members {
		if p, ok := m.(*Res); ok && !p.Leaving() && backends.CheckName(p.Name()) == nil {
			names = append(names, p.Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// survey returns the name of the package manager, and the paths that those of the
// packages will bring that are not installed. Without a backend, or without lists of
// contents, it returns nothing and no error. The lists can have hundreds of
// megabytes, so their stamp decides whether they are read.
func (r *Res) survey(ctx context.Context, h engine.Host, names []string) (by string, brings map[string][]string, err error) {
	k, err := r.KindOf("pkg")
	if err != nil {
		return "", nil, err
	}
	m, err := k.Open(ctx, virtual.Env{Host: h}, r.Backend())
	if err != nil {
		return "", nil, nil // CheckMachine has said so
	}
	defer m.Close()
	by = m.Backend.Name
	stamps := r.stamps
	if stamps == nil {
		stamps = &databaseStamps{backends.ContentsStamp, backends.Stamp}
	}
	lists := stamps.lists(by)
	if lists == "" || m.Needs(backends.Contents.Name()) != nil {
		return by, nil, nil
	}
	c := k.Keep(by, func() any { return &coming{} }).(*coming)
	brings, err = c.look(ctx, m, names, lists, stamps.database(by))
	return by, brings, err
}

// look asks for the names that are not known yet, or may have changed. Names of an
// earlier graph are forgotten, so the memory follows the graph.
func (c *coming) look(ctx context.Context, m *virtual.Module, names []string, lists, database string) (map[string][]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stamp != database || database == "" {
		c.stamp, c.there = database, map[string]bool{}
	}
	if c.lists != lists {
		c.lists, c.brings = lists, map[string][]string{}
	}
	if err := c.findInstalled(ctx, m, names); err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return c.there[n] })
	if err := c.findContents(ctx, m, missing); err != nil {
		return nil, err
	}
	maps.DeleteFunc(c.brings, func(name string, _ []string) bool { return !slices.Contains(missing, name) }) // of an earlier graph
	out := map[string][]string{}
	for _, name := range missing {
		out[name] = broughtPaths(c.brings[name])
	}
	return out, nil
}

// broughtPaths returns the paths under which brought files are asked for: their
// paths, as each of them may be written, and the folders of /etc that are not there
// yet. A folder of /etc that is there already needs no package. It looks at this
// machine only.
func broughtPaths(files []string) (all []string) {
	folders := map[string]bool{}
	for _, file := range files {
		all = append(all, spellings(file)...)
		rest, ok := strings.CutPrefix(file, "/etc/")
		name, _, below := strings.Cut(rest, "/")
		if !ok || !below || folders[name] {
			continue
		}
		folders[name] = true
		if _, err := os.Lstat(path.Join("/etc", name)); os.IsNotExist(err) {
			all = append(all, "/etc/"+name)
		}
	}
	return all
}

// findInstalled finds out which are installed.
func (c *coming) findInstalled(ctx context.Context, m *virtual.Module, names []string) error {
	ask := slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, known := c.there[n]; return known })
	if len(ask) == 0 {
		return nil
	}
	is, _, err := backends.ListInstalled.Call(ctx, m, backends.NamesArgs{Names: ask})
	if err != nil {
		return err
	}
	for _, name := range ask {
		c.there[name] = is[name] != ""
	}
	return nil
}

// findContents finds out what packages bring. A package that no list has gets an
// empty entry, so it is not asked for again.
func (c *coming) findContents(ctx context.Context, m *virtual.Module, names []string) error {
	ask := slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, known := c.brings[n]; return known })
	if len(ask) == 0 {
		return nil
	}
	brings, _, err := backends.Contents.Call(ctx, m, backends.ContentsArgs{Names: ask})
	if err != nil {
		return err
	}
	for _, name := range ask {
		c.brings[name] = brings[name]
	}
	return nil
}
