package deploy_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"golang.org/x/sys/unix"
)

// TestPairIsWhole: where one of the two files cannot be written, neither is left, so the next try is not refused. The machine has
// a full file system for that, which only a child process sees.
func TestPairIsWhole(t *testing.T) {
	if !inNamespace(t) {
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

const namespaceKey = "MGMT_TEST_NAMESPACE"

// inNamespace runs the calling test once more in a process that may mount, and returns true there.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(namespaceKey) != "" {
		must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), namespaceKey+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && bytes.Contains(out, []byte("--- PASS: "+t.Name())):
	case errors.Is(err, syscall.EPERM) && os.Getenv("CI") != "true":
		t.Skipf("no namespace for mounting: %v", err)
	default:
		t.Errorf("in a namespace of its own: %v\n%s", err, out)
	}
	return false
}
