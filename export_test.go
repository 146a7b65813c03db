package mgmt

import (
	"context"
	"time"

	"github.com/reactivegraph/mgmt/gapi"
)

// RunWithGrace is Run with another time after the end of MaxRuntime, for which methods that ignore it are waited for.
func RunWithGrace(ctx context.Context, o Options, f gapi.Frontend, grace time.Duration) error {
	e, err := start(ctx, options{Options: o, grace: grace}, f)
	if err != nil {
		return err
	}
	return e.Wait()
}
