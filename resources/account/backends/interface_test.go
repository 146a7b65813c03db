package backends

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(holdVariable); path != "" {
		if err := hold(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "git", "x_y", "mgmt-2.0"} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "-o", "../x", "/etc/passwd", "a b", "a\nb", "a;b", "é", "a=1", "\x00", "--", "123", "0", "12a", "a:b", "a,b", ".", "..", "$", strings.Repeat("a", 33), "a\n"} {
		if CheckName(name) == nil {
			t.Errorf("%q passes", name)
		}
	}
}

// TestChecks: what would be another field, another line or another thing is refused, and a
// text is not shown, for it may be a password.
func TestChecks(t *testing.T) {
	for what, c := range map[string]struct {
		check     func(string) error
		good, bad []string
	}{
		"text": {CheckText, []string{"", "Anna A, 1", "Änne"}, []string{"secret:x", "secret\nx", "secret\r", "secret\xff", "secret\x00"}},
		"path": {CheckPath, []string{"/", "/home/a b", "/a..b"}, []string{"", "secret", "/secret:x", "/a/../secret", "/..", "/secret\n"}},
		"day":  {CheckDay, []string{"1970-01-01", "2030-12-31"}, []string{"", "tomorrow", "1969-12-31", "2030-02-30", "2030-1-1"}},
		"hash": {CheckHash, []string{"!", "*", "!!", "!$6$a$b", "$y$j9T$a$b"}, []string{"", "secret", "$6$a$se cret", "$6$a$b:secret", "$6$a$b\nsecret"}},
	} {
		for _, text := range c.good {
			if err := c.check(text); err != nil {
				t.Errorf("%s %q: %v", what, text, err)
			}
		}
		for _, text := range c.bad {
			err := c.check(text)
			if err == nil || (what == "hash" || what == "text") && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s %q: %v", what, text, err)
			}
		}
	}
}
