package inputs

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// LimitFlags are the flags that limit how much a daemon may change. The zero value sets no limit.
type LimitFlags struct {
	changes  budget
	flapping flapping
	removed  removals
	leaving  cli.Leaving
	approve  approval
	windows  windows
	expiry   cli.Seconds

	Policy PolicyFlag
}

// Flags adds the limits of changes. The defaults are those of the reactor, stated here
// once so that help shows them.
func (f *LimitFlags) Flags(cmd *cobra.Command) {
	f.flapping.Flapping, f.removed.Removals, f.expiry = reactor.DefaultFlapping(), reactor.DefaultRemovals, cli.Seconds(reactor.DefaultApproveExpiry)
	cli.Bind(cmd, "max_changes", &f.changes)
	cli.Bind(cmd, "max_removals", &f.removed)
	cli.Bind(cmd, "leaving", &f.leaving)
	cli.Bind(cmd, "approve", &f.approve)
	cli.Bind(cmd, "approve_expiry", &f.expiry)
	f.Policy.Flag(cmd)
	cli.Bind(cmd, "window", &f.windows)
	cli.Bind(cmd, "flapping", &f.flapping)
}

// Set copies the limits to o.
// To the engine, a nil Flapping means the default, and the zero value that nothing counts as
// flapping.
func (f *LimitFlags) Set(o *mgmt.Options) {
	o.MaxChanges, o.Flapping, o.MaxRemovals = f.changes.Budget, &f.flapping.Flapping, f.removed.Removals
	o.Leaving, o.Approve, o.Windows = engine.Leaving(f.leaving), f.approve.Approval, f.windows.Windows
	o.ApproveExpiry, o.Past = time.Duration(f.expiry), control.PastOf
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

// approval is the value of --approve.
type approval struct{ reactor.Approval }

// Type implements pflag.Value; help shows it.
func (a *approval) Type() string { return "changes" }

// Set implements pflag.Value.
func (a *approval) Set(s string) (err error) {
	a.Approval, err = reactor.ParseApproval(s)
	return err
}

// windows is the value of --window.
type windows struct{ reactor.Windows }

// Type implements pflag.Value; help shows it.
func (w *windows) Type() string { return "times" }

// Set implements pflag.Value.
func (w *windows) Set(s string) (err error) {
	w.Windows, err = reactor.ParseWindows(s)
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
