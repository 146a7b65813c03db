package cmd

import (
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// brakeFlags say when the engine stops altering things.
type brakeFlags struct {
	changes budget
	fight   fight
	removed removals
}

func (f *brakeFlags) flags(cmd *cobra.Command) {
	f.fight.Flapping, f.removed.Removals = reactor.DefaultFlapping(), reactor.DefaultRemovals
	bind(cmd, "max_changes", &f.changes)
	bind(cmd, "max_removals", &f.removed)
	bind(cmd, "fight", &f.fight)
}

func (f *brakeFlags) set(o *mgmt.Options) {
	o.MaxChanges, o.Flapping, o.MaxRemovals = f.changes.Budget, &f.fight.Flapping, f.removed.Removals
}

// removals is the value of --max-removals.
type removals struct{ reactor.Removals }

func (r *removals) Type() string { return "count,share" }

func (r *removals) Set(s string) (err error) {
	r.Removals, err = reactor.ParseRemovals(s)
	return err
}

// budget is the value of --max-changes.
type budget struct{ mgmt.Budget }

func (b *budget) Type() string { return "count/time" }

func (b *budget) Set(s string) (err error) {
	b.Budget, err = reactor.ParseBudget(s)
	return err
}

// fight is the value of --fight.
type fight struct{ mgmt.Flapping }

func (f *fight) Type() string { return "count/time" }

func (f *fight) Set(s string) (err error) {
	f.Flapping, err = reactor.ParseFlapping(s)
	return err
}
