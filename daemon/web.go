package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/setting"
	"github.com/reactivegraph/mgmt/daemon/web"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

// DefaultWeb is the usual address of the page.
const DefaultWeb = "127.0.0.1:9280"

// Web says where the page is served, and who logs in without a link. Without Cert and Key it is served on loopback alone, without TLS.
type Web struct {
	Address       string   // HOST:PORT; empty for no page
	Cert, Key, CA string   // files in PEM, which are read again when they change; CA is that of persons and proxies
	Hosts         []string // names under which browsers ask for the page
	Operators     []string // names of certificates, or as the proxy names persons, who may steer
	Proxy, Header string   // the name in the certificate of a proxy, and the header in which that names the person
}

// webPart serves the page.
type webPart struct {
	Web
	d        *Daemon
	listener net.Listener // nil for no page
	server   *web.Server
}

// Open implements Part.
func (p *webPart) Open(_ context.Context, d *Daemon) (err error) {
	p.d, p.Web = d, d.Web
	switch {
	case p.Address == "" && (p.Cert != "" || p.Key != "" || p.CA != "" || p.Proxy != "" || p.Header != "" || len(p.Hosts)+len(p.Operators) > 0):
		return setting.Errorf("settings of the page are given, and %v is not", setting.WebAddress)
	case p.Address == "":
		return nil
	case (p.Cert == "") != (p.Key == "") || p.CA != "" && p.Cert == "":
		return setting.Errorf("%v and %v go together, and %v needs both", setting.WebCert, setting.WebKey, setting.WebCA)
	case (p.Proxy == "") != (p.Header == "") || p.Proxy != "" && p.CA == "":
		return setting.Errorf("%v and %v go together, and need %v: the header counts only with the certificate of the proxy", setting.WebProxy, setting.WebHeader, setting.WebCA)
	case len(p.Operators) > 0 && p.CA == "":
		return setting.Errorf("%v names certificates, or persons of a proxy: give %v", setting.WebOperators, setting.WebCA)
	case p.Cert != "":
		p.listener, err = httpd.ListenTLS(p.Address, httpd.TLSOptions{Cert: p.Cert, Key: p.Key, CA: p.CA, Anyone: true, Logger: d.Log})
	default:
		p.listener, err = httpd.ListenTCP(p.Address, false)
	}
	if err != nil {
		p.listener = nil // it has a type by now
	}
	if _, ok := errors.AsType[*httpd.RemoteError](err); ok {
		return setting.Errorf("%v: other machines could reach the page at %s: give %v and %v, since it is served to them over TLS alone", setting.WebAddress, p.Address, setting.WebCert, setting.WebKey)
	}
	if err != nil {
		return setting.Errorf("%v: %w", setting.WebAddress, err)
	}
	return nil
}

// Start implements Part. The socket calls begin, since it answers what the page asks and makes the links.
func (*webPart) Start(context.Context, *mgmt.Engine) error { return nil }

// begin serves the page, before the first link to it is made.
func (p *webPart) begin(e *mgmt.Engine, api http.Handler) (err error) {
	if p.listener == nil {
		return nil
	}
	p.server, err = web.New(p.d.life, web.Options{
		API: api, Store: e.Store(), Log: p.d.Log, Hosts: p.Hosts, Operators: p.Operators, Proxy: p.Proxy, Header: p.Header,
	})
	if err != nil {
		return err
	}
	p.d.Go(func(ctx context.Context) {
		p.d.Log.Info("the page is served", "url", p.url())
		if err := p.server.Serve(ctx, p.listener); err != nil {
			p.d.Log.Error("the page is no longer served", "error", err)
		}
	})
	return nil
}

// url is where a person opens the page.
func (p *webPart) url() string {
	scheme, host := "http", p.listener.Addr().String()
	if p.Cert != "" {
		scheme = "https"
	}
	if len(p.Hosts) > 0 {
		_, port, _ := net.SplitHostPort(host)
		host = net.JoinHostPort(p.Hosts[0], port)
	}
	return scheme + "://" + host + "/"
}

// login makes a link for a caller of the socket. Its token is in the fragment, which no browser sends.
func (p *webPart) login(who string, readOnly bool) (*control.Login, error) {
	token, until := p.server.Link(who, readOnly)
	return &control.Login{URL: p.url() + "#login=" + token, Until: until, By: who, ReadOnly: readOnly}, nil
}

// Close implements Part.
func (p *webPart) Close() error {
	if p.listener != nil {
		_ = p.listener.Close() // a server that was on it has closed it already
	}
	return nil
}
