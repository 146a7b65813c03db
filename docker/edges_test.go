package docker

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
)

// asked is all that a resource asks for, where nothing is found.
func asked(t *testing.T, r engine.EdgeableRes) (all []string) {
	t.Helper()
	w, err := r.AutoEdges()
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		next := w.Next()
		for _, u := range next {
			order := " first"
			if !u.IsReversed() {
				order = " after"
			}
			all = append(all, u.String()+order)
		}
		if !w.Test(make([]bool, len(next))) {
			return all
		}
	}
	t.Fatal("it asks for ever")
	return nil
}

// TestWants: a container wants the daemon, its image, and what it mounts or a folder above; one that
// is removed goes before its image.
func TestWants(t *testing.T) {
	r := valid()
	r.SetKind("docker_container")
	r.Volumes = []string{"/srv/www:/www", "data:/data"}
	got := asked(t, r)
	for _, want := range []string{
		"svc[docker] first", "pkg[docker.io] first", "docker_image[docker.io/library/x:latest] first",
		"file[/srv/www] first", "mount[/srv/www] first", "file[/srv] first", "file[/] first",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("it does not ask for %s, but for %v", want, got)
		}
	}
	if slices.Contains(got, "file[data] first") {
		t.Error("a volume is taken for a path")
	}
	r.State = Removed
	if got := asked(t, r); !slices.Contains(got, "docker_image[docker.io/library/x:latest] after") || !slices.Contains(got, "file[/srv/www] first") || !r.Leaving() {
		t.Errorf("removed, it asks for %v", got)
	}
	r.Host = "tcp://elsewhere:2376"
	if got := asked(t, r); slices.Contains(got, "svc[docker] first") {
		t.Error("a daemon elsewhere is taken for the one of this machine")
	}
}

// TestFoundIsEnough: above a path that was found nothing is asked for.
func TestFoundIsEnough(t *testing.T) {
	r := valid()
	r.Volumes = []string{"/a/b:/x", "/c:/y"}
	w, err := r.AutoEdges()
	if err != nil {
		t.Fatal(err)
	}
	found := make([]bool, len(w.Next()))
	found[len(found)-4] = true // /a/b is a file
	if !w.Test(found) {
		t.Fatal("/c was not found, and nothing above is asked for")
	}
	if next := w.Next(); len(next) != 2 || next[0].String() != "file[/]" {
		t.Errorf("asked for %v", next)
	}
}

// TestImageUID: references that mean one image are one, on one daemon.
func TestImageUID(t *testing.T) {
	uid := func(host, name string) autoedge.UID {
		r := &ImageRes{Place: Place{Host: host}}
		r.SetName(name)
		return r.UIDs()[0]
	}
	for _, c := range []struct {
		host, name string
		same       bool
	}{
		{"", "web", true}, {"", "web:latest", true}, {"", "docker.io/library/web", true},
		{"", "web:1", false}, {"tcp://h:1", "web", false}, {"", "host/web", false},
	} {
		if got := uid("", "web").IFF(uid(c.host, c.name)); got != c.same {
			t.Errorf("%s at %q is the same: %t", c.name, c.host, got)
		}
	}
	r := valid()
	r.Image = "web"
	w, err := r.AutoEdges()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(w.Next(), func(u autoedge.UID) bool { return u.IFF(uid("", "web:latest")) }) {
		t.Error("a container does not ask for its image")
	}
}

// TestClash: one image can't be there and absent.
func TestClash(t *testing.T) {
	if err := (&ImageRes{}).Clashes(&ImageRes{State: ImageAbsent}); err == nil {
		t.Error("no clash")
	}
	if err := (&ImageRes{}).Clashes(&ImageRes{State: ImageExists}); err != nil {
		t.Error(err)
	}
}
