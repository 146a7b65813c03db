package backends

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "git", "x_y", "mgmt-2.0"} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "-o", "../x", "/etc/passwd", "a b", "a\nb", "a;b", "é", "a=1", "\x00", "--"} {
		if CheckName(name) == nil {
			t.Errorf("%q passes", name)
		}
	}
}
