package api_test

import (
	"os/exec"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
)

// TestPython: a client in another language, which is made from the description, creates, lists, changes and deletes objects, and goes
// on with a watch where it has left.
func TestPython(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("this test needs python3 with its standard library; install it, or leave the test out by -skip TestPython: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/client.py", r.path)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ok\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
