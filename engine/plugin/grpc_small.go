//go:build small

package plugin

import (
	"errors"
	"net"

	"github.com/reactivegraph/mgmt/provider/protocol"
)

// newRemote refuses, since such a program has no gRPC.
func newRemote(net.Conn, string, func(*protocol.LogLine)) (Conn, error) {
	return nil, errors.New("this mgmt was built with the tag small, so it has no gRPC; write transport: lines, or take the whole mgmt")
}
