package run

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/gapi"
)

// TestReloadHasEachFlagOfAGraph: a reload makes the same input of the settings as a start makes of the flags, whichever of them
// is given. So no setting of a graph is lost when another one changes.
func TestReloadHasEachFlagOfAGraph(t *testing.T) {
	none := &cobra.Command{}
	(&inputs.Flags{}).Flags(none)
	for key := range cli.Bound(none) {
		if !cli.Settings.Get(key).Live {
			t.Errorf("%s is a setting of the graph, and waits for a restart", key)
		}
		if !slices.Contains(inputKeys, key) {
			t.Errorf("%s changes the graph, and a reload does not read it anew", key)
		}
		cmd, start := &cobra.Command{}, &inputs.Flags{}
		start.Flags(cmd)
		texts, err := cli.Settings.Get(key).Parse(example(t, key))
		if err != nil {
			t.Fatal(err)
		}
		given := config.Resolved{key: {Texts: texts, Source: config.SourceFile}}
		for _, d := range cli.Settings.Apply(given, func(key, text string) error { return cli.Bound(cmd)[key].Value.Set(text) }) {
			t.Fatal(d)
		}
		if again := inputOf(given); !sameInput(start, again) {
			t.Errorf("%s: %s\na start has  %+v\na reload has %+v", key, texts, start, again)
		}
	}
}

// example returns the example of a setting as its flag takes it.
func example(t *testing.T, key string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mgmt.yaml")
	if err := os.WriteFile(path, []byte(key+": "+cli.Settings.Get(key).Example+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, ds := cli.Settings.Read(path, gapi.Source{})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	return file.Given[key].Text()
}

// sameInput compares two inputs, apart from the words of their flags and the forms of a default.
func sameInput(a, b *inputs.Flags) bool {
	for _, in := range []*inputs.Flags{a, b} {
		in.Check, in.Ordering, in.Stored = cli.Choice{Word: in.Check.Word}, cli.Choice{Word: in.Ordering.Word}, false
		most, size := (*inputs.ResourceCount)(&in.MaxResources), (*inputs.GraphSize)(&in.MaxBytes)
		_, _ = most.Set(most.String()), size.Set(size.String())
	}
	return reflect.DeepEqual(a, b)
}
