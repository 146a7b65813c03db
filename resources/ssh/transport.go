package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Definition describes the transport.
var definition = provider.TransportDefinition{
	Name: "ssh",
	Doc: "A machine with an SSH server. The commands of a type run there as they would run here, without a shell of their own. " +
		"The target needs a POSIX shell; with `flock`, no command of a lost connection runs at the same time as a later one.",
	ConnectionInfo: []provider.Attribute{
		{Name: "host", Type: "String[1]", Doc: "The name or the address of the machine."},
		{Name: "port", Type: "Integer[1, 65535]", Doc: "The port of its SSH server.", Default: int64(22), HasDefault: true},
		{Name: "user", Type: "String[1]", Doc: "Who the commands run as.", Default: "root", HasDefault: true},
		{Name: "identity_file", Type: `Optional[Pattern[/\A\//]]`, Doc: "The file with the private key. No other user may be able to read it."},
		{Name: "passphrase", Type: "Optional[String[1]]", Doc: "Opens the private key.", Sensitive: true},
		{Name: "password", Type: "Optional[String[1]]", Doc: "Of the user, where the server takes passwords.", Sensitive: true},
		{Name: "host_key", Type: "Optional[String[1]]", Doc: "The public key of the machine, as ssh-keyscan shows it: type and key, without the host. It is used instead of known_hosts."},
		{Name: "known_hosts", Type: `Pattern[/\A\//]`, Doc: "The file with the public keys of machines.", Default: "/etc/ssh/ssh_known_hosts", HasDefault: true},
		{Name: "connect_timeout", Type: "Integer[1, 600]", Doc: "How many seconds connecting may take.", Default: int64(10), HasDefault: true},
		{Name: "keepalive", Type: "Integer[1, 600]", Doc: "After so many seconds the machine is asked whether it is still there; after three of them without an answer the connection is lost.", Default: int64(15), HasDefault: true},
	},
}

func init() { provider.RegisterTransport(definition, Connect) }

// conn is a connection.
type conn struct {
	// client is safe for concurrent use. It ends with Close, or when keepAlive gives it up.
	client *ssh.Client
	// every is the time between two keepalives, and clock is that of the host.
	every time.Duration
	clock clock.Clock
	turn  chan struct{} // of capacity 1; full while a command runs

	stop  chan struct{} // ends the keepalives
	ended chan struct{} // they have ended
	once  sync.Once
}

// Connect connects to a target.
func Connect(ctx context.Context, l *provider.Line, info provider.Record) (provider.Transport, error) {
	i := settings{info}
	config, err := i.config()
	if err != nil {
		return nil, err
	}
	// One limit holds for the connection and for the handshake together. Its cause is the error
	// that the user sees.
	limit := i.seconds("connect_timeout")
	ctx, cancel := clock.WithTimeout(ctx, engine.ClockOf(l.Host), limit, fmt.Errorf("%s has not answered within %s", i.address(), limit))
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", i.address())
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	// The library knows no context during the handshake. A closed socket ends it.
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	c, channels, requests, err := ssh.NewClientConn(raw, i.address(), config)
	if !stop() && err == nil {
		c.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		raw.Close()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, i.explain(err)
	}
	t := &conn{client: ssh.NewClient(c, channels, requests), every: i.seconds("keepalive"), clock: engine.ClockOf(l.Host), turn: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
	go t.keepAlive()
	return t, nil
}

// Verify asks the server for a sign of life.
func (t *conn) Verify(ctx context.Context) error {
	// The channel has room for the answer, so the goroutine ends also when no one waits for it any
	// more.
	answered := make(chan error, 1)
	go func() { // it ends with the answer, or with the connection, which who gets an error of Verify closes
		_, _, err := t.client.SendRequest("keepalive@openssh.com", true, nil)
		answered <- err
	}()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// misses is how many keepalives may stay without an answer.
const misses = 3

// keepAlive closes a connection that does not answer.
func (t *conn) keepAlive() {
	defer close(t.ended)
	tick := clock.NewTicker(t.clock, t.every)
	defer tick.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-tick.C:
		}
		// The first of the three was the interval before this question.
		ctx, cancel := clock.WithTimeout(context.Background(), t.clock, t.every*(misses-1), nil)
		err := t.Verify(ctx)
		cancel()
		if err != nil {
			t.client.Close()
			<-t.stop
			return
		}
	}
}

// Close ends the connection.
func (t *conn) Close() error {
	var err error
	t.once.Do(func() {
		close(t.stop)
		if err = t.client.Close(); errors.Is(err, net.ErrClosed) {
			err = nil
		}
		<-t.ended
	})
	return err
}

// settings is the connection info.
type settings struct{ of provider.Record }

// text returns a value as text, empty for an absent one. It opens a secret: its callers hand the
// text to the library alone.
func (s settings) text(name string) string {
	switch v := s.of[name].(type) {
	case string:
		return v
	case schema.Secret:
		return v.Reveal()
	// A value of the data may be marked as sensitive, and hold a secret of ours in that.
	case puppettype.Sensitive:
		switch v := v.Reveal().(type) {
		case string:
			return v
		case schema.Secret:
			return v.Reveal()
		}
	}
	return ""
}

// number returns a value that the type has checked; 0 for an absent one.
func (s settings) number(name string) int64 {
	n, _ := s.of[name].(int64)
	return n
}

// seconds returns a value that is declared in seconds.
func (s settings) seconds(name string) time.Duration {
	return time.Duration(s.number(name)) * time.Second
}

// address returns host:port, with brackets around an address of IPv6.
func (s settings) address() string {
	return net.JoinHostPort(s.text("host"), strconv.FormatInt(s.number("port"), 10))
}

// config is what the client needs to know.
func (s settings) config() (*ssh.ClientConfig, error) {
	c := &ssh.ClientConfig{User: s.text("user"), ClientVersion: "SSH-2.0-mgmt"}
	// The key is tried before the password, as ssh does.
	if path := s.text("identity_file"); path != "" {
		key, err := readKey(path, s.text("passphrase"))
		if err != nil {
			return nil, err
		}
		c.Auth = append(c.Auth, ssh.PublicKeys(key))
	}
	if word := s.text("password"); word != "" {
		c.Auth = append(c.Auth, ssh.Password(word), ssh.KeyboardInteractive(func(_, _ string, questions []string, echos []bool) ([]string, error) {
			answers := make([]string, len(questions))
			for i := range questions {
				// A password is asked for without an echo. Any other question, as for a code, has
				// no answer here.
				if echos[i] {
					return nil, errors.New("the server asks for more than a password")
				}
				answers[i] = word
			}
			return answers, nil
		}))
	}
	if len(c.Auth) == 0 {
		return nil, errors.New("it has neither identity_file nor password")
	}
	return c, s.hostKeys(c)
}

// hostKeys has the key of the host checked.
func (s settings) hostKeys(c *ssh.ClientConfig) error {
	if text := s.text("host_key"); text != "" {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
		if err != nil {
			return fmt.Errorf("host_key is no public key, such as ssh-ed25519 AAAA...: %w", err)
		}
		c.HostKeyCallback, c.HostKeyAlgorithms = ssh.FixedHostKey(key), algorithms(key.Type())
		return nil
	}
	path := s.text("known_hosts")
	check, err := knownhosts.New(path)
	if err != nil {
		return fmt.Errorf("known_hosts: %w", err)
	}
	c.HostKeyCallback = check
	c.HostKeyAlgorithms = s.knownTypes(check)
	return nil
}

// knownTypes are the algorithms of the keys that the file has of the host: the server would else
// offer a key that is not in it.
func (s settings) knownTypes(check ssh.HostKeyCallback) []string {
	var list []string
	err := check(s.address(), &net.TCPAddr{IP: net.IPv4zero}, unknownKey{})
	if e, ok := errors.AsType[*knownhosts.KeyError](err); ok {
		for _, known := range e.Want {
			list = append(list, algorithms(known.Key.Type())...)
		}
	}
	return list
}

// unknownKey is a key that no file has.
type unknownKey struct{}

func (unknownKey) Type() string                        { return "none" }
func (unknownKey) Marshal() []byte                     { return nil }
func (unknownKey) Verify([]byte, *ssh.Signature) error { return errors.New("it is no key") }

// algorithms are the ways to sign with a type of key.
func algorithms(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

// explain says how to proceed after an error of the handshake.
func (s settings) explain(err error) error {
	if e, ok := errors.AsType[*knownhosts.KeyError](err); ok {
		if len(e.Want) == 0 {
			return &HostKeyError{Address: s.address(), Known: s.text("known_hosts"), Err: err}
		}
		return &HostKeyError{Address: s.address(), Known: s.text("known_hosts"), Changed: true, Err: err}
	}
	if s.text("host_key") != "" && strings.Contains(err.Error(), "host key mismatch") {
		return &HostKeyError{Address: s.address(), Known: "host_key", Changed: true, Err: err}
	}
	if text := err.Error(); strings.Contains(text, "unable to authenticate") || strings.Contains(text, "unexpected message type 51") { // which is a refusal
		return &AuthError{Address: s.address(), User: s.text("user"), Err: err}
	}
	return fmt.Errorf("%s: %w", s.address(), err)
}

// HostKeyError says that the machine is not known to be the intended one.
type HostKeyError struct {
	Address string
	Known   string // what has the keys: a file, or host_key
	Changed bool   // there is another key of the host
	Err     error
}

func (e *HostKeyError) Error() string {
	if e.Changed {
		return fmt.Sprintf("%s has another host key than %s says: it is another machine, or was installed anew; nothing was sent to it", e.Address, e.Known)
	}
	return fmt.Sprintf("the host key of %s is not in %s: add the line that ssh-keyscan shows, after you have compared it, or set host_key; nothing was sent to it", e.Address, e.Known)
}

// Unwrap returns the error of the library.
func (e *HostKeyError) Unwrap() error { return e.Err }

// AuthError says that the server has not let the user in.
type AuthError struct {
	Address, User string
	Err           error
}

func (e *AuthError) Error() string {
	return fmt.Sprintf("%s does not let %s in: the key or the password is wrong, or not allowed there (%v)", e.Address, e.User, e.Err)
}

// Unwrap returns what the library said.
func (e *AuthError) Unwrap() error { return e.Err }

// readKey reads a private key.
func readKey(path, passphrase string) (ssh.Signer, error) {
	f, err := safepath.System().Open(path)
	if err != nil {
		return nil, fmt.Errorf("identity_file: %w", err)
	}
	defer f.Close()
	// The open file is asked, and not its path: the path may lead elsewhere by now.
	if st, err := f.Stat(); err != nil || st.Mode()&0o077 != 0 {
		return nil, fmt.Errorf("identity_file: other users can read or write %s: chmod 600", path)
	}
	text, err := readAll(f)
	if err != nil {
		return nil, fmt.Errorf("identity_file: %w", err)
	}
	key, err := ssh.ParsePrivateKey(text)
	if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked && passphrase != "" {
		key, err = ssh.ParsePrivateKeyWithPassphrase(text, []byte(passphrase))
	}
	if err != nil {
		return nil, fmt.Errorf("identity_file: %s: %w", path, err)
	}
	return key, nil
}

// maxKey bounds a file with a private key, in bytes.
const maxKey = 64 << 10

// readAll reads no more than maxKey.
func readAll(f io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(f, maxKey))
}
