package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/internal/nstest"
)

// TestFindingJ3SilentVerbs: a verb whose file is on a file system that never answers ends with an error that names it, whatever the file
// is for.
func TestFindingJ3SilentVerbs(t *testing.T) {
	if testing.Short() {
		t.Skip("make check runs it: each verb waits for 10 s")
	}
	if !nstest.InNamespace(t) {
		return
	}
	dir, wake := nstest.Silent(t)
	own := t.TempDir()
	t.Setenv("MGMT_CONFIG", os.DevNull)
	t.Setenv("MGMT_TRUST_OTHERS", "true")
	for name, text := range map[string]string{"g.yaml": "resources: {}\n", "s.yaml": "k: ENC[age,eA==]\n", "client": "x"} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for _, line := range []string{
		"validate L", "plan L", "fmt L", "render L", "graph L", "test L", "apply L", "resource set -f L", "secret list L",
		"api apply -f L --world etcd://127.0.0.1:1",
		"api get print x --server 127.0.0.1:1 --cert OWN/client --key OWN/client --ca L",
		"api get print x --world etcd://127.0.0.1:1 --cert L --key L",
		"api get print x --world etcd://127.0.0.1:1 --user u --password-file L",
		"config --config L", "validate OWN/g.yaml --config L",
		"secret decrypt OWN/s.yaml k --identity L",
		"hosts remove h --world etcd://127.0.0.1:1 --certificate L",
	} {
		all.Go(func() {
			args := strings.Fields(strings.NewReplacer("L", filepath.Join(dir, "x.yaml"), "OWN", own).Replace(line))
			out, errs, code := verb(t, args...)
			if said := out + errs; code == 0 || !strings.Contains(said, "does not answer") || !strings.Contains(said, dir) {
				t.Errorf("%s: code %d, %s", line, code, said)
			}
		})
	}
	all.Wait()
	wake()
}
