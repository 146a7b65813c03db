package kindtest

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/internal/nstest"
)

// InNamespace runs the test that calls it once more, in a process of its own that
// may mount: it returns true there, and false where the test has been run by the
// other one. See nstest.InNamespace.
func InNamespace(t *testing.T) bool {
	t.Helper()
	return nstest.InNamespace(t)
}

// InNamespaces does the same with more namespaces of its own, such as
// unix.CLONE_NEWUTS for the name of the host. The inner process is its own root,
// and mounts are private, so nothing reaches the machine.
func InNamespaces(t *testing.T, more uintptr) bool {
	t.Helper()
	return nstest.InNamespaces(t, more)
}

// InMachine runs a test where the name, /etc and /run are its own. Both folders are
// empty at first. A test that needs more lays it there.
func InMachine(t *testing.T) bool {
	t.Helper()
	if !InNamespaces(t, unix.CLONE_NEWUTS) {
		return false
	}
	for _, p := range []string{"/etc", "/run"} {
		Sh(t, "mount", "-t", "tmpfs", "mem", p)
	}
	return true
}
