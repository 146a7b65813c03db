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

// TestReloadBoundsDeploys: a deploy that is read after a reload has the bounds of the settings from then on.
func TestReloadBoundsDeploys(t *testing.T) {
	graph := filepath.Join(t.TempDir(), "g.yaml")
	if err := os.WriteFile(graph, []byte("resources: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := func(most string) config.Resolved {
		return config.Resolved{"graph": {Texts: []string{graph}}, "max_resources": {Texts: []string{most}}, "max_graph_size": {Texts: []string{"2MiB"}}}
	}
	r := &resettling{app: &app{trustOthers: true}, stored: func(f gapi.Frontend) gapi.Frontend { return f }}
	r.coming.Store(inputOf(now("7")).unchecked(r.app))
	if most := r.limits().MaxResources; most != 7 {
		t.Errorf("at the start, %d resources may come", most)
	}
	if _, ds := r.source(r.app, resettled{now: now("9"), input: []string{"max_resources"}}); ds.Err() != nil {
		t.Fatal(ds)
	}
	if o := r.limits(); o.MaxResources != 9 || o.MaxBytes != 2<<20 {
		t.Errorf("after a reload, %d resources in %d bytes may come", o.MaxResources, o.MaxBytes)
	}
}
