package backends

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// homes are what is below home and srv of an image: paths, their owners and the texts of
// files.
func homes(t *testing.T, root string) string {
	t.Helper()
	var out []string
	for _, top := range []string{"home", "srv"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(p string, _ fs.DirEntry, err error) error {
			if err != nil || p == filepath.Join(root, top) {
				return err
			}
			st, err := os.Lstat(p)
			must(t, err)
			sys := st.Sys().(*syscall.Stat_t)
			rel, err := filepath.Rel(root, p)
			must(t, err)
			out = append(out, fmt.Sprintf("%s %d:%d", rel, sys.Uid, sys.Gid))
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return strings.Join(out, ", ")
}

// TestHomes: what becomes of the home folder of a user is the same by all that can work on
// an image.
func TestHomes(t *testing.T) {
	asRoot(t)
	tools := enginetest.NewHost()
	tools.SetCommand(func(ctx context.Context, c engine.Command) (*engine.Result, error) { return runReal(ctx, c) })
	for name, m := range map[string]modules{
		"files":  bind(t, enginetest.NewHost(), filesUsers(), filesGroups()),
		"shadow": bind(t, tools, shadowUsers(), shadowGroups()),
	} {
		t.Run(name, func(t *testing.T) { homeStory(t, m) })
	}
}

func homeStory(t *testing.T, m modules) {
	root := image(t)
	at, ctx := Where{root}, t.Context()
	change := func(a Attributes, move, create bool) error {
		a.Unique = true
		return fails(ChangeUser.Call(ctx, m.user, ChangeArgs{Name: "anna", Attributes: a, Where: at, MoveHome: move, CreateHome: create}))
	}
	step := func(what string, err error, want string) {
		t.Helper()
		must(t, err)
		if got := homes(t, root); got != want {
			t.Errorf("%s: there is\n%s, not\n%s", what, got, want)
		}
	}
	must(t, fails(AddGroup.Call(ctx, m.group, AddGroupArgs{Name: "staff", GID: new(1700), Unique: true, Where: at})))
	step("made", fails(AddUser.Call(ctx, m.user, AddArgs{
		Name: "anna", Attributes: Attributes{UID: new(1500), Home: new("/home/anna"), Shell: new("/bin/sh"), Unique: true}, UserGroup: true, CreateHome: true, Where: at,
	})), "home/anna 1500:1500, home/anna/.rc 1500:1500")
	must(t, os.WriteFile(root+"/home/anna/roots", nil, 0o600))
	step("moved", change(Attributes{Home: new("/srv/homes/a")}, true, true),
		"srv/homes 0:0, srv/homes/a 1500:1500, srv/homes/a/.rc 1500:1500, srv/homes/a/roots 0:0")
	step("another number", change(Attributes{UID: new(1600)}, false, false),
		"srv/homes 0:0, srv/homes/a 1600:1500, srv/homes/a/.rc 1600:1500, srv/homes/a/roots 0:0")
	step("another group", change(Attributes{Group: new("staff")}, false, false),
		"srv/homes 0:0, srv/homes/a 1600:1700, srv/homes/a/.rc 1600:1700, srv/homes/a/roots 0:0")
	step("not to be moved", change(Attributes{Home: new("/home/x")}, false, false),
		"srv/homes 0:0, srv/homes/a 1600:1700, srv/homes/a/.rc 1600:1700, srv/homes/a/roots 0:0")
	step("to what is there", change(Attributes{Home: new("/srv/homes/a")}, true, true),
		"srv/homes 0:0, srv/homes/a 1600:1700, srv/homes/a/.rc 1600:1700, srv/homes/a/roots 0:0")
	step("below itself", change(Attributes{Home: new("/srv/homes/a/b")}, true, false),
		"srv/homes 0:0, srv/homes/a 1600:1700, srv/homes/a/.rc 1600:1700, srv/homes/a/roots 0:0")
	must(t, change(Attributes{Home: new("/srv/homes/a")}, false, false))
	must(t, fails(AddUser.Call(ctx, m.user, AddArgs{Name: "twin", Attributes: Attributes{Home: new("/srv/homes/a"), Shell: new("/bin/sh"), Unique: true}, UserGroup: true, Where: at})))
	step("of two", change(Attributes{Home: new("/home/y")}, true, false),
		"srv/homes 0:0, srv/homes/a 1600:1700, srv/homes/a/.rc 1600:1700, srv/homes/a/roots 0:0")
	step("another one's stays", fails(DeleteUser.Call(ctx, m.user, DeleteArgs{Name: "twin", Remove: true, Where: at})),
		"srv/homes 0:0, srv/homes/a 1600:1700, srv/homes/a/.rc 1600:1700, srv/homes/a/roots 0:0")
	must(t, os.RemoveAll(root+"/srv"))
	step("missing", change(Attributes{}, false, true), "home/y 1600:1700, home/y/.rc 1600:1700")
	must(t, os.Lchown(root+"/home/y", 0, 0))
	step("root's own", change(Attributes{Home: new("/home/z")}, true, false), "home/y 0:0, home/y/.rc 1600:1700")
	must(t, os.Rename(root+"/home/y", root+"/home/z"))
	must(t, os.Lchown(root+"/home/z", 1600, 1700))
	step("removed", fails(DeleteUser.Call(ctx, m.user, DeleteArgs{Name: "anna", Remove: true, Where: at})), "")
	if got := content(t, root, "passwd"); strings.Contains(got, "anna") || strings.Contains(got, "twin") {
		t.Errorf("there is still\n%s", got)
	}
}

// TestHomeStaysWithUser: while the home can't be removed the user is there, so that it is
// tried again.
func TestHomeStaysWithUser(t *testing.T) {
	if !onImage(t) {
		return
	}
	m := bind(t, enginetest.NewHost(), filesUsers(), filesGroups())
	must(t, fails(AddUser.Call(t.Context(), m.user, AddArgs{
		Name: "anna", Attributes: Attributes{UID: new(1500), Home: new("/home/anna"), Unique: true}, UserGroup: true, CreateHome: true,
	})))
	must(t, os.Mkdir("/home/anna/m", 0o755))
	must(t, unix.Mount("mem", "/home/anna/m", "tmpfs", 0, ""))
	gone := func() error {
		return fails(DeleteUser.Call(t.Context(), m.user, DeleteArgs{Name: "anna", Remove: true}))
	}
	if err := gone(); err == nil || !strings.Contains(content(t, "", "passwd"), "anna:") {
		t.Errorf("%v, and passwd is\n%s", err, content(t, "", "passwd"))
	}
	must(t, unix.Unmount("/home/anna/m", 0))
	must(t, gone())
	if _, err := os.Lstat("/home/anna"); !errors.Is(err, fs.ErrNotExist) || strings.Contains(content(t, "", "passwd"), "anna:") {
		t.Errorf("%v, and passwd is\n%s", err, content(t, "", "passwd"))
	}
}
