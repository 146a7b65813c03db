package kindtest

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/internal/nstest"
)

// InNamespace is nstest.InNamespace.
func InNamespace(t *testing.T) bool {
	t.Helper()
	return nstest.InNamespace(t)
}

// InNamespaces is nstest.InNamespaces.
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
