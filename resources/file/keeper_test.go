package file

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/confined"
)

// A content is never shown, though it looks like what stands for one. Seen failing with a look at its beginning only.
func TestFileSum(t *testing.T) {
	sum := "(3 bytes, sha256:" + strings.Repeat("0f", 12) + ")"
	if line := (engine.Change{Field: "content", From: confined.SumText(1<<40, make([]byte, 32)), To: "x"}).String(); strings.Contains(line, "...") {
		t.Errorf("there is no room for it in %s", line)
	}
	for content, shown := range map[string]bool{"": true, sum: true, "(3 bytes, sha256:secret)": false, sum + "\n": false, sum + "secret": false, "secret": false} {
		if got := confined.Sum(content); (got == content) != shown {
			t.Errorf("%q is shown as %q", content, got)
		}
	}
}

// TestKeeper: a file that has grown beyond what is kept while it was read is not kept in part.
func TestKeeper(t *testing.T) {
	var k keeper
	chunk := make([]byte, keptMax/4)
	for i := range 6 {
		if n, err := k.Write(chunk); n != len(chunk) || err != nil {
			t.Fatal(n, err)
		}
		if want := (i + 1) * len(chunk); k.over != (want > keptMax) || !k.over && k.text.Len() != want || k.over && k.text.Len() != 0 {
			t.Errorf("after %d bytes it has %d, over %t", want, k.text.Len(), k.over)
		}
	}
}
