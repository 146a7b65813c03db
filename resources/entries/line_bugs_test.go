package entries

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestBug28_WatchesOfEntriesEnd: the Watch of every kind here returns as soon as it is told to, however often, and none goes on
// turning. See docs/development/bugs.md.
func TestBug28_WatchesOfEntriesEnd(t *testing.T) {
	dir := t.TempDir()
	all := map[string]engine.Res{"line": &Line{File: filepath.Join(dir, "lines"), Content: "x"}}
	maps.Copy(all, providedKinds(t, dir))
	for kind, r := range all {
		t.Run(kind, func(t *testing.T) { kindtest.WatchEnds(t, kind, r, nil) })
	}
}
