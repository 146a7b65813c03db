package virtual

import (
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
)

// A SystemFunc says what a machine is. Facts that are given are those of the machine, so that it need not read them; nil for none.
type SystemFunc func(Facts) System

// LocalSystem returns what this machine is: its facts, which are read again when they have changed, and its programs, as they are
// when it is asked. Where this is no Linux, it is no machine that a graph could run on, and so Unknown.
func LocalSystem(facts func() engine.Facts) SystemFunc {
	return func(known Facts) System {
		if known == nil {
			return host.MachineOf(facts())
		}
		return host.MachineWith(known)
	}
}
