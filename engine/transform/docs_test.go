package transform_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/transform"
)

// The page for users has the table of the rules as they are.
func TestTheDocsHaveTheRules(t *testing.T) {
	page, err := os.ReadFile("../../docs/transforms.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, r := range transform.MetaRules() {
		if r.Key == "-" {
			continue // no graph can say it
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", r.Key, r.Rule, r.Why)
	}
	if !strings.Contains(string(page), "| --- | --- | --- |\n"+table.String()+"\n") {
		t.Errorf("docs/transforms.md needs the table\n%s", table.String())
	}
}
