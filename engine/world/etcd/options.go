package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// Options are how a cluster is reached. Endpoints are needed; the zero value of each other field is good.
type Options struct {
	// Endpoints are the first servers to ask, each HOST:PORT. The cluster tells of others.
	Endpoints []string
	// Prefix begins every key of the World; "" is DefaultPrefix. It has at most MaxPrefix bytes.
	Prefix string
	// Cert, Key and CA are files in PEM. With any of them the connection is encrypted. Cert and Key show who this
	// host is; they are read again for each connection. CA holds who signs the servers' certificates; "" is
	// whom the machine trusts.
	Cert, Key, CA string
	// User and Password show who this host is where no certificate does.
	User, Password string
	// Timeout ends one attempt of a call, and a Watch that has met no server for so long; 0 is five seconds.
	Timeout time.Duration
	// Refresh is how often the cluster is asked for its servers; 0 is five minutes.
	Refresh time.Duration
	Clock   clock.Clock // nil is the machine's
	// Uptime tells a time that goes on while the machine is suspended, for the ends of leases. nil goes by Clock, and, where that is
	// the machine's, by the time since its boot.
	Uptime func() time.Duration
	Log    *slog.Logger // tells of lost servers and new ones; nil is silent
}

// DefaultPrefix begins the keys of a World that was given no prefix.
const DefaultPrefix = "/mgmt/"

// MaxPrefix is the greatest length of a prefix in bytes. A longer one could bring a transaction within Limits over the
// limit of the server, since each key of it has the prefix.
const MaxPrefix = 32

// Scheme begins an address that ParseAddress takes, and Form is how it is written.
const (
	Scheme = "etcd://"
	Form   = Scheme + "HOST:PORT[,HOST:PORT...][/PREFIX]"
)

// ErrCertificate says that one of the two sides does not accept the other side's certificate. It comes with
// world.ErrRefused.
var ErrCertificate = errors.New("a certificate is not accepted")

// ParseAddress reads etcd://HOST:PORT[,HOST:PORT...][/PREFIX] into Options. The error tells of all faults at once.
func ParseAddress(address string) (Options, error) {
	rest, ok := strings.CutPrefix(address, Scheme)
	if !ok {
		return Options{}, fmt.Errorf("address %q: it has to be %s", address, Form)
	}
	hosts, prefix, found := strings.Cut(rest, "/")
	o := Options{Endpoints: strings.Split(hosts, ",")}
	if found && prefix != "" {
		o.Prefix = "/" + prefix
	}
	if strings.Contains(hosts, "@") {
		return Options{}, fmt.Errorf("address %sHOST:PORT: a user is a setting of its own, and no part of an address", Scheme)
	}
	if err := o.check(); err != nil {
		return Options{}, fmt.Errorf("address %q: %w", address, err)
	}
	return o, nil
}

// Exposed returns the endpoints that are reached over a network without encryption. A daemon warns of them.
func (o Options) Exposed() []string {
	if o.encrypted() {
		return nil
	}
	var exposed []string
	for _, e := range o.Endpoints {
		if !loopback(e) {
			exposed = append(exposed, e)
		}
	}
	return exposed
}

// loopback reports whether an endpoint is on this machine.
func loopback(endpoint string) bool {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func (o Options) encrypted() bool { return o.Cert != "" || o.Key != "" || o.CA != "" }

// withDefaults gives each empty field its default.
func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if !strings.HasSuffix(o.Prefix, "/") {
		o.Prefix += "/"
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Refresh <= 0 {
		o.Refresh = 5 * time.Minute
	}
	o.Clock = clock.Or(o.Clock)
	if o.Uptime == nil {
		o.Uptime = uptimeBy(o.Clock)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// uptimeBy returns the default of Options.Uptime.
func uptimeBy(c clock.Clock) func() time.Duration {
	if _, machine := c.(clock.System); machine {
		if _, err := unix.Boottime(); err == nil {
			return func() time.Duration {
				now, _ := unix.Boottime() // a clock that was read once can be read again
				return now
			}
		}
	}
	begin := c.Now()
	return func() time.Duration { return c.Now().Sub(begin) }
}

// check returns all that is wrong with the options themselves. It reads no file.
func (o Options) check() error {
	var wrong []error
	if len(o.Endpoints) == 0 {
		wrong = append(wrong, errors.New("no endpoint is given; give HOST:PORT"))
	}
	for _, e := range o.Endpoints {
		wrong = append(wrong, checkEndpoint(e))
	}
	if n := len(o.withDefaults().Prefix); n > MaxPrefix {
		wrong = append(wrong, fmt.Errorf("the prefix %q has %d bytes with its end, and at most %d are allowed", o.Prefix, n, MaxPrefix))
	}
	if (o.Cert == "") != (o.Key == "") {
		wrong = append(wrong, errors.New("a certificate and its key belong together; give both files, or none"))
	}
	if (o.User == "") != (o.Password == "") {
		wrong = append(wrong, errors.New("a user and a password belong together; give both, or a certificate"))
	}
	return errors.Join(wrong...)
}

func checkEndpoint(endpoint string) error {
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil || host == "" {
		return fmt.Errorf("endpoint %q: it has to be HOST:PORT, as 192.0.2.1:2379 or [2001:db8::1]:2379", endpoint)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("endpoint %q: the port has to be a number from 1 to 65535", endpoint)
	}
	return nil
}

// tls reads the files. It returns nil where nothing is encrypted. The error tells of all files that do not fit.
func (o Options) tls() (*tls.Config, error) {
	if !o.encrypted() {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var wrong []error
	if o.CA != "" {
		pem, err := readPEM(o.CA)
		c.RootCAs = x509.NewCertPool()
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%w: %w", world.ErrRefused, err))
		} else if !c.RootCAs.AppendCertsFromPEM(pem) {
			wrong = append(wrong, fmt.Errorf("%w: %s holds no certificate in PEM", world.ErrRefused, o.CA))
		}
	}
	if o.Cert != "" {
		read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, err := readPEM(o.Cert)
			key, unread := readPEM(o.Key)
			if err := errors.Join(err, unread); err != nil {
				return nil, err
			}
			pair, err := tls.X509KeyPair(cert, key)
			return &pair, err
		}
		if _, err := read(nil); err != nil {
			wrong = append(wrong, fmt.Errorf("%w: certificate %s with key %s: %w", world.ErrRefused, o.Cert, o.Key, err))
		}
		c.GetClientCertificate = read
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return c, nil
}

// maxPEM bounds a file of Options, in bytes.
const maxPEM = 1 << 20

// readPEM reads a file of Options. A pipe that nobody writes is an empty one: the file is read at each connection.
func readPEM(path string) (text []byte, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err = io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err == nil && len(text) > maxPEM {
		err = fmt.Errorf("%s has more than %d bytes", path, maxPEM)
	}
	return text, err
}
