package hosts

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Release is the Debian that machines run. Its systemd knows Type=notify-reload.
const Release = "trixie"

// always are the packages of every tree: an init with its bus, and the present needs of tests. As
// long as none of them asks for more, one tree is enough for all.
var always = []string{"busybox", "cron", "dbus", "dbus-user-session", "gpg", "iproute2", "libpam-systemd", "openssh-client", "procps", "systemd", "systemd-sysv"}

// hooks are run in a tree when its packages are there. Units that would write by themselves at some
// time are masked, and nothing is left to do at the first boot.
var hooks = []string{
	`systemctl --root="$1" mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer systemd-tmpfiles-clean.timer e2scrub_all.timer console-getty.service`,
	`rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*`,
	`rm -f "$1"/etc/hostname "$1"/etc/resolv.conf; echo 127.0.0.1 localhost >"$1"/etc/hosts; : >"$1"/etc/crontab`,
	`touch -r "$1"/usr "$1"/etc/.updated "$1"/var/.updated`,
}

// Tree is an unpacked Debian, which no test writes to.
type Tree struct{ dir string }

// Base returns a tree with these packages and those of every tree. It is built by the first test
// that asks and kept for later runs, in $MGMT_HOSTS or the user's cache folder, under a name made
// of its parts. It comes from the mirror that apt uses here. Base skips the test, or fails it, as
// Need says.
func Base(t testing.TB, packages ...string) *Tree {
	t.Helper()
	Need(t)
	dir, err := base(packages)
	if err != nil {
		t.Fatalf("a tree for machines: %v", err)
	}
	return &Tree{dir}
}

func base(packages []string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	packages = slices.Concat(always, packages)
	slices.Sort(packages)
	packages = slices.Compact(packages)
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", Release, packages, hooks))
	dir := filepath.Join(cache, fmt.Sprintf("%s-%x", Release, key[:8]))
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, build(dir, packages)
}

func cacheDir() (string, error) {
	if dir := os.Getenv("MGMT_HOSTS"); dir != "" {
		return dir, os.MkdirAll(dir, 0o700)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: set MGMT_HOSTS to a folder", err)
	}
	dir = filepath.Join(dir, "mgmt-hosts")
	return dir, os.MkdirAll(dir, 0o700)
}

// lock waits for the only lock on a file. The kernel gives it back when a test is killed.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// build makes a tree next to its place, and moves it there when it is whole.
func build(dir string, packages []string) error {
	mirror, err := mirror()
	if err != nil {
		return err
	}
	part := dir + ".part"
	args := []string{"--quiet", "--variant=minbase", "--include=" + strings.Join(packages, ",")}
	for _, h := range hooks {
		args = append(args, "--customize-hook="+h)
	}
	args = append(args, Release, part, mirror)
	start := time.Now()
	err = mmdebstrap(part, args)
	for range 2 { // a mirror that is just being brought up to date contradicts itself for a while
		if err != nil {
			err = mmdebstrap(part, args)
		}
	}
	if err != nil {
		return err
	}
	fmt.Printf("built a tree of %s in %.0f s\n", Release, time.Since(start).Seconds())
	return os.Rename(part, dir)
}

// mmdebstrap makes a tree at a place, and first removes the leftover of a killed test there.
func mmdebstrap(at string, args []string) error {
	if err := os.RemoveAll(at); err != nil {
		return err
	}
	if out, err := exec.Command("mmdebstrap", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("mmdebstrap: %w\n%s", err, lastLines(out, 20))
	}
	return nil
}

// mirror returns where apt gets Debian from on this machine.
func mirror() (string, error) {
	out, err := exec.Command("apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(LABEL) $(CREATED_BY)").Output()
	if err != nil {
		return "", fmt.Errorf("apt-get indextargets: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 4 && f[1] == "Debian" && f[2] == "Debian" && f[3] == "Packages" {
			return f[0], nil
		}
	}
	return "", errors.New("apt knows no mirror of Debian here: run apt-get update")
}

func lastLines(text []byte, n int) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}
