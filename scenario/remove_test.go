package scenario

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

// TestFolderOfShutFolders: a user without the rights of root leaves nothing of a machine with shut folders.
func TestFolderOfShutFolders(t *testing.T) {
	user := safepath.User{UID: os.Geteuid(), GID: os.Getegid()}
	temp := t.TempDir()
	if user.UID == 0 {
		user = safepath.User{UID: 65534, GID: 65534}
		if err := os.Chown(temp, user.UID, user.GID); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Dir(temp), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", temp)
	err := user.Do(func() error {
		path, remove, err := folder()
		if err != nil {
			return err
		}
		defer remove()
		if err := os.MkdirAll(filepath.Join(path, "a", "b"), 0o700); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(path, "a", "b"), 0o000); err != nil {
			return err
		}
		return os.Chmod(filepath.Join(path, "a"), 0o500)
	})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(temp); err != nil || len(list) > 0 {
		t.Errorf("%v is left, %v", list, err)
	}
}
