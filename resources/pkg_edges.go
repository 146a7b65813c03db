package resources

import (
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/pkg"
	"github.com/reactivegraph/mgmt/traits"
)

// pkgPaths are where packages have, by custom, what is named like them; %s is the name.
var pkgPaths = []string{
	"/bin/%s", "/sbin/%s", "/usr/bin/%s", "/usr/sbin/%s", "/etc/%s", "/etc/%s.conf", "/etc/default/%s", "/etc/sysconfig/%s",
	"/etc/conf.d/%s", "/etc/init.d/%s", "/etc/sv/%s", "/lib/systemd/system/%s.service", "/usr/lib/systemd/system/%s.service",
}

// Leaving reports whether the package is to be uninstalled.
func (r *PkgRes) Leaving() bool { return r.state() == pkgUninstalled }

// UIDs names the package and its files, those that packages have by custom, and those that the database has, if
// it is installed; if it is not, see Survey.
func (r *PkgRes) UIDs() []engine.ResUID {
	plain, _, _ := strings.Cut(r.Name(), ":")
	uids := []engine.ResUID{traits.PkgUID(engine.UIDOf(r), plain)}
	seen := map[string]bool{}
	add := func(p string) {
		if !seen[p] {
			seen[p] = true
			uids = append(uids, traits.PkgFileUID(engine.UIDOf(r), p))
		}
	}
	for _, form := range pkgPaths {
		add(strings.Replace(form, "%s", plain, 1))
	}
	for _, p := range pkg.KnownFiles(r.Name()) {
		for _, p := range spellings(p) {
			add(p)
		}
	}
	return uids
}

// spellings returns a path, and what else it is called where /bin and the like are links into /usr.
func spellings(p string) []string {
	short, usr := strings.CutPrefix(p, "/usr")
	if !strings.HasPrefix(short, "/bin/") && !strings.HasPrefix(short, "/sbin/") && !strings.HasPrefix(short, "/lib/systemd/") {
		return []string{p}
	}
	if usr {
		return []string{p, short}
	}
	return []string{p, "/usr" + p}
}

// AutoEdges wants nothing: those that need a package ask for it. One that is to go wants that the service of its name
// is stopped before.
func (r *PkgRes) AutoEdges() (engine.AutoEdge, error) {
	if !r.Leaving() {
		return nil, nil
	}
	plain, _, _ := strings.Cut(r.Name(), ":")
	w := newWants(r)
	w.stopped(plain)
	return w, nil
}

// configured asks for the package that brings the folder of /etc that a path is below.
func (w *wants) configured(p string) {
	rest, ok := strings.CutPrefix(p, "/etc/")
	if name, _, below := strings.Cut(rest, "/"); ok && below {
		w.installed("/etc/" + name)
	}
}
