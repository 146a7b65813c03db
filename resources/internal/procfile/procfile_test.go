package procfile

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whether changes are seen is tested where there are some: with the kinds mount and
// hostname, in namespaces of their own.
func TestFollow(t *testing.T) {
	f, err := Follow(clock.System{}, "/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{plain, plain + "x"} {
		if f, err := Follow(clock.System{}, path); err == nil {
			f.Close()
			t.Errorf("%s is followed", path)
		}
	}
}
