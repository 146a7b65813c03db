package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt/engine/httpd"
)

// Mode is the mode of the socket.
// Owner and group may connect; whether they may do more is decided for each request.
const Mode = 0o660

// Listener is a socket made by Listen.
type Listener = httpd.Socket

// BusyError says that another program listens on the socket.
// The error names the other daemon, so that a user can decide which one to end.
type BusyError struct {
	Path   string
	Daemon *Version // nil where it does not answer as mgmt does
}

func (e *BusyError) Error() string {
	if e.Daemon == nil {
		return fmt.Sprintf("another program listens on %s, name another socket with --socket", e.Path)
	}
	where := "a temporary state folder"
	if e.Daemon.StateDir != "" {
		where = "the state folder " + e.Daemon.StateDir
	}
	return fmt.Sprintf("another mgmt (pid %d, with %s) answers on %s, end that one or name another socket with --socket", e.Daemon.PID, where, e.Path)
}

// probeTimeout is how long a daemon may take to say who it is.
const probeTimeout = 2 * time.Second

// Listen makes the socket and listens on it, as httpd.Listen does. A socket with a
// listener is a *BusyError, with the daemon where it is one.
func Listen(ctx context.Context, path string) (*Listener, error) {
	l, err := httpd.Listen(ctx, path, httpd.SocketOptions{Mode: Mode, Flag: "--socket"})
	if _, ok := errors.AsType[*httpd.InUseError](err); !ok {
		return l, err
	}
	c := NewClient(path)
	c.patience = probeTimeout
	v, err := c.Version(ctx)
	if err != nil {
		v = nil
	}
	return nil, &BusyError{path, v}
}
