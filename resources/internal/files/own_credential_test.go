package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// TestFindingD8OwnCredential: a path to a credential of another service leads to the own one
// of the same name, where there is one.
func TestFindingD8OwnCredential(t *testing.T) {
	own := t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "app"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	const path = "/run/credentials/other.service/"
	t.Setenv("CREDENTIALS_DIRECTORY", own)
	for from, want := range map[string]string{
		path + "app": filepath.Join(own, "app"), path + "none": path + "none", path: path, "/run/credentials/": "/run/credentials/",
		"/run/credentials/other.service": "/run/credentials/other.service", "/etc/app": "/etc/app", "": "",
	} {
		if got := files.OwnCredential(from); got != want {
			t.Errorf("%q leads to %q, want %q", from, got, want)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if got := files.OwnCredential(path + "app"); got != path+"app" {
		t.Errorf("without own credentials: %q", got)
	}
	err := files.NoCredential(path+"app", fs.ErrNotExist)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "LoadCredential=app:FILE") {
		t.Error(err)
	}
	if err := files.NoCredential("/etc/app", fs.ErrNotExist); err != fs.ErrNotExist {
		t.Error(err)
	}
}
