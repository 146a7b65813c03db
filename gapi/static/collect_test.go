package static_test

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/gapi/static"
)

// TestFindingH2Fields: a program says which further parameters the other host decides, as a graph file does by fields.
func TestFindingH2Fields(t *testing.T) {
	g := static.NewGraph("g")
	g.Collect("file", "/etc/motd.d/*", "*", nil, "mode", "owner")
	g.Collect("noop", "*", "*", nil)
	d := g.Declared()
	if len(d.Collects) != 2 || !slices.Equal(d.Collects[0].Fields, []string{"mode", "owner"}) || d.Collects[1].Fields != nil {
		t.Errorf("%+v", d.Collects)
	}
}
