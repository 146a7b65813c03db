package nstest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// namespaceKey is the variable of the environment by which the inner process knows
// itself. Its value names the outer namespaces, so that an inner test can see that
// it has left them.
const namespaceKey = "MGMT_TEST_NAMESPACE"

// InNamespace runs the test that calls it once more, in a process of its own that
// may mount: it returns true there, and false where the test has been run by the
// other one. Without rights for a namespace the test is skipped, but in CI that is a
// failure. Its output is shown only if it fails.
func InNamespace(t *testing.T) bool {
	t.Helper()
	return InNamespaces(t, 0)
}

// InNamespaces does the same with more namespaces of its own: unix.CLONE_NEWUTS for
// instance. The kernel refuses them to users in some containers. The inner process
// is its own root, and mounts are private, so nothing reaches the machine.
func InNamespaces(t *testing.T, more uintptr) bool {
	t.Helper()
	if outer := os.Getenv(namespaceKey); outer != "" {
		if more != 0 && outer == namespaces(t, more) {
			t.Fatal("it would alter the machine: the namespaces are not its own")
		}
		must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), namespaceKey+"="+namespaces(t, more))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | more}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && bytes.Contains(out, []byte("--- PASS: "+t.Name())):
	case err == nil && skipped(out) != "":
		t.Skip(skipped(out))
	case errors.Is(err, syscall.EPERM) && os.Getenv("CI") != "true":
		t.Skipf("no namespace for mounting: %v", err)
	default:
		t.Errorf("in a namespace of its own: %v\n%s", err, out)
	}
	return false
}

// skipped returns the reason why the inner process has skipped the test, empty where it has not.
func skipped(out []byte) string {
	found := regexp.MustCompile(`\.go:\d+: (.*)\n--- SKIP: `).FindSubmatch(out)
	if found == nil {
		return ""
	}
	return string(found[1])
}

// namespaces names those namespaces of this process that the flags stand for. The
// kernel's names are links below /proc/self/ns, which differ for two namespaces. Of
// the one for mounts only the word is taken, as each inner process has its own.
func namespaces(t *testing.T, flags uintptr) string {
	t.Helper()
	links := []string{"mnt"}
	for _, n := range []struct {
		flag uintptr
		name string
	}{{unix.CLONE_NEWUTS, "uts"}, {unix.CLONE_NEWNET, "net"}} {
		if flags&n.flag != 0 {
			link, err := os.Readlink("/proc/self/ns/" + n.name)
			must(t, err)
			links = append(links, link)
		}
	}
	return strings.Join(links, " ")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
