package plugin

import (
	"context"
	"fmt"
)

// dial is for the transport grpc, which this program has not.
func (s *session) dial(context.Context) (*running, error) {
	return nil, fmt.Errorf("the provider %s is %w: this mgmt speaks JSON lines only; write transport: lines", s.plugin.Name, errRefused)
}
