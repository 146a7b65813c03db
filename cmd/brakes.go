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
	f.fight.Fight, f.removed.Removals = reactor.DefaultFight(), reactor.DefaultRemovals
	fl := cmd.Flags()
	fl.Var(&f.changes, "max-changes", "how much may change: a number or a share of the graph, in a time, as in 20/5m or 10%/1h; past it what wants to change is held until mgmt resume")
	fl.Lookup("max-changes").DefValue = ""
	fl.Var(&f.removed, "max-removals", "how many resources a new graph may remove: a number, a share as 20%, both, of which it must pass both to be held until mgmt resume, or off")
	fl.Var(&f.fight, "fight", "how often, in which time, a resource must be corrected against the same other value to be left alone for a while; off for never")
}

func (f *brakeFlags) set(o *mgmt.Options) {
	o.MaxChanges, o.Fight, o.MaxRemovals = f.changes.Budget, &f.fight.Fight, f.removed.Removals
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
type fight struct{ mgmt.Fight }

func (f *fight) Type() string { return "count/time" }

func (f *fight) Set(s string) (err error) {
	f.Fight, err = reactor.ParseFight(s)
	return err
}
