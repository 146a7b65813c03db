package targets_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/targets"
)

// TestQualify: Unqualify takes back what Qualify has added, and a second Qualify changes nothing.
func TestQualify(t *testing.T) {
	for _, c := range []struct{ name, target, want string }{
		{"/etc/motd", "", "/etc/motd"},
		{"/etc/motd", "web", "/etc/motd@web"},
		{"/etc/motd@web", "web", "/etc/motd@web"},
		{"/etc/motd@web", "db", "/etc/motd@web@db"},
		{"", "web", "@web"},
	} {
		if got := targets.Qualify(c.name, c.target); got != c.want {
			t.Errorf("NameOn(%q, %q) = %q, want %q", c.name, c.target, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name, target := rapid.String().Draw(t, "name"), rapid.StringMatching(`[a-z.@]*`).Draw(t, "target")
		on := targets.Qualify(name, target)
		if targets.Qualify(on, target) != on {
			t.Errorf("NameOn(%q, %q) is %q, and of that another one", name, target, on)
		}
		if !strings.HasSuffix(name, "@"+target) && targets.Unqualify(on, target) != name {
			t.Errorf("%q on %q is %q, and off it %q", name, target, on, targets.Unqualify(on, target))
		}
	})
}

// here is a resource that is about this machine.
type here struct{ engine.Res }

// elsewhere is a resource that may have a target.
type elsewhere struct {
	engine.Res
	target string
}

func (*elsewhere) Targeted() bool   { return true }
func (e *elsewhere) Target() string { return e.target }

func TestOf(t *testing.T) {
	if got := targets.Of(here{}); got != "" {
		t.Errorf("a resource without targets is on %q", got)
	}
	if got := targets.Of(&elsewhere{target: "web"}); got != "web" {
		t.Errorf("the target is %q", got)
	}
}
