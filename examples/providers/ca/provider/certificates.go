package main

import (
	"context"
	stdx509 "crypto/x509"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/examples/providers/ca/provider/x509"
	"github.com/reactivegraph/mgmt/provider"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// day is the unit of the properties days and renewBefore.
const day = 24 * time.Hour

// lookEvery is how often a watch looks at the files.
const lookEvery = time.Second

// certificates is the work on them. The files NAME.crt and NAME.key are a certificate, and NAME.json is the note on it for
// mgmt. The note is written last, so a certificate without a note is not made yet.
//
// All methods may be called by many goroutines at once.
type certificates struct {
	provider.Defaults[x509.CertificateData]

	authority *authority
	mu        sync.Mutex // around each change of files
}

// note is the content of NAME.json.
type note struct {
	Key         string // of the creation
	RenewBefore float64
}

// names matches the names of certificates that can be names of files.
var names = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$`)

// nameOf returns the name of a certificate, which is its ID too.
func nameOf(c *provider.Call, in *x509.CertificateData) string {
	if in.Name != nil {
		return *in.Name
	}
	return c.Name
}

// Check refuses names that cannot be files, and a renewal that would never end.
func (o *certificates) Check(_ context.Context, c *provider.Call, in *x509.CertificateData) (faults []provider.Failure, _ error) {
	if name := nameOf(c, in); !names.MatchString(name) || name == authorityName {
		faults = append(faults, provider.Failure{Path: "name", Message: "it should have letters, digits, _, . and -, and be no " + authorityName})
	}
	if in.Days != nil && in.RenewBefore != nil && *in.RenewBefore >= *in.Days {
		faults = append(faults, provider.Failure{Path: "renewBefore", Message: "it should be less than days, or the certificate is renewed without end"})
	}
	return faults, nil
}

// Create makes a certificate. The same key returns the same certificate. Another key makes a new one in the place of files that
// have no note, since an earlier try may have left them.
func (o *certificates) Create(ctx context.Context, c *provider.Call, in *x509.CertificateData) (*x509.CertificateData, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c.ID = nameOf(c, in)
	n, err := o.note(c.ID)
	if err != nil {
		return nil, err
	}
	if n != nil && n.Key == c.Key {
		return o.shown(c.ID, n)
	}
	return o.sign(c, in, &note{Key: c.Key})
}

// sign makes the files. Days and renewBefore have defaults in the schema, so mgmt always gives them.
func (o *certificates) sign(c *provider.Call, in *x509.CertificateData, n *note) (*x509.CertificateData, error) {
	days := 90.0
	n.RenewBefore = 30
	if in.Days != nil {
		days = *in.Days
	}
	if in.RenewBefore != nil {
		n.RenewBefore = *in.RenewBefore
	}
	if err := o.authority.sign(c.ID, in.Hosts, time.Duration(days*float64(day))); err != nil {
		return nil, err
	}
	text, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	if err := write(o.authority.at(c.ID, ".json"), 0o600, string(text)); err != nil {
		return nil, err
	}
	return o.shown(c.ID, n)
}

// Get reads a certificate by its ID, by the key of its creation, or by its name.
func (o *certificates) Get(_ context.Context, c *provider.Call, in *x509.CertificateData) (*x509.CertificateData, error) {
	name := c.ID
	if name == "" {
		name = nameOf(c, in)
	}
	n, err := o.note(name)
	if n == nil || err != nil {
		return nil, err
	}
	out, err := o.shown(name, n)
	if out != nil {
		c.ID = name
	}
	return out, err
}

// note reads NAME.json; nil for none.
func (o *certificates) note(name string) (*note, error) {
	text, err := os.ReadFile(o.authority.at(name, ".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	n := &note{}
	return n, errors.Join(err, json.Unmarshal(text, n))
}

// A certificate that is to be renewed shows the days that are left, which differ from the wanted ones. So mgmt asks for an
// Update, and people see the reason in the plan.
//
// shown returns a certificate as properties; nil for none.
func (o *certificates) shown(name string, n *note) (*x509.CertificateData, error) {
	cert, _, err := o.authority.load(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	days := cert.NotAfter.Sub(cert.NotBefore).Hours() / 24
	if left := time.Until(cert.NotAfter).Hours() / 24; left < n.RenewBefore {
		days = left
	}
	return &x509.CertificateData{
		Name: &name, Hosts: hosts(cert), Days: &days, RenewBefore: &n.RenewBefore,
		Certificate: new(pemOf(certificateBlock, cert.Raw)), Authority: &o.authority.pem, KeyFile: new(o.authority.at(name, ".key")),
		Expires: new(cert.NotAfter.UTC().Format(time.RFC3339)),
	}, nil
}

// hosts returns the names and addresses of a certificate.
func hosts(cert *stdx509.Certificate) []string {
	out := append([]string{}, cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		out = append(out, ip.String())
	}
	return out
}

// Diff takes two lists with the same hosts for the same, in whatever order they are.
func (o *certificates) Diff(_ context.Context, _ *provider.Call, old, wanted *x509.CertificateData) (*provider.Difference, error) {
	seen := map[string]bool{}
	for _, h := range old.Hosts {
		seen[h] = true
	}
	for _, h := range wanted.Hosts {
		if !seen[h] {
			return nil, nil
		}
	}
	if len(old.Hosts) != len(wanted.Hosts) {
		return nil, nil
	}
	return &provider.Difference{Ignore: []string{"hosts"}}, nil
}

// Update signs a new certificate with a new key. A notified certificate is renewed too.
func (o *certificates) Update(_ context.Context, c *provider.Call, _, wanted *x509.CertificateData) (*x509.CertificateData, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.note(c.ID)
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, protocol.Errorf(protocol.CodeConflict, "another one has removed the certificate %s", c.ID)
	}
	return o.sign(c, wanted, n)
}

// Delete removes the files of a certificate, the note last.
func (o *certificates) Delete(_ context.Context, c *provider.Call, _ *x509.CertificateData) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, suffix := range []string{".crt", ".key", ".json"} {
		if err := os.Remove(o.authority.at(c.ID, suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// The kernel could tell of the files, and not of the moment of the renewal.
//
// Watch looks at the certificate now and then. So it sees both.
func (o *certificates) Watch(ctx context.Context, c *provider.Call, in *x509.CertificateData, running, changed func()) error {
	name := c.ID
	if name == "" {
		name = nameOf(c, in)
	}
	last := o.look(name)
	running()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if now := o.look(name); now != last {
			last = now
			changed()
		}
	}
}

// state is the part of a certificate that a watch compares.
type state struct {
	serial string
	renew  bool
}

// look returns the state of a certificate; the zero state stands for none, and for an unreadable certificate.
func (o *certificates) look(name string) state {
	n, err := o.note(name)
	cert, _, loadErr := o.authority.load(name)
	if n == nil || err != nil || loadErr != nil {
		return state{}
	}
	return state{cert.SerialNumber.String(), time.Until(cert.NotAfter).Hours()/24 < n.RenewBefore}
}

// List finds all certificates of the folder.
func (o *certificates) List(context.Context) iter.Seq2[provider.Item[x509.CertificateData], error] {
	return func(yield func(provider.Item[x509.CertificateData], error) bool) {
		notes, err := filepath.Glob(o.authority.at("*", ".json"))
		for _, at := range notes {
			name := strings.TrimSuffix(filepath.Base(at), ".json")
			item := provider.Item[x509.CertificateData]{Name: name, ID: name}
			n, err := o.note(name)
			if err == nil && n != nil {
				item.Properties, err = o.shown(name, n)
			}
			if (err != nil || item.Properties != nil) && !yield(item, err) {
				return
			}
		}
		if err != nil {
			yield(provider.Item[x509.CertificateData]{}, err)
		}
	}
}
