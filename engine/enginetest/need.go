package enginetest

import (
	"os"
	"os/exec"
	"testing"
)

// Need returns the path of a program that a test runs, and that Debian's base lacks.
// Without it Need skips the test and names the package that brings it; under CI=true it
// fails the test. So a test that CI leaves out by mistake is seen, and a developer
// needs no root.
func Need(t testing.TB, program, debian string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is missing: apt-get install %s", program, debian)
	default:
		t.Skipf("%s is missing; on Debian: apt-get install %s", program, debian)
	}
	return path
}
