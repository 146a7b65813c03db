package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/gapi"
)

// ServerTransport returns a transport to the daemon of another machine, which listens with --api-listen. Both sides show a
// certificate; --ca must have signed the server's. It reports errors of the files and of the address together.
// The transport connects at the first request and keeps the connection. Nothing closes it, since the verb ends soon.
func (d *Direct) ServerTransport() (http.RoundTripper, error) {
	host, port, err := net.SplitHostPort(d.Server)
	if err != nil || host == "" || port == "" {
		err = fmt.Errorf("--server=%s: write HOST:PORT, as api_listen of that machine has it", d.Server)
	}
	if d.Access.User != "" || d.Access.PasswordFile != "" {
		err = errors.Join(err, errors.New("--server: --user and --password-file are for --world; a daemon knows its callers by --cert"))
	}
	// Without these files no other check makes sense, so this error ends the search for faults.
	if d.Access.Cert == "" || d.Access.Key == "" || d.Access.CA == "" {
		return nil, errors.Join(err, errors.New("--server: a daemon takes only callers with a certificate: give --cert, --key and --ca"))
	}
	pair, unfit := cli.ReadPair(d.Access.Cert, d.Access.Key)
	if unfit != nil {
		unfit = fmt.Errorf("--cert=%s --key=%s: %w", d.Access.Cert, d.Access.Key, unfit)
	}
	roots := x509.NewCertPool()
	pem, unread := gapi.ReadSmall(d.Access.CA)
	if unread == nil && !roots.AppendCertsFromPEM(pem) {
		unread = errors.New("it holds no certificate in PEM")
	}
	if unread != nil {
		unread = fmt.Errorf("--ca=%s: %w", d.Access.CA, unread)
	}
	if err := errors.Join(err, unfit, unread); err != nil {
		return nil, err
	}
	// The name in the certificate of the server is that of the address, as an operator has written it.
	// No Proxy is set, so the variables HTTPS_PROXY and the like do not count.
	t := &http.Transport{
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: host},
		DialContext:         (&net.Dialer{Timeout: serverWait}).DialContext,
		TLSHandshakeTimeout: serverWait,
	}
	return d.told(t), nil
}

// serverWait is how long a verb waits for a connection to another machine. The answer itself may take longer.
// A machine that is off does not refuse a connection, so without a bound the verb would hang.
// The figure is that of a slow link: a second of it is usual.
const serverWait = 10 * time.Second

// told sends requests to the server in the place of the daemon of this machine, and names the server in each error.
// A request that failed is not sent again, since the server may have done it.
// The texts of crypto/tls are the only sign of a certificate that one side does not take. Its errors of the other side
// have no type.
func (d *Direct) told(t http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		// A RoundTripper must not alter the request of its caller, see net/http.
		r.URL.Scheme, r.URL.Host, r.Host = "https", d.Server, d.Server
		resp, err := t.RoundTrip(r)
		if err == nil {
			return resp, nil
		}
		err = fmt.Errorf("--server=%s: %w", d.Server, err)
		if text := err.Error(); strings.Contains(text, "x509: ") || strings.Contains(text, "remote error: tls: ") {
			err = fmt.Errorf("%w; see that --ca signs the certificate of the server, and api_ca there that of --cert", err)
		}
		return nil, err
	})
}
