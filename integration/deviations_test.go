package integration_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
)

const deviationsPage = "../docs/reference/puppet-deviations.md"

// TestDeviationsPageIsFresh: the page that says where types as data behave otherwise
// than on Puppet is what the tests of the cases go by.
func TestDeviationsPageIsFresh(t *testing.T) {
	want := deviationsText()
	if *update {
		if err := os.WriteFile(deviationsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(deviationsPage)
	if err != nil || string(got) != want {
		t.Errorf("%s is stale (%v), run make docs", deviationsPage, err)
	}
}

func deviationsText() string {
	var b strings.Builder
	b.WriteString(`# Where types as data differ from Puppet

Over 900 outcomes were seen on Puppet 7 and 8 with the library of its Resource API: type
expressions, values, definitions, log lines, whole runs. A test runs each of them here. Most
come out the same; this page, which is generated from the list of the tests, names the others
and says why. Where the specification of the Resource API and its implementation disagree,
the specification wins. Differences of the command line are in
[one thing at a time](../resource-verb.md), what catalogs can't express in
[Puppet catalogs](puppet-catalogs.md).

## Whole runs

`)
	for _, d := range lifeDeviations {
		fmt.Fprintf(&b, "- %s.\n", sentence(d.reason))
	}
	b.WriteString("- What Set has changed is read again, unless the definition has the feature `unverified`; Puppet believes it. The runs are compared with that feature.\n")
	b.WriteString("- Set is called with all resources that are due together, Get once; Puppet calls Set for each, and Get again for each that is absent.\n")
	for _, part := range []struct {
		title string
		list  []puppettype.Deviation
	}{
		{"Definitions and titles", puppettype.DefinitionDeviations()},
		{"The log", puppettype.LogDeviations()},
		{"Types and values", puppettype.Deviations()},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n", part.title)
		seen := map[string]bool{}
		slices.SortStableFunc(part.list, func(a, b puppettype.Deviation) int { return cmp.Compare(a.File, b.File) })
		for _, d := range part.list {
			if !seen[d.Reason] {
				fmt.Fprintf(&b, "- %s\n", d.Reason)
			}
			seen[d.Reason] = true
		}
	}
	return b.String()
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
