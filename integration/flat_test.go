package integration_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxFlat is the share of lines below resources, in percent, that may stand in the package resources itself. A change may lower it,
// and none may raise it.
const maxFlat = 3

// TestKindsStandApart: most kinds have a package of their own, so that a program that embeds one does not link the others.
func TestKindsStandApart(t *testing.T) {
	flat, all := 0, 0
	err := filepath.WalkDir("../resources", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		lines := bytes.Count(text, []byte("\n"))
		if all += lines; filepath.Dir(path) == "../resources" {
			flat += lines
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	share := 100 * flat / all
	t.Logf("%d of %d lines, %d %%", flat, all, share)
	if share > maxFlat {
		t.Errorf("%d of %d lines below resources stand in the package resources, %d %%, and %d %% may: give the kind a package", flat, all, share, maxFlat)
	}
}
