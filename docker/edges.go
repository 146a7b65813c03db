package docker

import (
	"errors"
	"path"
	"strings"

	"github.com/distribution/reference"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/traits"
)

// imageUID names an image on a daemon by its full reference, so that short and long forms of
// one image meet. The host is that of the Place, empty for the default one. Containers ask by it for the docker_image that
// brings their image. Another text has no UID; Validate reports it.
func imageUID(r engine.Res, host, image string) []*autoedge.KeyUID {
	ref, err := parseImage("", image)
	if err != nil {
		return nil
	}
	key := reference.TagNameOnly(ref).String()
	if host != "" {
		key = host + " " + key
	}
	return []*autoedge.KeyUID{{BaseUID: autoedge.UIDOf(r), Space: "docker_image", Key: key}}
}

// Leaving reports whether the image is to be absent.
func (r *ImageRes) Leaving() bool { return r.absent() }

// Leaving reports whether the container is to be stopped or removed.
func (r *ContainerRes) Leaving() bool { return r.state() != Running }

// UIDs names the image.
func (r *ImageRes) UIDs() (all []autoedge.UID) {
	for _, u := range imageUID(r, r.Host, r.Name()) {
		all = append(all, u)
	}
	return all
}

// AutoEdges wants the daemon.
func (r *ImageRes) AutoEdges() (autoedge.Needs, error) {
	return &wants{of: r, ask: theDaemon(r, r.Host)}, nil
}

// Clashes refuses two resources that want one image to be there and not.
func (r *ImageRes) Clashes(other engine.Res) error {
	if o, ok := other.(*ImageRes); ok && o.absent() != r.absent() {
		return errors.New("one wants the image to be there, the other one to be absent")
	}
	return nil
}

// UIDs has nothing to add to the kind and the name.
func (r *ContainerRes) UIDs() []autoedge.UID { return nil }

// AutoEdges wants the image, the daemon, and the mounted folders or the nearest folders above
// them. Networks of docker and named volumes have no kind, so they are not asked for.
func (r *ContainerRes) AutoEdges() (autoedge.Needs, error) {
	w := &wants{of: r, ask: theDaemon(r, r.Host)}
	for _, uid := range imageUID(r, r.Host, r.Image) {
		// An image can't be removed while a container of it is there. So this edge goes from
		// the container to the image, and keeps that direction if both are to go.
		if r.removed() {
			uid.Reversed, uid.FixedOrder = new(false), true
		}
		w.ask = append(w.ask, uid)
	}
	for _, v := range r.Volumes {
		if b, err := parseBind(v); err == nil && b.path() != "" {
			w.paths = append(w.paths, b.path())
		}
	}
	return w, nil
}

// daemonPackages are the packages that bring a docker daemon, whose service is docker.
var daemonPackages = []string{"docker.io", "docker-ce", "docker", "moby-engine"}

// theDaemon asks for the service and the packages of the daemon of this machine. With tcp the
// daemon is taken to be on another machine, and nothing is asked for.
func theDaemon(r engine.Res, host string) []autoedge.UID {
	if strings.HasPrefix(host, "tcp:") {
		return nil
	}
	ask := []autoedge.UID{traits.SvcUID(autoedge.UIDOf(r), "docker", false)}
	for _, p := range daemonPackages {
		ask = append(ask, traits.PkgUID(autoedge.UIDOf(r), p))
	}
	return ask
}

// wants asks once for some things, and for each path until it is found, or else for
// the folder above it.
type wants struct {
	of     engine.Res
	ask    []autoedge.UID // empty after the first time
	paths  []string
	things int // how many things were asked for the last time
}

// Next asks for all that is still wanted. Each path is asked for as a file and as a mount: Test
// relies on this order of pairs behind the things.
func (w *wants) Next() []autoedge.UID {
	all := w.ask
	w.things, w.ask = len(all), nil
	for _, p := range w.paths {
		all = append(all,
			traits.FileUID(autoedge.UIDOf(w.of), p),
			traits.MountUID(autoedge.UIDOf(w.of), p))
	}
	return all
}

// Test goes on above the paths that were not found, one folder at a time, and ends at the root.
func (w *wants) Test(found []bool) bool {
	var up []string
	for i, p := range w.paths {
		at := w.things + 2*i
		if p != "/" && (at+1 >= len(found) || !found[at] && !found[at+1]) {
			up = append(up, path.Dir(p))
		}
	}
	w.paths = up
	return len(up) > 0
}
