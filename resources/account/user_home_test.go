package account

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestUserHome: with managehome the folder is there as long as the user is, whatever
// removes it, and moves with him.
func TestUserHome(t *testing.T) {
	dir := t.TempDir()
	accountsBelow(t, dir)
	kindtest.Must(t, os.MkdirAll(filepath.Join(dir, "home"), 0o755))
	uid := os.Getuid() // a home is given to its user
	if uid == 0 {
		uid = 1500
	}
	r := &UserRes{UID: &uid, HomeDir: "/home/ann", Shell: "/bin/sh", ManageHome: true, Root: dir}
	r.SetName("ann")
	f := kindtest.Begin(t, "user", r, enginetest.WithHost(kindtest.NewHost(t)))
	kindtest.Want(t, f, r, `created uid: (none) -> 1500 homedir: (none) -> "/home/ann" shell: (none) -> "/bin/sh"`)
	home := filepath.Join(dir, "home/ann")
	kindtest.Watching(t, f, r)
	kindtest.Must(t, os.Remove(home))
	f.WaitEvent(t)
	kindtest.Want(t, f, r, `homedir: (none) -> "/home/ann"`)
	if st, err := os.Stat(home); err != nil || !st.IsDir() {
		t.Fatal(st, err)
	}
	kindtest.Want(t, f, r, "")
	kindtest.Put(t, filepath.Join(home, "mine"), "kept")
	kindtest.Must(t, os.Chown(filepath.Join(home, "mine"), uid, -1))
	moved := *r
	moved.HomeDir = "/home/new/ann"
	g := kindtest.Begin(t, "user", &moved)
	kindtest.Want(t, g, &moved, `homedir: "/home/ann" -> "/home/new/ann"`)
	if text, err := os.ReadFile(filepath.Join(dir, "home/new/ann/mine")); err != nil || string(text) != "kept" {
		t.Errorf("what was in it: %q, %v", text, err)
	}
	moved.ManageHome, moved.HomeDir = false, "/home/other"
	kindtest.Want(t, g, &moved, `homedir: "/home/new/ann" -> "/home/other"`)
	if _, err := os.Stat(filepath.Join(dir, "home/new/ann/mine")); err != nil {
		t.Error(err)
	}
}

// TestDriftOfOneOfAThousand: one who has drifted costs one reading of each database,
// however many look, and so does his repair.
func TestDriftOfOneOfAThousand(t *testing.T) {
	dir := t.TempDir()
	members := thousandUsers(t, dir)
	_, open := members[0].(*UserRes).Shared()
	shared, err := open(t.Context(), nil)
	kindtest.Must(t, err)
	for _, m := range members {
		kindtest.Must(t, m.Init(enginetest.NewInit(t, enginetest.WithShared(shared)).Init()))
	}
	check := func(apply bool) (differ int) {
		t.Helper()
		for _, o := range members[0].(engine.Batcher).CheckApplyBatch(t.Context(), apply, members) {
			kindtest.Must(t, o.Err)
			if !o.OK {
				differ++
			}
		}
		return differ
	}
	if n := check(false); n != 0 {
		t.Fatalf("%d differ", n)
	}
	passwd := filepath.Join(dir, "etc/passwd")
	data, err := os.ReadFile(passwd)
	kindtest.Must(t, err)
	kindtest.Must(t, os.WriteFile(passwd+"+", bytes.Replace(data, []byte(":2500:"), []byte(":2501:"), 1), 0o644))
	kindtest.Must(t, os.Rename(passwd+"+", passwd)) // as the tools write it
	opened := countOpens(t, filepath.Join(dir, "etc"))
	if n := check(false); n != 1 {
		t.Errorf("%d differ", n)
	}
	for name, n := range opened() {
		if n != 1 {
			t.Errorf("%s was read %d times", name, n)
		}
	}
	if n := check(true); n != 1 || check(false) != 0 {
		t.Errorf("%d were repaired", n)
	}
}
