package api_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
)

// TestPython: a client in another language, which is made from the description, creates, lists, changes and deletes objects, and goes
// on with a watch where it has left.
func TestPython(t *testing.T) {
	r := newRig(t, api.Options{}, port(t))
	python, err := exec.LookPath("python3")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("python3 with its standard library is not here")
	} else if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/client.py", r.path)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ok\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
