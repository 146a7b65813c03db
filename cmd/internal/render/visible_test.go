package render

import (
	"strings"
	"testing"
)

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[2J\r\n\xff\u202e")
	f.Fuzz(func(t *testing.T, in string) {
		for line := range strings.SplitSeq(Visible(in), "\n") {
			if i := strings.IndexFunc(line, isControl); i >= 0 {
				t.Errorf("%q shows %q", in, line[i:])
			}
		}
	})
}
