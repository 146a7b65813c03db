package entries

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestProvidedEdges: what a kind that is made of data needs of a file needs the nearest
// folder above it where the file is not in the graph. Seen failing with
// engine/provider/relations.go asking for the file alone.
func TestProvidedEdges(t *testing.T) {
	k, err := hostKind("/etc/hosts")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ there, want []string }{
		{nil, []string{"file[/a/b/hosts]", "file[/etc/hosts]", "file[/a/b]", "file[/etc]", "file[/a]", "file[/]", "file[/]"}},
		{[]string{"file[/a]", "file[/etc/hosts]"}, []string{"file[/a/b/hosts]", "file[/etc/hosts]", "file[/a/b]", "file[/a]"}},
	} {
		r, ok := kindtest.Filled(t, k, "db in /a//b/hosts", map[string]any{"ip": "10.0.0.5"}).(engine.EdgeableRes)
		if !ok {
			t.Fatal("a host needs nothing")
		}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		if got := kindtest.Asked(t, r, c.there...); !slices.Equal(got, c.want) {
			t.Errorf("with %v it wants %v, not %v", c.there, got, c.want)
		}
	}
}
