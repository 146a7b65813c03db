package confined

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
)

// TestSum: a content is never shown, though it looks like what stands for one. Seen failing with a look at its beginning only.
func TestSum(t *testing.T) {
	sum := "(3 bytes, sha256:" + strings.Repeat("0f", 12) + ")"
	if line := (engine.Change{Field: "content", From: SumText(1<<40, make([]byte, 32)), To: "x"}).String(); strings.Contains(line, "...") {
		t.Errorf("there is no room for it in %s", line)
	}
	for content, shown := range map[string]bool{"": true, sum: true, "(3 bytes, sha256:secret)": false, sum + "\n": false, sum + "secret": false, "secret": false} {
		if got := Sum(content); (got == content) != shown {
			t.Errorf("%q is shown as %q", content, got)
		}
	}
}
