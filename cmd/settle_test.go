package cmd

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/gapi"
)

// TestReloadHasEachFlagOfAGraph: a reload makes the same input of the settings as a start makes of the flags, whichever of them
// is given. So no setting of a graph is lost when another one changes.
func TestReloadHasEachFlagOfAGraph(t *testing.T) {
	none := &cobra.Command{}
	(&inputFlags{}).flags(none)
	for key := range bound(none) {
		if !settings.Get(key).Live {
			t.Errorf("%s is a setting of the graph, and waits for a restart", key)
		}
		if !slices.Contains(inputKeys, key) {
			t.Errorf("%s changes the graph, and a reload does not read it anew", key)
		}
		cmd, start := &cobra.Command{}, &inputFlags{}
		start.flags(cmd)
		texts, err := settings.Get(key).Parse(example(t, key))
		if err != nil {
			t.Fatal(err)
		}
		given := config.Resolved{key: {Texts: texts, Source: config.SourceFile}}
		for _, d := range settings.Apply(given, func(key, text string) error { return bound(cmd)[key].Value.Set(text) }) {
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
	if err := os.WriteFile(path, []byte(key+": "+settings.Get(key).Example+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, ds := settings.Read(path, gapi.Source{})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	return file.Given[key].Text()
}

// sameInput compares two inputs, apart from the words of their flags and the forms of a default.
func sameInput(a, b *inputFlags) bool {
	for _, in := range []*inputFlags{a, b} {
		in.check, in.ordering, in.Stored = choice{word: in.check.word}, choice{word: in.ordering.word}, false
		most, size := (*resourceCount)(&in.MaxResources), (*graphSize)(&in.MaxBytes)
		_, _ = most.Set(most.String()), size.Set(size.String())
	}
	return reflect.DeepEqual(a, b)
}
