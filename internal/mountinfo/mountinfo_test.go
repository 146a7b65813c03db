package mountinfo_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/internal/mountinfo"
)

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{"": "", `/a\040b`: "/a b", `/x\134y`: `/x\y`, "/x": "/x", `/\0`: `/\0`, `\011\012`: "\t\n", `\999`: `\999`} {
		if got := mountinfo.Unescape(in); got != want {
			t.Errorf("%q is %q", in, got)
		}
	}
}
