package exec

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func TestExecEdges(t *testing.T) {
	r := &Res{
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
	if got := kindtest.Asked(t, &Res{Cmd: "ls"}); got != nil {
		t.Errorf("a command of PATH wants %v", got)
	}
	if u := r.UIDs(); len(u) != 1 || u[0].String() != "exec[/usr/bin/make -f /src/Makefile all]" || u[0].GetName() != "build" || !u[0].IFF(u[0]) {
		t.Errorf("is %v", u)
	}
	if _, err := (&Res{Cmd: "'"}).AutoEdges(); err == nil {
		t.Error("a command that cannot be read wants nothing, and does not say so")
	}
}
