package deploy_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/internal/nstest"
	"golang.org/x/sys/unix"
)

// TestPairIsWhole: where one of the two files cannot be written, neither is left, so the next try is not refused. The machine has
// a full file system for that, which only a child process sees.
func TestPairIsWhole(t *testing.T) {
	if !nstest.InNamespace(t) {
		return
	}
	for name, options := range map[string]string{
		"no room for the private half": "size=4k", "no room for the public half": "size=8k",
		"no place for the private half": "size=64k,nr_inodes=2", "no place for the public half": "size=64k,nr_inodes=3",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, unix.Mount("none", dir, "tmpfs", 0, options))
			defer func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) }()
			must(t, os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 4096), 0o600))
			path := filepath.Join(dir, "k")
			if err := deploy.WriteKey(path, newKey(t)); !errors.Is(err, unix.ENOSPC) {
				t.Errorf("the error is %v", err)
			}
			for _, file := range []string{path, path + ".pub"} {
				if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is left: %v", file, err)
				}
			}
			must(t, os.Remove(filepath.Join(dir, "filler")))
			must(t, unix.Mount("none", dir, "tmpfs", unix.MS_REMOUNT, "size=1m,nr_inodes=64"))
			must(t, deploy.WriteKey(path, newKey(t)))
		})
	}
}
