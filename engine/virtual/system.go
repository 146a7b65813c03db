package virtual

import (
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
)

// LocalSystem returns a function that says what this machine is: its facts, which
// are read again when they have changed, and its programs, as they are when it is asked. Where this is no Linux, it is
// no machine that a graph could run on, and so Unknown.
func LocalSystem(facts func() engine.Facts) func() System {
	return func() System { return host.MachineOf(facts()) }
}
