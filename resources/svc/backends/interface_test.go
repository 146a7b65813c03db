package backends

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "git", "x_y", "mgmt-2.0", "getty@tty1", "a@b.timer", strings.Repeat("a", 247)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "-o", "../x", "/etc/passwd", "a b", "a\nb", "a;b", "é", "a=1", "\x00", "--", "a@", "a@.service", "a@.timer", strings.Repeat("a", 248), strings.Repeat("a", 300)} {
		if CheckName(name) == nil {
			t.Errorf("%q passes", name)
		}
	}
}
