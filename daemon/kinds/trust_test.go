package kinds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/gapi"
)

// TestTrustedProgram: as root, a program that other users can write is refused, and one of root alone is taken.
func TestTrustedProgram(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root guards what it runs")
	}
	at := filepath.Join(t.TempDir(), "provider")
	w := safepath.System()
	l := &loading{Options: Options{Source: gapi.Source{Guard: &w}}}
	for mode, refused := range map[os.FileMode]bool{0o755: false, 0o777: true} {
		if err := os.WriteFile(at, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
		err := l.trust(at)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "can write") {
			t.Errorf("%v: %v", mode, err)
		}
	}
}
