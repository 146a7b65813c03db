package plugin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/plugin/plugintest"
)

// TestKit: the sample passes, and each broken one is found by the right rule.
func TestKit(t *testing.T) {
	for way, rule := range map[string]string{
		"":                   "",
		"no id":              "create",
		"create again":       "create with the same key",
		"input lost":         "create",
		"unstable":           "get twice",
		"absent is an error": "get of no thing",
		"no keys":            "get by key",
		"not deleted":        "get after delete",
		"deleted twice":      "delete of no thing",
		"not running":        "watch",
		"no change":          "watch",
		"empty list":         "list",
		"short batch":        "batch",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "", plugin.Options{})
			p := b.load(fmt.Sprintf(`, "env": {%q: %q, %q: %q}`, toyFolder, b.dir, toyBroken, way))
			found, err := plugintest.Run(t.Context(), p, b.host, plugintest.Options{Wait: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			named := func(f plugintest.Finding) bool { return f.Check == rule }
			if (rule == "") != (len(found) == 0) || rule != "" && !slices.ContainsFunc(found, named) {
				t.Errorf("the findings are %v", found)
			}
			for _, f := range found {
				if !strings.Contains(f.String(), f.Token) {
					t.Errorf("%s does not name its type", f)
				}
			}
		})
	}
}
