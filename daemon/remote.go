package daemon

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/reactivegraph/mgmt/daemon/setting"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/model"
)

// Remote says where the objects are served to other machines, and to which of them. Each caller needs a certificate that the CA has
// signed; there is no way in without one. Nothing listens without an address.
type Remote struct {
	Address       string   // HOST:PORT
	Cert, Key, CA string   // files in PEM, which are read again when they change
	Writers       []string // common names of certificates that may change objects; all others read
}

// Listen binds the address and reads the certificates. It returns nil without an address. The caller hands the listener to Serve, or closes
// it. Writers are a warning in the log, with the rules that bound what they may have this host do.
func (f *Remote) Listen(rules *lend.Rules, log *slog.Logger) (*httpd.TLS, error) {
	switch {
	// Without this, a forgotten address would leave the machine unreachable and say nothing.
	case f.Address == "" && (f.Cert != "" || f.Key != "" || f.CA != "" || len(f.Writers) > 0):
		return nil, setting.Errorf("%v, %v, %v and %v are for %v, which is not given", setting.RemoteCert, setting.RemoteKey, setting.RemoteCA, setting.RemoteWriters, setting.RemoteAddress)
	case f.Address == "":
		return nil, nil
	case f.Cert == "" || f.Key == "" || f.CA == "":
		return nil, setting.Errorf("%v: other machines are served only with certificates: give %v, %v and %v", setting.RemoteAddress, setting.RemoteCert, setting.RemoteKey, setting.RemoteCA)
	}
	l, err := httpd.ListenTLS(f.Address, httpd.TLSOptions{Cert: f.Cert, Key: f.Key, CA: f.CA, Logger: log})
	if err != nil {
		return nil, setting.Errorf("%v: %w", setting.RemoteAddress, err)
	}
	if len(f.Writers) > 0 {
		log.Warn("clients of other machines may have this host run objects: within the setting accept, each of them acts with the rights of this daemon",
			"api_writers", f.Writers, "accept", rules.String())
	}
	return l, nil
}

// mayWrite reports whether the certificate of a caller names a writer. The store gives each write the rights of this host, so this check
// alone keeps the others out.
func (f *Remote) mayWrite(p httpd.Peer) bool {
	return p.Cert != nil && slices.Contains(f.Writers, p.Cert.Subject.CommonName)
}

// Serve answers other machines until ctx ends, and closes the listener. They reach the objects, and nothing else of the socket's API. by
// refuses the certificates of removed hosts and closes their connections; nil refuses none.
func (f *Remote) Serve(ctx context.Context, l *httpd.TLS, nb *model.NB, known func(context.Context, string) bool, by *trust.Operators, log *slog.Logger) error {
	// Server and routes refer to each other.
	s := &httpd.Server{Logger: log}
	o := api.Options{NB: nb, MayWrite: f.mayWrite, Known: known}
	if by != nil {
		o.Removed = by.RemovedHosts
		s.Admit = by.Admit
		defer by.OnList(s.Recheck)()
	}
	routes := api.New(o, func() *httpd.Server { return s }).Routes()
	info := api.Describe(httpd.Info{Title: "The objects of a daemon", Version: "1"}, nb.Registry())
	var err error
	if s.Table, err = httpd.NewTable(info, routes); err != nil {
		// The table is made before Serve takes the listener over, so an error closes it here.
		return errors.Join(err, l.Close())
	}
	log.Info("objects are served", "address", l.Addr().String())
	return s.Serve(ctx, l)
}
