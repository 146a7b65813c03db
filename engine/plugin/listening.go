package plugin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// The variables of the environment of a provider that listens on a socket.
const (
	envSocket    = "MGMT_PLUGIN_SOCKET"
	envToken     = "MGMT_PLUGIN_TOKEN"
	envProtocols = "MGMT_PLUGIN_PROTOCOLS"
)

// tryWait is the time between two tries to reach a provider that does not listen yet.
const tryWait = 2 * time.Millisecond

// A path of a socket has at most 107 bytes, so it lies in the folder for temporary files and not in that of the state. The
// connection goes on without the name of the socket. So the folder goes as soon as there is a connection, and a daemon
// that is killed leaves none behind.
//
// listening starts the process, and connects to the socket on which it listens.
func (s *session) listening(ctx context.Context) (*running, error) {
	dir, err := s.plugin.socketFolder()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	env, at, token := maps.Clone(s.plugin.Env), filepath.Join(dir, "s"), rand.Text()
	if env == nil {
		env = map[string]string{}
	}
	env[envSocket], env[envToken] = at, token
	env[envProtocols] = fmt.Sprintf("%d-%d", max(s.plugin.Protocol.Min, protocol.MinVersion), min(s.plugin.Protocol.Max, protocol.MaxVersion))
	proc, err := s.start(ctx, env)
	if err != nil {
		return nil, err
	}
	conn, err := s.reach(ctx, at, proc)
	if err == nil {
		var r *running
		if r, err = s.overGRPC(conn, proc, token); err == nil {
			return r, nil
		}
	}
	proc.Stop(ctx)
	return nil, err
}

// socketFolder makes a folder that only the provider and root can enter.
func (p *Plugin) socketFolder() (string, error) {
	dir, err := os.MkdirTemp("", "mgmt-provider-")
	if err != nil {
		return "", fmt.Errorf("no folder for the socket of the provider %s: %w", p.Name, err)
	}
	if p.User == "" {
		return dir, nil
	}
	u, err := user.Lookup(p.User)
	if err == nil {
		var id int
		if id, err = strconv.Atoi(u.Uid); err == nil {
			err = os.Chown(dir, id, -1)
		}
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("the folder for the socket of the provider %s: %w", p.Name, err), os.RemoveAll(dir))
	}
	return dir, nil
}

// reach waits until the provider listens, and connects. It fails when the process has ended before, or has not listened in time.
func (s *session) reach(ctx context.Context, at string, proc engine.Process) (net.Conn, error) {
	timed, end := within(ctx, s.clock, greetWait)
	defer end()
	for {
		conn, err := (&net.Dialer{}).DialContext(timed, "unix", at)
		if err == nil {
			if err := s.plugin.peer(conn); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			return conn, nil
		}
		t := engine.NewTimer(s.clock, tryWait)
		select {
		case <-t.C:
		case <-timed.Done():
			t.Stop()
			return nil, fmt.Errorf("the provider %s does not listen on %s: %w", s.plugin.Name, envSocket, context.Cause(timed))
		case <-proc.Done():
			t.Stop()
			return nil, fmt.Errorf("the provider %s has ended before it has listened on %s", s.plugin.Name, envSocket)
		}
	}
}

// overGRPC speaks gRPC on a connection. The process is nil where mgmt was attached.
func (s *session) overGRPC(conn net.Conn, proc engine.Process, token string) (*running, error) {
	c, err := newRemote(conn, token, s.hear)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the provider %s: %w", s.plugin.Name, err), conn.Close())
	}
	return &running{conn: c, proc: proc, token: token}, nil
}
