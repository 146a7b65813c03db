package cli

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
)

// Leaving is the value of --leaving.
type Leaving engine.Leaving

// String implements pflag.Value.
func (l *Leaving) String() string { return string(*l) }

// Type implements pflag.Value; help shows it.
func (l *Leaving) Type() string { return "keep|undo|ask" }

// Set implements pflag.Value.
func (l *Leaving) Set(s string) error {
	*l = Leaving(s)
	return checkLeaving(s)
}

// checkLeaving refuses what is no policy of leaving.
func checkLeaving(s string) error {
	switch engine.Leaving(s) {
	case engine.LeavingKeep, engine.LeavingUndo, engine.LeavingAsk:
		return nil
	}
	return fmt.Errorf("%q is none of keep, undo and ask", s)
}
