package fleet

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
	"github.com/reactivegraph/mgmt/gapi"
)

// removeFlags are those of the verb hosts remove.
type removeFlags struct {
	app          *cli.App
	store        sharedStore
	signing      remote.Signing
	certificates []string // files
}

// newHostsRemove makes the verb that takes hosts out of a store for good.
// The host comes onto the signed list first: all daemons refuse it then, also where a later step fails. Its rights go before its keys, so that
// a host that is still there cannot write them again.
func newHostsRemove(a *cli.App) *cobra.Command {
	f := &removeFlags{app: a, store: sharedStore{app: a}, signing: remote.Signing{App: a}}
	cmd := &cobra.Command{
		Use: "remove NAME...", Short: "Remove hosts from a store, and revoke their certificates", Args: cobra.MinimumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Remove adds hosts and the serials of their certificates to the store's revocation list, which
your deploy key signs and all daemons check. Removed hosts belong to no topic, new secrets
are not encrypted to them, and no daemon with api_listen accepts their certificates. The
list is permanent: mgmt hosts allow brings a host back only with a new certificate. A host
publishes its certificate in the store, and --ca verifies it; name further certificates of
the host with --certificate.

With --world, remove also deletes the hosts' users and rights in that store in etcd, which
does not read the list, and their records: keys for secrets, exports, statuses of objects,
and reports of deploys. Removals of objects then no longer wait for these hosts. Use the
certificate of root. Removed hosts still know old secrets, so change those.`,
		Example: `  mgmt hosts remove web1.example.org --world etcd://192.0.2.1:2379 --cert root.pem --key root.key --ca ca.pem`,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.store.closing(f.run(cmd.Context(), args)) },
	}
	f.store.flags(cmd)
	cli.Exclude(cmd, "world", "socket")
	f.signing.Flags(cmd, "a")
	cmd.Flags().StringArrayVar(&f.certificates, "certificate", nil, "also revoke the certificate of a host in this `file`; may be repeated")
	_ = cmd.MarkFlagFilename("certificate")
	return cmd
}

func (f *removeFlags) run(ctx context.Context, names []string) error {
	serials, err := f.serials(names)
	key, trusted, unsigned := f.signing.Keys()
	if err := errors.Join(err, unsigned); err != nil {
		return err
	}
	w, err := f.store.world(ctx)
	if err != nil {
		return err
	}
	var known []string // hosts that the records or the store know
	var errs []error
	for _, name := range names {
		if err := checkHost(name); err != nil {
			errs = append(errs, err)
			continue
		}
		known = append(known, name)
	}
	for _, name := range known {
		// The name of a host that nothing knows may be mistyped.
		if there, err := f.knows(ctx, w, trusted, name); err != nil || !there && len(serials[name]) == 0 {
			if err == nil && !f.store.direct.Given() {
				err = fmt.Errorf("the store has nothing of a host %s", render.Cell(name))
			}
			errs = append(errs, err)
			continue
		}
		list := slices.Concat(serials[name], f.published(ctx, w, name))
		err := remote.Retried(func() error {
			fleet, err := f.signing.Founded(ctx, w, key, trusted, "")
			if err != nil {
				return err
			}
			return deploy.Store{World: w}.Remove(ctx, key, fleet, name, list, remote.Operator(), clock.System{}.Now())
		})
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("the host %s is not removed: %w", render.Cell(name), remote.Explained(err)))...)
		}
		if !f.store.direct.Given() {
			fmt.Fprintf(f.app.Out, "%s is on the list of removed hosts%s\n", render.Cell(name), withSerials(list))
		}
	}
	if !f.store.direct.Given() {
		return errors.Join(errs...)
	}
	etcd, err := f.store.etcd(ctx)
	if err == nil {
		err = removeHosts(ctx, f.app, etcd, known)
	}
	return errors.Join(append(errs, err)...)
}

// knows reports whether the operator's records or the keys of the store know a host.
func (f *removeFlags) knows(ctx context.Context, w world.World, trusted []deploy.Public, name string) (bool, error) {
	fleet, err := f.signing.Fleet(ctx, w, trusted)
	if err != nil {
		return false, err
	}
	if _, listed := fleet.Revocation(name); listed || fleet.Hosts[name].Host != "" || fleet.Faulty[name] != nil {
		return true, nil
	}
	for _, key := range []string{seal.Key(name), deploy.ReportKey(name), hosts.MemberKey(name), hosts.SeenKey(name)} {
		if _, err := w.Get(ctx, key); err == nil {
			return true, nil
		} else if !errors.Is(err, world.ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}

// withSerials names certificates, for a line of output.
func withSerials(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ", with the certificates " + strings.Join(list, ", ")
}

// serials reads the certificates that the operator names, by their common names.
func (f *removeFlags) serials(names []string) (map[string][]string, error) {
	serials := map[string][]string{}
	var errs []error
	for _, path := range f.certificates {
		c, err := readCertificate(path)
		if err == nil && !slices.Contains(names, c.Subject.CommonName) {
			err = fmt.Errorf("it is that of %.80q, which is not to be removed", c.Subject.CommonName)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--certificate=%s: %w", path, err))
			continue
		}
		serials[c.Subject.CommonName] = append(serials[c.Subject.CommonName], c.SerialNumber.Text(16))
	}
	return serials, errors.Join(errs...)
}

// readCertificate reads the first certificate of a file.
func readCertificate(path string) (*x509.Certificate, error) {
	text, err := gapi.ReadSmall(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("it holds no certificate in PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// published returns the serial of the certificate that a host has told the store, if the authority of --ca has signed it for this host: a host
// that tells the certificate of another one has nothing revoked.
func (f *removeFlags) published(ctx context.Context, w world.World, name string) []string {
	kv, err := w.Get(ctx, seal.Key(name))
	var r seal.Recipient
	if err != nil || json.Unmarshal(kv.Value, &r) != nil || len(r.Certificate) == 0 {
		return nil
	}
	pool := x509.NewCertPool()
	text, err := gapi.ReadSmall(f.store.direct.Access.CA)
	if err != nil || !pool.AppendCertsFromPEM(text) {
		return nil
	}
	c, err := x509.ParseCertificate(r.Certificate)
	if err != nil || c.Subject.CommonName != name {
		return nil
	}
	// An expired one is signed all the same.
	if _, err := c.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: c.NotAfter, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		return nil
	}
	return []string{c.SerialNumber.Text(16)}
}

// removeHosts takes the users, keys and statuses of hosts out of a store in etcd. A host without any record is an error, since its name
// may be mistyped. The others are removed all the same. A host whose daemon is still connected is
// removed too, with a line on standard error. If a call was cut, a second call ends its work.
// Each host is removed in steps: its user, its keys, its exports, its statuses. A failure leaves the later
// ones for the next call.
func removeHosts(ctx context.Context, a *cli.App, w *etcd.World, names []string) error {
	there, err := hosts.Members(ctx, w)
	if err != nil {
		return err
	}
	nb := daemon.Objects(w, a.Tables(), daemon.ObjectOptions{Host: cli.Hostname(), Secrets: &trust.Secrets{World: w}, Log: slog.New(slog.DiscardHandler)})
	var errs []error
	for _, name := range names {
		// A store that asks for no users has no user of that name, and Forbid then returns false.
		was, err := w.Forbid(ctx, name)
		if err == nil {
			var kept bool
			kept, err = forget(ctx, w, name)
			was = was || kept
		}
		if err == nil {
			var exports int
			exports, err = hosts.Store{World: w, Clock: clock.System{}}.DropExports(ctx, name)
			was = was || exports > 0
		}
		var statuses int
		if err == nil {
			statuses, err = nb.DropStatuses(ctx, name)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("the host %s is not removed whole, do it again: %w", render.Cell(name), err))
		case !was && statuses == 0:
			errs = append(errs, fmt.Errorf("the store has nothing of a host %s", render.Cell(name)))
		default:
			fmt.Fprintf(a.Out, "%s is removed, with %s\n", render.Cell(name), render.Plural(statuses, "status record"))
		}
		if err == nil && slices.ContainsFunc(there, func(m hosts.Member) bool { return m.Name == name }) {
			fmt.Fprintf(a.Err, "mgmt still runs on %s: stop it, or it comes back where the store asks for no users\n", render.Cell(name))
		}
	}
	return errors.Join(errs...)
}

// forget deletes the keys of a host, and reports whether there was one.
// All keys go in one transaction, so no reader sees a host in part.
// A key that comes back meanwhile is the work of a daemon that still runs.
func forget(ctx context.Context, w world.World, name string) (was bool, err error) {
	var ops []world.Op
	for _, key := range []string{seal.Key(name), deploy.ReportKey(name), hosts.MemberKey(name), hosts.SeenKey(name)} {
		_, err := w.Get(ctx, key)
		if err != nil && !errors.Is(err, world.ErrNotFound) {
			return false, err
		}
		if err == nil {
			ops = append(ops, world.Op{Key: key, Delete: true})
		}
	}
	if len(ops) == 0 {
		return false, nil
	}
	_, _, err = w.Txn(ctx, nil, ops)
	return true, err
}

// checkHost refuses the name of the operator, which is the user with every right.
// etcd calls that user root and lets it do everything.
func checkHost(name string) error {
	if name == operatorName {
		return fmt.Errorf("the user %s is the operator, who has every right: a host needs another name", name)
	}
	return nil
}

// operatorName is the user that etcd gives every right to.
const operatorName = "root"
