package all_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/cron"
	"github.com/reactivegraph/mgmt/resources/entries"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/hostname"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/mount"
	"github.com/reactivegraph/mgmt/resources/sysctl"
)

// named gives a resource its kind and its name.
func named[R engine.Res](kind, name string, r R) R {
	r.SetKind(kind)
	r.SetName(name)
	return r
}

// TestClashesOfKinds: two kinds that write one file clash where one of them has all of its content, and both say so in
// the same words.
func TestClashesOfKinds(t *testing.T) {
	whole := func(path string) *file.Res {
		return named("file", path, &file.Res{Path: path, Content: new("x")})
	}
	host := named("hostname", "a", &hostname.Res{PrettyHostname: new("x")})
	value := named("sysctl", "a.b", &sysctl.Res{Value: "1", Persist: true})
	fs := named("mount", "/d", &mount.Res{Device: "dev", Persist: true, Fstab: "/d/fstab"})
	const sysctlFile = "/etc/sysctl.d/99-mgmt.conf"
	for name, c := range map[string]struct {
		a, b engine.ClashingRes
		want string // empty for none
	}{
		"hostname and a whole file":  {host, whole("/etc/hostname"), "the file has a content of its own, and the hostname writes one too"},
		"hostname and only the mode": {host, named("file", "/etc/hostname", &file.Res{Mode: "0644"}), ""},
		"cron and a whole file":      {named("cron", "job", &cron.Res{Time: "daily", Trigger: "OnCalendar"}), whole("/etc/systemd/system/job.timer"), "content"},
		"mount and a line":           {fs, named("line", "x", &entries.Line{}), ""},
		"mount and a whole file":     {fs, whole("/d/fstab"), "content"},
		"sysctl and a whole file":    {value, whole(sysctlFile), "the file has a content of its own, and the sysctl writes one too"},
		"sysctl and a line":          {value, named("line", "x", &entries.Line{File: sysctlFile, Content: "x"}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, got := range []string{kindtest.ErrText(c.a.Clashes(c.b)), kindtest.ErrText(c.b.Clashes(c.a))} {
				if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
					t.Errorf("%q, want %q", got, c.want)
				}
			}
		})
	}
}
