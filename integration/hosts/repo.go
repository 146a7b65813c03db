package hosts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Package is a Debian package for a test: a name, a version, the contents of its files by their
// absolute paths, and more fields of its control file, as in "Depends: a, b". Scripts are its
// maintainer's, by name: postinst and the like.
type Package struct {
	Name, Version string
	Fields        []string
	Files         map[string]string
	Scripts       map[string]string
}

// Repository builds a folder that apt can install the packages from.
func Repository(t testing.TB, packages ...Package) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, p := range packages {
		if err := p.build(t.TempDir(), dir); err != nil {
			t.Fatalf("the package %s %s: %v", p.Name, p.Version, err)
		}
	}
	cmd := exec.Command("dpkg-scanpackages", "--multiversion", ".")
	cmd.Dir = dir
	index, err := cmd.Output()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "Packages"), index, 0o600)
	}
	if err != nil {
		t.Fatalf("dpkg-scanpackages: %v", err)
	}
	return dir
}

// build builds the package in a folder, from the files that it lays out in another.
func (p Package) build(root, to string) error {
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: tests <tests@localhost>\nDescription: for tests\n%s",
		p.Name, p.Version, strings.Join(append(p.Fields, ""), "\n"))
	if err := write(filepath.Join(root, "DEBIAN/control"), control, 0o644); err != nil {
		return err
	}
	for name, text := range p.Scripts {
		if err := write(filepath.Join(root, "DEBIAN", name), text, 0o755); err != nil {
			return err
		}
	}
	for path, text := range p.Files {
		if err := write(filepath.Join(root, path), text, 0o644); err != nil {
			return err
		}
	}
	out, err := exec.Command("dpkg-deb", "--build", "--root-owner-group", "-Znone", root, to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("dpkg-deb: %w\n%s", err, out)
	}
	return nil
}

// write writes a file for everybody to read, whatever the umask.
func write(path, text string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// AddRepository copies what Repository made to the machine, at /srv/repository, and
// has apt know of it.
func (h *Host) AddRepository(dir string) {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, path := range files {
		h.Copy(path, filepath.Join("/srv/repository", filepath.Base(path)))
	}
	h.Put("/etc/apt/sources.list.d/tests.list", "deb [trusted=yes] file:/srv/repository ./\n")
	h.Sh("chmod -R a+rX /srv/repository /etc/apt/sources.list.d; apt-get -qq update")
}
