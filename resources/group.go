package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
)

// initGroup gives each member of a group its own handle. On an error the members
// that were initialised are cleaned up again.
func initGroup(init *engine.Init, members []engine.Res) error {
	for i, m := range members {
		if err := m.Init(init.Child(m)); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", m, err), cleanupGroup(members[:i]))
		}
	}
	return nil
}

// cleanupGroup cleans up all members, in reverse, whatever one of them says.
func cleanupGroup(members []engine.Res) error {
	var errs []error
	for i := len(members) - 1; i >= 0; i-- {
		if err := members[i].Cleanup(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", members[i], err))
		}
	}
	return errors.Join(errs...)
}

// checkGroup runs the members after their owner, whose answer is given. One that
// fails does not keep the others from running.
func checkGroup(ctx context.Context, apply bool, ok bool, members []engine.Res) (bool, error) {
	var errs []error
	for _, m := range members {
		good, err := m.CheckApply(ctx, apply)
		ok = ok && good
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return false, err
	}
	return ok, nil
}
