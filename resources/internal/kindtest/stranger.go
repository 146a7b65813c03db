package kindtest

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

// Stranger is a resource of another kind, which does nothing, for tests of what a kind refuses.
type Stranger struct{ traits.Base }

// Default has no parameters.
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

// Cmp compares the kind.
func (r *Stranger) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }
