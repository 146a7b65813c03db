package edges_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/traits"
)

// asker is a resource that does nothing but ask.
type asker struct{ traits.Base }

func (*asker) Default() engine.Res                            { return &asker{} }
func (*asker) Validate() error                                { return nil }
func (*asker) Init(*engine.Init) error                        { return nil }
func (*asker) Cleanup() error                                 { return nil }
func (*asker) Watch(context.Context) error                    { return nil }
func (*asker) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (*asker) Cmp(engine.Res) error                           { return nil }

func resource() engine.Res {
	r := &asker{}
	r.SetKind("asker")
	r.SetName("one")
	return r
}

// texts are the questions; "after" marks those whose resource comes after the asker.
func texts(list []autoedge.UID) (out []string) {
	for _, u := range list {
		uid := u.(*autoedge.KeyUID)
		text := uid.String()
		if uid.Reversed != nil && !*uid.Reversed {
			text += " after"
		}
		out = append(out, text)
	}
	return out
}

func want(t *testing.T, got []autoedge.UID, want ...string) {
	t.Helper()
	if list := texts(got); !slices.Equal(list, want) {
		t.Errorf("it asks for\n%s\nwant\n%s", strings.Join(list, "\n"), strings.Join(want, "\n"))
	}
}

// TestUpwards: a path is asked for, and then each folder above it up to the root, each time with a
// mount there.
func TestUpwards(t *testing.T) {
	w := edges.New(resource())
	w.Path("/srv/data/file")
	w.Path("relative")
	for _, p := range []string{"/srv/data/file", "/srv/data", "/srv", "/"} {
		want(t, w.Next(), "file["+p+"]", "mount["+p+"]")
		if more := w.Test([]bool{false, false}); more != (p != "/") {
			t.Fatalf("after %s there is more: %t", p, more)
		}
	}
}

// TestFound: a found path or mount ends the search of its path, and of no other one.
func TestFound(t *testing.T) {
	w := edges.New(resource())
	w.Path("/a/x")
	w.Path("/b/y")
	w.Path("/c/z")
	want(t, w.Next(), "file[/a/x]", "file[/b/y]", "file[/c/z]", "mount[/a/x]", "mount[/b/y]", "mount[/c/z]")
	if !w.Test([]bool{true, false, false, false, false, true}) {
		t.Fatal("the search of /b/y has ended")
	}
	want(t, w.Next(), "file[/b]", "mount[/b]")
}

// TestThingsOnce: accounts are asked for once, before the paths.
func TestThingsOnce(t *testing.T) {
	w := edges.New(resource())
	w.Path("/a/b")
	w.Account("www", "")
	w.Account("", "adm")
	want(t, w.Next(), "user[www]", "group[adm]", "file[/a/b]", "mount[/a/b]")
	w.Test([]bool{true, true, false, false})
	want(t, w.Next(), "file[/a]", "mount[/a]")
}

// TestWritten: a file below /etc comes after its package and before its service.
func TestWritten(t *testing.T) {
	for path, list := range map[string][]string{
		"/etc/nginx/nginx.conf":                    {"pkg with /etc/nginx/nginx.conf", "pkg with /etc/nginx", "svc[nginx] after"},
		"/etc/systemd/system/ssh.service.d/a.conf": {"svc[ssh] after"},
		"/etc/systemd/user/bus.service.d/a.conf":   {"svc of the session bus after"},
		"/etc/hosts":                               {"pkg with /etc/hosts"},
		"/usr/bin/x":                               {"pkg with /usr/bin/x"},
	} {
		w := edges.New(resource())
		w.Written(path)
		got := texts(w.Next())
		for _, q := range list {
			if !slices.Contains(got, q) {
				t.Errorf("%s does not ask for %s: %q", path, q, got)
			}
		}
		services := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.HasSuffix(s, " after") })
		if fmt.Sprint(services) != fmt.Sprint(slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !strings.HasSuffix(s, " after") })) {
			t.Errorf("%s asks for the services %q", path, services)
		}
	}
}

// TestUnitFile: a unit file asks for its account, its programs and its files. Text that systemd
// fills in is left out, and so is any other file.
func TestUnitFile(t *testing.T) {
	const unit = "[Service]\nUser=www\nSupplementaryGroups=adm audio\nExecStart=-/usr/bin/app \\\n  --flag\nExecStop=/bin/%i\n" +
		"EnvironmentFile=-/etc/default/app\nWorkingDirectory=/srv/app\nDescription=/not/this\n"
	w := edges.New(resource())
	w.UnitFile("/etc/systemd/system/app.service", unit)
	want(t, w.Next(), "user[www]", "group[adm]", "group[audio]", "pkg with /usr/bin/app",
		"file[/usr/bin/app]", "file[/etc/default/app]", "file[/srv/app]",
		"mount[/usr/bin/app]", "mount[/etc/default/app]", "mount[/srv/app]")
	for _, other := range []string{"/etc/app.service", "/etc/systemd/system/app.service.wants/x.service", "/etc/systemd/system/README"} {
		w := edges.New(resource())
		w.UnitFile(other, unit)
		want(t, w.Next())
	}
}

// TestStopped: a name that can not be a service is not asked for.
func TestStopped(t *testing.T) {
	w := edges.New(resource())
	w.Stopped("nginx.service")
	w.Stopped("../x")
	want(t, w.Next(), "svc[nginx]")
}
