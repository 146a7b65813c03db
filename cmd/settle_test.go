package cmd

import (
	"reflect"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/config"
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
		texts, err := settings.Get(key).Parse(exampleText(t, key))
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

// sameInput compares two inputs, apart from the words of their flags and the forms of a default.
func sameInput(a, b *inputFlags) bool {
	for _, in := range []*inputFlags{a, b} {
		in.check.words, in.ordering.words, in.Stored = nil, nil, false
		most, size := (*resourceCount)(&in.MaxResources), (*graphSize)(&in.MaxBytes)
		_, _ = most.Set(most.String()), size.Set(size.String())
	}
	return reflect.DeepEqual(a, b)
}
