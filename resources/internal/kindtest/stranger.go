package kindtest

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

// Stranger is a resource of another kind, which does nothing, for tests of refusals. It is given to Clashes, Reversed and the like, which have to return
// an error rather than panic.
type Stranger struct{ traits.Base }

// Default has no parameters. Default returns a new one, so that a registry can take
// it.
func (*Stranger) Default() engine.Res { return &Stranger{} }

// Validate finds nothing wrong.
func (*Stranger) Validate() error { return nil }

// Init keeps nothing.
func (*Stranger) Init(*engine.Init) error { return nil }

// Cleanup has nothing to release.
func (*Stranger) Cleanup() error { return nil }

// Watch waits for its end.
func (*Stranger) Watch(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// CheckApply finds it right.
func (*Stranger) CheckApply(context.Context, bool) (bool, error) { return true, nil }

// Cmp compares the kind. Two strangers are always equal, as they have no parameters.
func (r *Stranger) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }
