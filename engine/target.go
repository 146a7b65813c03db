package engine

import "strings"

// TargetKey is the parameter by which a resource says which target it is about.
const TargetKey = "target"

// TargetedRes may be about another machine or device than this one, which is called a target. It has a parameter
// TargetKey, which is text. In a graph its name has the target behind it, see NameOn, so that two resources
// may be about things of the same name on two targets.
type TargetedRes interface {
	Res
	// Targeted reports whether resources of the kind may have a target: others lack the parameter,
	// or use its name for something else.
	Targeted() bool
	// Target returns the name of the target, empty for this machine. It only computes.
	Target() string
}

// NameOn returns the name of a resource in a graph whose thing is on a target: NAME@TARGET. A name that has the
// target already, and one without a target, stay as they are.
func NameOn(name, target string) string {
	if target == "" || strings.HasSuffix(name, "@"+target) {
		return name
	}
	return name + "@" + target
}

// NameOff is the inverse of NameOn: the name of the thing on the target.
func NameOff(name, target string) string {
	if target == "" {
		return name
	}
	return strings.TrimSuffix(name, "@"+target)
}

// TargetOf returns the target of a resource, empty for this machine.
func TargetOf(r Res) string {
	if t, ok := As[TargetedRes](r); ok {
		return t.Target()
	}
	return ""
}
