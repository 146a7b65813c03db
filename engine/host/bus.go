package host

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
)

func (h *Host) Bus(ctx context.Context, which engine.BusKind) (engine.Bus, error) {
	return nil, ErrClosed
}
