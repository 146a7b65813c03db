package resources

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func TestExecEdges(t *testing.T) {
	r := &ExecRes{
		Cmd: "/usr/bin/make -f /src/Makefile all", Cwd: "/src/", IfCmd: "test -f x", NIfCmd: "exit 1", NIfShell: "/bin/sh",
		DoneCmd: "/bin/sh -c true", User: "joe", Group: "staff", Creates: "/out/x", WatchFiles: []string{"/w"}, Mtimes: []string{"/m"},
	}
	r.SetKind("exec")
	r.SetName("build")
	there := []string{"file[/bin/sh]", "file[/src]", "file[/usr/bin/make]", "file[/out]", "file[/w]", "file[/]"}
	want := []string{
		"pkg with /usr/bin/make", "pkg with /bin/sh", "pkg with /bin/sh", "file[/src/Makefile]", "user[joe]", "group[staff]",
		"file[/bin/sh]", "file[/m]", "file[/src]", "file[/usr/bin/make]", "file[/w]", "file[/out]", "file[/]",
	}
	if got := kindtest.Asked(t, r, there...); !slices.Equal(got, want) {
		t.Errorf("wants %v, want %v", got, want)
	}
	if got := kindtest.Asked(t, &ExecRes{Cmd: "ls"}); got != nil {
		t.Errorf("a command of PATH wants %v", got)
	}
	if u := r.UIDs(); len(u) != 1 || u[0].String() != "exec[/usr/bin/make -f /src/Makefile all]" || u[0].GetName() != "build" || !u[0].IFF(u[0]) {
		t.Errorf("is %v", u)
	}
	if _, err := (&ExecRes{Cmd: "'"}).AutoEdges(); err == nil {
		t.Error("a command that cannot be read wants nothing, and does not say so")
	}
}

// TestProvidedEdges: what a kind that is made of data needs of a file needs the nearest
// folder above it where the file is not in the graph. Seen failing with relations.go
// asking for the file alone.
func TestProvidedEdges(t *testing.T) {
	k, err := hostKind("/etc/hosts")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ there, want []string }{
		{nil, []string{"file[/a/b/hosts]", "file[/etc/hosts]", "file[/a/b]", "file[/etc]", "file[/a]", "file[/]", "file[/]"}},
		{[]string{"file[/a]", "file[/etc/hosts]"}, []string{"file[/a/b/hosts]", "file[/etc/hosts]", "file[/a/b]", "file[/a]"}},
	} {
		r, ok := kindtest.Filled(t, k, "db in /a//b/hosts", map[string]any{"ip": "10.0.0.5"}).(engine.EdgeableRes)
		if !ok {
			t.Fatal("a host needs nothing")
		}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		if got := kindtest.Asked(t, r, c.there...); !slices.Equal(got, c.want) {
			t.Errorf("with %v it wants %v, not %v", c.there, got, c.want)
		}
	}
}
