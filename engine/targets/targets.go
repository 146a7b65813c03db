package targets

import (
	"strings"

	"github.com/reactivegraph/mgmt/engine"
)

// Key is the parameter by which a resource says which target it is about.
const Key = "target"

// Qualify returns the name of a resource in a graph whose thing is on a target: NAME@TARGET. A name that has the
// target already, and one without a target, stay as they are.
func Qualify(name, target string) string {
	if target == "" || strings.HasSuffix(name, "@"+target) {
		return name
	}
	return name + "@" + target
}

// Unqualify is the inverse of Qualify: the name of the thing on the target.
func Unqualify(name, target string) string {
	if target == "" {
		return name
	}
	return strings.TrimSuffix(name, "@"+target)
}

// Of returns the target of a resource, empty for this machine.
func Of(r engine.Res) string {
	if t, ok := engine.As[engine.TargetedRes](r); ok {
		return t.Target()
	}
	return ""
}
