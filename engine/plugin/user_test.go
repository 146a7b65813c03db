package plugin_test

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/plugin"
)

// TestUser: a provider whose descriptor names a user works with the rights of that user alone: its things are the user's, and it can't
// write into a folder of root.
func TestUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run a provider as another user")
	}
	other, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(other.Uid)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, "", plugin.Options{})
	// The program of this test lies in a folder of root, so the user gets a copy that it can reach.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	things, closed := filepath.Join(b.dir, "things"), filepath.Join(b.dir, "closed")
	err = errors.Join(os.WriteFile(filepath.Join(b.dir, "toy"), text, 0o755), os.Chmod(filepath.Dir(b.dir), 0o755), os.Chmod(b.dir, 0o755),
		os.Mkdir(things, 0o700), os.Chown(things, uid, -1), os.Mkdir(closed, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	in := func(folder string) *plugin.Set {
		return b.loadText(`{"name": "toy", "command": ["./toy"], "schema": "schema.json", "grace": "1s", "user": "nobody"`+transport(t)+
			`, "env": {"`+toyFolder+`": "`+folder+`"}}`, plugin.Options{ReadFile: os.ReadFile})
	}
	use := func(set *plugin.Set) {
		b.kinds = engine.NewRegistry()
		if err := set.Register(b.kinds); err != nil {
			t.Fatal(err)
		}
	}
	use(in(things))
	b.res("toy:index:thing", "a", map[string]any{"color": "red"}).expect(true, false, `created; color: (none) -> "red"`)
	made, err := os.ReadDir(things)
	if err != nil || len(made) == 0 {
		t.Fatalf("there is nothing: %v", err)
	}
	for _, e := range made {
		if info, err := e.Info(); err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != uid {
			t.Errorf("%s is not of the user: %v", e.Name(), err)
		}
	}
	use(in(closed))
	if ok, err := b.res("toy:index:thing", "a", map[string]any{"color": "red"}).CheckApply(t.Context(), true); err == nil {
		t.Errorf("the user could write into a folder of root: %t", ok)
	}
}
