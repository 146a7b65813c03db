package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// limitFlags are the flags that bound how much a daemon may alter. A zero value bounds nothing.
type limitFlags struct {
	changes  budget
	flapping flapping
	removed  removals
	leaving  leaving
}

// flags adds the limits of changes. The defaults are those of the reactor, stated here
// once so that help shows them.
func (f *limitFlags) flags(cmd *cobra.Command) {
	f.flapping.Flapping, f.removed.Removals = reactor.DefaultFlapping(), reactor.DefaultRemovals
	bind(cmd, "max_changes", &f.changes)
	bind(cmd, "max_removals", &f.removed)
	bind(cmd, "leaving", &f.leaving)
	bind(cmd, "flapping", &f.flapping)
}

// set hands the limits to the engine.
// To the engine, a nil Flapping means the default, and the zero value that nothing counts as
// flapping.
func (f *limitFlags) set(o *mgmt.Options) {
	o.MaxChanges, o.Flapping, o.MaxRemovals = f.changes.Budget, &f.flapping.Flapping, f.removed.Removals
	o.Leaving = engine.Leaving(f.leaving)
}

// leaving is the value of --leaving.
type leaving engine.Leaving

// String implements pflag.Value.
func (l *leaving) String() string { return string(*l) }

// Type implements pflag.Value; help shows it.
func (l *leaving) Type() string { return "keep|undo|ask" }

// Set implements pflag.Value.
func (l *leaving) Set(s string) error {
	*l = leaving(s)
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

// removals is the value of --max-removals.
type removals struct{ reactor.Removals }

// The limits are values of flags: Type is the word that help shows, and Set reads the text
// by the parser of the reactor.
func (r *removals) Type() string { return "count,share" }

// Another text is an error that shows the forms.
func (r *removals) Set(s string) (err error) {
	r.Removals, err = reactor.ParseRemovals(s)
	return err
}

// budget is the value of --max-changes.
type budget struct{ reactor.Budget }

// Type implements pflag.Value; help shows it.
func (b *budget) Type() string { return "count/time" }

// Set implements pflag.Value.
func (b *budget) Set(s string) (err error) {
	b.Budget, err = reactor.ParseBudget(s)
	return err
}

// flapping is the value of --flapping.
type flapping struct{ reactor.Flapping }

// Type implements pflag.Value; help shows it.
func (f *flapping) Type() string { return "count/time" }

// Set implements pflag.Value.
func (f *flapping) Set(s string) (err error) {
	f.Flapping, err = reactor.ParseFlapping(s)
	return err
}
