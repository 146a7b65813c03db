package pkg

import (
	"strings"

	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/traits"
)

// paths are the places where packages have, by custom, the files named like them; %s
// is the name. They are guesses, which cost nothing: a path that no resource asks
// for makes no edge.
var paths = []string{
	"/bin/%s", "/sbin/%s", "/usr/bin/%s", "/usr/sbin/%s", "/etc/%s", "/etc/%s.conf", "/etc/default/%s", "/etc/sysconfig/%s",
	"/etc/conf.d/%s", "/etc/init.d/%s", "/etc/sv/%s", "/lib/systemd/system/%s.service", "/usr/lib/systemd/system/%s.service",
}

// Leaving reports whether the package is to be uninstalled.
func (r *Res) Leaving() bool { return r.state() == uninstalled }

// UIDs names the package and the files that packages of its name have by custom.
// Survey tells its other files. An architecture, as in libc6:i386, is left out,
// since others ask by the plain name.
func (r *Res) UIDs() []autoedge.UID {
	plain, _, _ := strings.Cut(r.Name(), ":")
	uids := []autoedge.UID{traits.PkgUID(autoedge.UIDOf(r), plain)}
	for _, form := range paths {
		uids = append(uids, traits.PkgFileUID(autoedge.UIDOf(r), strings.Replace(form, "%s", plain, 1)))
	}
	return uids
}

// spellings returns a path, and what else it is called where /bin and the like are
// links into /usr. The order has no meaning. No link is looked at: the machine of
// the graph may be another one.
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

// AutoEdges wants nothing: resources that need a package ask for it. A package that
// is to go wants that the service of its name is stopped before. A service that runs
// while its package goes would fail, or keep the removal from ending.
func (r *Res) AutoEdges() (autoedge.Needs, error) {
	if !r.Leaving() {
		return nil, nil
	}
	plain, _, _ := strings.Cut(r.Name(), ":")
	w := edges.New(r)
	w.Stopped(plain)
	return w, nil
}
