package machines

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// publishVersion builds the packages of a version and adds them to a folder, as a release does.
func publishVersion(t *testing.T, dir, version string) {
	t.Helper()
	made := t.TempDir()
	for _, argv := range [][]string{
		{"../../packaging/build", made, version},
		{"sh", "-c", `mv "$0"/*.deb "$0"/*.rpm "$1"`, made, dir},
		{"go", "run", "../../packaging/repository", dir},
	} {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
}

// copyRepository copies what apt reads of a folder to the machine.
func copyRepository(t *testing.T, h *hosts.Host, dir string) {
	t.Helper()
	for _, pattern := range []string{"*.deb", "Packages*", "Release"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			h.Copy(path, filepath.Join("/srv/mgmt", filepath.Base(path)))
		}
	}
	h.Sh("chmod -R a+rX /srv/mgmt; apt-get -qq update")
}

// TestFindingD9Machine: a machine installs mgmt by apt from the folder of a release, and upgrades it while the service runs.
func TestFindingD9Machine(t *testing.T) {
	t.Parallel()
	tree, dir := hosts.Base(t), t.TempDir()
	publishVersion(t, dir, "0.9.0")
	h := tree.Boot(t, "release")
	h.Put("/etc/apt/sources.list.d/mgmt.list", "deb [trusted=yes] file:/srv/mgmt ./\n")
	h.Sh("chmod a+r /etc/apt/sources.list.d/mgmt.list")
	copyRepository(t, h, dir)
	h.Sh("apt-get -qq install -y mgmt")
	s := service{h, t}
	s.declare("one")
	s.Run("systemctl", "enable", "--now", "mgmt")
	s.keeps("one")
	pid := s.show("MainPID")

	publishVersion(t, dir, "0.10.0~git12.abcdef0")
	copyRepository(t, h, dir)
	h.Sh("apt-get -qq upgrade -y")
	if got := h.Run("mgmt", "version"); !strings.Contains(got, "0.10.0~git12.abcdef0 ") {
		t.Errorf("apt has upgraded to %s", got)
	}
	s.Eventually("the service is another process", patience, func() bool {
		return s.show("ActiveState") == "active" && s.show("MainPID") != pid
	})
	s.repairs("one")
}
