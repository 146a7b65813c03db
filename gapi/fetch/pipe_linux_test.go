package fetch_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/gapi/fetch"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestArchiveOfAPipe: a pipe in the place of a local archive is refused at once, as is a device.
func TestArchiveOfAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "x.tar")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero"} {
		if _, err := storeOf(t).Get(t.Context(), fetch.Order{Source: path, SHA256: strings.Repeat("0", 64)}); err == nil || !strings.Contains(err.Error(), "neither a file nor a folder") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestLockFileIsRegular: a pipe, a device or a huge file in the place of the lock file is refused at once.
func TestLockFileIsRegular(t *testing.T) {
	dir := t.TempDir()
	pipe, huge := filepath.Join(dir, "pipe"), filepath.Join(dir, "huge")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 1<<30); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe:        "it is neither a file nor a folder",
		"/dev/zero": "it is neither a file nor a folder",
		huge:        "too big: a lock file",
		dir:         "it is a folder",
	} {
		s := &fetch.Store{Dir: dir}
		if err := s.Read(path, yaml.Document); err == nil || !strings.Contains(err.Error(), path+": "+want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
