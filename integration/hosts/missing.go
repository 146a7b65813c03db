package hosts

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// programs are the programs that this package runs, with their Debian packages.
var programs = map[string]string{
	"apt-get":           "apt",
	"dpkg-deb":          "dpkg",
	"dpkg-scanpackages": "dpkg-dev",
	"mmdebstrap":        "mmdebstrap",
	"mount":             "mount",
	"nsenter":           "util-linux",
	"systemd-nspawn":    "systemd-container",
	"unshare":           "util-linux",
}

// Need skips the test where no machine can boot, and says why. Under CI=true it fails.
func Need(t testing.TB) {
	t.Helper()
	missing := Missing()
	if len(missing) == 0 {
		return
	}
	text := "no machine can boot here:\n\t" + strings.Join(missing, "\n\t")
	if os.Getenv("CI") == "true" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// Missing lists the needs of a machine that this one does not meet, each with a remedy. It looks
// once.
var Missing = sync.OnceValue(func() []string {
	if runtime.GOOS != "linux" {
		return []string{"Linux: this is " + runtime.GOOS}
	}
	if os.Geteuid() != 0 {
		return []string{"root: run the tests as root"}
	}
	missing := missingPrograms()
	for _, look := range []func() error{cgroupsWork, mountsWork} {
		if err := look(); err != nil {
			missing = append(missing, err.Error())
		}
	}
	return missing
})

func missingPrograms() []string {
	var missing []string
	for name, from := range programs {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, fmt.Sprintf("%s: install Debian's %s", name, from))
		}
	}
	return missing
}

func cgroupsWork() error {
	groups, err := newCgroups()
	if err != nil {
		return fmt.Errorf("control groups: %w", err)
	}
	return groups.remove()
}

// mountsWork tries what a machine is mounted of.
func mountsWork() error {
	dir, err := os.MkdirTemp("", "mgmt-hosts-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	out, err := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-euc", layers, "sh", dir, "/usr").CombinedOutput()
	if err != nil {
		return fmt.Errorf("mounts: a container needs CAP_SYS_ADMIN and overlayfs: %w: %s", err, out)
	}
	return nil
}
