package derive

import (
	"strings"
	"testing"
)

// TestTextKeepsCode: an example in the documentation stays as it was written, and
// a heading loses its marks.
func TestTextKeepsCode(t *testing.T) {
	doc := "It does.\n\n    file:\n    - name: /x\n\n      mode: \"0644\"\n\n## When\n\nAlways, and\nagain."
	got := Text(Kind{Name: "k", Doc: doc}, 60)
	want := "k\n\n  It does.\n\n      file:\n      - name: /x\n\n        mode: \"0644\"\n\nWhen\n\n  Always, and again.\n"
	if !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
