package host

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
)

func (h *Host) Command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	return nil, ErrClosed
}
