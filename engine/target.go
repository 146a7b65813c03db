package engine

// TargetedRes may be about another machine or device than this one, which is called a target. It has a parameter
// target (targets.Key), which is text. In a graph its name has the target behind it, see targets.Qualify, so that two resources
// may be about things of the same name on two targets.
type TargetedRes interface {
	Res
	// Targeted reports whether resources of the kind may have a target: others lack the parameter,
	// or use its name for something else.
	Targeted() bool
	// Target returns the name of the target, empty for this machine. It only computes.
	Target() string
}
