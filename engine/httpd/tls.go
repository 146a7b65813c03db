package httpd

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/safepath"
)

// TLSOptions name the files of a TLS listener, all in PEM, and all required but for a CA with Anyone.
type TLSOptions struct {
	Cert, Key string // of the server; Cert may hold a chain
	CA        string // signs the certificates of callers; several may stand in it
	Anyone    bool   // callers without a certificate reach the routes that are Public

	Logger *slog.Logger // discards when nil
	Clock  clock.Clock  // nil for that of the machine
}

// lookAgain is how long a look at the files holds.
const lookAgain = time.Second

// maxPEM bounds the length of one file.
const maxPEM = 1 << 20

// keeper holds the certificate in effect and reads the files again when they change.
type keeper struct {
	opt TLSOptions
	now atomic.Pointer[tls.Config]

	looking sync.Mutex   // held while the files are looked at, which a file system may never end
	seen    [3]signature // of the files, as they were read last
	looked  time.Time
}

// signature tells one state of a file from another.
type signature struct {
	size int64
	ino  uint64
	mod  time.Time
}

func newKeeper(o TLSOptions) (*keeper, error) {
	o.Clock, o.Logger = clock.Or(o.Clock), cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	k := &keeper{opt: o}
	if o.Cert == "" || o.Key == "" || o.CA == "" && !o.Anyone {
		return nil, errors.New("a certificate, its key and a CA are all required for TLS")
	}
	return k, k.reload()
}

// base is the configuration of the listener; that in effect is asked for at each
// handshake.
func (k *keeper) base() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current(), nil }}
}

// current returns the configuration in effect, after a look whether the files are new. During the look of another caller it is the one
// before: a file system that does not answer holds up one handshake, and not the API.
func (k *keeper) current() *tls.Config {
	if k.looking.TryLock() {
		defer k.looking.Unlock()
		k.look()
	}
	return k.now.Load()
}

// look reads the files if they are new, with looking held.
func (k *keeper) look() {
	now := k.opt.Clock.Now()
	if now.Sub(k.looked) < lookAgain {
		return
	}
	k.looked = now
	if seen := k.signatures(); seen != k.seen {
		if err := k.read(seen); err != nil {
			k.seen = seen // one warning for this state of the files
			k.opt.Logger.Warn("the new certificate cannot be used, the old one stays in effect", slog.Any("error", err))
		} else {
			k.opt.Logger.Info("the certificate was read again", slog.String("path", k.opt.Cert))
		}
	}
}

func (k *keeper) reload() error {
	k.looking.Lock()
	defer k.looking.Unlock()
	k.looked = k.opt.Clock.Now()
	return k.read(k.signatures())
}

// read takes the files over, with looking held.
func (k *keeper) read(seen [3]signature) error {
	config, err := k.config()
	if err != nil {
		return err
	}
	k.now.Store(config)
	k.seen = seen
	return nil
}

func (k *keeper) files() [3]string { return [3]string{k.opt.Cert, k.opt.Key, k.opt.CA} }

func (k *keeper) signatures() (list [3]signature) {
	for i, path := range k.files() {
		if info, err := os.Stat(path); err == nil {
			ino, _ := inode(path) // of a link, where it is one: an exchanged link is new, too
			list[i] = signature{info.Size(), ino, info.ModTime()}
		}
	}
	return list
}

// config reads the files. Tickets are off, so that a caller whose CA has gone cannot
// resume an old session.
func (k *keeper) config() (*tls.Config, error) {
	var texts [3][]byte
	for i, path := range k.files() {
		if path == "" {
			continue // the CA, see newKeeper
		}
		text, err := readPEM(path)
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return nil, fmt.Errorf("the certificate %s with the key %s: %w", k.opt.Cert, k.opt.Key, err)
	}
	pool := x509.NewCertPool()
	if k.opt.CA != "" && !pool.AppendCertsFromPEM(texts[2]) {
		return nil, fmt.Errorf("the CA %s has no certificate in PEM", k.opt.CA)
	}
	callers := tls.RequireAndVerifyClientCert
	switch {
	case k.opt.CA == "":
		callers = tls.NoClientCert
	case k.opt.Anyone:
		callers = tls.VerifyClientCertIfGiven
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, Time: k.opt.Clock.Now,
		ClientAuth: callers, ClientCAs: pool, SessionTicketsDisabled: true,
		NextProtos: []string{"http/1.1"},
	}, nil
}

// readPEM reads a plain file that is not too long, by no link of another user.
func readPEM(path string) (text []byte, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	f, err := safepath.System().Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err = io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err == nil && len(text) > maxPEM {
		err = fmt.Errorf("%s is longer than %d bytes", path, maxPEM)
	}
	return slices.Clip(text), err
}
