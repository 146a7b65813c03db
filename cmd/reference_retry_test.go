package cmd

import (
	"os"
	"regexp"
	"testing"
)

// TestFindingC1DefaultOfRetry: the reference does not give 0, which is never, as the default of retry: without it a failed
// resource is tried again for ever.
func TestFindingC1DefaultOfRetry(t *testing.T) {
	text, err := os.ReadFile("../docs/reference/yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `retry` \\|[^|]*\\|([^|]*)\\| (.*) \\|$").FindSubmatch(text)
	if row == nil || len(regexp.MustCompile(`\S`).Find(row[1])) > 0 || !regexp.MustCompile("If absent, mgmt tries for ever").Match(row[2]) {
		t.Errorf("the row of retry is %q", row)
	}
}
