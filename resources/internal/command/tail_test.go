package command

import (
	"fmt"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	var tl Tail
	for i := range 100 {
		tl.Add(fmt.Appendf(nil, "  line %d\r", i))
	}
	tl.Add([]byte("   "))
	tl.Add([]byte(strings.Repeat("x", 1000) + "\xff"))
	want := "line 96; line 97; line 98; line 99; " + strings.Repeat("x", tailLine) + "..."
	if got := tl.String(); got != want {
		t.Errorf("got %q", got)
	}
}
