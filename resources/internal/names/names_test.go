package names_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/names"
)

// TestCheckPackage: names of all package managers pass; options, paths and patterns do not.
func TestCheckPackage(t *testing.T) {
	check(t, names.CheckPackage,
		[]string{"git", "libstdc++6", "python3.12", "gcc-14-base", "foo:amd64", "0ad", "perl@5", "kernel_core"},
		[]string{"", "-y", "--purge", "./a.deb", "/tmp/a.rpm", "git*", "a b", "a\n", "ü", "git=1", "a;b", "+a"})
}

// TestCheckService: units and their instances pass. A template names no service.
func TestCheckService(t *testing.T) {
	check(t, names.CheckService,
		[]string{"nginx", "nginx.service", "getty@tty1", "getty@tty1.service", `dev-disk-by\x2dlabel.swap`, "a.timer", strings.Repeat("a", 247)},
		[]string{"", "-now", "a/b", "../a", "a b", "a*", "getty@", "getty@.service", "a\x00", strings.Repeat("a", 248)})
}

// TestService: a name and its unit are one, and another kind of unit keeps its suffix.
func TestService(t *testing.T) {
	for name, unit := range map[string]string{
		"nginx": "nginx.service", "nginx.service": "nginx.service", "a.timer": "a.timer", "a.b": "a.b.service", "x.slice": "x.slice",
	} {
		if got := names.ServiceUnit(name); got != unit {
			t.Errorf("the unit of %s is %s, want %s", name, got, unit)
		}
		if base := names.ServiceBase(unit); names.ServiceUnit(base) != unit {
			t.Errorf("%s has the base %s, which is the unit %s", unit, base, names.ServiceUnit(base))
		}
	}
}

// TestCheckHost: the bounds are those of the kernel, 64 bytes, and of a label, 63. The error calls
// the name as its caller does.
func TestCheckHost(t *testing.T) {
	host := func(name string) error { return names.CheckHost("the name of the machine", name) }
	check(t, host,
		[]string{"a", "web1", "web1.example.org", "1.2", strings.Repeat("a", 63), strings.Repeat("a.", 31) + "aa"},
		[]string{"", ".", "a.", ".a", "a..b", "-a", "a-", "a.-b", "a_b", "a b", "ü", "a/b", strings.Repeat("a", 64), strings.Repeat("a.", 32) + "a"})
	if err := host("a_b"); err == nil || !strings.Contains(err.Error(), `the name of the machine "a_b" has '_' in it`) {
		t.Errorf("the error does not name the character: %v", err)
	}
}

func check(t *testing.T, check func(string) error, good, bad []string) {
	t.Helper()
	for _, name := range good {
		if err := check(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for _, name := range bad {
		if err := check(name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}
