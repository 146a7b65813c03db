package typescript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindingJ13Swapped: a file that is replaced by a link while it is read gives nothing of what is outside of the project.
func TestFindingJ13Swapped(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, link := filepath.Join(dir, "a.txt"), filepath.Join(dir, "link")
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			_ = os.Symlink(outside, link)
			_ = os.Rename(link, path)
			_ = os.WriteFile(link, []byte("plain"), 0o600)
			if err := os.Rename(link, path); err != nil {
				done <- err
				return
			}
		}
	}()
	defer func() {
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	for range 100 {
		a := buildIn(t.Context(), t, dir, map[string]string{"main.ts": "import { make } from 'mgmt';\nimport text from './a.txt';\nmake(text, {});"})
		for _, r := range a.Resources {
			if strings.Contains(r.Name, "SECRET") {
				t.Fatal("a file outside of the project was read")
			}
		}
	}
}
