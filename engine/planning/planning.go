package planning

import (
	"github.com/reactivegraph/mgmt/engine"
)

// PartlyRooted does more than an engine.RootedRes does, such as to set a value in the kernel, and writes files, too. A plan knows what it would
// write to these.
type PartlyRooted interface {
	engine.Res
	// RootedPart returns a resource without a life that does no more than to write the paths, as an engine.RootedRes does, and the fields of
	// the changes that are done by that. A part that is nil writes what nobody knows before a run. It only computes.
	RootedPart() (part engine.Res, writes, fields []string)
}

// Host is a Host that knows, in a plan, what resources above would do. Elsewhere they would do nothing.
type Host interface {
	engine.Host
	// Makes reports whether one of them would make a thing, such as the user that another one needs.
	Plans(kind, name string) bool
	// Untold says, in CheckApply, that its outcome rests on something that they may alter, and that nothing can tell before they
	// have run: what a command answers.
	Untold()
	// Frees says, in CheckApply, that the resource will speak for a path no more when its work is done, so that a folder above is free
	// to clear it. It reports whether the work counts as done.
	Frees(path string) bool
}

// Makes reports whether a thing that is not there would be, once the resources above have run: h is the Host of a plan. A run
// plans nothing.
func Makes(h engine.Host, kind, name string) bool {
	p, ok := h.(Host)
	return ok && p.Plans(kind, name)
}

// Frees calls Host.Frees where there is one. In a run no work counts as done before it is.
func Frees(h engine.Host, path string) bool {
	p, ok := h.(Host)
	return ok && p.Frees(path)
}

// Untold calls Host.Untold where there is one.
func Untold(h engine.Host) {
	if p, ok := h.(Host); ok {
		p.Untold()
	}
}
