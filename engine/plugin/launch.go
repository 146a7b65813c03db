package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/program"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// greetWait is how long a provider may take until it has answered the handshake.
const greetWait = 30 * time.Second

// running is a process of a provider that has answered the handshake.
type running struct {
	conn  Conn
	proc  hosting.Process // nil where mgmt was attached to it
	token string          // by which mgmt shows that it has started the provider; empty over a descriptor
	hello protocol.HandshakeReply
}

// pid returns the number of the process; 0 where it is not ours.
func (r *running) pid() int {
	if r == nil || r.proc == nil {
		return 0
	}
	return r.proc.Pid()
}

// stop ends the process.
func (r *running) stop(ctx context.Context) {
	_ = r.conn.Close()
	if r.proc != nil {
		r.proc.Stop(ctx)
	}
}

// errRefused marks an error that another start cannot fix: the program has to be another one.
var errRefused = errors.New("refused")

// errMixed marks a program and a schema file of different releases. An upgrade may be between its files, so the next start may succeed.
var errMixed = errors.New("refused")

// renewed reports whether the text of the schema file has changed since it was loaded, where the owner of the Set wants to know.
func (p *Plugin) renewed() bool {
	text, err := p.opt.ReadFile(p.Schema)
	return err == nil && protocol.HashOf(text) != p.hash && p.opt.Changed != nil
}

// launch starts a process, and greets it. A process that does not answer as it should is ended again.
func (s *session) launch(ctx context.Context) (*running, error) {
	r, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	timed, end := within(ctx, s.clock, greetWait)
	defer end()
	if err := s.greet(timed, r); err != nil {
		r.stop(ctx)
		return nil, err
	}
	return r, nil
}

// connect starts the process, or finds the one to attach to.
func (s *session) connect(ctx context.Context) (*running, error) {
	p := s.plugin
	if at := p.opt.Attach[p.Name]; at != "" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", at)
		if err != nil {
			return nil, fmt.Errorf("the provider %s, to be attached to, does not answer: %w", p.Name, err)
		}
		if err := p.peer(conn); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		if p.Transport == transportGRPC {
			return s.overGRPC(conn, nil, "")
		}
		return &running{conn: newLines(conn, s.hear)}, nil
	}
	if p.Transport == transportGRPC {
		return s.listening(ctx)
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	proc, err := s.start(ctx, p.Env, theirs)
	if err != nil {
		ours.Close()
		return nil, err
	}
	return &running{conn: newLines(ours, s.hear), proc: proc}, nil
}

// start starts the program of the descriptor, with an environment.
func (s *session) start(ctx context.Context, env map[string]string, files ...*os.File) (hosting.Process, error) {
	p := s.plugin
	host, ok := s.host.(hosting.Starter)
	if !ok {
		return nil, errors.New("this machine cannot run providers")
	}
	if err := p.trusted(); err != nil {
		return nil, fmt.Errorf("the provider %s is not started: %w", p.Name, err)
	}
	proc, err := host.Start(ctx, engine.Command{
		Argv: p.Command, Dir: p.Dir, Env: program.Environment(env), User: p.User, Group: p.Group, Grace: p.Grace,
		Stdout: s.lines.add, Stderr: s.lines.add,
	}, files)
	if err != nil {
		return nil, fmt.Errorf("the provider %s cannot be started: %w", p.Name, err)
	}
	if p.Memory > 0 {
		if err := proc.Limit(uint64(p.Memory)); err != nil {
			proc.Stop(ctx)
			return nil, fmt.Errorf("the memory of the provider %s cannot be limited: %w", p.Name, err)
		}
	}
	return proc, nil
}

// A program without a slash comes from the PATH of root, and a program of another user has only the rights of that user. An
// argument that is a file may be the script that an interpreter runs. An interpreter may load more from the folder.
//
// trusted asks whether the program may run with the rights of the daemon.
func (p *Plugin) trusted() error {
	if p.opt.Trust == nil || p.User != "" && p.User != "root" {
		return nil
	}
	paths := []string{p.Dir}
	if strings.Contains(p.Command[0], "/") {
		paths = append(paths, p.Command[0])
	}
	for _, arg := range p.Command[1:] {
		_, value, _ := strings.Cut(arg, "=") // of --option=value
		for _, path := range []string{from(p.Dir, arg), from(p.Dir, value)} {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				paths = append(paths, path)
			}
		}
	}
	var errs []error
	for _, path := range paths {
		errs = append(errs, p.opt.Trust(path))
	}
	return errors.Join(errs...)
}

// peer refuses a socket at whose other end is the process of a user that could not run the provider either. Such a user would
// get the secrets of the graph.
func (p *Plugin) peer(conn net.Conn) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) { cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil {
		return err
	}
	if asked != nil {
		return asked
	}
	if cred.Uid == 0 || int(cred.Uid) == os.Geteuid() {
		return nil
	}
	if u, err := user.Lookup(p.User); p.User != "" && err == nil && u.Uid == strconv.Itoa(int(cred.Uid)) {
		return nil
	}
	return fmt.Errorf("the provider %s runs as the user %d, to whom mgmt gives no secrets; run it as the user %d, or name its user in the descriptor",
		p.Name, cred.Uid, os.Geteuid())
}

// socketPair returns two ends of a stream: one for this process, and one to hand on.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.StreamPair()
	if err != nil {
		return nil, nil, fmt.Errorf("no socket for a provider: %w", err)
	}
	a, b := os.NewFile(uintptr(fds[0]), "mgmt"), os.NewFile(uintptr(fds[1]), "provider")
	defer a.Close()
	ours, err := net.FileConn(a)
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	return ours, b, nil
}

// greet agrees on a version, and checks that the program is that of the schema.
func (s *session) greet(ctx context.Context, r *running) error {
	p := s.plugin
	versions := protocol.Range{Min: max(p.Protocol.Min, protocol.MinVersion), Max: min(p.Protocol.Max, protocol.MaxVersion)}
	err := r.conn.Call(ctx, protocol.MethodHandshake, &protocol.HandshakeRequest{
		Protocols: versions, Features: []string{protocol.FeatureBatch, protocol.FeatureList, protocol.FeatureWatch},
		Program: p.opt.Program, Version: p.opt.Version, Token: r.token,
	}, &r.hello)
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return fmt.Errorf("the provider %s has %w the connection: %w", p.Name, errRefused, e)
	}
	if err != nil {
		return fmt.Errorf("the provider %s has not answered the handshake: %w", p.Name, err)
	}
	switch h := r.hello; {
	case h.Protocol < versions.Min || h.Protocol > versions.Max:
		return fmt.Errorf("the provider %s is %w: it wants to speak version %d of the protocol, and mgmt speaks %d to %d",
			p.Name, errRefused, h.Protocol, versions.Min, versions.Max)
	case h.Name != p.Name:
		return fmt.Errorf("the provider %s is %w: the program says that it is %q", p.Name, errRefused, h.Name)
	case h.SchemaHash != p.hash:
		return fmt.Errorf("the provider %s is %w: its schema (version %s) has the hash %.12s, and %s has %.12s (version %s); install the schema file of this program",
			p.Name, errMixed, h.Version, h.SchemaHash, p.Schema, p.hash, p.Version())
	}
	if h := r.hello; p.Version() != protocol.NoVersion && h.Version != p.Version() {
		s.logger().Warn("the program has another version than its schema file", "version", h.Version, "schema", p.Version())
	}
	err = r.conn.Call(ctx, protocol.MethodConfigure, &protocol.ConfigureRequest{Config: p.Config}, nil)
	if err != nil {
		return fmt.Errorf("the provider %s refuses its configuration: %w", p.Name, err)
	}
	return nil
}

// hear logs a line that a provider has sent.
func (s *session) hear(l *protocol.LogLine) {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(l.Level))
	s.logger().Log(context.Background(), level, "a provider says", "line", s.hidden.Clean(l.Message), "resource", s.hidden.Clean(l.Subject))
}

// within returns a context that ends after a time by a clock.
func within(ctx context.Context, clock clock.Clock, d time.Duration) (context.Context, func()) {
	timed, cancel := context.WithCancelCause(ctx)
	stop := clock.AfterFunc(d, func() { cancel(fmt.Errorf("it has not answered within %s", d)) })
	return timed, func() {
		stop()
		cancel(nil)
	}
}
