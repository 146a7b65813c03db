package entries

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestProvidedEdges: what a kind that is made of data needs of a file needs the nearest
// folder above it where the file is not in the graph. Seen failing with
// engine/provider/relations.go asking for the file alone.
func TestProvidedEdges(t *testing.T) {
	hosts, err := hostKind("/etc/hosts")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := aptKeyKind(newAptKeys)
	if err != nil {
		t.Fatal(err)
	}
	key := "9E694A0A6AB6DA43DA678CA6C01A8E626F088CD3 in /new/a.gpg"
	for _, c := range []struct {
		kind        *provider.Kind
		name        string
		params      map[string]any
		there, want []string
	}{
		{hosts, "db in /a//b/hosts", map[string]any{"ip": "10.0.0.5"}, nil,
			[]string{"file[/a/b/hosts]", "file[/etc/hosts]", "file[/a/b]", "file[/etc]", "file[/a]", "file[/]", "file[/]"}},
		{hosts, "db in /a//b/hosts", map[string]any{"ip": "10.0.0.5"}, []string{"file[/a]", "file[/etc/hosts]"},
			[]string{"file[/a/b/hosts]", "file[/etc/hosts]", "file[/a/b]", "file[/a]"}},
		{keys, key, map[string]any{"source": "/b.asc"}, []string{"file[/b.asc]", "file[/new]"},
			[]string{"file[/b.asc]", "file[/new/a.gpg]", "pkg[apt]", "pkg[gnupg]", "pkg[gpg]", "file[/new]"}},
	} {
		r, ok := kindtest.Filled(t, c.kind, c.name, c.params).(engine.EdgeableRes)
		if !ok {
			t.Fatalf("%s needs nothing", c.name)
		}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		if got := kindtest.Asked(t, r, c.there...); !slices.Equal(got, c.want) {
			t.Errorf("%s: with %v it wants %v, not %v", c.name, c.there, got, c.want)
		}
	}
}
