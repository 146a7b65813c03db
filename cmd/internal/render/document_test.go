package render

import (
	"strings"
	"testing"
)

// TestFindingJ9Lines: a document on a line is as safe as an indented one.
func TestFindingJ9Lines(t *testing.T) {
	var b strings.Builder
	if err := WriteItem(&b, "json", map[string]string{"a\u202e": "b\u009b\xff<"}); err != nil || b.String() != `{"a\u202e":"b\u009b\ufffd<"}`+"\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
